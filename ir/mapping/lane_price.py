"""Estimates the cost of running a body serially and the cost of running it in lanes, in rough units of one arithmetic
instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weft.ir.addresses import root_of
from weft.ir.core import Block, Op, Value, ops_of
from weft.ir.mapping.cost import SLOW, TRANSCENDENTAL, trips
from weft.ir.mapping.rows import is_row, likely_stride
from weft.ir.mapping.tiles import Tiles, tile_price
from weft.ir.ops import (
    Address,
    Alloca,
    Atomic,
    Binary,
    Break,
    Cast,
    Const,
    Continue,
    For,
    If,
    Load,
    Random,
    Select,
    Store,
    Unary,
    While,
)
from weft.ir.tasks import is_masked, usual_ops
from weft.ir.types import Pointer, Prim, element, f32
from weft.ir.uniform import FAMILY, Uniformity

__all__ = ["LANE_PRICES", "Price", "is_chained", "is_straight", "over_root", "scalar_price"]

_GATHER, _SCATTER, _ATOMIC = 1.5, 5.0, 16.0  # an access lane by lane
_GUESS, _LEAVE = 15.0, 30.0  # an occasional misprediction; one at the end of a loop whose length varies
_UNROLLED = 8  # the longest loop that LLVM unrolls and vectorizes like a longer one, in iterations
_ROW = 4.0  # an access to one part of each of adjacent cells


class Price:
    """The cost of a single iteration, and the cost of a vector of iterations. `folds` holds the loops that would run in
    lanes if the iterations of the task did not, and the cost of a run of each."""

    def __init__(
        self, facts: Uniformity, lanes: int, bits: int, vector_math: bool, folds: Mapping[For, float] | None = None
    ) -> None:
        self.facts, self.lanes, self.bits, self.vector_math = facts, lanes, bits, vector_math
        self.folds, self.gather, self.tiles = folds or {}, _GATHER, Tiles(bits == 512)
        self.scalar_cost = self.lanes_cost = 0.0

    def block(self, block: Block, alone: float, vectors: float) -> None:
        """Add the cost of a block that one iteration runs `alone` times and a vector of lanes runs `vectors` times."""
        for op in block:
            if not op.region_names:
                scalar, vector = self._op(op)
                self.scalar_cost += alone * scalar
                self.lanes_cost += vectors * vector
            elif isinstance(op, If):
                self._if(op, alone, vectors)
            elif isinstance(op, (For, While)):
                self._loop(op, alone, vectors)

    def _if(self, op: If, alone: float, vectors: float) -> None:
        """A single iteration runs one branch and sometimes mispredicts. A vector mostly runs both branches."""
        if is_masked(op):
            self.block(op.then, alone, vectors)
            return
        leaves = any(isinstance(inner, (Break, Continue)) for side in op.regions for inner in side)
        varies = self.facts.varies(op.condition)
        self.scalar_cost += alone * (1 if leaves or not varies else _GUESS)
        self.lanes_cost += vectors * (2 if varies else 1)
        for side in op.regions:
            self.block(side, alone * (1 if leaves else 0.6), vectors * (1 if varies else 0.6))

    def _loop(self, op: For | While, alone: float, vectors: float) -> None:
        """Lanes iterate until the last one is done."""
        divergent, count = op in self.facts.divergent, trips(op)
        if isinstance(op, For) and any(self.facts.varies(x) for x in (op.begin, op.end)):
            self.scalar_cost += alone * _LEAVE
        before = self.scalar_cost
        self.block(op.body, alone * count, vectors * count * (1.4 if divergent else 1.0))
        self.lanes_cost += vectors * count * (2 if divergent else 1)
        if isinstance(op, For) and (price := self._run(op, count)) is not None:
            self.scalar_cost = before + alone * price

    def _run(self, op: For, count: float) -> float | None:
        """The cost of a run of an inner loop in one iteration, if the loop runs in lanes or as LLVM vectorizes it."""
        by_llvm = (
            self.vector_math and is_straight(op.body) and not is_chained(op) and (count >= 16 or count == _UNROLLED)
        )
        if op in self.folds and not (by_llvm and count == _UNROLLED):
            return self.folds[op]
        return count * self._by_llvm(op, int(min(count, self.lanes))) if by_llvm else None

    def _by_llvm(self, op: For, width: int) -> float:
        """The cost of one iteration of an inner loop without branches that LLVM vectorizes along the
        loop's own index."""
        cost = 0.0
        for inner in usual_ops(op.body):
            if isinstance(inner, (Load, Store)):
                cost += _stride_cost(inner.ptr, op, width)
            else:
                cost += min(self._op(inner)[0], self._vector(inner) / width)
        return cost + 1 / width

    def _op(self, op: Op) -> tuple[float, float]:
        """The cost of an op without regions: for a single iteration, and for a vector."""
        found = LANE_PRICES.get(type(op))
        return (0.0, 0.0) if found is None else found(self, op)

    def _atomic(self, op: Atomic) -> tuple[float, float]:
        meet = self.facts.step(op.ptr) == 0 and not op.users
        return 4.0, (16.0 if meet else self.lanes * _ATOMIC)

    def _operator(self, op: Op) -> tuple[float, float]:
        scalar = scalar_price(op)
        return scalar, (self._vector(op) if self.facts.step(op) is None else scalar)

    def _random(self, op: Random) -> tuple[float, float]:
        return 60.0, 60.0 * self.lanes

    def _vector(self, op: Op) -> float:
        pieces = self._pieces(op)
        if not isinstance(op, (Binary, Unary)):
            return pieces
        scalar = scalar_price(op)
        if self.vector_math and self.bits == 512 and over_root(op) is not None:
            return 7.0 * pieces
        if op.kind == "sqrt" and all(
            isinstance(user, Binary) and over_root(user) is op.operands[0] for user in op.users
        ):
            return 0.0
        whole = isinstance(op.operands[0].type, Prim) and op.operands[0].type.is_int
        if op.kind in TRANSCENDENTAL or op.kind in ("pow", "atan2"):
            return scalar * pieces if self.vector_math else (scalar + 2) * self.lanes
        if scalar > 1 and whole:  # no vector instruction divides integers
            return 2.0 if isinstance(op.operands[-1], Const) else (scalar + 2) * self.lanes
        return scalar * pieces

    def _pieces(self, op: Op) -> float:
        type = op.operands[0].type if op.operands else op.type
        width = type.bits if isinstance(type, Prim) else 64
        return max(1.0, self.lanes * max(width, 32) / self.bits)

    def _access(self, op: Load | Store) -> tuple[float, float]:
        step, type = self.facts.step(op.ptr), op.ptr.type
        if isinstance(op.ptr, Alloca):
            return 0.0, 0.0
        if self.facts.is_split(op.ptr):
            return 1.0, (1.0 if step == 0 else self.lanes * _GATHER)
        if step == 0 and not (isinstance(op, Store) and self.facts.varies(op.value)):
            return 1.0, 1.0
        assert isinstance(type, Pointer)
        if isinstance(type.elem, Prim) and step == type.elem.size:
            return 1.0, 1.5
        if isinstance(op, Load) and likely_stride(self.facts, op.ptr):
            return 1.0, _ROW
        if isinstance(op, Store) and step is not None and isinstance(type.elem, Prim) and is_row(step, type.elem):
            return 1.0, _ROW
        if group := self.tiles.group(self.facts, op):
            return 1.0, tile_price(group, self.lanes)
        return 1.0, self.lanes * (self.gather if isinstance(op, Load) else _SCATTER)


