"""Modules that run when they are first looked into: once, whichever threads look at the same time.

(`importlib.util.LazyLoader` gives a second thread a module that is half done, before Python 3.12.)
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any

from weft.runtime.forks import forkable, gate

__all__ = ["deferred"]

# What is known before it runs. Imports of modules inside of a package ask for these, and do not wait for the package.
_PLAIN = frozenset(("__class__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__"))


class _Deferred(ModuleType):
    """It becomes an ordinary module as soon as anything in it is asked for."""

    def __getattribute__(self, name: str) -> Any:
        if name not in _PLAIN:
            self.__spec__.loader_state.run(self)  # type: ignore[union-attr]
        return ModuleType.__getattribute__(self, name)

    def __delattr__(self, name: str) -> None:
        self.__spec__.loader_state.run(self)  # type: ignore[union-attr]
        ModuleType.__delattr__(self, name)


class _State:
    """Whether a module has run. `_known`: what was set when it was made."""

    def __init__(self, module: ModuleType) -> None:
        self._lock, self._begun = forkable(threading.RLock()), False
        self._known = frozenset(vars(module))

    def run(self, module: ModuleType) -> None:
        """Run it, unless this thread does so already; wait while another thread does."""
        with gate, self._lock:
            if self._begun:
                return
            self._begun = True
            space = ModuleType.__getattribute__(module, "__dict__")
            before = dict(space)
            try:
                module.__loader__.exec_module(module)  # type: ignore[union-attr]
            except BaseException:
                space.clear()
                space.update(before)
                self._begun = False  # who looks next runs it again
                raise
            space.update((name, before[name]) for name in before.keys() - self._known)  # what others had set holds
            module.__class__ = ModuleType


def deferred(name: str, *aliases: str) -> ModuleType:
    """The module of that name, which is also imported by other names, to run later."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader_state = _State(module)
    module.__class__ = _Deferred
    for each in (name, *aliases):
        sys.modules[each] = module
    return module
