"""Modules that run when they are first accessed. Each runs once, even if several threads access it at the same time.

(Before Python 3.12, `importlib.util.LazyLoader` gives a second thread a module that has not finished running.)"""

from __future__ import annotations

import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any

from weft.runtime.forks import forkable, importing

__all__ = ["deferred"]

# The attributes that are known before the module runs. Imports of modules in a package read them, and must not run the
# package.
_PLAIN = frozenset(("__class__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__"))


class _Deferred(ModuleType):
    """A module that becomes an ordinary module when an attribute of it is accessed."""

    def __getattribute__(self, name: str) -> Any:
        if name not in _PLAIN:
            self.__spec__.loader_state.run(self)  # type: ignore[union-attr]
        return ModuleType.__getattribute__(self, name)

    def __delattr__(self, name: str) -> None:
        self.__spec__.loader_state.run(self)  # type: ignore[union-attr]
        ModuleType.__delattr__(self, name)


class _State:
    """Whether a module has run. `_known` are the attributes that were set when it was made. `_before` are those that
    were set when it began to run. `_runner` is the thread that runs it."""

    def __init__(self, module: ModuleType) -> None:
        self._lock, self._done = forkable(threading.RLock()), False
        self._runner: int | None = None
        self._known, self._before = frozenset(vars(module)), dict[str, Any]()

    def run(self, module: ModuleType) -> None:
        """Run the module, unless this thread is running it already. Wait while another thread runs it. (After a fork, a
        thread that was running it does not exist in the child, so the module runs again there.)"""
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
                self._runner = None  # the next access runs it again
                raise
            space.update((name, self._before[name]) for name in self._before.keys() - self._known)  # set by others
            module.__class__ = ModuleType
            self._done = True

    def _restore(self, space: dict[str, Any]) -> None:
        space.clear()
        space.update(self._before)


def deferred(name: str, *aliases: str) -> ModuleType:
    """The module of this name, to run later. It is also imported under other names."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader_state = _State(module)
    module.__class__ = _Deferred
    for each in (name, *aliases):
        sys.modules[each] = module
    return module
