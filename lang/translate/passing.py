"""How arguments are passed to a function that is called and not inlined.

    f(field, i, v, x[i, j], array)        the field is known at compile time and selects this instance of the function
                                          i and v are passed by value
                                          for a template() parameter, x[i, j] is its field, known, and two indices
                                          an array is passed as one parameter, not copied

A variable that is bound to a template() parameter is passed by value and returned, so that the function can change
it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.symbols import Param
from weft.ir.types import Array, Prim, Tensor, Type, exposed, i32
from weft.lang.functions.annotations import MISSING, is_template
from weft.lang.translate.functions import Call
from weft.lang.translate.inlining import argument_node, check_template, declared_type
from weft.lang.translate.precision import warn_of_loss
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import Record, coerce, in_memory, is_number, settled_place, struct_kind, to_expr
from weft.lang.values.matrix import Matrix
from weft.lang.values.struct import Struct as PyStruct
from weft.lang.values.types import CompoundType, NdarrayType, StructType

__all__ = ["Passed", "Passing"]

Rebuild = Callable[[Translator], Any]


@dataclass(frozen=True, eq=False)
class Passed:
    """One argument. `key` is the part of it that is known at compile time. `rebuild` makes its meaning inside the
    function and adds the parameters that carry the rest. `kept` are the objects that the key identifies by identity."""

    name: str
    key: Hashable
    rebuild: Rebuild
    role: str = ""
    kept: Any = None

    def bind(self, child: Translator) -> None:
        """Bind the parameter to its meaning in the function."""
        value = self.rebuild(child)
        child.bind(self.name, value.variable if isinstance(value, tree.Var) else value, self.role)


class Passing:
    """The arguments of one call: the values `given` at run time, and the places that are assigned the `returned`
    values."""

    def __init__(self, t: Translator, function: str, c: Call) -> None:
        self.t, self.function, self.call, self.node = t, function, c, c.node
        self.given: list[tree.Expr] = []
        self.returned: list[tree.Expr] = []

    def take(self, name: str, value: Any, annotation: Any, by_reference: bool) -> Passed:
        """Split an argument into its parts. Raises TypeMismatch if it does not fit the annotation."""
        if isinstance(value, tree.Expr) and isinstance(value.type, Array):
            return self.array(name, value, annotation)
        if isinstance(annotation, NdarrayType):
            raise self.t.error(f"argument '{name}' of '{self.function}' must be an array", self.node, TypeMismatch)
        if isinstance(value, (list, tuple)) and not isinstance(annotation, CompoundType):
            return self.items(name, value, by_reference or is_template(annotation))
        check_template(self.t, self.function, name, value, annotation, self.call)
        if by_reference or is_template(annotation):
            return self.reference(name, value)
        if annotation is MISSING and _is_object(value):
            return _known(name, value)
        return self.value(name, value, annotation)

    def items(self, name: str, value: Any, by_reference: bool) -> Passed:
        """A list or tuple: its items, one by one."""
        kind: Any = type(value)
        parts = [self.take(f"{name}_{k}", item, MISSING, by_reference) for k, item in enumerate(value)]
        key = (kind, *(part.key for part in parts))
        return Passed(name, key, lambda child: kind([part.rebuild(child) for part in parts]), kept=parts)

    # ---- values ----

    def value(self, name: str, value: Any, annotation: Any) -> Passed:
        """A number, vector, matrix or struct, passed by value."""
        expr, kind = to_expr(self.t, value, self.node), struct_kind(value)
        wanted = declared_type(annotation)
        if wanted is not None:
            try:
                if isinstance(wanted, Tensor) and isinstance(expr.type, Prim):
                    raise TypeMismatch("a number is not a vector")
                place = argument_node(self.call, name, value)
                warn_of_loss(self.t, f"argument '{name}' of '{self.function}'", wanted, expr, place)
                expr = coerce(self.t, expr, wanted, self.node)
            except TypeMismatch:
                raise self.t.error(
                    f"argument '{name}' of '{self.function}' must be of type {wanted}, not {expr.type}",
                    self.node,
                    TypeMismatch,
                ) from None
            kind = annotation if isinstance(annotation, StructType) else kind
        return self.given_value(name, expr, kind)

    def given_value(self, name: str, expr: tree.Expr, kind: StructType | None, handed_back: bool = False) -> Passed:
        """A value that the function stores in a variable of its own. A struct has the type `kind`."""
        self.given.append(expr)
        type = expr.type

        def rebuild(child: Translator) -> Any:
            variable = tree.Variable(name, type)
            child.emit(tree.Let(variable, _parameter(child, name, type), span=child.source.header()))
            if handed_back:
                child.unit.handed_back.append(variable)
            inside = tree.Var(variable, type=type)
            return inside if kind is None else Record(kind, inside)

        return Passed(name, (type, id(kind)), rebuild, kept=kind)

    def array(self, name: str, value: tree.Expr, annotation: Any) -> Passed:
        """An array. It is passed as one parameter and not copied. Two parameters may be the same array."""
        if not isinstance(value, tree.ParamRef):
            raise self.t.error("this array cannot be passed to another function", self.node)
        assert isinstance(value.type, Array)
        kind = exposed(value.type)
        structs = self.t.unit.of_structs.get(value.index)
        if isinstance(annotation, NdarrayType):
            self._check(name, kind, annotation, structs)
        clamped = value.index in self.t.unit.clamped or getattr(annotation, "boundary", "") == "clamp"
        self.given.append(value)

        def rebuild(child: Translator) -> tree.Expr:
            inside = _parameter(child, name, kind)
            if clamped:
                child.unit.clamped.add(inside.index)
            if structs is not None:
                child.unit.of_structs[inside.index] = structs
            return inside

        return Passed(name, (kind, clamped, id(structs)), rebuild, "template parameter", kept=structs)

    def _check(self, name: str, kind: Array, annotation: NdarrayType, structs: StructType | None) -> None:
        elements = (annotation.element, kind.elem) if structs is None else (annotation.dtype, structs)
        for what, wanted, found in (("elements", *elements), ("axes", annotation.ndim, kind.ndim)):
            if wanted is not None and wanted != found:
                raise self.t.error(
                    f"argument '{name}' of '{self.function}' must be an array with {what} {wanted}, not {found}",
                    self.node,
                    TypeMismatch,
                )

    # ---- references ----

    def reference(self, name: str, value: Any) -> Passed:
        """The argument of a `template()` parameter, or `self`."""
        if isinstance(value, Record):
            if value.whole is not None:
                return self.place(name, value.whole, value.type)
            parts = {key: self.reference(f"{name}_{key}", part) for key, part in (value.parts or {}).items()}
            key = (id(value.type), *(part.key for part in parts.values()))
            return Passed(
                name,
                key,
                lambda child: Record(value.type, parts={key: part.rebuild(child) for key, part in parts.items()}),
                kept=(value.type, parts),
            )
        if isinstance(value, tree.Expr):
            return self.array(name, value, MISSING) if isinstance(value.type, Array) else self.place(name, value, None)
        return _known(name, value)

    def place(self, name: str, value: tree.Expr, kind: StructType | None) -> Passed:
        """A place in memory, or a value that has no place."""
        if not in_memory(value):
            return self.given_value(name, value, kind)
        root = _root(value)
        if isinstance(root, tree.Var):
            settled = settled_place(self.t, value)
            changes = root.variable not in self.t.unit.fixed
            if changes:
                self.returned.append(settled)
            return self.given_value(name, settled, kind, changes)
        made = self.steps(name, value)
        if kind is None:
            return made
        return Passed(name, (made.key, id(kind)), lambda child: Record(kind, made.rebuild(child)), kept=(made, kind))

    def steps(self, name: str, value: tree.Expr) -> Passed:
        """A part of an element of a field or array: the object that it is a part of, and the indices."""
        type = value.type
        if isinstance(value, tree.Member):
            base, member = self.steps(name, value.base), value.name
            return Passed(
                name, (base.key, member), lambda child: tree.Member(base.rebuild(child), member, type=type), kept=base
            )
        if isinstance(value, tree.Element):
            return self.indexed(name, self.steps(name, value.base), value.indices, _element(type))
        if isinstance(value, tree.ArrayElement):
            return self.indexed(name, self.array(name, value.array, MISSING), value.indices, _array_element(type))
        assert isinstance(value, tree.FieldElement)
        symbol = value.field
        whole = Passed(name, id(symbol), lambda child: symbol, kept=symbol)
        return self.indexed(name, whole, value.indices, _field_element(type))

    def indexed(
        self, name: str, base: Passed, indices: list[tree.Expr], make: Callable[[Any, list[tree.Expr]], tree.Expr]
    ) -> Passed:
        """`base[indices]`. The indices are evaluated now and passed."""
        parts = [self._index(f"{name}_index{k}", index) for k, index in enumerate(indices)]
        key = (base.key, *(part.key for part in parts))
        return Passed(
            name, key, lambda child: make(base.rebuild(child), [p.rebuild(child) for p in parts]), kept=(base, parts)
        )

    def _index(self, name: str, index: tree.Expr) -> Passed:
        if isinstance(index, tree.Const):
            number = index.value
            return Passed(name, ("const", number), lambda child: tree.Const(number, type=i32))
        self.given.append(index)
        type = index.type
        return Passed(name, type, lambda child: _parameter(child, name, type))


def _parameter(child: Translator, name: str, type: Type) -> tree.ParamRef:
    """Add a parameter to the function."""
    child.unit.params.append(Param(name, type))
    return tree.ParamRef(len(child.unit.params) - 1, type=type)


def _known(name: str, value: Any) -> Passed:
    """A compile-time value. Its key is its value for a number, and its identity for an object."""
    key = (type(value), value) if is_number(value) or isinstance(value, str) else id(value)
    return Passed(name, key, lambda child: value, "template parameter", value)


def _is_object(value: Any) -> bool:
    """Whether `value` exists only at compile time: a field, a function or a string."""
    return not isinstance(value, (tree.Expr, Record, Matrix, PyStruct)) and not is_number(value)


def _root(value: tree.Expr) -> tree.Expr:
    while isinstance(value, (tree.Element, tree.Member)):
        value = value.base
    return value


def _element(type: Type) -> Callable[[Any, list[tree.Expr]], tree.Expr]:
    return lambda base, indices: tree.Element(base, indices, type=type)


def _array_element(type: Type) -> Callable[[Any, list[tree.Expr]], tree.Expr]:
    return lambda array, indices: tree.ArrayElement(array, indices, type=type)


def _field_element(type: Type) -> Callable[[Any, list[tree.Expr]], tree.Expr]:
    return lambda symbol, indices: tree.FieldElement(symbol, indices, type=type)
