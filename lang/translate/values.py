"""Converts compile-time meanings to run-time expressions, and back: literals, captured matrices and structs,
records."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeGuard

import numpy as np

from weft.ir import tree
from weft.ir.errors import CompilationError, Span, TypeMismatch
from weft.ir.scalar import promote, range_of
from weft.ir.shared_locals import root_variable
from weft.ir.transforms.lower_tree_facts import walk
from weft.ir.types import Array, Prim, Struct, Tensor, Type, element, f64, i64, shape_of, tensor, u1, with_element
from weft.lang.data.field import Field
from weft.lang.data.struct_field import StructField
from weft.lang.translate.translator import Translator
from weft.lang.values.matrix import Matrix
from weft.lang.values.struct import Struct as PyStruct
from weft.lang.values.types import CompoundType, StructType, prim_of_numpy, to_ir

__all__ = [
    "EFFECTS",
    "Made",
    "Parent",
    "Record",
    "Unfinished",
    "aliased",
    "as_int",
    "assignable",
    "coerce",
    "common_type",
    "contains",
    "evaluated",
    "has_effects",
    "in_memory",
    "is_constant",
    "is_known",
    "is_number",
    "kind_of",
    "moves",
    "scalar_of",
    "sequence_of",
    "settled",
    "settled_place",
    "struct_kind",
    "tensor_elements",
    "to_expr",
    "wrap",
]


class Unfinished:
    """A meaning that can only be used in its own context: a range in a loop, a method in a call. `phrase` is its name
    in messages."""

    phrase = ""


class Record:
    """The value of a struct: one expression (`whole`), or one meaning for each member (an element of a struct
    field)."""

    __slots__ = ("parts", "type", "whole")

    def __init__(self, type: StructType, whole: tree.Expr | None = None, parts: dict[str, Any] | None = None) -> None:
        self.type, self.whole, self.parts = type, whole, parts

    def member(self, name: str, span: Span | None = None) -> Any:
        """The meaning of one member. Raises KeyError if there is none."""
        annotation = self.type.members[name]
        if self.parts is not None:
            return self.parts[name]
        assert self.whole is not None
        return wrap(annotation, tree.Member(self.whole, name, type=to_ir(annotation), span=span))


class Made(Unfinished):
    """An object of class `kind` that the kernel makes; see `objects.py`. It can get further attributes in the list of
    statements `home`."""

    def __init__(self, kind: type, home: list[tree.Stmt]) -> None:
        self.kind, self.home = kind, home
        self.attributes: dict[str, Any] = {}

    @property
    def phrase(self) -> str:  # type: ignore[override]
        """The name of this meaning in messages."""
        return f"an object of class {self.kind.__name__}"


class Parent(Unfinished):
    """The meaning of `super()` in a method of class `of`: the object, with the attributes of the classes after `of`."""

    def __init__(self, made: Made, of: type) -> None:
        self.made, self.of = made, of

    @property
    def phrase(self) -> str:  # type: ignore[override]
        """The name of this meaning in messages."""
        return f"super() of {self.made.phrase}"


def wrap(annotation: Any, expr: tree.Expr) -> Any:
    """`expr`, wrapped in a Record if `annotation` is a struct type."""
    return Record(annotation, expr) if isinstance(annotation, StructType) else expr


def struct_kind(value: Any) -> StructType | None:
    """The struct type of a meaning. None if it is not a struct."""
    if isinstance(value, Record):
        return value.type
    return value.as_constant().struct_type if isinstance(value, PyStruct) else None


def is_number(value: Any) -> bool:
    """Whether `value` is a number known at compile time."""
    return isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating))


def is_constant(value: Any) -> bool:
    """Whether `value` is a number, vector or matrix known at compile time."""
    return is_number(value) or isinstance(value, Matrix)


def is_known(value: Any) -> bool:
    """Whether `value` and everything in it is known at compile time."""
    if isinstance(value, (tree.Expr, Record, Made)):
        return False
    if isinstance(value, (list, tuple)):
        return all(map(is_known, value))
    if isinstance(value, dict):
        return all(map(is_known, value.values()))
    return True


def to_expr(t: Translator, value: Any, node: ast.AST) -> tree.Expr:
    """Convert `value` to a run-time expression. Raises TypeMismatch if kernels have no such values."""
    if isinstance(value, tree.Expr):
        if isinstance(value.type, Array):
            raise t.error("an array cannot be used as a value here: write an index, as in a[i]", node, TypeMismatch)
        return value
    if isinstance(value, Record):
        return _record(t, value, node)
    if is_number(value):
        return _literal(t, value, node)
    if isinstance(value, Matrix):
        return _matrix(t, value, node)
    if isinstance(value, PyStruct):
        return _struct(t, value, node)
    if isinstance(value, (list, tuple)) and value:
        return sequence_of(t, value, None, node)
    raise t.error(_no_value(value), node, TypeMismatch)


def _no_value(value: Any) -> str:
    if isinstance(value, (Field, StructField)):
        index = "None" if not value.shape else ", ".join("ijkl"[: len(value.shape)])
        return f"a field cannot be used as a value here: write an index, as in x[{index}]"
    if value is None:
        return "None cannot be used as a value in a kernel: this call or name has no value"
    return f"{kind_of(value)} cannot be used as a value in a kernel"


def kind_of(value: Any) -> str:
    """The name of a meaning's kind in messages."""
    if isinstance(value, Record):
        return f"a struct {value.type!r}"
    if isinstance(value, tree.Expr):
        return f"a value of type {value.type}"
    if isinstance(value, str):
        return f"the string {value!r}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, (Field, StructField)):
        return "a field"
    if isinstance(value, Unfinished):
        return value.phrase
    if isinstance(value, (Prim, CompoundType)):
        return f"the type {value!r}"
    name = getattr(value, "__name__", None)
    if isinstance(value, ModuleType):
        return f"the module {name}"
    if callable(value) and name:
        return f"the {'kernel' if getattr(value, 'is_kernel', False) else 'function'} {name}"
    return f"a Python {type(value).__name__}"


