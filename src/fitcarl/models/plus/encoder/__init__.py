"""The support encoder of model plus."""
