"""Other code for the functions of a module that is loaded, wherever they have been imported to."""

from __future__ import annotations

import ast
import gc
from types import CodeType, FunctionType

__all__ = ["Functions"]


class Functions:
    """The functions of some files that are loaded, by file and place."""

    def __init__(self, paths: set[str]) -> None:
        gc.unfreeze()
        self.found: dict[str, list[FunctionType]] = {path: [] for path in paths}
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename in self.found:
                self.found[one.__code__.co_filename].append(one)

    def swap(self, path: str, source: str | ast.Module) -> int:
        """Give the functions of a file the code they have in `source`, which keeps their lines; how many changed."""
        codes = {_place(code): code for code in _codes(compile(source, path, "exec", dont_inherit=True))}
        changed = 0
        for function in self.found[path]:
            code = codes.get(_place(function.__code__))
            if code is not None and code != function.__code__ and code.co_freevars == function.__code__.co_freevars:
                function.__code__ = code
                changed += 1
        return changed


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def _codes(code: CodeType) -> list[CodeType]:
    inner = [one for constant in code.co_consts if isinstance(constant, CodeType) for one in _codes(constant)]
    return [code, *inner]
