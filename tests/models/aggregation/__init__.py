"""Tests of what MEAN and LAN share, and of both networks."""
