"""Model ``plus``: graph statistics, a support encoder and a small policy, trained by likelihood."""
