"""Reading and writing facts and datasets."""
