"""For `pytest -p tests.mutate.plugin`: the module that WEFT_MUTANT names is loaded as that mutant of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from tests.mutate.mutants import mutants


class _Mutated(SourceFileLoader):
    """Loads a module from the text of its mutant."""

    number = 0

    def get_code(self, fullname: str) -> CodeType | None:
        source = self.get_source(fullname)
        assert source is not None
        return compile(mutants(source)[self.number].source, self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, module: str, number: int) -> None:
        self.module, self.number = module, number

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.module:
            return None
        spec = PathFinder.find_spec(name, path)
        assert spec is not None
        loader: Any = _Mutated(name, str(spec.origin))
        loader.number = self.number
        spec.loader = loader
        assert isinstance(loader, Loader)
        return spec


if given := os.environ.get("WEFT_MUTANT"):
    _module, _, _number = given.partition(":")
    assert _module not in sys.modules, f"{_module} was imported before it could be mutated"
    sys.meta_path.insert(0, _Finder(_module, int(_number)))
