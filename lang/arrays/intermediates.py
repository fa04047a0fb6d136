"""Whether the result of an operator is an intermediate value of one Python expression, so that one kernel can compute
the whole expression.

    z = 2 * x - y          2 * x is an intermediate value: nothing but the subtraction sees it
    x[1:-1] = y[2:] + 1    so is the sum: nothing but the assignment sees it

An operator may wait for the one that takes its result only if nothing else takes the result, and if nothing can change
its operands in between. The bytecode of the caller says what runs in between. The operands of both operators must be
numbers, names, attributes that are stored in objects, slices of fields and arrays, and operators of these; each such
value is looked up. Anything else, such as a call, a property or an object of another class, and any bytecode that is
not known here, means that the operator computes at once. That is always right.

The operands of the operator itself are looked up too, because the bytecode may run the operator of another object, such
as a numpy array of objects, whose code in C runs the one of the field."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType, ModuleType, NoneType
from typing import Any

import numpy as np

from weft.lang.data.array_operators import ArrayOperators
from weft.lang.values.matrix import Matrix

__all__ = ["is_intermediate"]


@dataclass(frozen=True, eq=False)
class _Constant:
    value: Any


@dataclass(frozen=True)
class _Name:
    name: str
    places: tuple[str, ...]  # where Python looks for it: attributes of a frame


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
    """`operands` has those of its operands that are operators too, and not these."""

    offset: int
    operands: tuple[_Node, ...]


_Node = _Constant | _Name | _Attribute | _Key | _Item | _Operator | None  # where a value on the stack comes from


@dataclass(frozen=True)
class _Consumer:
    """What takes the result of an operator: an operator, or an assignment to a part of `target`. `operands` are those
    of both, and the key of the part."""

    operands: tuple[_Node, ...]
    target: _Node = None
    stores: bool = False


def is_intermediate(frame: FrameType) -> bool:
    """Whether the operator that a frame runs now has a result that only another operator takes, before anything else
    can run."""
    consumer = _consumers(frame.f_code).get(frame.f_lasti)
    if consumer is None:
        return False
    look = _Look(frame)
    try:
        if consumer.stores and not _is_field(look.value(consumer.target)):
            return False
        return all(map(look.is_known, consumer.operands))
    finally:
        look.end()


# -- values of a frame -------------------------------------------------------------------------------------------------

_UNKNOWN = object()
_COPIES = sys.version_info < (3, 13)  # `f_locals` of a function is a dictionary of copies, always the same one


class _Look:
    """Looks up values that the bytecode of a frame is about to load, without running anything."""

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame
        self._spaces: dict[str, Any] = {}

    def end(self) -> None:
        """Remove the copies of local variables that `f_locals` has made, which would keep their values alive until the
        function returns. If something else has these copies, they stay."""
        if not _COPIES or "f_locals" not in self._spaces or not _has_slots(self._frame.f_code):
            return
        copies, code = self._spaces.pop("f_locals"), self._frame.f_code
        if sys.getrefcount(copies) == 3:  # that of the frame, and two here
            for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
                copies.pop(name, None)

    def is_known(self, node: _Node) -> bool:
        """Whether the value is a number or array whose operators are Weft's or numpy's, or part of an index."""
        if isinstance(node, _Key):
            return all(map(self._is_index, node.parts))
        if isinstance(node, _Item):
            return _is_array(self.value(node.owner)) and self._is_index(node.key)
        value = self.value(node)
        kind: Any = type(value)
        return _is_number(kind) or _is_array(value)

    def _is_index(self, node: _Node) -> bool:
        if isinstance(node, _Key):
            return all(map(self._is_index, node.parts))
        if isinstance(node, _Constant):
            return True
        kind: Any = type(self.value(node))
        return kind in (int, NoneType) or (issubclass(kind, np.integer) and _is_number(kind))

    def value(self, node: _Node) -> Any:
        """The value of a constant, a name or an attribute."""
        if isinstance(node, _Constant):
            return node.value
        if isinstance(node, _Attribute):
            return _stored(self.value(node.owner), node.name)
        if not isinstance(node, _Name):
            return _UNKNOWN
        for place in node.places:
            names = self._space(place)
            if type(names) is not dict and not (place == "f_locals" and _has_slots(self._frame.f_code)):
                return _UNKNOWN  # a mapping of the program, which runs functions
            if node.name in names:
                return names[node.name]
        return _UNKNOWN

    def _space(self, place: str) -> Any:
        if place not in self._spaces:
            self._spaces[place] = getattr(self._frame, place)
        return self._spaces[place]


def _has_slots(code: CodeType) -> bool:
    """Whether local variables are in slots, as those of functions, and not in a dictionary."""
    return bool(code.co_flags & CO_OPTIMIZED)


def _is_field(value: Any) -> bool:
    kind: Any = type(value)
    return _is_own(kind)


def _is_array(value: Any) -> bool:
    return _is_field(value) or (type(value) is np.ndarray and value.dtype.kind in "biuf")


@lru_cache(256)
def _is_own(kind: Any) -> bool:
    """Whether it is a class of fields or arrays of Weft. (A program may derive others, with other operators.)"""
    return issubclass(kind, ArrayOperators) and kind.__module__.startswith("weft.")


@lru_cache(256)
def _is_number(kind: Any) -> bool:
    """Whether it is a class of numbers, vectors or matrices of Python, numpy or Weft."""
    if kind in (bool, int, float):
        return True
    return issubclass(kind, np.generic | Matrix) and kind.__module__.split(".")[0] in ("numpy", "weft")


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
    if _COPIES and _has_slots(code) and not {"locals", "vars"}.isdisjoint(code.co_names):
        return {}  # `f_locals` would write to what `locals()` returned
    sweep = _Sweep(_has_slots(code))
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
    """Goes through instructions that run one after the other. `stack` has the top of the stack of values. Without
    slots, only comprehensions have local variables that are not in `f_locals`."""

    def __init__(self, has_slots: bool) -> None:
        self.has_slots = has_slots
        self.stack: list[_Node] = []
        self.consumers: dict[int, _Consumer] = {}

    def pop(self, count: int) -> tuple[_Node, ...]:
        """The top `count` values, the topmost last."""
        found = [self.stack.pop() if self.stack else None for _ in range(count)]
        return tuple(reversed(found))

    def copy(self, depth: int) -> None:
        """The value at that depth, from 1, is there twice now. So two may take the result of an operator."""
        values = self.pop(depth)
        if isinstance(values[0], _Operator):
            values = (None, *values[1:])
        self.stack.extend((*values, values[0]))

    def operate(self, offset: int, parts: tuple[_Node, ...]) -> None:
        """An operator takes these values."""
        operators = [part for part in parts if isinstance(part, _Operator)]
        found = {part: None for part in parts if not isinstance(part, _Operator)}
        operands = tuple({**found, **{one: None for part in operators for one in part.operands}})
        for part in operators:
            if None not in operands:
                self.consumers[part.offset] = _Consumer(operands)
        self.stack.append(_Operator(offset, operands))

    def store(self, value: _Node, target: _Node, key: _Node) -> None:
        """A value is assigned to a part of `target`."""
        if isinstance(value, _Operator) and _has_slice(key):
            self.consumers[value.offset] = _Consumer((*value.operands, key), target, stores=True)


def _has_slice(key: _Node) -> bool:
    if isinstance(key, _Constant):
        parts = key.value if isinstance(key.value, tuple) else (key.value,)
        return any(isinstance(one, slice) or one is Ellipsis for one in parts)
    return isinstance(key, _Key) and (key.has_slice or any(map(_has_slice, key.parts)))


def _copy(sweep: _Sweep, one: dis.Instruction) -> None:
    sweep.copy(one.arg or 0)


def _copy_two(sweep: _Sweep, one: dis.Instruction) -> None:
    sweep.copy(2)
    sweep.copy(2)


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
    sweep.stack.extend(_Name(name, ("f_locals",)) if sweep.has_slots else None for name in names)


def _name(sweep: _Sweep, one: dis.Instruction) -> None:
    sweep.stack.append(_Name(one.argval, ("f_locals", "f_globals", "f_builtins")))


def _global(sweep: _Sweep, one: dis.Instruction) -> None:
    if "NULL" in one.argrepr:  # a call comes
        sweep.stack.clear()
    else:
        sweep.stack.append(_Name(one.argval, ("f_globals", "f_builtins")))


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
    **dict.fromkeys(("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF"), _local),
    **dict.fromkeys(("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"), _local),
    "LOAD_NAME": _name,
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
    "DUP_TOP_TWO": _copy_two,
    "SWAP": _swap,
    "STORE_SUBSCR": _store,
    "STORE_SLICE": _store_slice,
}
