"""Every model, one folder each."""
