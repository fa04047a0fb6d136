"""The passes that map tasks to a target. Each makes one decision, as a schedule or as other ops. See `pipeline.py`."""
