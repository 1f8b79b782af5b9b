"""The tiny world of the learning room, here too."""

from tests.small import data, home

__all__ = ["data", "home"]
