"""Moves big tensors to memory and computes them in loops instead of hundreds of scalars.

    %c = matmul %a, %b : f32x12x12         %c = alloca : *f32x12x12
                                           for %i in 0 .. 12 {
                                    =>       for %j ... { store c[%i, %j], a[%i, 0] * b[0, %j] }
                                             for %k in 1 .. 12 { for %j ... { c[%i, %j] += a[%i, %k] * b[%k, %j] } } }

A value of more than LIMIT scalars, or a product with such an operand, becomes a local that loops fill. The size of the
code then does not grow with the size of the matrix. An elementwise operation with a single use is fused into the loop
of its user. A load is read in place if nothing writes the memory in between. Smaller tensors are left to `scalarize`,
because they are faster in registers and need little code. Structs that hold big tensors are left to `scalarize` too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Op, Value, classes_with
from weft.ir.passes import pass_
from weft.ir.registry import registers
from weft.ir.types import Tensor, element, flat_size, i32, pointer, shape_of

__all__ = ["LIMIT", "loop_tensors"]

# Above this number of scalars, compiling the unrolled code costs more time than running the loops.
LIMIT = 36

Indices = Sequence[Value]
View = Callable[[Builder, Indices], Value]  # the element of a tensor at those indices
RULES: dict[type[Op], Callable[[_Looper, Any], None]] = {}
ELEMENTWISE = classes_with("elementwise")
loops = registers(RULES)  # what turns ops of a class into loops


@pass_("loop_tensors")
def loop_tensors(root: ops.Kernel, config: CompileConfig) -> bool:
    """Turn operations on big tensors into loops."""
    looper = _Looper()
    looper.block(root.body)
    for op in reversed(looper.dead):
        op.erase()
    return bool(looper.dead)


def _big(value: Value) -> bool:
    return isinstance(value.type, Tensor) and flat_size(value.type) > LIMIT


class _Looper:
    """One run over a kernel. `views` says how to read an element of each tensor that is no longer a value. `places`
    holds the local of each such tensor."""

    def __init__(self) -> None:
        self.views: dict[Value, View] = {}
        self.places: dict[Value, Value] = {}
        self.dead: list[Op] = []

    def block(self, block: Block) -> None:
        """Rewrite the ops in `block` and in its nested blocks."""
        for op in block:
            if _big(op) or any(_big(value) for value in op.operands):
                RULES.get(type(op), _opaque)(self, op)
            for inner in op.regions:
                self.block(inner)

    def local(self, build: Builder, value: Value) -> Value:
        """Allocate memory for a tensor of the type of `value`."""
        return build.add(ops.Alloca(type=pointer(value.type), name=value.name))

    def hold(self, op: Op, place: Value) -> None:
        """Record that the tensor `op` is now stored at `place`."""
        self.places[op], self.views[op] = place, _reader(place)
        self.dead.append(op)

    def fill(self, op: Op, view: View) -> None:
        """Record that the tensor `op` has these elements, which a loop at this point computes."""
        build = Builder.at(op)
        place = self.local(build, op)
        _each(build, shape_of(op.type), lambda inner, at: _put(inner, place, at, view(inner, at)))
        self.hold(op, place)

    def view(self, value: Value) -> View:
        """How to read the elements of `value`. A scalar has the same value for all elements."""
        return self.views.get(value) or (lambda build, at: value)

    def memory(self, value: Value, op: Op) -> View:
        """How to read elements of `value` cheaply from the loops that replace `op`."""
        if value in self.views:
            return self.views[value]
        build = Builder.at(op)
        place = self.local(build, value)
        build.add(ops.Store(place, value))
        return _reader(place)


def _reader(place: Value) -> View:
    return lambda build, at: build.add(ops.Load(build.add(ops.ElementPtr(place, list(at)))))


def _put(build: Builder, place: Value, at: Indices, value: Value) -> None:
    build.add(ops.Store(build.add(ops.ElementPtr(place, list(at))), value))


def _each(build: Builder, shape: Sequence[int], body: Callable[[Builder, Indices], None], first: int = 0) -> None:
    """A nest of loops over a box. The outermost axis starts at `first`."""
    indices: list[Value] = []
    for axis, extent in enumerate(shape):
        begin, end, step = (build.add(ops.Const(k, type=i32)) for k in (0 if axis else first, extent, 1))
        index = BlockArg(i32, "ijkl"[axis])
        loop = build.add(ops.For(begin, end, step, body=Block([index])))
        build = Builder(loop.body, None, build.span)
        indices.append(index)
    body(build, indices)


def _is_quiet(op: Op, *ends: Op) -> bool:
    """Whether nothing writes memory after `op` and before the ops in `ends`, which come later in the same block."""
    waiting, following = set(ends), op.next
    while waiting and following is not None:
        waiting.discard(following)
        if following.writes or following.region_names:
            break
        following = following.next
    return not waiting


def _reached(op: Op) -> Op | None:
    """The point where `op` is computed if it is fused into the loop of its only user, or None."""
    if len(op.users) != 1:
        return None
    user = next(iter(op.users))
    if user.block is not op.block:
        return None
    if type(user) in ELEMENTWISE:
        return _reached(user) or user
    return user if isinstance(user, (ops.Store, ops.Reduce)) else None


# ---- values ----------------------------------------------------------------------------------------------------------


@loops(*ELEMENTWISE)
def _elementwise(state: _Looper, op: Op) -> None:
    views = [state.view(value) for value in op.operands]

    def view(build: Builder, at: Indices) -> Value:
        scalars = [read(build, at) for read in views]
        part = op.clone({})
        part.set_operands(scalars, part.groups)
        part.type, part.name = element(op.type), ""
        return build.add(part)

    last = _reached(op)
    if last is None or not _is_quiet(op, last):
        state.fill(op, view)
        return
    state.views[op] = view
    state.dead.append(op)


@loops(ops.Splat)
def _splat(state: _Looper, op: ops.Splat) -> None:
    state.views[op] = state.view(op.x)
    if all(type(user) in RULES for user in op.users):
        state.dead.append(op)


@loops(ops.Random)
def _random(state: _Looper, op: ops.Random) -> None:
    state.fill(op, lambda build, at: build.add(ops.Random(op.stream, type=element(op.type))))


@loops(ops.MakeTensor)
def _make(state: _Looper, op: ops.MakeTensor) -> None:
    """If most scalars are one value, as the zeros of an identity matrix are, emit a loop for these and then store the
    others."""
    counts = Counter(op.values)
    usual, often = counts.most_common(1)[0]
    place = None
    if 2 * often > len(op.values):
        build = Builder.at(op)
        place = state.local(build, op)
        _each(build, shape_of(op.type), lambda inner, at: _put(inner, place, at, usual))
    others = [number for number, value in enumerate(op.values) if place is None or value is not usual]
    _written_out(state, op, op, lambda build, number: op.values[number], others, place)
    state.dead.append(op)


def _written_out(
    state: _Looper,
    op: Op,
    before: Op | None,
    scalar: Callable[[Builder, int], Value],
    numbers: Iterable[int],
    place: Value | None = None,
) -> None:
    """Fill the elements `numbers` of `op` one after another."""
    assert op.block is not None
    build = Builder(op.block, before, op.span)
    place = place or state.local(build, op)
    shape = shape_of(op.type)
    for number in numbers:
        at = [build.add(ops.Const(k, type=i32)) for k in _position(number, shape)]
        _put(build, place, at, scalar(build, number))
    state.places[op], state.views[op] = place, _reader(place)


def _position(number: int, shape: Sequence[int]) -> list[int]:
    position: list[int] = []
    for extent in reversed(shape):
        number, index = divmod(number, extent)
        position.insert(0, index)
    return position


@loops(ops.Extract)
def _extract(state: _Looper, op: ops.Extract) -> None:
    build = Builder.at(op)
    at = [build.add(ops.Const(k, type=i32)) for k in _position(op.index, shape_of(op.x.type))]
    op.replace_uses(state.views[op.x](build, at))
    state.dead.append(op)


@loops(ops.Transpose)
def _transpose(state: _Looper, op: ops.Transpose) -> None:
    read = state.memory(op.x, op)
    state.fill(op, lambda build, at: read(build, [at[1], at[0]]))


@loops(ops.MatMul)
def _matmul(state: _Looper, op: ops.MatMul) -> None:
    """Compute row by row. The innermost loop accesses adjacent memory in order."""
    build, prim = Builder.at(op), element(op.type)
    lhs, rhs = state.memory(op.lhs, op), state.memory(op.rhs, op)
    place = state.local(build, op)
    read = _reader(place)
    (rows, inner), columns = shape_of(op.lhs.type), shape_of(op.rhs.type)[1:]

    def product(build: Builder, row: Value, k: Value, column: Indices) -> Value:
        a = lhs(build, [row, k])
        return build.add(ops.Binary("mul", a, rhs(build, [k, *column]), type=prim))

    def row(build: Builder, at: Indices) -> None:
        zero = build.add(ops.Const(0, type=i32))
        _each(build, columns, lambda b, j: _put(b, place, [*at, *j], product(b, at[0], zero, j)))

        def add(b: Builder, k: Value, j: Indices) -> None:
            total = ops.Binary("add", read(b, [*at, *j]), product(b, at[0], k, j), type=prim)
            _put(b, place, [*at, *j], b.add(total))

        _each(build, (inner,), lambda b, k: _each(b, columns, lambda c, j: add(c, k[0], j)), first=1)

    _each(build, (rows,), row)
    _settle(state, op, build, place)


def _settle(state: _Looper, op: Op, build: Builder, place: Value) -> None:
    """Record that `op` is stored at `place`. A small tensor becomes a value again."""
    if _big(op):
        state.hold(op, place)
        return
    op.replace_uses(build.add(ops.Load(place)))
    state.dead.append(op)


@loops(ops.Reduce)
def _reduce(state: _Looper, op: ops.Reduce) -> None:
    """Reduce from left to right: start with the first element, then take the rest of the first row, then the other
    rows."""
    build, prim, shape = Builder.at(op), element(op.type), shape_of(op.x.type)
    read = state.view(op.x)
    total = build.add(ops.Alloca(type=pointer(prim)))
    zeros = [build.add(ops.Const(0, type=i32)) for _ in shape]
    build.add(ops.Store(total, read(build, zeros)))

    def add(inner: Builder, at: Indices) -> None:
        both = ops.Binary(op.kind, inner.add(ops.Load(total)), read(inner, at), type=prim)
        inner.add(ops.Store(total, inner.add(both)))

    if len(shape) > 1:
        _each(build, shape[1:], lambda inner, at: add(inner, [zeros[0], *at]), first=1)
    _each(build, shape, add, first=1)
    op.replace_uses(build.add(ops.Load(total)))
    state.dead.append(op)


# ---- memory ----------------------------------------------------------------------------------------------------------


@loops(ops.Load)
def _load(state: _Looper, op: ops.Load) -> None:
    """Read the memory in place until the last use, if that is in the same block and nothing writes before it."""
    read = _reader(op.ptr)
    users = [user for user in op.users if user.block is op.block and type(user) in RULES]
    ends = [_reached(user) or user if type(user) in ELEMENTWISE else user for user in users]
    if len(users) == len(op.users) and _is_quiet(op, *ends):
        state.views[op] = read
        state.dead.append(op)
        return
    state.fill(op, read)


@loops(ops.Store)
def _store(state: _Looper, op: ops.Store) -> None:
    build, read = Builder.at(op), state.view(op.value)
    _each(build, shape_of(op.value.type), lambda inner, at: _put(inner, op.ptr, at, read(inner, at)))
    state.dead.append(op)


@loops(ops.Atomic)
def _atomic(state: _Looper, op: ops.Atomic) -> None:
    build, read = Builder.at(op), state.view(op.value)
    old = state.local(build, op) if op.users else None

    def one(inner: Builder, at: Indices) -> None:
        place = inner.add(ops.ElementPtr(op.ptr, list(at)))
        result = inner.add(ops.Atomic(op.kind, place, read(inner, at)))
        if old is not None:
            _put(inner, old, at, result)

    _each(build, shape_of(op.type), one)
    if old is not None:
        state.hold(op, old)
    else:
        state.dead.append(op)


def _opaque(state: _Looper, op: Op) -> None:
    """All other ops keep whole values as operands and results, which `scalarize` splits. An operand without a place is
    a splat that was kept for it."""
    for position, value in enumerate(op.operands):
        if value in state.places:
            op.set_operand(position, Builder.at(op).add(ops.Load(state.places[value])))
    if _big(op):
        numbers = range(flat_size(op.type))
        _written_out(state, op, op.next, lambda build, number: build.add(ops.Extract(op, number)), numbers)
