"""Shadow execution: what a launch is given is kept, evaluated by itself, and compared with what the machine code made.

`launch.py` has the copies, `replay.py` evaluates them, in several ways where these may differ, and `compare.py` says
which differences no such way explains. Which launches are repeated, and what becomes of a difference, is decided in
`lang/checks/`.
"""
