"""Passes: one per file, named after the file. `pipeline.py` says in which order they run."""
