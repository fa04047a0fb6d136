"""Lets the first update of an element store, where an earlier loop only sets the element to a constant."""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.alias import is_access, space_of, spaces_meet
from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Op, Value
from weft.ir.passes import pass_
from weft.ir.symbols import FieldSymbol
from weft.ir.transforms.keep_values import Loop, known_box, runs_through
from weft.ir.types import element, u1

__all__ = ["store_first"]


@pass_("store_first")
def store_first(root: ops.Kernel, config: CompileConfig) -> bool:
    """Before and after:

        struct_for @y (%i) { store @y[%i], 0 }                    struct_for @y (%i) { }
        parallel_for (%i) in [0, 1000) {                  ->      parallel_for (%i) in [0, 1000) {
          store @y[%i], (load @y[%i]) + %v                          store @y[%i], 0 + %v
        }                                                         }

    A gradient that is set to 0 and then computed is such a program: this saves a pass over memory, and a load.

    The pass is correct under these conditions. The field is dense, and no other memory of the kernel overlaps it. Both
    loops run over the same known box, which lies in the field, and no iteration ends early. The index of the element
    consists of all indices of the loop, in the same order in both loops. Nothing else in the first loop, and nothing
    between the loops, accesses the field. In the second loop, all accesses are to the own element of the iteration:
    first loads, then a store of the whole element, or an atomic, in no branch and no inner loop. The accesses after
    that may be anywhere. No op of these loops or between them can fail, because the program would see which elements
    have been set.
    """
    checked = config.debug or config.boundary_check or config.check_nan or config.check_overflow or config.check_races
    if checked or not config.advanced_optimization or root.called:
        return False
    changed = False
    for first in [op for op in root.body if isinstance(op, Loop)]:
        for store in [op for op in first.body if isinstance(op, ops.Store)]:
            fill = _Fill.of(root, first, store)
            later = None if fill is None else fill.update()
            if fill is not None and later is not None:
                fill.move_into(later)
                changed = True
    return changed


class _Fill:
    """A store of a constant to all elements of a box of a field."""

    def __init__(self, kernel: ops.Kernel, loop: Loop, store: ops.Store, ptr: ops.FieldPtr) -> None:
        self.kernel, self.loop, self.store, self.field = kernel, loop, store, ptr.field
        self.box = known_box(loop)
        self.axes = _axes(ptr, loop)

    @classmethod
    def of(cls, kernel: ops.Kernel, loop: Loop, store: ops.Store) -> _Fill | None:
        """None if the store is none."""
        if not isinstance(store.ptr, ops.FieldPtr) or not _is_literal(store.value) or not runs_through(loop):
            return None
        made, field = cls(kernel, loop, store, store.ptr), store.ptr.field
        alone = not any(one is not field and one.shares_with(field) for one in kernel.fields)
        if not alone or not _is_plain(field) or made.axes is None or not made._lies_in_field():
            return None
        return made if not _may_fail(loop) and made._accesses(loop) == [store] else None

    def _lies_in_field(self) -> bool:
        if self.box is None or self.axes is None:
            return False
        starts = self.field.offset or (0,) * len(self.field.shape)
        return all(
            start <= self.box[axis][0] and self.box[axis][1] <= start + count
            for axis, start, count in zip(self.axes, starts, self.field.shape, strict=True)
        )

    def _accesses(self, top: Op) -> list[Op] | None:
        """The accesses to the field in `top`, in program order. None: there may be others, as in a called function."""
        own, found = space_of(self.store.ptr), list[Op]()
        for op in top.walk():
            if is_access(op):
                found += [op] if spaces_meet(own, space_of(op.ptr)) else []
            elif op.orders():
                return None
        return found

    def update(self) -> Loop | None:
        """The next loop that accesses the field, if its first update of each element may store."""
        now = self.loop.next
        while now is not None:
            found = self._accesses(now)
            if found is None or _may_fail(now):
                return None
            if found:
                return now if isinstance(now, Loop) and self._begins_with_update(now, found) else None
            now = now.next
        return None

    def _begins_with_update(self, loop: Loop, accesses: list[Op]) -> bool:
        if known_box(loop) != self.box or not runs_through(loop):
            return False
        for op in accesses:
            root = root_of(op.operands[0])
            if not isinstance(root, ops.FieldPtr) or _axes(root, loop) != self.axes:
                return False
        for op in accesses:
            if not isinstance(op.operands[0], ops.FieldPtr):  # a part of the element
                return False
            if not isinstance(op, ops.Load):
                return op.parent is loop and (isinstance(op, ops.Store) or _has_plain_form(op))
        return False

    def move_into(self, later: Loop) -> None:
        """Let the first accesses of `later` know the constant, and store it no more."""
        for op in self._accesses(later) or ():
            if isinstance(op, ops.Store):
                break
            build = Builder.at(op)
            number = _copied(self.store.value, build)
            if isinstance(op, ops.Atomic):
                new = op.value if op.kind == "xchg" else build.add(ops.Binary(op.kind, number, op.value))
                build.add(ops.Store(op.ptr, new))
            op.replace(number)
            if not isinstance(op, ops.Load):
                break
        self.store.erase()


def _axes(ptr: ops.FieldPtr, loop: Loop) -> tuple[int, ...] | None:
    """For each index of an address, which index of the loop it is. None if it has not all of them, or others."""
    args = list(loop.body.args)
    if len(args) != len(ptr.indices) or any(index not in args for index in ptr.indices):
        return None
    found = tuple(args.index(index) for index in ptr.indices)  # type: ignore[arg-type]
    return found if len({*found}) == len(args) else None


def _is_plain(field: FieldSymbol) -> bool:
    """Whether all its levels are dense, and it shares memory with no argument."""
    return field.path.dense is not None and not field.exposed


def _may_fail(op: Op) -> bool:
    return any(one.fails or one.exits for one in op.walk())


def _has_plain_form(op: Op) -> bool:
    """Whether an atomic is a Binary of its old value. Sums of truth values are none."""
    return isinstance(op, ops.Atomic) and (element(op.value.type) is not u1 or op.kind in ("and", "or", "xor", "xchg"))


def _is_literal(value: Value) -> bool:
    return isinstance(value, ops.Const) or (isinstance(value, ops.Splat) and isinstance(value.x, ops.Const))


def _copied(value: Value, build: Builder) -> Value:
    """The literal, at another place."""
    assert isinstance(value, Op)
    return build.add(value.clone({one: _copied(one, build) for one in value.operands}))