def _literal(t: Translator, value: Any, node: ast.AST) -> tree.Expr:
    config = t.unit.config
    if isinstance(value, (bool, np.bool_)):
        return tree.Const(bool(value), type=u1, span=t.span(node))
    if isinstance(value, (float, np.floating)):
        return tree.Const(float(value), type=config.default_fp, span=t.span(node))
    number, prim = int(value), config.default_ip
    if not _fits(number, prim):
        own = next((p for p in (i64,) if isinstance(value, np.signedinteger)), None)
        if isinstance(value, np.integer) and own is None:
            own = _unsigned(value)
        if own is None or not _fits(number, own):
            raise t.error(
                f"the integer {number} does not fit default_ip, {prim}: write ti.i64({number}), ti.u32({number}) ..., "
                f"or choose another default_ip in ti.init()"
                if abs(number) < 2**64
                else "an integer of more than 64 bits does not fit any type",
                node,
                TypeMismatch,
            )
        prim = own
    return tree.Const(number, type=prim, span=t.span(node))


def _unsigned(value: Any) -> Prim:
    return prim_of_numpy(value.dtype)


def _fits(number: int, prim: Prim) -> bool:
    low, high = range_of(prim)
    return low <= number <= high


def scalar_of(t: Translator, number: int | float, prim: Prim, node: ast.AST) -> tree.Const:
    """A constant of the given type."""
    return tree.Const(number, type=prim, span=t.span(node))


def _matrix(t: Translator, value: Matrix, node: ast.AST) -> tree.Expr:
    """A captured matrix as a constant. If Python made its elements 64 bits wide, they get the default types of the
    kernel."""
    config, own = t.unit.config, value.dtype
    return _tensor(t, value, config.default_fp if own is f64 else config.default_ip if own is i64 else own, node)


