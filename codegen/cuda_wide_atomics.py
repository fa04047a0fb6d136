"""Sums into neighbours in memory, by one instruction: Hopper and newer add two or four floats at once.

    atomic add %p + 0, %a            red.global.add.v2.f32 [%p], {%a, %b}
    atomic add %p + 4, %b     ->

Where nobody wants the old values, both are sums of f32 in one block at one base, the address is aligned to their size,
and nothing between them could tell. A scatter of vectors costs half as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.codegen.function import FunctionWriter
from weft.ir.artifact import CudaTarget
from weft.ir.core import Block, Op, Value
from weft.ir.ops import Address, Atomic, Const, Load, Task, TreeBase
from weft.ir.types import f32

__all__ = ["FIRST", "Runs", "runs_of", "write_run"]

FIRST = CudaTarget(90, 81)
_SIZE = 4
_WIDTHS = (4, 2)

Runs = dict[Op, "tuple[Atomic, ...]"]  # by each of its sums; written where the last one stands


def runs_of(task: Task) -> Runs:
    """The sums of the task that are written together."""
    found: Runs = {}
    for block in _blocks(task.body):
        for sums in _stretches(block):
            for run in _aligned(sums):
                found |= dict.fromkeys(run, run)
    return found


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for op in block:
        for region in op.regions:
            yield from _blocks(region)


def _stretches(block: Block) -> Iterator[list[Atomic]]:
    """Sums at one base with nothing in between that has an effect, or reads what may change."""
    open_at: dict[Value, list[Atomic]] = {}
    for op in block:
        if isinstance(op, Atomic) and _is_sum(op):
            assert isinstance(op.ptr, Address)
            open_at.setdefault(op.ptr.base, []).append(op)
        elif not op.pure and not (isinstance(op, Load) and op.invariant):
            yield from open_at.values()
            open_at = {}
    yield from open_at.values()


def _is_sum(op: Atomic) -> bool:
    return (
        op.kind == "add"
        and op.value.type is f32
        and not op.users
        and isinstance(op.ptr, Address)
        and not op.ptr.indices
    )


def _aligned(sums: Sequence[Atomic]) -> Iterator[tuple[Atomic, ...]]:
    """Runs of four or two neighbours whose first is aligned to the size of all."""
    places = dict[int, Atomic]()
    for one in sums:
        assert isinstance(one.ptr, Address)
        if one.ptr.offset in places:  # twice the same place: leave both
            return
        places[one.ptr.offset] = one
    for width in _WIDTHS:
        for first in sorted(places):
            run = [places.get(first + _SIZE * k) for k in range(width)]
            whole = tuple(one for one in run if one is not None)
            if len(whole) == width and _alignment(whole[0].ptr, _SIZE * width):
                for k in range(width):
                    del places[first + _SIZE * k]
                yield tuple(sorted(whole, key=list(sums).index))


def _alignment(ptr: Value, size: int) -> bool:
    """Whether the address is a multiple of `size`."""
    while isinstance(ptr, Address):
        strides = [int(stride.value) if isinstance(stride, Const) else 1 for stride in ptr.strides]
        if ptr.offset % size or any(stride % size for stride in strides):
            return False
        ptr = ptr.base
    return isinstance(ptr, TreeBase)


def write_run(f: FunctionWriter, run: Sequence[Atomic], op: Atomic) -> None:
    """The sums of a run: all of them at the last one."""
    if op is not run[-1]:
        return
    ordered = sorted(run, key=_offset)
    values = ", ".join(f"float {f.use(one.value)}" for one in ordered)
    f.do(f"call void @{_helper(f, len(run))}(ptr {f.use(ordered[0].ptr)}, {values})")


def _offset(op: Atomic) -> int:
    assert isinstance(op.ptr, Address)
    return op.ptr.offset


def _helper(f: FunctionWriter, width: int) -> str:
    name = f"weft_add_v{width}"
    takes = ", ".join(f"float %v{k}" for k in range(width))
    places = ", ".join(f"${k + 1}" for k in range(width))
    code = f'"red.relaxed.gpu.global.add.v{width}.f32 [$0], {{{places}}};", "l{",f" * width},~{{memory}}"'
    f.module.declarations.setdefault(
        name,
        f"define internal void @{name}(ptr %p, {takes}) nounwind alwaysinline {{\n"
        f"  %g = addrspacecast ptr %p to ptr addrspace(1)\n"
        f"  call void asm sideeffect {code}(ptr addrspace(1) %g, {takes})\n  ret void\n}}\n",
    )
    return name
