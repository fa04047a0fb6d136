"""Elements of memory that each iteration of a parallel loop has for itself become locals.

    parallel_for (%i) {                        parallel_for (%i) {
      for %t in 0..%n {                          store %l, (load @x[%i])
        store @x[%i], (f (load @x[%i]))  =>      for %t in 0..%n { store %l, (f (load %l)) }
      }                                          store @x[%i], (load %l)
    }                                          }

A gradient kernel can compute the values of locals again, but not those of memory that was overwritten. So this is done
for fields and arrays whose values the gradient needs from between two stores. Each address must be the same in the
whole loop, and no other iteration may access it. The element is read and written even if the loop would not have done
so: it keeps its value. An element that may be out of bounds is read and written only if it is not, and loads of its
local give 0 otherwise, as those of the element do. A derivative that ends in the element ends in its local.
"""

from __future__ import annotations

from collections.abc import Hashable

from weft.ir import ops
from weft.ir.access_ranges import in_range
from weft.ir.addresses import root_of
from weft.ir.alias import may_alias, same_address
from weft.ir.autodiff.adjoints import filled
from weft.ir.autodiff.lost import ending_stores, without_derivative
from weft.ir.core import Block, BlockArg, Builder, Op, Value, ops_of
from weft.ir.tasks import accesses, memory_space, private_spaces
from weft.ir.types import Pointer

__all__ = ["promote"]

_MOST = 16  # the most elements of a field that become locals

Root = ops.FieldPtr | ops.ArrayPtr


def promote(kernel: ops.Kernel, spaces: set[Hashable]) -> bool:
    """Turn elements of these spaces into locals where that is possible. Gives whether one was."""
    changed, ending = False, {memory_space(op.ptr) for op in ending_stores(kernel)}
    loops: list[ops.ParallelFor | ops.StructFor] = [*kernel.all_of(ops.ParallelFor), *kernel.all_of(ops.StructFor)]
    for loop in loops:
        private = private_spaces(loop)
        for space in sorted(spaces & private, key=str):
            changed |= _promote(loop, loop.body, space, space in ending)
    if not loops:
        for space in sorted(spaces, key=str):
            changed |= _promote(kernel, kernel.body, space, space in ending)
    return changed


def _promote(owner: Op, body: Block, space: Hashable, ends: bool) -> bool:
    """Turn elements of a space into locals, in which derivatives end if `ends`."""
    touching = [op for op in accesses(owner) if memory_space(op.ptr) == space]
    used = {root_of(op.ptr) for op in touching}
    if any(isinstance(root, ops.FieldPtr) and root.field.node is not None for root in used):
        return False  # the element may not be active
    classes: list[list[Root]] = []
    for root in ops_of(body):
        if root not in used:
            continue
        assert isinstance(root, (ops.FieldPtr, ops.ArrayPtr))
        known = next((one for one in classes if same_address(one[0], root)), None)
        if known is None:
            classes.append([root])
        else:
            known.append(root)
    apart = all(not may_alias(a[0], b[0]) for a in classes for b in classes if a is not b)
    if not apart or len(classes) > _MOST or not all(_is_fixed(one[0], body) for one in classes):
        return False
    if all(isinstance(op, ops.Load) for op in touching):
        return False
    for one in classes:
        if ends:
            _end_derivatives(one)
        _replace(one, body)
    return True


def _end_derivatives(roots: list[Root]) -> None:
    """Let what is read of an element carry no derivative."""
    for read in [read for root in roots for read in _reads(root)]:
        assert read.block is not None
        users = list(read.users)
        value = without_derivative(Builder(read.block, read.next, read.span), read) if users else read
        for user in users:
            for position, operand in enumerate(user.operands):
                if operand is read:
                    user.set_operand(position, value)


def _top(op: Op, body: Block) -> Op:
    """The op of `body` that is `op` or is around it."""
    while op.block is not body:
        outer = op.parent
        assert outer is not None
        op = outer
    return op


def _is_fixed(root: Root, body: Block) -> bool:
    """Whether the address is known where the body first uses it."""
    if isinstance(root, ops.ArrayPtr) and not isinstance(root.array, ops.Arg):
        return False
    first = _top(root, body)
    return all(_is_before(index, first, body) for index in root.indices)


def _is_before(index: Value, first: Op, body: Block) -> bool:
    if isinstance(index, BlockArg):
        return index.block is body
    assert isinstance(index, Op)
    return index is not first and not index.within(first)


def _replace(roots: list[Root], body: Block) -> None:
    first = roots[0]
    assert isinstance(first.type, Pointer)
    build = Builder.at(_top(first, body))
    build.span = first.span
    if isinstance(first, ops.ArrayPtr):  # (the array may be known only where the first access is)
        first.set_operand(0, build.add(first.array.clone({})))  # type: ignore[attr-defined]
    inside = in_range(first, build)
    local = build.add(ops.Alloca(type=first.type))
    if inside is None:
        _copy(first, local, build, back=False)
    else:
        build.add(ops.Store(local, filled(build, first.type.elem)))
        _copy(first, local, Builder(build.add(ops.If(inside)).then, None, first.span), back=False)
        for read in [read for root in roots for read in _reads(root)]:
            if isinstance(read, ops.Load):
                _mask(read, inside)
    for root in roots:
        root.replace_uses(local)
    build = Builder(body, None, first.span)
    if inside is not None:
        build = Builder(build.add(ops.If(inside)).then, None, first.span)
    _copy(first, local, build, back=True)


def _copy(root: Root, local: Value, build: Builder, back: bool) -> None:
    """Copy an element to its local, or back."""
    address = build.add(root.clone({}))
    source, target = (local, address) if back else (address, local)
    build.add(ops.Store(target, build.add(ops.Load(source))))


def _reads(ptr: Op) -> list[ops.Load | ops.Atomic]:
    """The loads and atomics of an element and of its parts."""
    found = list[ops.Load | ops.Atomic]()
    for user in ptr.users:
        if isinstance(user, (ops.Load, ops.Atomic)):
            found.append(user)
        elif isinstance(user, (ops.ElementPtr, ops.MemberPtr)):
            found += _reads(user)
    return found


def _mask(load: ops.Load, inside: Value) -> None:
    """Let a load give 0 where its element is out of bounds."""
    build = Builder.at(load)
    value = build.add(ops.Load(load.ptr, name=load.name))
    load.replace(build.add(ops.Select(inside, value, filled(build, load.type))))
