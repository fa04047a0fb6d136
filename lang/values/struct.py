"""Structs: values with named members, and the decorator `@dataclass`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from weft.ir.errors import CompilationError, TypeMismatch
from weft.ir.scalar import cast_value, range_of
from weft.ir.types import Struct as StructIr
from weft.ir.types import Type, element, f64, i64, shape_of, u1
from weft.lang.values.brackets import meant
from weft.lang.values.makers import MAKERS
from weft.lang.values.matrix import Matrix
from weft.lang.values.types import MatrixType, StructType, VectorType, prim_of_numpy, primitive, to_ir

__all__ = ["Struct", "check_class", "convert", "dataclass", "known_member", "make_struct"]


class Struct:
    """`Struct({"a": 1, "v": vec3(0)})` or `Struct(a=1, v=vec3(0))`: a value with these members.

    Members are read and assigned as attributes. An assigned value is cast to the type of the member. A struct behaves
    as it does in kernels. `ti.dataclass` and `ti.types.struct` make types of structs.

    Example:
        s = ti.Struct(mass=2.0, pos=ti.math.vec2(1, 2))
        s.mass += 1
        other = s.copy()
        other.pos = [0, 0]
        s.keys, s["mass"], s.to_dict(), other.pos  # (['mass', 'pos'], 3.0, {'mass': 3.0, 'pos': [1.0, 2.0]}, [0. 0.])
        ti.Struct.field({"a": ti.f32, "b": ti.i32}, shape=3).keys  # ['a', 'b']
    """

    entries: dict[str, Any]
    struct_type: StructType
    _inferred = False

    def __init__(self, *args: Any, **members: Any) -> None:
        given = _given(args) if args and not members else dict(members)
        if len(args) > (not members):
            raise TypeMismatch("ti.Struct takes members by name, or one dict of them")
        given.pop("__struct_methods", None)
        values = {name: _value(value) for name, value in given.items()}
        self._fill(StructType({name: _type_of(value) for name, value in values.items()}), values)
        object.__setattr__(self, "_inferred", True)

    def _fill(self, struct_type: StructType, entries: dict[str, Any]) -> None:
        object.__setattr__(self, "struct_type", struct_type)
        object.__setattr__(self, "entries", entries)

    @staticmethod
    def of(struct_type: StructType, entries: dict[str, Any]) -> Struct:
        """The struct of this type with these members. They are numpy scalars, matrices and structs of the members'
        types."""
        made: Struct = object.__new__(Struct)
        made._fill(struct_type, entries)
        return made

    @property
    def keys(self) -> list[str]:
        """The names of the members, a list of strings in the order of the type."""
        return list(self.struct_type.members)

    @property
    def items(self) -> Any:
        """The pairs (name, value) of the members, in the order of the type."""
        return {name: self[name] for name in self.keys}.items()

    @property
    def methods(self) -> dict[str, Callable[..., Any]]:
        """The methods, by name."""
        return self.struct_type.methods

    def __getitem__(self, name: Any) -> Any:
        return _number(self._get(self._known(name)))

    def __setitem__(self, name: Any, value: Any) -> None:
        self._set(self._known(name), value)

    def _known(self, name: Any) -> str:
        if not isinstance(name, str) or name not in self.struct_type.members:
            raise KeyError(f"{self.struct_type.__name__} has no member {name!r}; it has {', '.join(self.keys)}")
        return name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("entries", "struct_type"):
            raise AttributeError(name)
        if name in self.struct_type.members:
            return _number(self._get(name))
        if name in self.struct_type.methods:
            return self.struct_type.bound(name, self)
        raise AttributeError(f"{self.struct_type.__name__} has no member '{name}'; it has {', '.join(self.keys)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.struct_type.members:
            raise AttributeError(f"{self.struct_type.__name__} has no member '{name}'; it has {', '.join(self.keys)}")
        self._set(name, value)

    def _get(self, name: str) -> Any:
        return self.entries[name]

    def _set(self, name: str, value: Any) -> None:
        self.entries[name] = convert(value, self.struct_type.members[name])

    def typed(self, name: str) -> Any:
        """Member `name` with its exact type: a number is returned as a numpy scalar."""
        return self._get(name)

    def copy(self) -> Struct:
        """A copy with members of its own: an assignment to one does not change the other."""
        return make_struct(self.struct_type, (), {name: self._get(name) for name in self.keys})

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Struct:
        del memo  # members are values, and no object is shared
        return self.copy()

    def as_constant(self) -> Struct:
        """The constant that a kernel uses for this struct. A number takes the default type if it has no declared type
        and Python made it 64 bits wide."""
        if not self._inferred:
            return self
        values = {name: value.as_constant() if isinstance(value, Struct) else value for name, value in self.items}
        return make_struct(StructType({name: _default_type(value) for name, value in values.items()}), (), values)

    def to_dict(self, include_methods: bool = False) -> dict[str, Any]:
        """The members as Python numbers, lists and dicts."""
        plain = {name: _plain(self[name]) for name in self.keys}
        return plain | self.methods if include_methods else plain

    def __str__(self) -> str:
        return str(self.to_dict())

    __repr__ = __str__

    @staticmethod
    def field(
        members: Mapping[str, Any], methods: Mapping[str, Any] | None = None, shape: Any = None, **keywords: Any
    ) -> Any:
        """Make a field of structs with these members (name to type) and methods. The keywords are those of
        `ti.field`."""
        return MAKERS.struct_field(StructType(members, methods), shape, **keywords)


def make_struct(struct_type: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Struct:
    """Call a StructType. Members come in order, by name, or all from one Struct or dict. Missing members are zero."""
    names = list(struct_type.members)
    given: dict[str, Any]
    if len(args) == 1 and isinstance(args[0], Struct) and set(args[0].keys) <= set(names):
        given = {name: args[0].typed(name) for name in args[0].keys}
    elif len(args) == 1 and isinstance(args[0], dict):
        given = dict(args[0])
    else:
        if len(args) > len(names):
            raise TypeMismatch(f"{struct_type!r} has {len(names)} members, but got {len(args)} values")
        given = dict(zip(names, args))
    for name, value in keywords.items():
        if name in given:
            raise TypeMismatch(f"{struct_type.__name__}: member '{name}' is given twice")
        given[name] = value
    for name in given:
        if name not in struct_type.members:
            raise TypeMismatch(f"{struct_type!r} has no member '{name}'")
    entries = {name: convert(given.get(name, 0), annotation) for name, annotation in struct_type.members.items()}
    return Struct.of(struct_type, entries)


def convert(value: Any, annotation: Any) -> Any:
    """Convert `value` to the type of a member: a numpy scalar, a Matrix or a Struct. A number fills a vector. For a
    struct, it is the first member, as in a call of the struct's type."""
    if isinstance(annotation, StructType):
        if isinstance(value, Struct | dict):
            return make_struct(annotation, (value,), {})
        first = (value,) if annotation.members else ()
        return make_struct(annotation, tuple(value) if isinstance(value, tuple | list) else first, {})
    if isinstance(annotation, MatrixType):
        return annotation(value)
    if np.ndim(value) or not isinstance(value, int | float | np.generic | np.ndarray):
        raise TypeMismatch(f"a member of type {annotation!r} must be a number, not {type(value).__name__}")
    return cast_value(value, primitive(annotation))


