"""The instances of one kernel, for one program.

    x, y = y, x; step()        ->        found: the instance that was compiled when `x` referred to that field before

The key of an instance is what a call fixes at compile time: templates, kinds of arrays, the object of a method. One key
can have several instances, for different values of the names that the kernel captures. They are kept in order, the most
recent first, and their number is limited. An instance is dropped when an object that it was compiled for is gone. It
keeps no such object alive."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from threading import RLock
from typing import Any

from weft.lang.calls.compile import Instance
from weft.lang.calls.parameters import told_by_identity
from weft.runtime.direct import Plan
from weft.runtime.forks import forkable

__all__ = ["Instances"]

_MOST_MEANINGS = 8


class Instances:
    """Instances by key. Lookups need no lock.

    `changed` is called after an instance was dropped."""

    def __init__(self, changed: Callable[[], Callable[[], None] | None]) -> None:
        self._of: dict[Any, tuple[Instance, ...]] = {}
        self._lock = forkable(RLock())  # held while the instances change: objects die on any thread
        self._changed = changed  # a weak reference, because the kernel owns this object

    def values(self) -> Iterator[Instance]:
        """All instances. Among those with the same key, the most recent one is last."""
        return (one for several in [*self._of.values()] for one in reversed(several))

    def plans(self, most: int) -> list[Plan]:
        """The plans that native code tries, in order: the most recent ones, then those of the variants for overlapping
        arguments, which accept any other arguments as well."""
        latest = [(one, kinds, plan) for one in self.values() for kinds, plan in [*one.plans.items()] if plan.good]
        latest = latest[-most:]
        careful = [one.careful.plans.get(kinds) for one, kinds, _ in latest if one.careful is not None]
        return [*(plan for _, _, plan in latest), *(plan for plan in careful if plan is not None and plan.good)]

    def will_warn(self) -> bool:
        """Whether a call of one of these gradients warns of old values, and none has warned yet."""
        saving = (one for one in self.values() if one.facts is not None and one.facts.saved)
        return any(not one.warned for one in saving)

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def latest(self, key: Any) -> Instance | None:
        """The most recently used instance of this key, if it is still valid."""
        several = self._of.get(key)
        return several[0] if several is not None and several[0].alive() else None

    def earlier(self, key: Any) -> Instance | None:
        """Find any valid instance of this key, and make it the most recent one."""
        with self._lock:
            before = self._of.get(key, ())
            found = next((one for one in before if one.alive()), None)
            if found is not None:
                self._of[key] = (found, *(one for one in before if one is not found))
            return found

    def add(self, key: Any, instance: Instance, watched: Iterable[Any]) -> None:
        """Add an instance as the most recent one. It is dropped when an object that it was compiled for is gone.
        `watched` are the objects in its key."""
        with self._lock:
            before = self._of.get(key, ())
            for one in before:
                if one.captures.containers:
                    one.forget_plans()  # plans keep the contents of containers alive
            kept = [one for one in before if not one.captures.keeps_more()]
            self._of[key] = (instance, *kept[: _MOST_MEANINGS - 1])
        mine = weakref.ref(instance)
        trees = (tree for ref in instance.trees if (tree := ref()) is not None)
        instance.guards = [
            *_guards(chain.from_iterable(map(told_by_identity, watched)), lambda _: self._drop(key)),
            *_guards(chain(trees, instance.captures.objects()), lambda _: self._drop(key, mine)),
        ]

    def _drop(
        self, key: Any, only: weakref.ref[Instance] | None = None, ends: Callable[[], bool] = sys.is_finalizing
    ) -> None:
        """Drop this instance, or all instances with this key if `only` is None."""
        if ends():  # at the end of Python, modules lose their globals
            return
        with self._lock:
            before = self._of.get(key, ())
            left = tuple(one for one in before if only is not None and one is not only())
            if left:
                self._of[key] = left
            else:
                self._of.pop(key, None)
        if len(left) < len(before) and (again := self._changed()) is not None:
            again()


def _guards(objects: Iterable[Any], drop: Callable[[Any], None]) -> Iterator[Any]:
    """Make weak references that call `drop` when one of the objects is gone. An object that cannot be referenced weakly
    is referenced strongly, so that no other object gets its identity."""
    for one in objects:
        try:
            yield weakref.ref(one, drop)
        except TypeError:
            yield one