def _tensor(t: Translator, value: Matrix, prim: Prim, node: ast.AST) -> tree.Expr:
    scalars = [scalar_of(t, number, prim, node) for number in np.asarray(value.values).ravel().tolist()]
    return tree.MakeTensor(list(scalars), type=tensor(prim, tuple(value.shape)), span=t.span(node))


def _struct(t: Translator, value: PyStruct, node: ast.AST) -> tree.Expr:
    value = value.as_constant()
    kind = value.struct_type
    values = [_member(t, value.typed(name), to_ir(annotation), node) for name, annotation in kind.members.items()]
    return tree.MakeStruct(values, type=kind.ir, span=t.span(node))


def _member(t: Translator, value: Any, type: Type, node: ast.AST) -> tree.Expr:
    """A member of a captured struct, made in its own type at once, so that an f64 keeps its digits."""
    if isinstance(value, np.generic):
        return scalar_of(t, value.item(), element(type), node)
    if isinstance(value, Matrix):
        return _tensor(t, value, element(type), node)
    return coerce(t, to_expr(t, value, node), type, node)


def _record(t: Translator, value: Record, node: ast.AST) -> tree.Expr:
    if value.whole is not None:
        return value.whole
    members = [to_expr(t, value.member(name), node) for name in value.type.members]
    return tree.MakeStruct(members, type=value.type.ir, span=t.span(node))


def sequence_of(t: Translator, value: Any, wanted: Prim | None, node: ast.AST) -> tree.Expr:
    """A list of scalars as a vector, or a list of rows as a matrix. The elements have type `wanted`, or their common
    type."""
    rows = [
        sequence_of(t, item, wanted, node) if isinstance(item, (list, tuple)) else to_expr(t, item, node)
        for item in value
    ]
    if any(isinstance(row.type, Struct) for row in rows):
        raise t.error("a list of structs cannot be used as a value in a kernel", node, TypeMismatch)
    shapes = {shape_of(row.type) for row in rows}
    if len(shapes) != 1 or len(next(iter(shapes))) > 1:
        raise t.error(
            "the rows of a matrix must be vectors of the same length, or all of them scalars", node, TypeMismatch
        )
    prim = element(rows[0].type)
    for row in rows[1:]:
        prim = promote(prim, element(row.type))
    shape = (len(rows), *next(iter(shapes)))
    scalars = [scalar for row in rows for scalar in tensor_elements(t, row)]
    prim = wanted or prim
    made = [coerce(t, scalar, prim, node) for scalar in scalars]
    return tree.MakeTensor(made, type=tensor(prim, shape), span=t.span(node))


def tensor_elements(t: Translator, value: tree.Expr) -> list[tree.Expr]:
    """The scalars of a tensor in row-major order, or the scalar itself. A computed tensor is stored in a local
    first."""
    kind = value.type
    if not isinstance(kind, Tensor):
        return [value]
    if isinstance(value, tree.MakeTensor):
        return list(value.values)
    base = value if isinstance(value, (tree.Var, tree.ParamRef)) else t.local(value)
    positions = np.ndindex(*kind.shape)
    return [_element_at(base, kind.elem, position) for position in positions]


def _element_at(base: tree.Expr, prim: Prim, position: tuple[int, ...]) -> tree.Expr:
    from weft.ir.types import i32

    indices: list[tree.Expr] = [tree.Const(index, type=i32) for index in position]
    return tree.Element(base, indices, type=prim, span=base.span)


