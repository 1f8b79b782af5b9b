"""Queries that leave the relation or the time open: which event comes next, and when. Beside every model of a run."""
