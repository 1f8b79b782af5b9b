"""The support encoder of model ``plus``: its network, its memory of events, and its training."""
