"""Turns the scatters of a gradient into gathers: the adjoint of a stencil is the transposed stencil.

`autodiff/stencils.py` says which additions form a stencil, and states what makes the rewrite legal.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.autodiff.stencils import Loop, Path, Stencil, own_additions, stencils_of
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Op, Value
from weft.ir.intervals import interval
from weft.ir.passes import pass_
from weft.ir.types import i32, pointer

__all__ = ["gather_adjoints"]


@pass_("gather_adjoints")
def gather_adjoints(root: ops.Kernel, config: CompileConfig) -> bool:
    """Before and after:

        parallel_for (%i) in [0, %n) {                    parallel_for (%e) in [max(0, 1) - 1, min(%n, 63) + 1) {
          %v = load @y.grad[%i]                             %s = load @x.grad[%e]
          store @y.grad[%i], 0                              if %e + 1 < %n { %s += load @y.grad[%e + 1] }
          atomic add @x.grad[%i - 1], %v             =>     if %e - 1 >= 0 { %s += load @y.grad[%e - 1] }
          atomic add @x.grad[%i + 1], %v                    store @x.grad[%e], %s }
        }                                                 parallel_for (%i) in [0, %n) { store @y.grad[%i], 0 }

    The gather has no atomics, and its sums are equal from run to run. It runs over the elements of the field that the
    iterations can reach, so additions outside of the field are dropped, as the memory model says. An element is loaded
    and stored even if no iteration in the box adds to it.

    The pass needs at least two offsets. `demote_atomics` handles one. It skips contributions that cost more to compute
    anew than atomics do, which run without lanes, serial loops, functions, and fields whose elements do not all exist.
    It does nothing if accesses are checked, because the checks are those of the original additions. `differentiate`
    runs it on gradients that are simplified.
    """
    checked = config.debug or config.boundary_check or config.check_nan or config.check_overflow
    if checked or not config.advanced_optimization or root.called:
        return False
    gradients: set[object] = {one for symbol in root.fields for one in (symbol.grad, symbol.grad2) if one is not None}
    gradients.update(index for index, param in enumerate(root.params) if param.hidden in ("grad", "grad2"))
    changed = False
    for loop in root.body if gradients else ():
        if isinstance(loop, (ops.ParallelFor, ops.StructFor)):
            for stencil in stencils_of(loop, gradients, config.traits.lanes):
                _Gather(loop, stencil).emit()
                changed = True
            for addition in own_additions(loop, gradients):
                _demote(addition)
                changed = True
    return changed


def _demote(addition: ops.Atomic) -> None:
    build = Builder.at(addition)
    total = ops.Binary(addition.kind, build.add(ops.Load(addition.ptr)), addition.value)
    build.add(ops.Store(addition.ptr, build.add(total)))
    addition.erase()


class _Gather:
    """Emits the gather of one stencil before its loop."""

    def __init__(self, loop: Loop, stencil: Stencil) -> None:
        self.loop, self.stencil, self.outer = loop, stencil, Builder.at(loop)
        axes = len(loop.body.args)
        root = stencil.root
        order = root.field.order if isinstance(root, ops.FieldPtr) and root.field.order else range(len(root.indices))
        axis_at = {position: axis for axis, position in enumerate(stencil.positions)}
        self.order = [axis_at[position] for position in order if position in axis_at]  # of the axes of the new loop
        self.least = [min(0, *(offset[axis] for offset in stencil.offsets)) for axis in range(axes)]
        self.most = [max(0, *(offset[axis] for offset in stencil.offsets)) for axis in range(axes)]
        self.begins, self.ends = self._iterations()

    def emit(self) -> None:
        """Emit the gather, and remove the additions."""
        begins, ends = self._box()
        elements = [BlockArg(i32, self.loop.body.args[axis].name) for axis in range(len(self.order))]
        body = Block([elements[axis] for axis in self.order])
        axes = [begins[axis] for axis in self.order], [ends[axis] for axis in self.order]
        self.outer.add(ops.ParallelFor(*axes, self.loop.config, body))
        inner = Builder(body, None, self.loop.span)
        places = self._places(inner, elements)
        sums: dict[Path, Value] = {}
        for path, place in places.items():
            value = inner.add(ops.Load(place))
            sums[path] = inner.add(ops.Alloca(type=pointer(value.type)))
            inner.add(ops.Store(sums[path], value))
        for offset in self.stencil.offsets:
            self._contribute(inner, elements, offset, sums)
        for path, place in places.items():
            inner.add(ops.Store(place, inner.add(ops.Load(sums[path]))))
        for addition in self.stencil.additions:
            addition.op.erase()

    # ---- boxes -------------------------------------------------------------------------------------------------------

    def _number(self, value: int) -> Value:
        return self.outer.add(ops.Const(value, type=i32))

    def _iterations(self) -> tuple[list[Value], list[Value]]:
        """The box of the loop."""
        if isinstance(self.loop, ops.ParallelFor):
            return list(self.loop.begins), list(self.loop.ends)
        symbol = self.loop.field
        first = symbol.offset or (0,) * len(symbol.shape)
        begins = [self._number(start) for start in first]
        return begins, [self._number(start + count) for start, count in zip(first, symbol.shape, strict=True)]

    def _extent(self, position: int) -> tuple[Value, Value]:
        """The first index of the field or array in that position, and the one after its last."""
        root = self.stencil.root
        if isinstance(root, ops.FieldPtr):
            start = root.field.offset[position] if root.field.offset else 0
            return self._number(start), self._number(start + root.field.shape[position])
        return self._number(0), self.outer.add(ops.ArrayShape(self._invariant(self.outer, root.array), position))

    def _box(self) -> tuple[list[Value], list[Value]]:
        """The elements that the iterations can reach. No sum wraps around: the extent of the field limits the box of
        the iterations before an offset is added."""
        begins, ends = list[Value](), list[Value]()
        add, number = self.outer.add, self._number
        for axis, position in enumerate(self.stencil.positions):
            first, end = self._extent(position)
            least, most = number(self.least[axis]), number(self.most[axis])
            low = add(ops.Binary("max", self.begins[axis], add(ops.Binary("sub", first, least))))
            high = add(ops.Binary("min", self.ends[axis], add(ops.Binary("sub", end, most))))
            begins.append(add(ops.Binary("add", low, least)))
            ends.append(add(ops.Binary("add", high, most)))
        tests = [test for position in self.stencil.invariant for test in self._inside(position)]
        if tests:
            ends[0] = add(ops.Select(_all(self.outer, tests), ends[0], begins[0]))
        return begins, ends

    def _inside(self, position: int) -> list[Value]:
        """Whether an index that the loop does not change is in the field: else there are no elements."""
        index, (first, end) = self._invariant(self.outer, self.stencil.invariant[position]), self._extent(position)
        return [*_from(self.outer, index, first), *_below(self.outer, index, end)]

    def _invariant(self, build: Builder, value: Value) -> Value:
        """A value that the loop does not change, computed elsewhere."""
        if not isinstance(value, Op) or not value.within(self.loop):
            return value
        return build.add(value.clone({operand: self._invariant(build, operand) for operand in value.operands}))

    # ---- bodies ------------------------------------------------------------------------------------------------------

    def _places(self, inner: Builder, elements: list[BlockArg]) -> dict[Path, Value]:
        """The address of each part of an element that is added to."""
        root, stencil = self.stencil.root, self.stencil
        indices = {position: self._invariant(inner, index) for position, index in stencil.invariant.items()}
        indices |= {position: elements[axis] for axis, position in enumerate(stencil.positions)}
        ordered = [indices[position] for position in range(len(root.indices))]
        place: Value = inner.add(
            ops.FieldPtr(root.field, ordered)
            if isinstance(root, ops.FieldPtr)
            else ops.ArrayPtr(self._invariant(inner, root.array), ordered)
        )
        return {path: self._part(inner, place, path) for path in stencil.paths}

    def _part(self, inner: Builder, place: Value, path: Path) -> Value:
        addition = next(one for one in self.stencil.additions if one.path == path)
        steps, ptr = list[ops.ElementPtr | ops.MemberPtr](), addition.op.ptr
        while isinstance(ptr, (ops.ElementPtr, ops.MemberPtr)):
            steps.append(ptr)
            ptr = ptr.base
        for step, numbers in zip(reversed(steps), path, strict=True):
            if isinstance(step, ops.MemberPtr):
                place = inner.add(ops.MemberPtr(place, step.index))
            else:
                indices: list[Value] = [inner.add(ops.Const(number, type=i32)) for number in numbers]
                place = inner.add(ops.ElementPtr(place, indices))
        return place

    def _contribute(
        self, inner: Builder, elements: list[BlockArg], offset: tuple[int, ...], sums: dict[Path, Value]
    ) -> None:
        """Emit the additions of the iteration that has the element at that offset, if it is in the box."""
        values, tests = dict[Value, Value](), list[Value]()
        for axis, arg in enumerate(self.loop.body.args):
            index: Value = elements[axis]
            if offset[axis]:
                index = inner.add(ops.Binary("add", index, inner.add(ops.Const(-offset[axis], type=i32))))
            if offset[axis] > self.least[axis]:
                tests += _from(inner, index, self.begins[axis])
            if offset[axis] < self.most[axis]:
                tests += _below(inner, index, self.ends[axis])
            values[arg] = index
        if tests:
            inner = Builder(inner.add(ops.If(_all(inner, tests))).then, None, self.loop.span)
        additions = {one.op: sums[one.path] for one in self.stencil.additions if one.offset == offset}
        _copy(self.loop.body, inner, self.stencil.needed[offset], values, additions)


def _from(build: Builder, index: Value, first: Value) -> list[Value]:
    """The test that an index is not below the first one, where that is not known."""
    return [build.add(ops.Binary("ge", index, first))] if interval(index)[0] < interval(first)[1] else []


def _below(build: Builder, index: Value, end: Value) -> list[Value]:
    """The test that an index is below an end, where that is not known."""
    return [build.add(ops.Binary("lt", index, end))] if interval(index)[1] >= interval(end)[0] else []


def _all(build: Builder, tests: list[Value]) -> Value:
    whole, *others = tests
    for test in others:
        whole = build.add(ops.Binary("and", whole, test))
    return whole


def _copy(
    block: Block, build: Builder, needed: set[Op], values: dict[Value, Value], additions: dict[ops.Atomic, Value]
) -> None:
    """Copy the ops of a block that are needed. Atomic additions become additions to locals."""
    for op in block:
        if op not in needed:
            continue
        build.span = op.span or build.span
        if isinstance(op, ops.Atomic):
            place = additions[op]
            total = ops.Binary(op.kind, build.add(ops.Load(place)), values.get(op.value, op.value))
            build.add(ops.Store(place, build.add(total)))
        elif isinstance(op, ops.If):
            made = build.add(ops.If(values.get(op.condition, op.condition)))
            for side, other in ((op.then, made.then), (op.orelse, made.orelse)):
                _copy(side, Builder(other, None, op.span), needed, values, additions)
        else:
            build.add(op.clone(values))
