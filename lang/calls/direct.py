"""Makes plans for direct calls: native code follows a plan to launch an instance (`runtime/call_ir.py`).

A plan is valid for the kinds of arguments of the call that it was made for: exact Python numbers, ndarrays, numpy
arrays of the same type and layout, the same template arguments, structs and matrices (Python packs unusual ones). It
does not keep alive what the instance depends on and may lose, such as fields and templates. When one of these objects
dies, the epoch of the program advances, which invalidates all plans."""

from __future__ import annotations

import struct
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from types import CellType
from typing import Any

import numpy as np

from weft.ir.scalar import cast_value, range_of
from weft.ir.types import Array, Prim, Struct, Tensor, Type, f16, f32, f64, flatten, u1
from weft.lang.calls.companions import Companion
from weft.lang.calls.compile import Instance
from weft.lang.calls.parameters import (
    ArrayParameter,
    Compound,
    Parameter,
    Scalar,
    Template,
    template_key,
    told_by_identity,
)
from weft.lang.data.direct_tensors import packer_of
from weft.lang.data.ndarray import MatrixNdarray, Ndarray, ScalarNdarray, VectorNdarray
from weft.lang.data.struct_ndarray import StructNdarray
from weft.lang.functions.captures import Captures
from weft.lang.values.argpack import ArgPack, ArgPackType
from weft.lang.values.matrix import Matrix, Vector
from weft.lang.values.struct import Struct as PyStruct
from weft.lang.values.types import to_ir
from weft.runtime.compound import (
    Node,
    scalar_node,
    struct_node,
    tensor_node,
    tensors_supported,
)
from weft.runtime.direct import (
    Guard,
    PackNode,
    Plan,
    compound,
    equal,
    exact,
    number,
    numpy_array,
    packed,
    recorded,
    scalars_supported,
)
from weft.runtime.epochs import keep
from weft.runtime.errors import FORMATS
from weft.runtime.launch_ir import FLOAT32, FLOAT64, INTEGER, TRUTH
from weft.runtime.recorded import Record

__all__ = ["kinds_of", "plan_for", "write_records"]

_NDARRAYS = (ScalarNdarray, VectorNdarray, MatrixNdarray, StructNdarray)
_KINDS: dict[Prim, int] = {f32: FLOAT32, f64: FLOAT64, u1: TRUTH}


class _Unfit(Exception):
    """This call has to go through Python."""


