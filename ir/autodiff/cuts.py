"""Store or recompute: a minimum cut.

Each item of a computation can be computed again from the items it depends on, or kept from its first computation. Some
items are wanted. The cheapest choice is a minimum cut of a graph with two nodes for each item:

    source -> again      capacity: the price of computing it again
    again  -> wanted     capacity: the price of keeping it
    wanted of a dependency -> again of the dependent item, and wanted of an item that is wanted -> sink: infinite

Nodes behind the cut are what happens: `wanted` items are there when they are used, `again` items are computed again,
and an item that is wanted but not computed again is kept. Prices are not negative, and may be infinite.

Source: T. Lengauer, R. Tarjan and others on closures; J.-C. Picard, "Maximal closure of a graph and applications to
combinatorial problems" (1976). The maximum flow is found by Dinic's algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Choice", "choose"]

T = TypeVar("T", bound=Hashable)

_LEAST = 1e-9  # less room than that is none


@dataclass(frozen=True)
class Choice(Generic[T]):
    """The items that are kept, and those that are computed again."""

    kept: frozenset[T]
    again: frozenset[T]


def choose(
    depends: Mapping[T, Iterable[T]], wanted: Iterable[T], again: Callable[[T], float], keep: Callable[[T], float]
) -> Choice[T]:
    """The cheapest choice for the items `depends`, each with the items that it is computed from. `again` and `keep` are
    the prices of computing an item again and of keeping it. At least one of them must be finite for each item that is
    needed."""
    items = _needed(depends, wanted)
    number = {item: 2 * index + 2 for index, item in enumerate(items)}  # the node `again`; the one after it is `wanted`
    graph = _Graph(2 * len(items) + 2)
    for item, node in number.items():
        graph.connect(_SOURCE, node, again(item))
        graph.connect(node, node + 1, keep(item))
        for other in depends[item]:
            graph.connect(number[other] + 1, node, math.inf)
    for item in dict.fromkeys(wanted):
        graph.connect(number[item] + 1, _SINK, math.inf)
    before = graph.cut()
    behind = {item for item, node in number.items() if not before[node]}
    there = {item for item, node in number.items() if not before[node + 1]}
    return Choice(frozenset(there - behind), frozenset(there & behind))


def _needed(depends: Mapping[T, Iterable[T]], wanted: Iterable[T]) -> list[T]:
    """The wanted items and all that they depend on."""
    found: dict[T, None] = {}
    pending = list(wanted)
    while pending:
        item = pending.pop()
        if item not in found:
            found[item] = None
            pending += depends[item]
    return list(found)


_SOURCE, _SINK = 0, 1


@dataclass
class _Graph:
    """A flow network. Edge `e` goes to node `ends[e]` and has `room[e]` left; edge `e ^ 1` is its reverse."""

    size: int
    ends: list[int] = field(default_factory=list[int])
    room: list[float] = field(default_factory=list[float])
    edges: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.edges = [[] for _ in range(self.size)]

    def connect(self, start: int, end: int, capacity: float) -> None:
        """Add an edge."""
        for one, other, room in ((start, end, capacity), (end, start, 0.0)):
            self.edges[one].append(len(self.ends))
            self.ends.append(other)
            self.room.append(room)

    def cut(self) -> list[bool]:
        """Send the maximum flow. Gives for each node whether it is before the minimum cut."""
        while True:
            levels = self._levels()
            if levels[_SINK] < 0:
                return [level >= 0 for level in levels]
            self._fill(levels)

    def _levels(self) -> list[int]:
        """The distance of each node from the source, along edges with room; -1: there is no way."""
        levels = [-1] * self.size
        levels[_SOURCE] = 0
        reached = [_SOURCE]
        for node in reached:
            for edge in self.edges[node]:
                end = self.ends[edge]
                if levels[end] < 0 and self.room[edge] > _LEAST:
                    levels[end] = levels[node] + 1
                    reached.append(end)
        return levels

    def _fill(self, levels: list[int]) -> None:
        """Send flow along shortest ways until none is left."""
        following = [0] * self.size
        way = list[int]()
        node = _SOURCE
        while True:
            if node == _SINK:
                least = min(self.room[edge] for edge in way)
                for edge in way:
                    self.room[edge] -= least
                    self.room[edge ^ 1] += least
                way, node = [], _SOURCE
            elif following[node] < len(self.edges[node]):
                edge = self.edges[node][following[node]]
                if self.room[edge] > _LEAST and levels[self.ends[edge]] == levels[node] + 1:
                    way.append(edge)
                    node = self.ends[edge]
                else:
                    following[node] += 1
            elif way:
                node = self.ends[way.pop() ^ 1]
                following[node] += 1
            else:
                return
