"""A set of objects by identity, which keeps none of them alive."""

from __future__ import annotations

from weft.runtime.live_objects import LiveObjects


class Computing:
    """Its `==` computes something."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    def __hash__(self) -> int:
        return 1


def test_objects_are_told_apart_by_identity():
    ones, a, b = LiveObjects(), Computing(), Computing()
    for one in (a, b, a, b):
        ones.add(one)
    found = list(ones)
    assert len(found) == 2
    assert found[0] is a
    assert found[1] is b


def test_objects_are_not_kept():
    ones = LiveObjects()
    for _ in range(100):  # some have the identity of those that are gone
        one = Computing()
        ones.add(one)
        assert len(list(ones)) == 1
        del one
    assert list(ones) == []


def test_objects_may_come_during_a_loop():
    ones, kept = LiveObjects(), [Computing() for _ in range(10)]
    ones.add(kept[0])
    for _ in ones:
        for one in kept:
            ones.add(one)
    assert len(list(ones)) == 10