def coerce(t: Translator, value: tree.Expr, wanted: Type, node: ast.AST) -> tree.Expr:
    """Convert `value` to type `wanted`: cast it, or use a scalar for every element. Raises TypeMismatch if the shapes
    differ."""
    if value.type is wanted:
        return value
    if isinstance(wanted, Prim) and isinstance(value.type, Prim):
        if isinstance(value, tree.Const) and wanted.is_float and not value.type.is_float:
            return tree.Const(float(value.value), type=wanted, span=value.span)
        return tree.Cast(value, type=wanted, span=value.span)
    if isinstance(wanted, Tensor) and isinstance(value.type, Prim):
        return tree.Splat(coerce(t, value, wanted.elem, node), type=wanted, span=value.span)
    if isinstance(wanted, Tensor) and isinstance(value.type, Tensor) and value.type.shape == wanted.shape:
        return tree.Cast(value, type=wanted, span=value.span)
    if isinstance(wanted, Struct) and isinstance(value.type, Struct) and _same_names(wanted, value.type):
        return _member_casts(t, value, wanted, node)
    raise t.error(f"a value of type {value.type} cannot be converted to {wanted}", node, TypeMismatch)


def _same_names(a: Struct, b: Struct) -> bool:
    return [name for name, _ in a.members] == [name for name, _ in b.members]


def _member_casts(t: Translator, value: tree.Expr, wanted: Struct, node: ast.AST) -> tree.Expr:
    base = t.frozen(value)
    assert isinstance(value.type, Struct)
    values = [
        coerce(t, tree.Member(base, name, type=own), kind, node)
        for (name, kind), (_, own) in zip(wanted.members, value.type.members, strict=True)
    ]
    return tree.MakeStruct(values, type=wanted, span=value.span)


def common_type(t: Translator, a: Type, b: Type, node: ast.AST) -> Type:
    """The common type of two values: promoted scalars, equal shapes. Raises TypeMismatch if there is none."""
    if a is b:
        return a
    if isinstance(a, Struct) or isinstance(b, Struct):
        raise t.error(f"{a} and {b} have no common type", node, TypeMismatch)
    if shape_of(a) and shape_of(b) and shape_of(a) != shape_of(b):
        raise t.error(f"{a} and {b} have no common type: their shapes differ", node, TypeMismatch)
    return with_element(a if shape_of(a) else b, promote(element(a), element(b)))


def in_memory(value: tree.Expr) -> bool:
    """Whether `value` is a variable, a field, an array, or a part of one, so that it can be assigned."""
    while isinstance(value, (tree.Element, tree.Member)):
        value = value.base
    return isinstance(value, (tree.Var, tree.FieldElement, tree.ArrayElement))


def settled_place(t: Translator, place: tree.Expr) -> tree.Expr:
    """The same place, with its indices evaluated now."""
    if isinstance(place, tree.Element):
        base, indices = settled_place(t, place.base), [t.frozen(index) for index in place.indices]
        return tree.Element(base, indices, type=place.type, span=place.span)
    if isinstance(place, tree.Member):
        return tree.Member(settled_place(t, place.base), place.name, type=place.type, span=place.span)
    if isinstance(place, tree.FieldElement):
        indices = [t.frozen(i) for i in place.indices]
        return tree.FieldElement(place.field, indices, place.stopped, type=place.type, span=place.span)
    if isinstance(place, tree.ArrayElement):
        return tree.ArrayElement(place.array, [t.frozen(i) for i in place.indices], type=place.type, span=place.span)
    return place


def moves(place: Any, value: tree.Expr) -> bool:
    """Whether `value` assigns to a local that an index of the place reads."""
    if not isinstance(place, tree.Expr) or not has_effects(value):
        return False
    writes = (inner for inner in walk(value) if isinstance(inner, (tree.Assign, tree.AugAssign, tree.Atomic)))
    written = {root_variable(write.target) for write in writes}
    return any(isinstance(inner, tree.Var) and inner.variable in written for inner in _indices(place))


def _indices(place: tree.Expr) -> Iterator[tree.Node]:
    """All that the indices of a place consist of."""
    while isinstance(place, (tree.Element, tree.Member)):
        for index in place.indices if isinstance(place, tree.Element) else ():
            yield from walk(index)
        place = place.base
    for index in place.indices if isinstance(place, (tree.FieldElement, tree.ArrayElement)) else ():
        yield from walk(index)


