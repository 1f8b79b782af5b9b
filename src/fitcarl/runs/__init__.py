"""Run folders: what a training leaves behind."""
