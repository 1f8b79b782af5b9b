"""HTTP service: predictions over a JSON API, a store of observed facts, and the explorer in the browser."""
