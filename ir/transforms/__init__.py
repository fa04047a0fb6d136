"""The passes, one per file. Each file has the name of its pass. `pipeline.py` defines their order."""
