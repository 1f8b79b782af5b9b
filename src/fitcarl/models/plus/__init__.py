"""Preset ``plus``: the same agent, with a policy that counts what usually follows what, trained by likelihood."""
