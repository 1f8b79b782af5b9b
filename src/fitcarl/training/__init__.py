"""Training: set-up, loop, validation, checkpoints and the end of a run; the same for every model."""