def _is_struct(struct_type: StructType, value: Any) -> bool:
    if not isinstance(value, Struct):
        return False
    own, wanted = value.struct_type.ir, struct_type.ir
    return own == wanted or (value._inferred and _without_bits(own) == _without_bits(wanted))


def _without_bits(kind: Type) -> Any:
    """The type that a free struct compares: without the sizes of numbers."""
    if isinstance(kind, StructIr):
        return [(name, _without_bits(member)) for name, member in kind.members]
    return shape_of(kind), element(kind).is_float


MAKERS.struct, MAKERS.is_struct = make_struct, _is_struct


def _given(args: tuple[Any, ...]) -> dict[str, Any]:
    """The members, if the only argument is a struct or a dict."""
    one: Any = dict(args[0].items) if isinstance(args[0], Struct) else args[0]
    if len(args) > 1 or not isinstance(one, dict):
        raise TypeMismatch("ti.Struct takes members by name, or one dict of them")
    given: dict[Any, Any] = dict(one)
    if not all(isinstance(name, str) for name in given):
        raise TypeMismatch(f"the names of the members of a struct must be strings, not {[*given]}")
    return given


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return Struct(value)
    if isinstance(value, list | tuple | np.ndarray):
        return Matrix(value)
    return value


def _type_of(value: Any) -> Any:
    if isinstance(value, Struct):
        return value.struct_type
    if isinstance(value, Matrix):
        return MatrixType(value.n, value.m, value.dtype) if value.ndim == 2 else VectorType(value.n, value.dtype)
    return prim_of_numpy(np.asarray(value).dtype)


