"""Training: setup, the training loop, validation, checkpoints, and the finished run."""
