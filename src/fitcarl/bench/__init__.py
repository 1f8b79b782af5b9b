"""How fast it is, measured beside something straightforward in the same run."""
