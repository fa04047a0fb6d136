"""The import finder that maps `import taichi` to Weft's modules. `compat.install` installs it."""

from __future__ import annotations

import importlib
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from weft.lang.compat.later import later

__all__ = ["FINDER", "TaichiFinder"]


class TaichiFinder(MetaPathFinder, Loader):
    """Finds `taichi` and `taichi.x.y` as the modules `weft` and `weft.x.y` themselves, not as copies."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        ours = fullname == "taichi" or fullname.startswith("taichi.")
        return ModuleSpec(fullname, self, is_package=True) if ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        name = "weft" + spec.name.removeprefix("taichi")
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            what = later(name.removeprefix("weft."))
            why = f" yet: {what}" if what else ""
            raise ModuleNotFoundError(f"Weft has no counterpart of {spec.name}{why}", name=spec.name) from None
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just set the module's spec to that of the other name. Restore it.
        borrowed = module.__spec__
        module.__spec__ = borrowed.loader_state if borrowed is not None else None


FINDER = TaichiFinder()