class _Build:
    """Collects the rules of a plan. `keeps` holds the objects that the rules point to. When an object in `watches`
    dies, the plan becomes invalid."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self.keeps: list[Any] = [program]
        self.watches: list[Any] = []
        self.binds = True  # whether a bound launch may hold such arguments by their addresses

    def same(self, value: Any) -> list[int]:
        """The rule for a compile-time argument: the same object if identity determines it, else any equal value. (For
        containers, Python compares the contents.)"""
        if type(value) is float or (type(value) is int and -(2**63) <= value < 2**63):
            self.keeps.append(value)
            return equal(value)
        key = template_key(value)
        if isinstance(key, int):
            return self.identical(value)
        if isinstance(value, (bool, int, float, str, type(None), np.generic, Type)):
            self.keeps.append(value)
            return exact(value)
        for part in told_by_identity(value):
            self.watch(part)
        return self._packed(_alike(key), 0, type(value))

    def identical(self, value: Any) -> list[int]:
        """The rule for exactly this object."""
        self.watch(value)
        return exact(value)

    def watch(self, value: Any) -> None:
        """Invalidate plans when this object dies. Keep it alive only if it cannot be referenced weakly."""
        program = self.program
        try:
            self.watches.append(weakref.ref(value, lambda _: program.touch()))
        except TypeError:
            self.keeps.append(value)

    def guards(self, captures: Captures) -> Iterator[Guard]:
        """The values that the captured names of the kernel must have."""
        for space, name, value, weak in captures.watched():
            is_cell = isinstance(space, CellType)
            if not is_cell and type(space) is not dict:
                raise _Unfit
            if weak:
                self.watch(value)
            self.keeps.append((space, name, None if weak else value))
            yield space, None if is_cell else name, value

    def scalar(self, parameter: Scalar, value: Any) -> list[int]:
        """The rule for a number."""
        if parameter.prim is f16:
            return self._packed(_packer(f16, parameter.pack), 1)
        return number(_KINDS.get(parameter.prim, INTEGER), *(parameter.range or ()))

    def compound(self, parameter: Compound, value: Any) -> list[int]:
        """The rule for a matrix or struct."""
        pack, words = _packer(parameter.type, parameter.pack), len(flatten(parameter.type))
        node = _node(parameter.type, parameter.annotation)
        if node is None:
            return self._packed(pack, words)
        self.keeps += [pack, node]
        return compound(pack, words, node.address)

    def pack(self, pack: ArgPack, parameters: Iterator[Parameter]) -> list[int]:
        """The rule for an argument pack. Its members are the next parameters."""
        if type(pack) is not ArgPack:
            raise _Unfit
        rules: list[list[int]] = []
        for name, annotation in pack.pack_type.members.items():
            inner = pack.entries[name]
            if isinstance(annotation, ArgPackType):
                rules.append(self.pack(inner, parameters))
            else:
                rules.append(self.rule(next(parameters), inner))
        node = PackNode(ArgPack, pack.pack_type, list(pack.pack_type.members), rules)
        self.keeps += [node, pack.pack_type]
        return node.rule

    def rule(self, parameter: Parameter, value: Any) -> list[int]:
        """The rule for an argument."""
        made: list[int] = _RULES[type(parameter)](self, parameter, value)
        return made

    def _packed(self, pack: Any, words: int, kind: type | None = None) -> list[int]:
        self.keeps += [pack, kind]
        return packed(pack, words, kind)

    def array(self, parameter: ArrayParameter, value: Any) -> list[int]:
        """The rule for an array."""
        rule = None
        if type(value) in _NDARRAYS:
            rule = recorded(_record(self.program, parameter, value))
        elif isinstance(kind := parameter.argument(value).type, Array) and not kind.wide:
            rule = self._foreign(value, kind)
        if rule is None:
            raise _Unfit
        return rule

    def _foreign(self, value: Any, kind: Array) -> list[int] | None:
        """The rule for an array of another library."""
        number = self.program.device.number
        if isinstance(value, np.ndarray):  # a subclass has the memory of an array
            self.keeps += [value.dtype, type(value)]
            return numpy_array(value, value.ndim - kind.ndim) if number is None else None
        self.binds = False  # other libraries may give the object other memory
        pack = packer_of(value, kind, number)
        return self._packed(pack, 1 + 2 * kind.ndim, type(value)) if pack is not None and pack(value) else None


def _alike(key: Any) -> Callable[[Any], bytes | None]:
    """What packs a compile-time argument like that one into no bytes, and refuses another."""
    return lambda value: b"" if template_key(value) == key else None


def _record(program: Any, parameter: ArrayParameter, value: Ndarray | StructNdarray) -> Ndarray | StructNdarray:
    """Write the record of an array: a number for its kind, its address, extents and strides. Returns the array."""
    kind, words = parameter.key(value), parameter.pack(value)
    if not isinstance(words, tuple):
        words = words.ctypes.data, words.shape[: value.ndim], words.strides[: value.ndim]
    address, shape, strides = words
    record = Record(struct.pack(f"=2Q{2 * value.ndim}q", program.kind(kind), address, *shape, *strides))
    record.memory = value.array() if isinstance(value, Ndarray) else value.first.array()
    before = getattr(value, "record", None)
    value.record = record
    if before is not None:
        keep(before)  # other threads may still read it
    return value


def write_records(program: Any, parameters: Sequence[Parameter], args: Sequence[Any]) -> None:
    """Write records for the ndarrays among these arguments. The call went through Python because an ndarray had no
    record."""
    for parameter, value in zip(parameters, args):
        if type(value) in _NDARRAYS and isinstance(parameter, ArrayParameter) and not hasattr(value, "record"):
            _record(program, parameter, value)


_RULES: dict[type, Any] = {
    Scalar: _Build.scalar,
    Compound: _Build.compound,
    ArrayParameter: _Build.array,
    Companion: lambda build, parameter, value: exact(None) if value is None else build.array(parameter, value),
    Template: lambda build, parameter, value: build.same(value),
}


def plan_for(
    program: Any, instance: Instance, parameters: Sequence[Parameter], owner: Any, args: Sequence[Any]
) -> Plan | None:
    """The plan for calls of `instance` with such arguments. None if no plan is possible. `parameters` lists the members
    of packs one by one."""
    if instance.held is None:
        return _made_plan(program, instance, parameters, owner, args)
    with instance.held():  # a plan that was made during a change of the layout would be followed before its end
        return None if program.layouts.are_changing else _made_plan(program, instance, parameters, owner, args)


def _made_plan(
    program: Any, instance: Instance, parameters: Sequence[Parameter], owner: Any, args: Sequence[Any]
) -> Plan | None:
    native = getattr(instance.run, "native", None)
    if native is None:
        return None
    build, right = _Build(program), program.epoch.value  # read first: other threads may drop objects
    try:
        rules = [] if owner is None else [build.identical(owner)]
        left = iter(parameters)
        rules += [build.pack(arg, left) if isinstance(arg, ArgPack) else build.rule(next(left), arg) for arg in args]
        guards = [*build.guards(instance.captures)]
    except _Unfit:
        return None
    for tree in instance.trees:
        build.watch(tree())
    check = instance.captures.changed_inside if instance.captures.may_change_inside else None
    keeps = (build.keeps, build.watches, instance.run)
    conclude = _conclusion(instance.run.conclude, instance.give)
    single = len(instance.results) == 1 and isinstance(kind := to_ir(instance.results[0]), Prim) and kind is not f16
    trees = [address for address, _ in instance.memory()]
    token = instance.token if build.binds else None
    return Plan(native, trees, guards, rules, program.epoch, right, conclude, check, single, token, keeps)


def _conclusion(finish: Callable[[Any], Any], give: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Makes the result of a kernel from the tuple of its result scalars or from its error record. (This is not a method
    of the instance, because the instance owns the plan.)"""
    return lambda outcome: give(finish(outcome))


