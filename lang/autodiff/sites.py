"""What a tape knows about the instance and the arrays of a launch.

The first launch of an instance under a tape makes a `Site`. Later launches with the same arrays find it, and native
code binds their arguments: this is what a recorded launch costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from weft.ir.errors import Span
from weft.lang.autodiff.accesses import Point
from weft.lang.autodiff.lost import Flow
from weft.lang.autodiff.memory import Memory
from weft.lang.autodiff.memory_use import Touch, Uses, uses_of
from weft.lang.autodiff.versions import Boxes, Record, Versions, Who
from weft.lang.calls.compile import Instance
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.struct_ndarray import StructNdarray
from weft.lang.kernels.launch import Launch, Replay, Target

__all__ = ["Site", "Sites", "Touches"]

_OWN = (Ndarray, StructNdarray, np.ndarray)  # arrays that keep their memory: others may be given another one


class _Write(NamedTuple):
    """Elements that launches overwrite. `at` is the number of their point. `saved`: the gradient of the launch needs
    the values from before it, of this memory."""

    at: int
    memory: Memory
    rank: int  # the number of axes
    axes: tuple[int, ...]  # those with one index
    boxes: Boxes
    span: Span | None
    saved: bool

    def touch(self, axes: tuple[int, ...], point: Point) -> Touch:
        """The elements with that point on these axes."""
        known = dict(zip(axes, point, strict=True))
        return Touch(self.memory, tuple(known.get(axis) for axis in range(self.rank)), self.span, self.saved)


class _Read(NamedTuple):
    """Elements that the gradients of launches need: the number of their point, and the table of such points."""

    at: int
    memory: Memory
    boxes: Boxes
    table: dict[Point, Who]
    who: Who


class Touches(NamedTuple):
    """What a launch writes, what its gradient reads, and all that it reads itself."""

    writes: list[Touch]
    needs: list[Touch]
    reads: list[Touch]


class Site:
    """What the launches of one instance with the same arrays read and write, for one tape. `uses` says what follows
    from the instance, and `flat` are the arguments of a launch, with these arrays."""

    def __init__(self, versions: Versions, kernel: str, uses: Uses, flat: Sequence[Any]) -> None:
        self.uses, self.kernel, self.flat = uses, kernel, flat
        self._versions, self._memory = versions, dict[str, Memory]()
        saved = {self.memory(place).key for place in uses.saved}  # two places may have one memory
        self.writes, self.reads = list[_Write](), list[_Read]()
        for at, one in enumerate(uses.writes):
            memory = self.memory(one.place)
            rank, axes = (0, ()) if memory.whole else (len(one.indices), one.axes)
            self.writes.append(_Write(at, memory, rank, axes, versions.boxes(memory), one.span, memory.key in saved))
        for at, one in enumerate(uses.every_read, len(uses.writes)):
            if uses.needs(one):
                memory = self.memory(one.place)
                boxes = versions.boxes(memory)
                table = boxes.table(() if memory.whole else one.axes)
                self.reads.append(_Read(at, memory, boxes, table, (f"kernel '{kernel}'", one.span)))
        memories = [*(one.memory for one in self.writes), *(one.memory for one in self.reads)]
        versions.know([Touch(memory, (), None, False) for memory in memories])
        versions.see(self.memory(one.place) for one in uses.every_read)
        self._whole = any(memory.whole for memory in memories)
        self._noted = False
        self._touches: Touches | None = None  # of every launch, if they are all alike
        self._flow: Flow | None = None

    def memory(self, place: str) -> Memory:
        """The memory of a field or a parameter."""
        known = self._memory.get(place)
        if known is None:
            known = self._memory[place] = self.uses.memory(place, self.flat)
        return known

    def touches(self, points: tuple[Point, ...] | None) -> Touches:
        """What a launch with these points touches. Launches that touch the same get the same object."""
        if self._touches is not None:
            return self._touches
        uses = self.uses
        made = Touches(
            *(uses.touched_at(one, points, self.memory) for one in (uses.writes, uses.reads, uses.every_read))
        )
        if not uses.needed:
            self._touches = made
        return made

    def flow(self) -> Flow:
        """Where derivatives end."""
        if self._flow is None:
            self._flow = Flow(self.uses, lambda place: self.memory(place).key)
        return self._flow

    def keep(self, record: Record, points: tuple[Point, ...] | None) -> None:
        """Copy what a launch is about to overwrite and gradients need. Without points, it may be all of the memory."""
        versions = self._versions
        for write in self.writes:
            axes, point = (write.axes, points[write.at]) if write.axes and points is not None else ((), ())
            who = write.boxes.meets_at(axes, point) if write.boxes.by_axes else None
            if versions.needs_copy(write.saved, who):
                versions.copy(record, f"kernel '{self.kernel}'", write.touch(axes, point), who)

    def need(self, points: tuple[Point, ...] | None) -> None:
        """Note what the gradient of a launch reads. Without points, it is all of the memory."""
        if self._noted:
            return
        if points is None:
            for read in self.reads:
                read.boxes.table(())[()] = read.who
            return
        if self._whole:
            for read in self.reads:
                read.table[() if read.memory.whole else points[read.at]] = read.who
        else:
            for at, _, _, table, who in self.reads:
                table[points[at]] = who
        self._noted = not self.uses.needed


class _Group:
    """The sites of one instance, by the arrays of the launch, and what runs bound launches."""

    def __init__(self, kernel: Any, instance: Instance) -> None:
        self.instance, self.uses = instance, uses_of(instance)
        self.arrays = self.uses.arrays
        self.only: Site | None = None  # the site, if the launches take no arrays
        self.sites: dict[tuple[int, ...], Site] = {}
        self._kernel = kernel
        self._target: Target | None = None

    def target(self) -> Target:
        """What runs bound launches."""
        if self._target is None:
            self._target = Target(self._kernel, self.instance)
        return self._target


class Sites:
    """The sites of one tape."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
        self._groups: dict[Any, _Group] = {}  # by the token of the instance
        self._targets: dict[Any, Target] = {}  # of launches that are made again, by the token of the instance

    def find(
        self, kernel: Any, gradient: Any, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[Any, Site, tuple[Point, ...] | None]:
        """The launch of the gradient of `kernel` with these arguments, to be made later: a `Replay` or a `Launch`; its
        site; and the points of what it accesses."""
        bound = gradient.bound(args, keywords)
        if type(bound) is not tuple:
            return self._slowly(kernel, bound)
        token, context = bound
        group = self._groups.get(token)
        if group is None:
            instance = token()
            if instance is None:  # another thread has dropped a field in the meantime
                return self._slowly(kernel, gradient.bind(args, keywords))
            group = self._group(gradient, instance)
        site = group.only
        if site is None:
            flat = gradient.plain(args, keywords)
            if flat is None and group.arrays:
                return self._slowly(kernel, gradient.bind(args, keywords))
            site = self._site(kernel, group, flat or ())
        return Replay(group.target(), context, args), site, group.uses.points(context)

    def came(self, kernel: Any, target: Target, context: bytes) -> tuple[Site, tuple[Point, ...] | None]:
        """The site and the points of a launch of `kernel` without arrays, whose gradient's target and context these
        are."""
        instance = target.instance
        group = self._groups.get(instance.token) or self._group(target.kernel, instance)
        return group.only or self._site(kernel, group, ()), group.uses.points(context)

    def again(self, kernel: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The launch of a kernel with these arguments, to be made again: a `Replay` or a `Launch`."""
        bound = kernel.bind(args, keywords) if kernel.results else kernel.bound(args, keywords)
        if type(bound) is not tuple:
            return bound
        token, context = bound
        target = self._targets.get(token)
        if target is None:
            target = self._targets[token] = Target(kernel, token())
        return Replay(target, context, args)

    def _slowly(self, kernel: Any, launch: Launch) -> tuple[Any, Site, tuple[Point, ...] | None]:
        """As `find`, where Python has bound the arguments."""
        group = self._groups.get(launch.instance.token) or self._group(launch.kernel, launch.instance)
        return launch, self._site(kernel, group, launch.flat), group.uses.points_for(launch.flat)

    def _group(self, gradient: Any, instance: Instance) -> _Group:
        group = self._groups[instance.token] = _Group(gradient, instance)
        return group

    def _site(self, kernel: Any, group: _Group, flat: Sequence[Any]) -> Site:
        arrays = [flat[position] for position in group.arrays]
        key = tuple(map(id, arrays))  # the site keeps the arrays
        site = group.sites.get(key)
        if site is None:
            site = Site(self._versions, kernel.__name__, group.uses, flat)
            if all(isinstance(one, _OWN) for one in arrays):
                group.sites[key] = site
            if not arrays:
                group.only = site
        return site