LANE_PRICES: dict[type[Op], Callable[[Price, Any], tuple[float, float]]] = {
    Load: Price._access,
    Store: Price._access,
    Atomic: Price._atomic,
    Binary: Price._operator,
    Unary: Price._operator,
    Select: Price._operator,
    Cast: Price._operator,
    Random: Price._random,
}


def is_straight(block: Block) -> bool:
    """Whether the block has no control flow."""
    return not any(
        isinstance(op, (For, While, Atomic, Break, Continue)) or (isinstance(op, If) and not is_masked(op))
        for op in usual_ops(block)
    )


def is_chained(loop: For | While) -> bool:
    """Whether an iteration depends on the previous one, apart from sums."""
    locals = {op.ptr for op in ops_of(loop.body) if isinstance(op, Store) and _is_outside(root_of(op.ptr), loop)}
    return any(not _is_sum(user) for local in locals for user in local.users if user.within(loop))


def _is_outside(root: Value, loop: Op) -> bool:
    return isinstance(root, Alloca) and not root.within(loop)


def _is_sum(user: Op) -> bool:
    """Whether the op is the load or the store of a sum."""
    total = user.value if isinstance(user, Store) else next(iter(user.users)) if len(user.users) == 1 else None
    return isinstance(total, Binary) and total.kind in FAMILY


def _stride_cost(ptr: Value, loop: For, width: int) -> float:
    """The cost of a load or store in a vectorized inner loop: loop-invariant, adjacent, strided, or at any address."""
    if isinstance(ptr, Alloca):
        return 0.0
    stride = _along(ptr, loop)
    if stride is None:
        return _GATHER
    return 0.0 if stride == 0 else max(1.0, stride / 4) / width if stride <= 16 else _GATHER


def _along(value: Value, loop: For) -> int | None:
    """The difference of the value between two iterations of the loop, or None if it is not constant."""
    if value is loop.body.args[0]:
        return 1
    if not isinstance(value, Op) or value.block is not loop.body:
        return 0
    if isinstance(value, Cast):
        return _along(value.x, loop)
    if isinstance(value, Binary) and value.kind in ("add", "sub"):
        a, b = _along(value.lhs, loop), _along(value.rhs, loop)
        return None if a is None or b is None else a + b if value.kind == "add" else a - b
    if isinstance(value, Address):
        total = _along(value.base, loop)
        for index, stride in zip(value.indices, value.strides, strict=True):
            step = _along(index, loop)
            if step and not isinstance(stride, Const):
                return None
            total = None if step is None or total is None else total + step * _constant(stride)
        return total
    return 0 if all(_along(x, loop) == 0 for x in value.operands) and value.pure else None


def _constant(value: Value) -> int:
    return int(value.value) if isinstance(value, Const) else 0


def scalar_price(op: Op) -> float:
    """The cost of one op in a single iteration."""
    if not isinstance(op, (Binary, Unary)):
        return 1.0
    if op.kind == "rsqrt":
        return 12.0
    return 20.0 if op.kind in TRANSCENDENTAL or op.kind in ("pow", "atan2") else 6.0 if op.kind in SLOW else 1.0


def over_root(op: Binary | Unary) -> Value | None:
    """The x of `y / sqrt(x)` and of `rsqrt(x)`, for floats."""
    if element(op.type) is not f32:
        return None
    if isinstance(op, Unary):
        return op.x if op.kind == "rsqrt" else None
    root = op.rhs
    return root.x if op.kind == "div" and isinstance(root, Unary) and root.kind == "sqrt" else None
