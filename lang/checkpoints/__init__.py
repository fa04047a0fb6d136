"""`ti.save` and `ti.load`: the state of a simulation in a file, and back.

`state` says which arrays and values a checkpoint has. `archive_formats` has a row for each kind of file. `checkpoint`
has the two functions."""
