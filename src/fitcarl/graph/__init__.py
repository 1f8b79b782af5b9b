"""The temporal graph: edge index (temporal), action spaces (actions), files (storage), compiled loops (kernels)."""
