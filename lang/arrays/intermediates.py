"""Whether the result of an operator is an intermediate value of one Python expression, so that one kernel can compute
the whole expression.

    z = 2 * x - y          2 * x is an intermediate value: nothing but the subtraction sees it
    x[1:-1] = y[2:] + 1    so is the sum: nothing but the assignment sees it

An operator may wait for the one that takes its result only if nothing can change its operands in between. The bytecode
of the caller says what runs in between. It must be loads of numbers, names, and attributes that are stored in objects,
slices of fields and arrays, and operators of these; each such value is looked up. Anything else, such as a call, a
property or an object of another class, and any bytecode that is not known here, means that the operator computes at
once. That is always right."""

from __future__ import annotations

import dis
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from weft.lang.data.array_operators import ArrayOperators
from weft.lang.values.matrix import Matrix

__all__ = ["is_intermediate"]


@dataclass(frozen=True, eq=False)
class _Constant:
    value: Any


@dataclass(frozen=True, eq=False)
class _Name:
    name: str
    is_global: bool


@dataclass(frozen=True, eq=False)
class _Attribute:
    owner: _Node
    name: str


@dataclass(frozen=True, eq=False)
class _Key:
    """A tuple or a slice in an index."""

    parts: tuple[_Node, ...]
    has_slice: bool


@dataclass(frozen=True, eq=False)
class _Item:
    owner: _Node
    key: _Node


@dataclass(frozen=True, eq=False)
class _Operator:
    offset: int
    parts: tuple[_Node, ...]


_Node = _Constant | _Name | _Attribute | _Key | _Item | _Operator | None  # where a value on the stack comes from


@dataclass(frozen=True)
class _Consumer:
    """What takes the result of an operator: an operator with these other operands, or an assignment to a part of
    `target`."""

    beside: tuple[_Node, ...] = ()
    target: _Node = None
    stores: bool = False


def is_intermediate(frame: FrameType) -> bool:
    """Whether the operator that a frame runs now has a result that only another operator takes, before anything else
    can run."""
    consumer = _consumers(frame.f_code).get(frame.f_lasti)
    if consumer is None:
        return False
    look = _Look(frame)
    if consumer.stores and not isinstance(look.value(consumer.target), ArrayOperators):
        return False
    return all(map(look.is_known, consumer.beside))


# -- values of a frame -------------------------------------------------------------------------------------------------

_UNKNOWN = object()


class _Look:
    """Looks up values that the bytecode of a frame is about to load, without running anything."""

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame

    def is_known(self, node: _Node) -> bool:
        """Whether the value is a number or array whose operators are Weft's or numpy's, or part of an index."""
        if isinstance(node, _Operator):
            return all(map(self.is_known, node.parts))
        if isinstance(node, _Key):
            return all(map(self._is_index, node.parts))
        if isinstance(node, _Item):
            return _is_array(self.value(node.owner)) and self._is_index(node.key)
        return _is_plain(self.value(node))

    def _is_index(self, node: _Node) -> bool:
        if isinstance(node, _Key):
            return all(map(self._is_index, node.parts))
        if isinstance(node, _Constant):
            return True
        return isinstance(self.value(node), int | np.integer | None)

    def value(self, node: _Node) -> Any:
        """The value of a constant, a name or an attribute."""
        if isinstance(node, _Constant):
            return node.value
        if isinstance(node, _Attribute):
            return _stored(self.value(node.owner), node.name)
        if not isinstance(node, _Name):
            return _UNKNOWN
        frame = self._frame
        if not node.is_global and node.name in (names := frame.f_locals):
            return names[node.name]
        for names in (frame.f_globals, frame.f_builtins):
            if node.name in names:
                return names[node.name]
        return _UNKNOWN


def _is_array(value: Any) -> bool:
    return isinstance(value, ArrayOperators) or (type(value) is np.ndarray and value.dtype.kind in "biuf")


def _is_plain(value: Any) -> bool:
    return type(value) in (bool, int, float) or isinstance(value, np.generic | Matrix) or _is_array(value)


def _stored(owner: Any, name: str) -> Any:
    """The value of an attribute that is stored in an object, or in its class. (Functions could compute others.)"""
    kind: Any = type(owner)
    if kind is ModuleType:
        return vars(owner).get(name, _UNKNOWN)
    if owner is _UNKNOWN or kind.__getattribute__ is not object.__getattribute__:
        return _UNKNOWN
    shared = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), _UNKNOWN)
    if shared is not _UNKNOWN and hasattr(type(shared), "__set__"):
        return _UNKNOWN
    own = getattr(owner, "__dict__", {})
    if name in own:
        return own[name]
    return _UNKNOWN if hasattr(type(shared), "__get__") else shared


# -- bytecode ----------------------------------------------------------------------------------------------------------


@lru_cache(1024)
def _consumers(code: CodeType) -> dict[int, _Consumer]:
    """What takes the result of each operator, by the offset of its instruction."""
    sweep = _Sweep()
    for one in dis.get_instructions(code):
        if one.is_jump_target:
            sweep.stack.clear()
        rule = _RULES.get(one.opname)
        if rule is None:
            sweep.stack.clear()  # what is on the stack is not known any more
        else:
            rule(sweep, one)
    return sweep.consumers


