"""Worker processes that load the model and answer queries."""
