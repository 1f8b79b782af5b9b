"""Candidate features: one table, its sources, and their normalisation."""
