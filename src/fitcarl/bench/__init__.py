"""Benchmarks of speed, memory and explanations; speed is compared with a straightforward implementation."""
