"""Fixtures of the tiny demo world."""

from tests.small import data, home

__all__ = ["data", "home"]
