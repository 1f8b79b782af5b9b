"""Run folders: the files that training writes, and the trained run that is loaded from them."""
