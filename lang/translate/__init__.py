"""Translates a Python function to the tree of a kernel. Everything dynamic in Python is resolved here.

`translator` holds the state and the dispatch tables. `expressions`, `operators`, `indexing`, `attributes`, `calls` with
`functions`, `methods`, `constructors` and `inlining` translate expressions. `statements`, `control`, `loops`
and `printing` translate statements. `values` converts values that are known at compile time to run-time expressions.
`entry` is what other rooms call. The first translation imports the modules behind it; `import weft` does not."""
