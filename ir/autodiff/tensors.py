"""Local tensors that one block assembles from their elements become values.

    %v = alloca : *f64x2                       %w = make_tensor [%a, %b]
    store (element_ptr %v[0]), %a      =>      ... %w ...
    store (element_ptr %v[1]), %b
    ... (load %v) ...

The adjoint of a value is a value. That of a local is a local, with an access for each element. So this makes gradients
smaller. The local must belong to the block, and the block itself must access it: as a whole, or at constant indices in
bounds. Each element must have a value where it is read.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.core import Block, Builder, Op, Value
from weft.ir.rewrite import literal
from weft.ir.types import Pointer, Tensor

__all__ = ["assemble_tensors"]


def assemble_tensors(kernel: ops.Kernel) -> None:
    """Replace the locals of a kernel that are assembled in their own block."""
    for local in kernel.all_of(ops.Alloca):
        assert isinstance(local.type, Pointer)
        if isinstance(local.type.elem, Tensor):
            places = _places(local, local.type.elem)
            if places is not None and _is_defined(local, places):
                _replace(local, places)


def _places(local: ops.Alloca, type: Tensor) -> dict[Op, int | None] | None:
    """The accesses to a local, each with the number of its element or None for the whole. None: there are others."""
    found: dict[Op, int | None] = {}
    for user in local.users:
        if not isinstance(user, ops.ElementPtr):
            found[user] = None
            continue
        number = _number(user, type)
        if number is None:
            return None
        found.update(dict.fromkeys(user.users, number))
    return found if all(_is_plain(op, local) for op in found) else None


def _number(ptr: ops.ElementPtr, type: Tensor) -> int | None:
    """The row-major number of a constant element in bounds."""
    number = 0
    for index, extent in zip(ptr.indices, type.shape, strict=True):
        value = literal(index)
        if value is None or not 0 <= value < extent:
            return None
        number = number * extent + int(value)
    return number


def _is_plain(op: Op, local: ops.Alloca) -> bool:
    """Whether an op of the local's block loads, or stores to, an address."""
    if op.block is not local.block:
        return False
    return isinstance(op, ops.Load) or (isinstance(op, ops.Store) and not isinstance(op.value.type, Pointer))


def _in_order(local: ops.Alloca, places: dict[Op, int | None]) -> list[Op]:
    assert isinstance(local.block, Block)
    return [op for op in local.block if op in places]


def _is_defined(local: ops.Alloca, places: dict[Op, int | None]) -> bool:
    """Whether each element has a value where it is read."""
    assert isinstance(local.type, Pointer)
    assert isinstance(local.type.elem, Tensor)
    every = set(range(local.type.elem.count))
    defined = set[int]()
    for op in _in_order(local, places):
        number = places[op]
        touched = every if number is None else {number}
        if isinstance(op, ops.Store):
            defined |= touched
        elif not touched <= defined:
            return False
    return True


def _replace(local: ops.Alloca, places: dict[Op, int | None]) -> None:
    """Replace what is loaded by values, and drop the stores."""
    whole: Value | None = None
    parts: dict[int, Value] = {}  # elements that were stored after the whole
    for op in _in_order(local, places):
        number = places[op]
        if isinstance(op, ops.Store):
            if number is None:
                whole, parts = op.value, {}
            else:
                parts[number] = op.value
            op.erase()
            continue
        build = Builder.at(op)
        if number is None:
            whole, parts = _assembled(build, op, whole, parts), {}
            op.replace(whole)
        else:
            op.replace(_element(build, whole, parts, number))
    for user in list(local.users):
        assert isinstance(user, Op)
        user.erase()
    local.erase()


def _element(build: Builder, whole: Value | None, parts: dict[int, Value], number: int) -> Value:
    if number in parts:
        return parts[number]
    assert whole is not None
    return build.add(ops.Extract(whole, number))


def _assembled(build: Builder, load: Op, whole: Value | None, parts: dict[int, Value]) -> Value:
    if whole is not None and not parts:
        return whole
    assert isinstance(load.type, Tensor)
    elements = [_element(build, whole, parts, number) for number in range(load.type.count)]
    return build.add(ops.MakeTensor(elements, type=load.type, name=load.name))
