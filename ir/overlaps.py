"""The memory of a launch that must not overlap: the pairs of arguments, and of arguments and field trees, that a launch
compares (see docs/adr/0027).

A pair is two arrays of which one is written, or an array and a tree of which one is written. Memory that is only read
may have any number of names, and exposed memory may overlap freely.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from weft.ir.addresses import root_of
from weft.ir.ops import Arg, ArrayBase, Invoke, Kernel, Load, TreeBase
from weft.ir.tasks import accesses
from weft.ir.types import Array

__all__ = ["Apart", "apart", "span_of", "written_arrays"]


@dataclass(frozen=True)
class Apart:
    """What must not overlap: pairs of array parameters, and pairs of an array parameter and a tree."""

    arrays: tuple[tuple[int, int], ...]
    trees: tuple[tuple[int, int], ...]


def apart(kernel: Kernel) -> Apart:
    """The pairs of a lowered kernel."""
    if not any(isinstance(param.type, Array) for param in kernel.params):
        return Apart((), ())
    reads, writes = _arrays(kernel)
    arrays = sorted(k for k in reads | writes if not _is_exposed(kernel, k))
    used, written = _trees(kernel)
    return Apart(
        tuple((a, b) for a, b in combinations(arrays, 2) if a in writes or b in writes),
        tuple((a, tree) for a in arrays for tree in sorted(used) if a in writes or tree in written),
    )


def written_arrays(kernel: Kernel) -> tuple[int, ...]:
    """The array parameters that a lowered kernel writes, or passes to a function, which may write them."""
    return tuple(sorted(_arrays(kernel)[1]))


def span_of(kernel: Kernel, tree: int) -> tuple[int, int]:
    """The range of a tree that holds the fields of the kernel: the first byte, and the byte after the last."""
    spans = [symbol.path.span for symbol in kernel.fields if symbol.tree == tree]
    return min(low for low, _ in spans), max(high for _, high in spans)


def _is_exposed(kernel: Kernel, index: int) -> bool:
    type = kernel.params[index].type
    return isinstance(type, Array) and type.exposed


def _arrays(kernel: Kernel) -> tuple[set[int], set[int]]:
    """The array parameters that are read, and those that are written."""
    reads, writes = set[int](), set[int]()
    for op in accesses(kernel):
        root = root_of(op.ptr)
        if isinstance(root, ArrayBase):
            (reads if isinstance(op, Load) else writes).add(root.index)
    calls = kernel.all_of(Invoke)
    passed = [value for call in calls for value in call.values if isinstance(value.type, Array)]
    return reads, writes | {value.index for value in passed if isinstance(value, Arg)}


def _trees(kernel: Kernel) -> tuple[set[int], set[int]]:
    """The trees that are accessed, and those that are written."""
    used, written = set[int](), set[int]()
    for op in accesses(kernel):
        root = root_of(op.ptr)
        if isinstance(root, TreeBase):
            used.add(root.tree)
            written.update(() if isinstance(op, Load) else (root.tree,))
    names = {name for op in kernel.all_of(Invoke) for name in op.touched}
    called = {symbol.tree for symbol in kernel.fields if symbol.name in names}
    return used | called, written | called
