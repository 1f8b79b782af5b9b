"""Building blocks that know nothing of the domain."""
