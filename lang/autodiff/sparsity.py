"""Which numbers of a field the elements of other memory may depend on, after a function has run.

    y[i] = x[i + 1] - x[i - 1]
    z[i] = y[i] * y[i + 1]              z[i] depends on x[i - 1 .. i + 2]

A `Band` says that for one axis of the field: the index is that of an axis of the memory, plus a number in a range. It
follows from the indices in the kernels (`ir/autodiff/dependence.py`), and is never too small. None stands for all
indices of an axis."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.ir.autodiff.dependence import Access, Flow, Place, flows_of
from weft.ir.errors import WeftError
from weft.ir.pipeline import run_passes
from weft.ir.transforms.lower_tree import lower_tree
from weft.lang.autodiff.contexts import Block
from weft.lang.autodiff.memory import Copy, cells_around, memory_of
from weft.lang.autodiff.memory_use import uses_of
from weft.lang.autodiff.nesting import memory_in
from weft.lang.data.field import Field
from weft.lang.data.ndarray import Ndarray

__all__ = ["Band", "Bands", "Tracing"]

_ROUNDS = 8  # of a flow that reads what it writes, until all indices are assumed


@dataclass(frozen=True)
class Band:
    """The index on `axis` of the memory, plus a number from `low` to `high`. With a `modulus`, modulo it."""

    axis: int
    low: int
    high: int
    modulus: int = 0


Bands = tuple[Band | None, ...]  # one for each axis of the field


class Tracing(Block):
    """A block that finds the bands of all memory that depends on `variable`, and copies what it overwrites, so that
    `restart` gives memory the values from before the block."""

    records, whole, nests = False, True, True

    def __init__(self, variables: Sequence[Any]) -> None:
        self._bands = [{memory_of(v).key: _same(len(v.shape))} for v in variables]
        self._shapes = [tuple(v.shape) for v in variables]
        self._starts: dict[Hashable, Copy] = {}
        self._known = True  # whether the flows of all launches are known
        self.operated = False  # whether there was an operation of the library, which forward mode refuses

    def bands(self, number: int, memory: Any) -> Bands | None:
        """On which numbers of a variable memory depends. None: on none of them."""
        axes = len(self._shapes[number])
        if not self._known:
            return (None,) * axes
        return self._bands[number].get(memory_of(memory).key)

    def restart(self) -> None:
        """Give memory the values that it had before the block. (A copy of a sparse field activates cells that were
        active when it was made. So the cells of its tree, which are copied before it, come last.)"""
        for copy in reversed(self._starts.values()):
            copy.put_back()

    def launch(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Follow a launch. (A `Context`.)"""
        if kernel.mode:
            raise WeftError(f"{kernel.__name__}() is launched in a function that is differentiated: launch the kernel")
        launch = kernel.bind(args, keywords)
        uses = uses_of(launch.instance)
        for place in {access.place for access in uses.writes}:
            self._keep(uses.memory(place, launch.flat))
        places = {access.place for access in (*uses.writes, *uses.every_read)}
        self._meet(uses.memory(place, launch.flat) for place in places)
        flows = _flows(launch.instance)
        self._known = self._known and flows is not None
        for bands, shape in zip(self._bands, self._shapes, strict=True):
            for flow in flows or ():
                _follow(flow, lambda name: _key(name, uses, launch.flat), bands, shape)
            for name in [one for one in bands if isinstance(one, str)]:  # locals of this kernel
                del bands[name]
        return call(*args, **keywords)

    def launch_derivative(self, launch: Any, run: Callable[[], Any]) -> Any:
        """A launch of a derivative: nothing is known of it. (A `Context`.)"""
        self._known = False
        for one in memory_in(launch, uses_of(launch.instance)):
            self._keep(memory_of(one))
        return run()

    def plainly(self, launch: Any) -> Any:
        """A kernel with derivatives of its own: nothing is known of them. (A `Context`.)"""
        self._known = self._known and launch is None
        return super().plainly(launch)

    def operate(self, operation: Any, run: Callable[[], Any]) -> Any:
        """An operation of the library: nothing is known of it. (A `Listener`.)"""
        self._known, self.operated = False, True
        for memory in operation.writes:
            self._keep(memory_of(memory))
        return run()

    operate_beside = operate

    def insert(self, gradient: Callable[[], Any]) -> None:
        """Nothing. (A `Context`.)"""

    def beside(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """As `launch`. (A `Context`.)"""
        return self.launch(kernel, call, args, keywords)

    def write(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """Python writes all elements: the bands of the source hold for the target, too. (A `Listener`.)"""
        del again
        self._keep(memory_of(target))
        self._meet(memory_of(one) for one in (target, source) if one is not None)
        for bands, shape in zip(self._bands, self._shapes, strict=True):
            found = None if source is None else bands.get(memory_of(source).key)
            if found is not None:
                _extend(bands, memory_of(target).key, found, shape)

    overwrite = write

    def write_element(self, target: Any, index: tuple[int, ...], part: Any, again: Callable[[], None]) -> None:
        """Python writes a number, which depends on nothing. (A `Listener`.)"""
        del index, part, again
        self._keep(memory_of(target))

    def _meet(self, memories: Iterable[Any]) -> None:
        """Nothing is known of accesses through views, since their indices are not those of the memory."""
        views = [one for one in memories if one.whole and isinstance(one.owner, Field | Ndarray)]
        self._known = self._known and not views

    def _keep(self, memory: Any) -> None:
        for one in (cells_around(memory.owner), memory):
            if one is not None and one.key not in self._starts:
                self._starts[one.key] = Copy.of(one)


def _same(axes: int) -> Bands:
    return tuple(Band(axis, 0, 0) for axis in range(axes))


_known: weakref.WeakKeyDictionary[Any, list[Flow] | None] = weakref.WeakKeyDictionary()


def _flows(instance: Any) -> list[Flow] | None:
    """The flows of a kernel, found at the first call."""
    if instance not in _known:
        recipe = instance.recipe
        lowered = lower_tree(recipe.translate().tree, recipe.config)
        names = ("infer_types", "expand_derivatives", "full_simplify")
        _known[instance] = flows_of(run_passes(lowered, names, recipe.config, level="untyped"))
    return _known[instance]


def _key(name: str, uses: Any, flat: Sequence[Any]) -> Hashable:
    """The key of memory that a flow names."""
    return name if name.startswith("local") else uses.memory(name, flat).key


def _follow(flow: Flow, key: Callable[[str], Hashable], bands: dict[Hashable, Bands], shape: tuple[int, ...]) -> None:
    """Extend the bands of what a flow writes by those of what it reads, until nothing changes."""
    reads = [(key(one.memory), one) for one in flow.reads]
    writes = [(key(one.memory), one) for one in flow.writes]
    for round in range(_ROUNDS + 1):
        before = dict(bands)
        for source, read in reads:
            if (found := before.get(source)) is None:
                continue
            for target, write in writes:
                made = _composed(found, read, write, shape)
                _extend(bands, target, (None,) * len(shape) if round == _ROUNDS else made, shape)
        if bands == before:
            return


def _composed(found: Bands, read: Access, write: Access, shape: tuple[int, ...]) -> Bands:
    """The bands of what a write stores, if it depends on what is read, which has these bands."""
    return tuple(_one(band, read, write, extent) for band, extent in zip(found, shape, strict=True))


def _one(band: Band | None, read: Access, write: Access, extent: int) -> Band | None:
    if band is None or band.axis >= len(read.places):
        return None
    at = read.places[band.axis]
    if at is None:
        return None
    axis = next((k for k, one in enumerate(write.places) if one is not None and one.loop == at.loop), None)
    if axis is None:
        return None
    there = write.places[axis]
    assert there is not None
    modulus = _common([band.modulus, at.modulus, there.modulus])
    if modulus is None:
        return None
    place = Place(0, band.low + at.low - there.high, band.high + at.high - there.low, modulus).centred()
    return _checked(Band(axis, place.low, place.high, modulus), extent)


def _common(moduli: Sequence[int]) -> int | None:
    """The only modulus that is not 0, if there is no other one."""
    found = {one for one in moduli if one}
    return None if len(found) > 1 else next(iter(found), 0)


def _checked(band: Band, extent: int) -> Band | None:
    """The band. None if it has all indices, or counts modulo another number than their number."""
    return None if band.high - band.low + 1 >= extent or band.modulus not in (0, extent) else band


def _extend(bands: dict[Hashable, Bands], key: Hashable, more: Bands, shape: tuple[int, ...]) -> None:
    known = bands.get(key)
    if known is None:
        bands[key] = more
    elif known != more:
        bands[key] = tuple(_hull(a, b, extent) for a, b, extent in zip(known, more, shape, strict=True))


def _hull(a: Band | None, b: Band | None, extent: int) -> Band | None:
    if a is None or b is None or a.axis != b.axis:
        return None
    modulus = _common([a.modulus, b.modulus])
    if modulus is None:
        return None
    return _checked(replace(a, low=min(a.low, b.low), high=max(a.high, b.high), modulus=modulus), extent)
