"""Experiments over several runs."""
