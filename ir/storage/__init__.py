"""How the elements of a field are stored: a path of levels from the base of a tree to a cell (docs/storage.md).

`level` defines what a level is. `dense` is the only kind of level so far. `cell` is the end of a path, and `path` is
the whole path. `snode` declares the trees of a program, and `layout` computes their layout and creates the paths.
`values` describes memory outside of fields.
"""
