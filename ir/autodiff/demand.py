"""What reverse mode must compute: which values have an adjoint, and which values of the kernel the adjoints need.

A value is *active* if memory with a gradient flows into it and it flows into memory with a gradient. An op *acts* if
the backward sweep has something to do for it. A value is *needed* if the backward sweep uses it, or if computing a
needed value uses it: partial derivatives, conditions, bounds of loops, indices. A needed load of a local needs every
store to it. All else is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import Companions, active_values, carries, partials_of
from weft.ir.autodiff.structure import test_of
from weft.ir.core import Block, Op, Value, ops_of
from weft.ir.registry import registers
from weft.ir.rewrite import Apply, Variable

__all__ = ["EXTREMES", "LOCALS", "NEEDS", "Demand", "indices_of", "needs"]

LOCALS = (ops.Alloca, ops.SharedLocal)
EXTREMES = ("min", "max")

Needs = Callable[["Demand", Any], Iterable[Value]]
NEEDS: dict[type[Op], Needs] = {}  # the values that the adjoint of an op that acts needs
needs = registers(NEEDS)


def indices_of(ptr: Value) -> list[Value]:
    """The indices in an address."""
    found = list[Value]()
    while isinstance(ptr, (ops.ElementPtr, ops.MemberPtr)):
        found += ptr.operands[1:]
        ptr = ptr.base
    if isinstance(ptr, ops.ArrayPtr):
        found += ptr.indices
    elif isinstance(ptr, ops.FieldPtr):
        found += ptr.operands
    return found


class Demand:
    """The answers for one kernel without jumps. `varied`: what memory with a gradient flows into. `active`: that part
    of it, and of locals, that flows into memory with a gradient. `acts`: ops for the backward sweep, and all ops around
    them. `needed`: ops of the forward sweep, with locals and stores to them. `writes`: the stores to each local."""

    def __init__(self, kernel: ops.Kernel, companions: Companions, fast_math: bool) -> None:
        self.kernel, self.companions, self.fast_math = kernel, companions, fast_math
        self.ops = ops_of(kernel.body)
        self.writes: dict[Value, list[Any]] = {}
        for op in self.ops:
            if isinstance(op, (ops.Store, ops.Atomic)) and isinstance(root_of(op.ptr), LOCALS):
                self.writes.setdefault(root_of(op.ptr), []).append(op)
        self.varied = active_values(kernel, companions)
        self.active = self._useful()
        self.acts = set[Op]()
        self.needed = set[Value]()
        self._pending = list[Value]()
        self._seed()
        self._close()

    # ---- what is active ----------------------------------------------------------------------------------------------

    def takes(self, ptr: Value) -> bool:
        """Whether the memory at an address has an adjoint."""
        root = root_of(ptr)
        return root in self.active or self.companions.has(root)

    def _useful(self) -> set[Value]:
        useful, grown = set[Value](), True
        while grown:
            before = len(useful)
            for op in reversed(self.ops):
                if isinstance(op, (ops.Store, ops.Atomic)):
                    root = root_of(op.ptr)
                    if root in useful or self.companions.has(root):
                        self._mark(op.value, useful)
                if op in useful:
                    if isinstance(op, (ops.Load, ops.Atomic)) and isinstance(root_of(op.ptr), LOCALS):
                        self._mark(root_of(op.ptr), useful)
                    for value in _sources(op):
                        self._mark(value, useful)
            grown = len(useful) > before
        return useful

    def _mark(self, value: Value, useful: set[Value]) -> None:
        if value in self.varied:
            useful.add(value)

    # ---- what is needed ----------------------------------------------------------------------------------------------

    def _seed(self) -> None:
        for op in self.ops:
            if not self._has_adjoint(op):
                continue
            for value in NEEDS[type(op)](self, op):
                self._need(value)
            self._act(op)

    def _has_adjoint(self, op: Op) -> bool:
        if isinstance(op, (ops.Store, ops.Atomic)):
            return self.takes(op.ptr) and carries(op.value.type)
        return op in self.active and not isinstance(op, (*LOCALS, ops.Arg))

    def _act(self, op: Op) -> None:
        self._around(op)
        self.acts.update((op, *op.around()))

    def _around(self, op: Op) -> None:
        """What decides whether the op runs is needed."""
        for outer in op.around():
            if isinstance(outer, ops.While):
                self._need(test_of(outer)[0])
            for value in outer.operands:
                self._need(value)

    def _need(self, value: Value) -> None:
        if isinstance(value, Op) and value not in self.needed:
            self.needed.add(value)
            self._pending.append(value)

    def _close(self) -> None:
        while self._pending:
            op = self._pending.pop()
            assert isinstance(op, Op)
            self._around(op)
            if isinstance(op, LOCALS):
                for write in self.writes.get(op, ()):
                    self._need(write)
            elif isinstance(op, (ops.Load, ops.Store, ops.Atomic)):
                for value in (*indices_of(op.ptr), *op.operands[1:]):
                    self._need(value)
                if isinstance(root_of(op.ptr), LOCALS):
                    self._need(root_of(op.ptr))
            else:
                for value in op.operands:
                    self._need(value)

    # ---- locals of a region ------------------------------------------------------------------------------------------

    def written(self, op: Op) -> set[Value]:
        """The needed locals from outside of `op` that it writes."""
        return {
            root_of(inner.ptr)
            for inner in _inside(op)
            if isinstance(inner, (ops.Store, ops.Atomic)) and inner in self.needed and _outside(root_of(inner.ptr), op)
        }

    def exposed(self, op: Op) -> list[Value]:
        """The locals from outside of `op` whose value at its beginning is needed, in program order."""
        found: dict[Value, None] = {}
        for region in op.regions:
            self._exposed(region, set(), found)
        return [local for local in found if _outside(local, op)]

    def _exposed(self, block: Block, stored: set[Value], found: dict[Value, None]) -> set[Value]:
        for op in block:
            if isinstance(op, ops.If):
                sides = [self._exposed(side, set(stored), found) for side in (op.then, op.orelse)]
                stored |= sides[0] & sides[1]
            elif op.regions:
                for region in op.regions:
                    self._exposed(region, set(stored), found)
            elif op not in self.needed:
                continue
            elif isinstance(op, ops.Store):
                if isinstance(op.ptr, LOCALS):
                    stored.add(op.ptr)
            elif isinstance(op, ops.Load) and root_of(op.ptr) not in stored:
                found[root_of(op.ptr)] = None
        return stored


def _inside(op: Op) -> list[Op]:
    return [*ops_of(*op.regions)] if op.region_names else [op]


def _outside(local: Value, op: Op) -> bool:
    return isinstance(local, LOCALS) and not local.within(op)


def _sources(op: Op) -> list[Value]:
    """The operands from which a derivative flows into the value of an op."""
    if isinstance(op, (ops.Unary, ops.Binary)):
        return [value for value, _ in partials_of(op)]
    if isinstance(op, ops.Select):
        return [op.a, op.b]
    return [] if isinstance(op, (ops.Load, ops.Atomic)) else [*op.operands]


# ---- the values that an adjoint needs --------------------------------------------------------------------------------


@needs(ops.Unary, ops.Binary)
def _operator(demand: Demand, op: ops.Unary | ops.Binary) -> list[Value]:
    values = dict(zip("xy", op.operands, strict=False)) | {"r": op}
    names = {name for value, part in partials_of(op) if value in demand.active for name in _variables(part)}
    return [values[name] for name in sorted(names)]


def _variables(part: object) -> set[str]:
    if isinstance(part, Variable):
        return {part.name}
    return set[str]().union(*map(_variables, part.args)) if isinstance(part, Apply) else set()


@needs(ops.Select)
def _select(_: Demand, op: ops.Select) -> list[Value]:
    return [op.condition]


@needs(ops.MatMul)
def _matmul(demand: Demand, op: ops.MatMul) -> list[Value]:
    return [other for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)) if one in demand.active]


@needs(
    ops.Cast, ops.BitCast, ops.Splat, ops.Transpose, ops.Extract, ops.Member, ops.MakeTensor, ops.MakeStruct, ops.Reduce
)
def _linear(_: Demand, op: Op) -> list[Value]:
    return []


@needs(ops.Load, ops.Store)
def _access(_: Demand, op: ops.Load | ops.Store) -> list[Value]:
    return indices_of(op.ptr)


@needs(ops.Atomic)
def _atomic(_: Demand, op: ops.Atomic) -> list[Value]:
    """A minimum or maximum compares its operand with what is in memory after the loop."""
    if op.kind not in EXTREMES:
        return indices_of(op.ptr)
    root = root_of(op.ptr)
    return [*indices_of(op.ptr), op.value, *([root] if isinstance(root, LOCALS) else [])]
