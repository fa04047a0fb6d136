"""Watches of launches that begin and end while others do: the garbage collector may run a finalizer at any time, which
closes a block of `ti.ad` or the watch of something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from weft.lang.autodiff.contexts import seen_by
from weft.lang.measure import watching
from weft.runtime.direct import Watched


def first(_: Any, call: Any, args: Any, keywords: Any) -> Any:
    """A watch."""
    return call(*args, **keywords)


def second(_: Any, call: Any, args: Any, keywords: Any) -> Any:
    """Another watch."""
    return call(*args, **keywords)


@pytest.fixture(autouse=True)
def _no_watches() -> Iterator[None]:
    assert watching.watches == ()
    yield
    for one in (first, second):
        watching.end(one)


def during_the_next_tell(monkeypatch: pytest.MonkeyPatch, finalizer: Callable[[], None]) -> None:
    """Run the finalizer just before native code is told of watches, once."""
    tell, left = Watched.tell, [finalizer]

    def telling(now: int) -> None:
        if left:
            left.pop()()
        tell(now)

    monkeypatch.setattr(Watched, "tell", telling)


def test_a_block_closes_while_another_one_opens(monkeypatch: pytest.MonkeyPatch):
    def finalizer() -> None:
        with seen_by():
            found.append(len(watching.watches))

    def work() -> None:
        with seen_by():
            found.append(len(watching.watches))
        found.append(len(watching.watches))

    found = list[int]()
    during_the_next_tell(monkeypatch, finalizer)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20)
    assert (found, Watched._now) == ([1, 1, 0], 0)


def test_native_code_hears_of_the_latest_number(monkeypatch: pytest.MonkeyPatch):
    during_the_next_tell(monkeypatch, lambda: watching.begin(second))
    watching.begin(first)
    assert (watching.watches, Watched._now) == ((first, second), 2)
    during_the_next_tell(monkeypatch, lambda: watching.end(second))
    watching.end(first)
    assert (watching.watches, Watched._now) == ((), 0)


def test_a_watch_that_begins_while_another_one_ends_is_kept():
    class Collecting:
        """A watch; garbage is collected while it is looked for."""

        def __eq__(self, other: object) -> bool:
            if second not in watching.watches:
                watching.begin(second)
            return self is other

        __hash__ = object.__hash__
        __call__ = staticmethod(first)

    one = Collecting()
    watching.begin(first)
    watching.end(one)
    assert watching.watches == (first, second)
