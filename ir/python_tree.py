"""Python's syntax trees."""

from __future__ import annotations

import ast

__all__ = ["python_tree"]

_TRIES = 20


def python_tree(text: str | bytes, file: str = "<unknown>") -> ast.Module:
    """`ast.parse`, safe to call while other threads parse. Raises SyntaxError or ValueError for text that is not
    Python.

    CPython 3.11 keeps the recursion depth of tree conversion in a variable that all threads share (cpython issue
    106905). If a finalizer lets another thread parse in between, the final count is wrong, and CPython rejects a valid
    tree.
    """
    for _ in range(_TRIES - 1):
        try:
            return ast.parse(text, file)
        except SystemError as error:
            if "recursion depth mismatch" not in str(error):
                raise
    return ast.parse(text, file)
