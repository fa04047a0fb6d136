"""Demos: one idea per file. `weft demo` lists them, `weft demo NAME` runs one."""
