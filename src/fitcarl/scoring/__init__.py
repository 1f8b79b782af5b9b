"""What every scorer returns, and the paths that explain it."""
