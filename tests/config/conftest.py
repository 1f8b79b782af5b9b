"""Fixtures for tests that train: see tests/small.py."""

from tests.small import data, home

__all__ = ["data", "home"]
