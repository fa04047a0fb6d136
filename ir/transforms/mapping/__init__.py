"""Passes that map tasks to a target: each makes one decision, as a schedule or as other ops. See `pipeline.py`."""
