"""Facts as a graph that can be walked."""
