"""The service: predictions over HTTP, with a store of what was observed and a page to look at."""
