"""Import finders that give Weft's modules other names: `weft.ui` for `weft.lang.ui`, and `taichi` for `weft`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from weft.lang.compat.later import later

__all__ = ["TAICHI", "AliasFinder", "name_modules"]


class AliasFinder:
    """Finds modules under other names, as the modules themselves, not as copies. `real_name` returns the real name of
    a module, or "" for a name that the finder does not know. A module is imported when its other name is."""

    def __init__(self, real_name: Callable[[str], str]) -> None:
        self._real_name = real_name

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        loader: Any = self
        return ModuleSpec(fullname, loader, is_package=True) if self._real_name(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        name = self._real_name(spec.name)
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            what = later(name.removeprefix("weft."))
            why = f" yet: {what}" if what else ""
            raise ModuleNotFoundError(f"Weft has no counterpart of {spec.name}{why}", name=spec.name) from None
        current = module.__spec__  # that of another name, while another thread imports the module by it
        spec.loader_state = getattr(current, "loader_state", None) or current
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just set the module's spec to that of the other name. Restore it.
        borrowed = module.__spec__
        module.__spec__ = borrowed.loader_state if borrowed is not None else None


# What `compat.install` adds to `sys.meta_path`.
TAICHI = AliasFinder(lambda name: f"weft{name[6:]}" if name == "taichi" or name.startswith("taichi.") else "")


def name_modules(names: Mapping[str, str]) -> None:
    """Make modules importable by these names; the values are the real names."""
    sys.meta_path.append(AliasFinder(lambda name: names.get(name, "")))
