"""Random programs over the whole language, and what finds, compares, counts and shrinks them.

`nodes` is the tree of a program, `places` its data. `rows` is the table of constructs: `expressions`, `statements`,
`loops` and `functions` fill it. `program` draws a program from a seed, `table` counts which construct met which.
`execute` runs one and asks the evaluator, `workers` runs many, `shrink` makes a failure small. `python -m tests.fuzz`.
"""
