"""The mutation score: break one legality condition of the compiler at a time, and see whether a test notices.

`python -m tests.mutate` (`make mutate`) runs all targets, `--only forward,alias` some; `--list` shows the mutants. A
mutant that survives needs a test, or a row in `equivalent.py` that says why it means the same.
"""
