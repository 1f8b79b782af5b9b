"""The candidate features of model plus."""
