"""Few-shot tasks: support sets, queries, and how they are sampled."""