def known_member(base: Struct, name: str) -> Any:
    """A member of a constant struct as a Python number or matrix. None if that would have another type in a kernel,
    where numbers that are known at compile time have the default types."""
    annotation = base.as_constant().struct_type.members.get(name)
    if annotation is None:
        return None
    value, own = base.typed(name), element(to_ir(annotation)) if not isinstance(annotation, StructType) else None
    is_default = own in (None, u1, primitive(int), primitive(float))
    if isinstance(value, Matrix):
        return value if is_default or own not in (f64, i64) else None
    return _number(value) if is_default else None


def _default_type(value: Any) -> Any:
    """The type of a member, or the placeholder for the default type."""
    if isinstance(value, Struct):
        return value.struct_type
    if isinstance(value, Matrix):
        prim: Any = float if value.dtype is f64 else int if value.dtype is i64 else value.dtype
        return MatrixType(value.n, value.m, prim) if value.ndim == 2 else VectorType(value.n, prim)
    own = _type_of(value)
    low, high = range_of(primitive(int))
    return float if own is f64 else int if own is i64 and low <= value <= high else own


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return value.to_dict()
    if isinstance(value, Matrix):
        return value.to_list()
    return _number(value)


def _number(value: Any) -> Any:
    """Convert a numpy scalar to a Python number."""
    return value.item() if isinstance(value, np.generic) else value


def dataclass(cls: type) -> StructType:
    """Make a struct type of a class. Its annotations become the members, its functions the methods, usually
    with `@ti.func`.

    Raises CompilationError for what structs do not support: default values, and inherited members or methods.

    Example:
        @ti.dataclass
        class Ball:
            pos: ti.math.vec2
            radius: ti.f32

            @ti.func
            def area(self):
                return ti.math.pi * self.radius**2

        @ti.kernel
        def area_of(radius: ti.f32) -> ti.f32:
            return Ball(radius=radius).area()

        area_of(2.0)  # 12.566371
        Ball(pos=[1, 2], radius=3)  # {'pos': [1.0, 2.0], 'radius': 3.0}
    """
    check_class(cls, "dataclass")
    base = next((base for base in cls.__mro__[1:-1] if inspect.get_annotations(base) or _functions(base)), None)
    if base is not None:
        raise CompilationError(
            f"{cls.__name__} inherits from {base.__name__}, but a struct cannot inherit: make {base.__name__} "
            "a member, or copy its members"
        )
    # String annotations may refer to local names of the caller.
    members = inspect.get_annotations(cls, locals=sys._getframe(1).f_locals, eval_str=True)
    for name in members:
        if name in vars(cls):
            raise CompilationError(f"{cls.__name__}.{name}: a member of a struct cannot have a default value")
    members = {name: meant(annotation) for name, annotation in members.items()}
    made = StructType(members, _functions(cls), cls.__name__)
    made.__doc__, made.__module__ = cls.__doc__, cls.__module__
    return made


_OF_PROGRAMS = 1 << 9  # the flag that CPython sets on types that a `class` statement made


def check_class(cls: Any, decorator: str) -> None:
    """Raise CompilationError unless `cls` is a class that the program defined."""
    if not isinstance(cls, type) or not cls.__flags__ & _OF_PROGRAMS:
        raise CompilationError(f"@ti.{decorator} must decorate a class, not {cls!r}")


def _functions(cls: type) -> dict[str, Any]:
    return {name: value for name, value in vars(cls).items() if not name.startswith("__") and callable(value)}
