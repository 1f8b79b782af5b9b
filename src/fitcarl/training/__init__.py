"""From tasks to weights: rewards, the loss, the training loop, and what a run leaves behind."""
