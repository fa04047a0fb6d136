"""The layout of a value outside of fields: a temporary of the kernel, or a local."""

from __future__ import annotations

from weft.ir.types import Struct, Tensor, Type, flatten

__all__ = ["alignment_of", "member_offset", "size_of"]


def alignment_of(type: Type) -> int:
    """What the address of such a value is a multiple of: the size of its largest scalar."""
    return type.elem.size if isinstance(type, Tensor) else max((scalar.size for scalar in flatten(type)), default=1)


def size_of(type: Type) -> int:
    """Bytes of a value in a temporary: each member aligned to its largest scalar, the whole to its own."""
    if isinstance(type, Tensor):
        return type.elem.size * type.count
    if not isinstance(type, Struct):
        return sum(scalar.size for scalar in flatten(type))
    end = member_offset(type, len(type.members))
    return -(-end // alignment_of(type)) * alignment_of(type)


def member_offset(type: Struct, index: int) -> int:
    """The offset of member number `index` in such a value. For the number of members: the byte after the last."""
    cursor = 0
    for position, (_, member) in enumerate(type.members):
        align = alignment_of(member)
        cursor = -(-cursor // align) * align
        if position == index:
            return cursor
        cursor += size_of(member)
    return cursor
