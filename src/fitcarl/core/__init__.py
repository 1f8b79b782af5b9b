"""Domain-independent building blocks."""