def assignable(value: Any, t: Translator) -> TypeGuard[tree.Expr]:
    """Whether `value` is in memory, and is not the stored copy of a value (see `Translator.frozen`)."""
    root = value
    while isinstance(root, (tree.Element, tree.Member)):
        root = root.base
    fixed = isinstance(root, tree.Var) and root.variable in t.unit.fixed
    return isinstance(value, tree.Expr) and in_memory(value) and not fixed


def settled(t: Translator, value: Any) -> Any:
    """A container with the current value of each run-time value in it."""
    if isinstance(value, tree.Expr):
        return value if isinstance(value.type, Array) else t.frozen(value)
    if isinstance(value, Record):
        if value.whole is not None:
            return Record(value.type, t.frozen(value.whole))
        return Record(value.type, parts={name: settled(t, part) for name, part in (value.parts or {}).items()})
    if isinstance(value, (list, tuple)):
        return type(value)([settled(t, item) for item in value])
    if isinstance(value, dict):
        return {name: settled(t, item) for name, item in value.items()}
    return value


def evaluated(t: Translator, value: Any) -> Any:
    """`value` for a use in which a part of it may be evaluated, or none, or all of it more than once. If it has
    effects, it is evaluated here."""
    return settled(t, value) if contains(value, has_effects) else value


def aliased(t: Translator, value: Any) -> Any:
    """The result of `static`. A run-time scalar gets its current value. A vector, matrix or struct in memory gets
    another name: it stays the same place, with its indices evaluated now."""
    return _aliased(t, value) if contains(value, lambda _: True) else value


def _aliased(t: Translator, value: Any) -> Any:
    if isinstance(value, Record):
        whole = None if value.whole is None else _aliased(t, value.whole)
        parts = None if value.parts is None else {name: _member_alias(t, part) for name, part in value.parts.items()}
        return Record(value.type, whole, parts)
    if isinstance(value, (list, tuple)):
        return type(value)([_aliased(t, item) for item in value])
    if isinstance(value, dict):
        return {name: _aliased(t, item) for name, item in value.items()}
    if isinstance(value, tree.Expr) and not isinstance(value.type, Prim) and in_memory(value):
        return settled_place(t, value)
    return settled(t, value)


def _member_alias(t: Translator, part: Any) -> Any:
    return settled_place(t, part) if isinstance(part, tree.Expr) else _aliased(t, part)


def contains(value: Any, wanted: Callable[[tree.Expr], bool], around: tuple[Any, ...] = ()) -> bool:
    """Whether `value` is such an expression or contains one."""
    if any(value is one for one in around):  # a list that contains itself
        return False
    parts: Any = ()
    if isinstance(value, Record):
        parts = (value.whole, *(value.parts or {}).values())
    elif isinstance(value, (list, tuple, dict)):
        parts = value.values() if isinstance(value, dict) else value
    if parts:
        return any(contains(part, wanted, (*around, value)) for part in parts)
    return isinstance(value, tree.Expr) and not isinstance(value.type, Array) and wanted(value)


EFFECTS = (tree.Call, tree.CellOp, tree.Invoke, tree.Atomic, tree.Random)


def has_effects(value: tree.Expr) -> bool:
    """Whether evaluating `value` may have an effect, or may give another value the next time."""
    return any(isinstance(inner, EFFECTS) for inner in walk(value))


def as_int(t: Translator, value: Any, node: ast.AST, what: str) -> int:
    """A compile-time integer. Raises a CompilationError that names `what` for anything else."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, tree.Expr):
        raise t.error(f"{what} must be known at compile time, but this is known only when the kernel runs", node)
    raise CompilationError(f"{what} must be an integer, not {kind_of(value)}", t.span(node))
