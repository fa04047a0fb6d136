"""What reverse mode must compute: which values have an adjoint, and which values of the kernel the adjoints need.

A value is *active* if memory with a gradient flows into it and it flows into memory with a gradient. An op *acts* if
the backward sweep has something to do for it. A value is *needed* if the backward sweep uses it, or if computing a
needed value uses it: partial derivatives, conditions, bounds of loops, indices. A needed load of a local needs every
store to it. All else is left out.

The backward sweep of one iteration of a loop needs less: only what its own adjoints use. `Demand.reversal` says what.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from itertools import takewhile
from types import MappingProxyType
from typing import Any

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import Companions, active_values, carries, partials_of
from weft.ir.autodiff.exits import exits_of
from weft.ir.autodiff.functions import Form, writes_companions
from weft.ir.autodiff.structure import test_of
from weft.ir.autodiff.topology import Topology
from weft.ir.core import Block, Op, Value, ops_of
from weft.ir.registry import registers
from weft.ir.rewrite import Apply, Variable

__all__ = ["EXTREMES", "LOCALS", "NEEDS", "Demand", "indices_of", "needs", "reads_final", "updates_local", "values_in"]

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
    them. `needed`: ops of the forward sweep, with locals and stores to them. `writes`: the stores to each local.
    `topology`: the cells that the kernel activates and deactivates. `recorded`: values that are not computed again,
    since the launch records them (`records.py`), each with its number if it has one."""

    def __init__(
        self,
        kernel: ops.Kernel,
        companions: Companions,
        fast_math: bool,
        form: Form | None = None,
        recorded: Mapping[Op, Value | None] = MappingProxyType({}),
    ) -> None:
        self.kernel, self.companions, self.fast_math, self.recorded = kernel, companions, fast_math, recorded
        self.ops, self.topology = ops_of(kernel.body), Topology.of(kernel)
        self.numbers = {op: number for number, op in enumerate(self.ops)}
        self.writes: dict[Value, list[Any]] = {}
        for op in self.ops:
            if isinstance(op, (ops.Store, ops.Atomic)) and isinstance(root_of(op.ptr), LOCALS):
                self.writes.setdefault(root_of(op.ptr), []).append(op)
        self.varied = active_values(kernel, companions, () if form is None else form.arguments)
        self.active = self._useful(set() if form is None else {*form.seeds} & self.varied)
        self.acts = set[Op]()
        self._reversals: dict[Op, set[Value]] = {}
        self.exits: dict[Op, dict[Op, bool]] = {loop: exits_of(loop) for loop in kernel.all_of(ops.While)}
        self._known = {exit: loop for loop, exits in self.exits.items() for exit in exits}
        self._seed(() if form is None else form.results)

    # ---- what is active ----------------------------------------------------------------------------------------------

    def takes(self, ptr: Value) -> bool:
        """Whether the memory at an address has an adjoint."""
        root = root_of(ptr)
        return root in self.active or self.companions.has(root)

    def _useful(self, useful: set[Value]) -> set[Value]:
        grown = True
        while grown:
            before = len(useful)
            for op in reversed(self.ops):
                if isinstance(op, (ops.Store, ops.Atomic)):
                    root = root_of(op.ptr)
                    if root in useful or self.companions.has(root):
                        self._mark(op.value, useful)
                if op in useful or writes_companions(op, self.companions):
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

    def _seed(self, results: Iterable[Value]) -> None:
        for op in self.ops:
            if self._has_adjoint(op):
                self.acts.update((op, *op.around()))
        self.needed = self.closure(self.numbers, [*self.uses(), *results], None)

    def _has_adjoint(self, op: Op) -> bool:
        if isinstance(op, (ops.Store, ops.Atomic)):
            return self.takes(op.ptr) and carries(op.value.type)
        if writes_companions(op, self.companions):
            return True
        return op in self.active and not isinstance(op, (*LOCALS, ops.Arg))

    def uses(self, *within: Op) -> list[Value]:
        """What the adjoints of the ops in an op use; without one, those of the kernel."""
        inside = ops_of(*within[0].regions) if within else self.ops
        acting = [op for op in inside if op in self.acts]
        return [value for op in acting for value in self.uses_of(op, *within)]

    def uses_of(self, op: Op, scope: Op | None = None) -> list[Value]:
        """What the adjoint of an op that acts uses, without those of ops in it."""
        return self.decides(op, scope) if op.regions else [*NEEDS[type(op)](self, op)]

    def decides(self, op: Op, scope: Op | None = None) -> list[Value]:
        """What decides whether the ops in an op run. If the ops of a `scope` run again, conditions that may end a loop
        around it are known."""
        loop = self._known.get(op)
        if loop is not None and scope is not None and (scope is loop or scope.within(loop)):
            return []
        return [*op.operands, *([test_of(op)[0]] if isinstance(op, ops.While) else [])]

    def closure(self, inside: Container[Value], values: Iterable[Value], scope: Op | None) -> set[Value]:
        """The values of `inside`, the ops in `scope`, that are needed to compute these values, and they themselves."""
        found, pending = set[Value](), list(values)
        while pending:
            op = pending.pop()
            if op in found or op not in inside:
                continue
            found.add(op)
            assert isinstance(op, Op)
            for outer in op.around():
                if outer is scope:
                    break
                pending += self.decides(outer, scope)
            if op in self.recorded:
                number = self.recorded[op]
                pending += [] if number is None else [number]
                if not updates_local(op):
                    continue
            if isinstance(op, LOCALS):
                pending += self.writes.get(op, ()) if scope is None else ()
            elif isinstance(op, (ops.Load, ops.Store, ops.Atomic)):
                pending += (*indices_of(op.ptr), *op.operands[1:], *self._reaching(op, scope))
                if isinstance(root_of(op.ptr), LOCALS):
                    pending.append(root_of(op.ptr))
            else:
                pending += op.operands
        return found

    def _reaching(self, op: Op, scope: Op | None) -> list[Op]:
        """The writes to a local that an access reads, if the ops in `scope` run once."""
        if isinstance(op, ops.Store) or scope is None:
            return []
        writes = self.writes.get(root_of(op.operands[0]), ())
        around = list(takewhile(lambda outer: outer is not scope, op.around()))
        loops = [outer for outer in around if isinstance(outer, (ops.For, ops.While))]
        return [write for write in writes if self.before(write, op) or any(map(write.within, loops))]

    def before(self, op: Op, other: Op) -> bool:
        """Whether an op comes before another one in the program."""
        return self.numbers[op] < self.numbers[other]

    def reversal(self, op: Op) -> set[Value]:
        """What the backward sweep of the blocks of an op needs from inside of it. They begin with the locals that the
        op, or one iteration of it, began with."""
        known = self._reversals.get(op)
        if known is None:
            inside = dict.fromkeys(ops_of(*op.regions))
            known = self._reversals[op] = self.closure(inside, self.uses(op), op)
        return known

    def advance(self, loop: Op, state: list[Value], values: Iterable[Value] = ()) -> tuple[list[Value], set[Value]]:
        """What iterations of a loop need so that they can run again: more locals, and what computes the locals and
        these values."""
        inside = dict.fromkeys(ops_of(*loop.regions))
        while True:
            stores = [write for local in state for write in self.writes.get(local, ())]
            needed = self.closure(inside, [*stores, *values], loop)
            more = self.state(loop, needed)
            if all(local in state for local in more):
                return state, needed
            state = [*state, *(local for local in more if local not in state)]

    # ---- locals of a region ------------------------------------------------------------------------------------------

    def written(self, op: Op, needed: Container[Value] | None = None) -> set[Value]:
        """The locals from outside of `op` that needed ops of it write. `needed`: if not all that is needed counts."""
        needed = self.needed if needed is None else needed
        return {
            root_of(inner.ptr)
            for inner in _inside(op)
            if isinstance(inner, (ops.Store, ops.Atomic)) and inner in needed and _outside(root_of(inner.ptr), op)
        }

    def exposed(self, op: Op, needed: Container[Value]) -> list[Value]:
        """The locals from outside of `op` whose value at its beginning these ops of it need, in program order."""
        found: dict[Value, None] = {}
        for region in op.regions:
            self._exposed(region, needed, set(), found)
        return [local for local in found if _outside(local, op)]

    def state(self, loop: Op, needed: Container[Value]) -> list[Value]:
        """The locals that change from iteration to iteration of a serial loop, and that these ops of it need."""
        written = self.written(loop)
        run = test_of(loop)[0].ptr if isinstance(loop, ops.While) else None
        return [local for local in self.exposed(loop, needed) if local in written and local is not run]

    def _exposed(
        self, block: Block, needed: Container[Value], stored: set[Value], found: dict[Value, None]
    ) -> set[Value]:
        for op in block:
            if isinstance(op, ops.If):
                sides = [self._exposed(side, needed, set(stored), found) for side in (op.then, op.orelse)]
                stored |= sides[0] & sides[1]
            elif op.regions:
                for region in op.regions:
                    self._exposed(region, needed, set(stored), found)
                if isinstance(op, (ops.ParallelFor, ops.StructFor)):  # it updates locals that it does not load
                    updates = [root_of(one.ptr) for one in op.all_of(ops.Atomic) if one in needed]
                    found.update((local, None) for local in updates if local not in stored)
            elif op not in needed:
                continue
            elif isinstance(op, ops.Store):
                if isinstance(op.ptr, LOCALS):
                    stored.add(op.ptr)
            elif isinstance(op, ops.Load) and root_of(op.ptr) not in stored:
                found[root_of(op.ptr)] = None
        return stored


