"""Shadow execution: the inputs of a launch are copied, evaluated separately, and compared with the results of the
machine code.

`launch.py` makes the copies. `replay.py` evaluates them, in several variants if these may differ. `compare.py` finds
the differences that no variant explains. `lang/checks/` decides which launches are repeated and how a difference is
reported.
"""
