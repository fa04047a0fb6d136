"""Modules that run when they are first looked into: once, whichever threads look at the same time.

(`importlib.util.LazyLoader` gives a second thread a module that is half done, before Python 3.12.)
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any

from weft.runtime.forks import forkable, importing

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
    """Whether a module has run. `_known`: what was set when it was made; `_before`: what was set when it began to run;
    `_runner`: the thread that runs it."""

    def __init__(self, module: ModuleType) -> None:
        self._lock, self._done = forkable(threading.RLock()), False
        self._runner: int | None = None
        self._known, self._before = frozenset(vars(module)), dict[str, Any]()

    def run(self, module: ModuleType) -> None:
        """Run it, unless this thread does so already; wait while another thread does. (One that did so when the process
        forked is not in the child: the module runs again there.)"""
        with importing(), self._lock:
            if self._done or self._runner == threading.get_ident():
                return
            space = ModuleType.__getattribute__(module, "__dict__")
            if self._runner is not None:
                self._restore(space)
            self._runner, self._before = threading.get_ident(), dict(space)
            try:
                module.__loader__.exec_module(module)  # type: ignore[union-attr]
            except BaseException:
                self._restore(space)
                self._runner = None  # who looks next runs it again
                raise
            space.update((name, self._before[name]) for name in self._before.keys() - self._known)  # set by others
            module.__class__ = ModuleType
            self._done = True

    def _restore(self, space: dict[str, Any]) -> None:
        space.clear()
        space.update(self._before)


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