def reads_final(demand: Demand, op: ops.Atomic) -> bool:
    """Whether the adjoint of an atomic needs what is in memory after the loop. A minimum or maximum compares its
    operand with it. A product divides it by a factor that carries a derivative."""
    return op.kind in EXTREMES or (op.kind == "mul" and op.value in demand.active)


def updates_local(op: Op) -> bool:
    """Whether an op is an atomic on a local, which is run again for what it stores."""
    return isinstance(op, ops.Atomic) and isinstance(root_of(op.ptr), LOCALS)


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
    return [used for value, part in partials_of(op) if value in demand.active for used in values_in(op, part)]


def values_in(op: ops.Unary | ops.Binary, part: object) -> list[Value]:
    """The operands of an operator, and the op, that a partial derivative of it uses."""
    values = dict(zip("xy", op.operands, strict=False)) | {"r": op}
    return [values[name] for name in sorted(_variables(part))]


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


@needs(ops.Invoke)
def _invoke(_: Demand, op: ops.Invoke) -> list[Value]:
    return op.values


@needs(ops.Load, ops.Store)
def _access(_: Demand, op: ops.Load | ops.Store) -> list[Value]:
    return indices_of(op.ptr)


@needs(ops.Atomic)
def _atomic(demand: Demand, op: ops.Atomic) -> list[Value]:
    """What `reads_final` reads. A product multiplies the adjoint of the memory by its factor."""
    root = root_of(op.ptr)
    value = [op.value] if op.kind in (*EXTREMES, "mul") else []
    return [*indices_of(op.ptr), *value, *([root] if reads_final(demand, op) and isinstance(root, LOCALS) else [])]
