"""From any file of dated facts to a dataset."""
