"""How the elements of a field are stored: a path of levels from the base of a tree to a cell (docs/storage.md).

`level` says what a level is; `dense` is the level that there is; `cell` is what a path ends in; `path` is all of it.
`snode` declares the trees that programs write, and `layout` measures them and makes the paths. `values` is about memory
that is not a field's.
"""
