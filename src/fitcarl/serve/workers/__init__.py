"""Worker processes that hold the model."""
