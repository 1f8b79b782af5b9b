"""Scorer protocols, the scores they return, and explanation paths."""