class _Sweep:
    """Goes through instructions that run one after the other. `stack` has the top of the stack of values."""

    def __init__(self) -> None:
        self.stack: list[_Node] = []
        self.consumers: dict[int, _Consumer] = {}

    def pop(self, count: int) -> tuple[_Node, ...]:
        """The top `count` values, the topmost last."""
        found = [self.stack.pop() if self.stack else None for _ in range(count)]
        return tuple(reversed(found))

    def operate(self, offset: int, parts: tuple[_Node, ...]) -> None:
        """An operator takes these values."""
        for place, part in enumerate(parts):
            if isinstance(part, _Operator):
                self.consumers[part.offset] = _Consumer(parts[:place] + parts[place + 1 :])
        self.stack.append(_Operator(offset, parts))

    def store(self, value: _Node, target: _Node, key: _Node) -> None:
        """A value is assigned to a part of `target`."""
        if isinstance(value, _Operator) and _has_slice(key):
            self.consumers[value.offset] = _Consumer((key,), target, stores=True)


def _has_slice(key: _Node) -> bool:
    if isinstance(key, _Constant):
        parts = key.value if isinstance(key.value, tuple) else (key.value,)
        return any(isinstance(one, slice) or one is Ellipsis for one in parts)
    return isinstance(key, _Key) and (key.has_slice or any(map(_has_slice, key.parts)))


def _copy(sweep: _Sweep, one: dis.Instruction) -> None:
    count = one.arg or 0
    sweep.stack.append(sweep.stack[-count] if count <= len(sweep.stack) else None)


def _swap(sweep: _Sweep, one: dis.Instruction) -> None:
    *between, last = sweep.pop(one.arg or 0)
    sweep.stack.extend((last, *between[1:], between[0]))


Rule = Callable[[_Sweep, dis.Instruction], None]

_SIGNS = {
    f"{sign}{end}" for sign in ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>") for end in ("", "=")
}

_NAMES = (  # of the instructions of Python 3.10
    *("ADD", "SUBTRACT", "MULTIPLY", "TRUE_DIVIDE", "FLOOR_DIVIDE", "MODULO", "POWER"),
    *("AND", "OR", "XOR", "LSHIFT", "RSHIFT"),
)


def _skip(sweep: _Sweep, one: dis.Instruction) -> None:
    pass


def _constant(sweep: _Sweep, one: dis.Instruction) -> None:
    sweep.stack.append(_Constant(one.argval))


def _local(sweep: _Sweep, one: dis.Instruction) -> None:
    names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
    sweep.stack.extend(_Name(name, False) for name in names)


def _global(sweep: _Sweep, one: dis.Instruction) -> None:
    if "NULL" in one.argrepr:  # a call comes
        sweep.stack.clear()
    else:
        sweep.stack.append(_Name(one.argval, True))


def _attribute(sweep: _Sweep, one: dis.Instruction) -> None:
    (owner,) = sweep.pop(1)
    if "NULL" in one.argrepr:  # a call comes
        sweep.stack.clear()
    else:
        sweep.stack.append(_Attribute(owner, one.argval))


def _binary(sweep: _Sweep, one: dis.Instruction) -> None:
    if one.argrepr == "[]":
        _item(sweep, one)
    elif one.argrepr in _SIGNS:
        sweep.operate(one.offset, sweep.pop(2))
    else:
        sweep.stack.clear()


def _two(sweep: _Sweep, one: dis.Instruction) -> None:
    sweep.operate(one.offset, sweep.pop(2))


def _compare(sweep: _Sweep, one: dis.Instruction) -> None:
    if one.argrepr in ("<", "<=", ">", ">="):
        sweep.operate(one.offset, sweep.pop(2))
    else:
        sweep.stack.clear()


def _unary(sweep: _Sweep, one: dis.Instruction) -> None:
    sweep.operate(one.offset, sweep.pop(1))


def _item(sweep: _Sweep, one: dis.Instruction) -> None:
    owner, key = sweep.pop(2)
    sweep.stack.append(_Item(owner, key))


def _slice_of(sweep: _Sweep, one: dis.Instruction) -> None:
    owner, *bounds = sweep.pop(3)
    sweep.stack.append(_Item(owner, _Key(tuple(bounds), True)))


def _build(sweep: _Sweep, one: dis.Instruction) -> None:
    sweep.stack.append(_Key(sweep.pop(one.arg or 0), one.opname == "BUILD_SLICE"))


def _store(sweep: _Sweep, one: dis.Instruction) -> None:
    sweep.store(*sweep.pop(3))


def _store_slice(sweep: _Sweep, one: dis.Instruction) -> None:
    value, target, *bounds = sweep.pop(4)
    sweep.store(value, target, _Key(tuple(bounds), True))


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("NOP", "RESUME", "CACHE", "EXTENDED_ARG"), _skip),
    **dict.fromkeys(("LOAD_CONST", "LOAD_SMALL_INT"), _constant),
    **dict.fromkeys(("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_NAME"), _local),
    **dict.fromkeys(("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"), _local),
    "LOAD_GLOBAL": _global,
    "LOAD_ATTR": _attribute,
    "BINARY_OP": _binary,
    **{f"{kind}_{name}": _two for kind in ("BINARY", "INPLACE") for name in _NAMES},
    "COMPARE_OP": _compare,
    **dict.fromkeys(("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT"), _unary),
    "BINARY_SUBSCR": _item,
    "BINARY_SLICE": _slice_of,
    **dict.fromkeys(("BUILD_SLICE", "BUILD_TUPLE"), _build),
    "COPY": _copy,
    "SWAP": _swap,
    "STORE_SUBSCR": _store,
    "STORE_SLICE": _store_slice,
}
