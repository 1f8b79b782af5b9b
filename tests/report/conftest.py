"""The tiny world of the learning room, here too."""

from tests.learn.conftest import data, home

__all__ = ["data", "home"]
