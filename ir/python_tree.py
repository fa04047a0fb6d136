"""Python's own trees of Python's text."""

from __future__ import annotations

import ast

__all__ = ["python_tree"]

_TRIES = 20


def python_tree(text: str | bytes, file: str = "<unknown>") -> ast.Module:
    """`ast.parse`, also while other threads parse. SyntaxError or ValueError for what is not Python's text.

    CPython 3.11 counts how deep it is in a tree once for all threads (cpython issue 106905): where a finalizer lets
    another thread parse in the middle, the count at the end is wrong, and a tree that is right is thrown away."""
    for _ in range(_TRIES - 1):
        try:
            return ast.parse(text, file)
        except SystemError as error:
            if "recursion depth mismatch" not in str(error):
                raise
    return ast.parse(text, file)
