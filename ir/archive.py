"""Serializes a compiled kernel: a line of JSON that describes it, then its code.

    {"artifact": {"name": ..., "slots": ..., "sites": ...}, "sizes": [8264, 0]}

Reading an archive never executes anything in it. Bytes that do not have this form raise an ArchiveError.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from itertools import accumulate
from typing import Any

from weft.ir.artifact import Artifact, Site, Slots
from weft.ir.errors import Span
from weft.ir.symbols import Param
from weft.ir.types import PRIMS, Array, Prim, Struct, Tensor, Type, array, struct, tensor

__all__ = ["ArchiveError", "pack", "unpack"]

_TARGETS = ("cpu", "cuda")
_DEEPEST = 64  # the deepest nesting of structs, and of calls


class ArchiveError(Exception):
    """The bytes are not an archive of a kernel."""


def pack(artifact: Artifact) -> bytes:
    """The artifact as bytes, without the IR and listings of its compilation."""
    pieces = (artifact.code, artifact.host, *artifact.parts)
    head = {"artifact": _describe(artifact), "sizes": [len(one) for one in pieces]}
    line = json.dumps(head, separators=(",", ":"), ensure_ascii=True).encode()
    return b"".join((line, b"\n", *pieces))


def unpack(data: bytes) -> Artifact:
    """The artifact that `pack` was given."""
    line, newline, rest = data.partition(b"\n")
    try:
        head: Any = json.loads(line)
        ends = list(accumulate(map(_count, head["sizes"])))
        if not newline or ends[-1] != len(rest):
            raise ArchiveError("the code is truncated")
        code, host, *parts = (rest[begin:end] for begin, end in zip([0, *ends], ends))
        return _restore(head["artifact"], code, host, tuple(parts))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise ArchiveError(f"{type(error).__name__}: {error}") from error


def _describe(artifact: Artifact) -> dict[str, Any]:
    slots = artifact.slots
    return {
        **{name: getattr(artifact, name) for name in _PLAIN},
        "trees": slots.trees,
        "params": [[param.name, _type(param.type)] for param in slots.params],
        "results": [_type(result) for result in slots.results],
        "temp_bytes": slots.temp_bytes,
        "sites": [[s.kind, list(s.text), [_type(type) for type in s.types], _span(s.span)] for s in artifact.sites],
    }


def _restore(head: Any, code: bytes, host: bytes, parts: tuple[bytes, ...]) -> Artifact:
    if head["target"] not in _TARGETS:
        raise ArchiveError(f"there is no target {head['target']!r}")
    slots = Slots(
        _count(head["trees"]),
        tuple(Param(_text(name), _type_of(type)) for name, type in head["params"]),
        tuple(_type_of(type) for type in head["results"]),
        _count(head["temp_bytes"]),
    )
    sites = tuple(
        Site(_text(kind), tuple(map(_text, text)), tuple(_type_of(type) for type in types), _span_of(span))
        for kind, text, types, span in head["sites"]
    )
    plain: dict[str, Any] = {name: check(head[name]) for name, check in _PLAIN.items()}
    return Artifact(code=code, host=host, parts=parts, slots=slots, sites=sites, **plain)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ArchiveError(f"expected a string, not {value!r}")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ArchiveError(f"expected a count, not {value!r}")
    return value


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise ArchiveError(f"expected true or false, not {value!r}")
    return value


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "str": _text,
    "int": _count,
    "bool": _truth,
    "tuple[str, ...]": lambda values: tuple(map(_text, values)),
    "tuple[int, ...]": lambda values: tuple(map(_count, values)),
}
# As bytes, in a form of their own, or not kept.
_APART = ("code", "host", "parts", "slots", "sites", "llvm", "native", "races")

# The other parts of an artifact, and the types of their contents.
_PLAIN = {part.name: _CHECKS[str(part.type)] for part in fields(Artifact) if part.name not in _APART}


# ---- types and places ------------------------------------------------------------------------------------------------


def _type(type: Type) -> Any:
    """`f32` for a primitive, else a list that begins with the kind."""
    if isinstance(type, Prim):
        return type.text
    if isinstance(type, Tensor):
        return ["tensor", type.elem.text, list(type.shape)]
    if isinstance(type, Struct):
        return ["struct", [[name, _type(member)] for name, member in type.members]]
    if isinstance(type, Array):
        return ["array", _type(type.elem), type.ndim, type.contiguous, type.wide, type.exposed]
    raise ArchiveError(f"a parameter cannot have the type {type}")


_TYPES: dict[str, Callable[..., Type]] = {
    "tensor": lambda elem, shape: tensor(PRIMS[elem], tuple(map(_count, shape))),
    "struct": lambda members: struct(tuple((_text(name), _type_of(member)) for name, member in members)),
    "array": lambda elem, ndim, *marks: array(_type_of(elem), _count(ndim), *(mark is True for mark in marks)),
}


def _type_of(value: Any) -> Type:
    if isinstance(value, str):
        return PRIMS[value]
    kind, *parts = value
    return _TYPES[kind](*parts)


def _span(span: Span | None) -> Any:
    """The source locations of a chain of calls, innermost first."""
    chain: list[list[Any]] = []
    while span is not None:
        chain.append([span.file, span.line, span.column, span.end_line, span.end_column, span.function])
        span = span.caller
    return chain


def _span_of(chain: Any) -> Span | None:
    if len(chain) > _DEEPEST + 1:
        raise ArchiveError("too many calls")
    span = None
    for file, line, column, end_line, end_column, function in reversed(chain):
        begin, end = (_count(line), _count(column)), (_count(end_line), _count(end_column))
        span = Span(_text(file), *begin, *end, _text(function), span)
    return span