def kinds_of(args: Iterable[Any]) -> Iterator[Any]:
    """The key of a plan among those of one instance: the types of all arguments and of the members of packs."""
    for arg in args:  # (the same code may run for an ndarray and a tensor, but they are read in different ways)
        yield type(arg)
        if isinstance(arg, ArgPack):
            yield arg.pack_type
            yield from kinds_of(arg.entries.values())


@cache
def _plain() -> bool:
    """Whether native code knows the memory layout of vectors, matrices and members of structs."""
    return tensors_supported(Matrix([1.0])) and scalars_supported()


def _node(type: Type, annotation: Any) -> Node | None:
    """How native code reads a value of this type. None if Python has to read it."""
    if not _plain():
        return None
    if isinstance(type, Struct):
        made = {name: _member(member, annotation.members[name]) for name, member in type.members}
        nodes = {name: node for name, node in made.items() if node is not None}
        return struct_node(PyStruct, annotation, nodes) if len(nodes) == len(made) else None
    assert isinstance(type, Tensor)
    if type.elem in (f16, u1):
        return None
    least, greatest = range_of(type.elem) if type.elem.is_int else (0, 0)
    return tensor_node(Matrix, Vector, type.shape, _KINDS.get(type.elem, INTEGER), int(least), int(greatest))


def _member(type: Type, annotation: Any) -> Node | None:
    return scalar_node(type.np) if isinstance(type, Prim) else _node(type, annotation)


def _packer(type: Type, pack: Callable[[Any], Any]) -> Callable[[Any], bytes]:
    """Make the function that packs an argument into its slots. Numbers of the expected kinds are packed directly.
    Others go through `pack`, which raises an error for values that do not fit."""
    layout = struct.Struct("=" + "".join(FORMATS[prim.text] for prim in flatten(type)))
    flat = _FLAT[type.__class__](type)

    def slots(value: Any) -> bytes:
        try:
            return layout.pack(*flat(value))
        except _NOT_PLAIN:
            numbers = pack(value)
            return layout.pack(*([cast_value(numbers, type).item()] if isinstance(type, Prim) else numbers))

    return slots


# The exceptions of `_FLAT`'s functions for a value that is not plainly of the expected kind.
_NOT_PLAIN = (AttributeError, KeyError, TypeError, struct.error, OverflowError)


def _flat_prim(prim: Prim) -> Callable[[Any], Sequence[Any]]:
    wanted = float if prim.is_float else int

    def flat(value: Any) -> Sequence[Any]:
        number = value.item() if isinstance(value, np.generic) else value
        if number.__class__ is not wanted:
            raise TypeError
        return (number,)

    return flat


def _flat_tensor(tensor: Tensor) -> Callable[[Any], Sequence[Any]]:
    shape, kinds = tensor.shape, "iuf" if tensor.elem.is_float else "iu"
    plain = {float, int} if tensor.elem.is_float else {int}

    def flat(value: Any) -> Sequence[Any]:
        if value.__class__ in (list, tuple):
            if (len(value),) != shape or not plain.issuperset(map(type, value)):
                raise TypeError
            given: Sequence[Any] = value
            return given
        values = getattr(value, "values", value)
        if values.shape != shape or values.dtype.kind not in kinds:
            raise TypeError
        numbers: list[Any] = values.ravel().tolist()
        return numbers

    return flat


def _flat_struct(whole: Struct) -> Callable[[Any], Sequence[Any]]:
    members = [(name, _FLAT[member.__class__](member)) for name, member in whole.members]

    def flat(value: Any) -> Sequence[Any]:
        if value.__class__ is dict and len(value) == len(members):
            entries: dict[str, Any] = value
        elif value.__class__ is PyStruct:
            entries = value.entries
        else:
            raise TypeError
        numbers = list[Any]()
        for name, member in members:
            numbers += member(entries[name])
        return numbers

    return flat


# By the class of a type: makes a function that lists the numbers of a value.
_FLAT: dict[Any, Callable[[Any], Callable[[Any], Sequence[Any]]]] = {
    Prim: _flat_prim,
    Tensor: _flat_tensor,
    Struct: _flat_struct,
}
