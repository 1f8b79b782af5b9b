"""Settings of a run: their schema, the presets, and how they are read."""
