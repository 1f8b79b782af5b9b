"""Whom will a new actor deal with, how, when, and why?"""

__version__ = "0.1.0"
