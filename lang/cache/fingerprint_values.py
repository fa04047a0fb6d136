"""How each kind of object enters a fingerprint: one row per kind, the most special first."""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
from collections import namedtuple
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePath
from types import (
    BuiltinFunctionType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, get_args, get_origin

import numpy as np

from weft.ir.types import Type
from weft.lang.cache.fingerprint import Fingerprint
from weft.lang.cache.fingerprint_code import (
    MAKING,
    PURE_BUILTINS,
    full_name,
    in_weft,
    is_fixed_file,
    is_fixed_module,
    is_plain,
    is_pure_library,
    is_weft_module,
    module_of,
    package_of,
)
from weft.lang.data.field import Field, Slot
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.snode_api import FieldTree, SNode
from weft.lang.data.struct_field import StructField
from weft.lang.program.init import Program
from weft.lang.translate.contract import REMEMBERING
from weft.lang.values.argpack import ArgPackType
from weft.lang.values.builtins import Builtin, PyFunc
from weft.lang.values.matrix import Matrix
from weft.lang.values.struct import Struct
from weft.lang.values.types import CompoundType, NdarrayType, Template

__all__ = ["describe"]

_MOST_BYTES = 1 << 20  # of a numpy array
# Methods that Python calls only where the code has an op or a name for it, see `CodeFacts.names`.
_NAMED = frozenset(
    ("__repr__", "__str__", "__format__", "__enter__", "__exit__", "__setitem__", "__delitem__", "__delattr__")
)
# Those that only pickling, copying and looking at a program call.
_UNCALLED = frozenset(
    (
        *("__copy__", "__deepcopy__", "__dir__", "__getnewargs__", "__getnewargs_ex__", "__getstate__", "__reduce__"),
        "__hash__",  # which changes no result
        *("__reduce_ex__", "__replace__", "__setstate__", "__sizeof__", "__subclasshook__", "__prepare__"),
        *("__annotate__", "__annotate_func__"),
    )
)
_ASKING_FILES = frozenset(dir(Path)).difference(dir(PurePath))
_DATA = (CompoundType, NdarrayType, Template, ArgPackType, Struct, StructField)


def describe(walk: Fingerprint, x: Any) -> None:
    """Add the meaning of `x` to the walk."""
    kind: Any = type(x)
    _row(kind)(walk, x)


@functools.lru_cache(1024)
def _row(kind: Any) -> Callable[[Fingerprint, Any], None]:
    if _is_of_weft(kind) and (hasattr(kind, "is_kernel") or hasattr(kind, "is_pyfunc")):
        return _bound if kind.__name__ == "BoundKernel" else _pyfunc
    return next((handler for kinds, handler in _ROWS if issubclass(kind, kinds)), _other)


def _is_of_weft(kind: type) -> bool:
    """Whether a class is Weft's own."""
    return is_weft_module(module_of(kind))


# ---- data ------------------------------------------------------------------------------------------------------------


def _enum(walk: Fingerprint, x: Any) -> None:
    walk.say("enum", x._name_)
    walk.value(x._value_)
    walk.kind(type(x))
    walk.entries(x.__dict__)


def _number(walk: Fingerprint, x: Any) -> None:
    """A subclass of a number or a string: what it is worth, and what its class adds."""
    base: Any = next(base for base in (int, float, str) if isinstance(x, base))
    walk.say(base.__name__, base.__repr__(x))
    _instance(walk, x)


def _path(walk: Fingerprint, x: PurePath) -> None:
    walk.say("path", PurePath.__str__(x))
    if isinstance(x, Path) and not walk.names.isdisjoint(_ASKING_FILES):
        walk.doubt("it may ask the file system of a path")
    _instance(walk, x)


def _scalar(walk: Fingerprint, x: Any) -> None:
    if x.dtype.kind not in "biufc":
        walk.opaque(x, f"a numpy scalar of type {x.dtype}")
        return
    walk.say("numpy", x.dtype.str, x.tobytes().hex())


def _array(walk: Fingerprint, x: Any) -> None:
    if type(x) is not np.ndarray or x.nbytes > _MOST_BYTES or x.dtype.kind not in "biufc":
        walk.opaque(x, "an array that is large, or not of numbers")
        return
    walk.say("array", x.dtype.str, x.shape, x.tobytes().hex())


def _tuple(walk: Fingerprint, x: Any) -> None:
    walk.say("tuple", getattr(type(x), "_fields", ""))
    walk.values(list(tuple.__iter__(x)), x)
    if type(x) is not tuple:
        walk.kind(type(x))


def _list(walk: Fingerprint, x: Any) -> None:
    walk.say("list")
    walk.values(list(list.__iter__(x)), x)
    if type(x) is not list:
        _instance(walk, x)


def _dict(walk: Fingerprint, x: Any) -> None:
    walk.say("dict")
    walk.values([part for pair in dict.items(x) for part in pair], x)
    if type(x) is not dict:
        _instance(walk, x)


def _dtype(walk: Fingerprint, x: Any) -> None:
    walk.say("dtype", x.str)


def _item(walk: Fingerprint, x: Any) -> None:
    """The descriptor of a named tuple's item: which one it is."""
    walk.say("item", x.__reduce__()[1][0])


def _slice(walk: Fingerprint, x: Any) -> None:
    walk.say("slice")
    walk.values([x.start, x.stop, x.step], x)


def _range(walk: Fingerprint, x: Any) -> None:
    walk.say(repr(x))


# ---- Weft's own ------------------------------------------------------------------------------------------------------


def _type(walk: Fingerprint, x: Type) -> None:
    walk.say("type", x.text)


def _field(walk: Fingerprint, x: Field) -> None:
    walk.say("field", type(x).__name__, x.name, x._dtype.text, x._inner)
    for slot in x._slots:
        _slot(walk, slot)
    walk.value(x.grad)


def _slot(walk: Fingerprint, slot: Slot) -> None:
    if slot.node is None or slot.tree is None:
        walk.say("not placed")
        return
    numbers = walk.tree(slot.tree)
    walk.say(numbers.get(id(slot.node), "gone"), slot.offset)


def _snode(walk: Fingerprint, x: SNode) -> None:
    walk.say("snode", walk.tree(x.tree).get(id(x.node), "gone"))


def _tree(walk: Fingerprint, x: FieldTree) -> None:
    walk.tree(x)


def _data(walk: Fingerprint, x: Any) -> None:
    """All that an object of Weft's holds."""
    walk.say(type(x).__name__)
    for name, part in sorted(vars(x).items()):
        walk.say(name)
        walk.value(part)


def _matrix(walk: Fingerprint, x: Matrix) -> None:
    walk.say(type(x).__name__)
    walk.value(x.values)


def _ndarray(walk: Fingerprint, x: Ndarray) -> None:
    walk.say("ndarray", x.element_type, x.shape)


def _builtin(walk: Fingerprint, x: Builtin) -> None:
    walk.say("builtin", x.name)


def _pyfunc(walk: Fingerprint, x: Any) -> None:
    """A kernel, a `@func`, a `@pyfunc`. Python can run only the last."""
    walk.say(type(x).__name__, getattr(x, "is_real", ""))
    if hasattr(x, "is_kernel"):
        walk.doubt(f"it may launch the kernel `{x.__name__}`")
    if walk.made is None or getattr(x, "is_pyfunc", False):
        _function(walk, x.function)


def _bound(walk: Fingerprint, x: Any) -> None:
    walk.say("bound")
    walk.value(x.kernel)
    walk.value(x.class_instance)


def _hidden(walk: Fingerprint, x: Any) -> None:
    walk.opaque(x, f"the {type(x).__name__.lower()}")


# ---- functions, modules, classes -------------------------------------------------------------------------------------


def _function(walk: Fingerprint, x: FunctionType) -> None:
    file = x.__code__.co_filename
    if not is_fixed_file(file):
        walk.function(x)
        return
    module = module_of(x)
    walk.say("function", module, x.__qualname__)
    if not in_weft(file) and not is_pure_library(module, x.__name__, x.__qualname__):
        walk.doubt(f"it uses `{module}.{x.__qualname__}`")
    if x.__closure__ and in_weft(file):  # made around something that may be the user's
        walk.value(x.__defaults__)
        for cell in x.__closure__:
            walk.cell(cell)


def _native(walk: Fingerprint, x: Any) -> None:
    owner = getattr(x, "__self__", None)
    module: str = module_of(x)
    walk.say("native", module, getattr(x, "__qualname__", getattr(x, "__name__", "")))
    if owner is None or isinstance(owner, (ModuleType, type)):
        if not (x.__name__ in PURE_BUILTINS if module == "builtins" else is_pure_library(module, x.__name__)):
            walk.doubt(f"it uses `{module or x.__qualname__.partition('.')[0]}.{x.__name__}`")
        return
    walk.value(owner)
    if not isinstance(owner, (str, int, float, tuple, list, dict)):
        walk.doubt(f"it calls `{x.__name__}` of {type(owner).__name__}")


def _method(walk: Fingerprint, x: MethodType) -> None:
    walk.say("method")
    walk.value(x.__func__)
    walk.value(x.__self__)


def _partial(walk: Fingerprint, x: Any) -> None:
    walk.say("partial")
    walk.values([x.func, x.args, x.keywords], x)


def _wrapped(walk: Fingerprint, x: Any) -> None:
    walk.say(type(x).__name__)
    walk.value(x.__func__)


def _property(walk: Fingerprint, x: property) -> None:
    walk.say("property")
    walk.value(x.fget)


def _cached_property(walk: Fingerprint, x: Any) -> None:
    walk.say("cached property")
    walk.value(x.func)


def _remembering(walk: Fingerprint, x: Any) -> None:
    """A function that remembers what it gave. Whether it computed or remembered, only who called it can tell."""
    walk.say("remembers")
    walk.doubt(f"it uses `{x.__name__}`, which remembers earlier results")
    walk.value(x.__wrapped__)


def _alias(walk: Fingerprint, x: Any) -> None:
    walk.say("alias")
    walk.values([get_origin(x), *get_args(x)], x)


def _module(walk: Fingerprint, x: ModuleType) -> None:
    space: dict[str, Any] = object.__getattribute__(x, "__dict__")  # a lazy module stays asleep
    name: str = space.get("__name__", "")
    walk.say("module", name)
    if not is_fixed_module(name):
        if isinstance(space.get("__getattr__"), FunctionType):
            walk.value(space["__getattr__"])
        walk.say(space.get("__version__", ""))
        walk.entries(space)
        return
    walk.space(space)
    for key in sorted(walk.names.intersection(space)):
        part = space[key]
        if _is_open(part):
            walk.value(part)
        elif _is_its_own(name, key, part):  # it is there, or it will be once it is asked for
            if not is_pure_library(name, key):
                walk.doubt(f"it uses `{name}.{key}`")
        else:
            walk.say(key)
            walk.value(part)
    walk.say(".")


# Modules of Weft in which kernels look further: `ti.math.clamp`, `ti.simt.block.sync`.
_OPEN = ("weft.lang.library.mathlib", "weft.lang.compat.types", "weft.lang.simt")


def _is_open(part: Any) -> bool:
    """Whether it is one of those, which is loaded now: what it holds must be the same before it is used and after."""
    if not isinstance(part, ModuleType):
        return False
    name: str = object.__getattribute__(part, "__dict__").get("__name__", "")  # other lazy modules stay asleep
    return name.startswith(_OPEN) and hasattr(part, "__all__")


def _is_its_own(module: str, name: str, part: Any) -> bool:
    """Whether a library's function, class or module is what its name always means."""
    if isinstance(part, ModuleType):
        return module.startswith("weft") and sys.modules.get(f"{module}.{name}") is part
    home = module_of(part)
    return (
        isinstance(part, (FunctionType, type, Builtin, PyFunc))
        and is_fixed_module(home)
        and getattr(part, "__name__", "") == name
        and "<locals>" not in getattr(part, "__qualname__", "")
    )


def _class(walk: Fingerprint, x: type) -> None:
    module = module_of(x)
    if is_fixed_module(module):
        walk.say("class", module, x.__qualname__)
        if module != "builtins" and not is_pure_library(module, x.__name__):
            walk.doubt(f"it uses `{module}.{x.__qualname__}`")
        return
    walk.say("class", x.__name__, x.__qualname__, len(x.__mro__))
    walk.kind(type(x))
    for base in x.__mro__[1:]:
        walk.kind(base)
    if issubclass(x, enum.Enum):  # a loop may run over all of them
        walk.value(x._member_map_)
    space = vars(x)
    if "__dataclass_fields__" in space:
        _fields(walk, x)
    for name in sorted(space):
        part = space[name]
        if name not in walk.names and not _is_called_unnamed(walk, x, name, part):
            continue
        walk.say(name)
        if _is_foreign(walk, part):
            walk.say("foreign")
            walk.doubt(f"it may call `{part.__module__}.{part.__qualname__}`, which is another package's")
        else:
            walk.value(part)
    walk.say(".")


def _fields(walk: Fingerprint, x: Any) -> None:
    """What an object of a dataclass gets that a kernel makes; the signature of `__init__` says the rest."""
    for field in dataclasses.fields(x):
        missing = field.default is dataclasses.MISSING
        walk.say("field", field.name, field.init, missing)
        if not (field.init or missing):
            walk.value(field.default)


def _is_called_unnamed(walk: Fingerprint, kind: type, name: str, part: Any) -> bool:
    """Whether Python, or the translator, may call a class's `__name__` without being told to."""
    if not (name.startswith("__") and name.endswith("__")) or name in _NAMED or name in _UNCALLED:
        return False
    if name in MAKING:
        return walk.may_make(kind)
    return isinstance(part, (staticmethod, classmethod, property)) or (callable(part) and not isinstance(part, type))


def _is_foreign(walk: Fingerprint, part: Any) -> bool:
    """Whether it is a method of an installed class, of which the code walked so far is no part: what such methods name
    has no end."""
    return isinstance(part, FunctionType) and package_of(part.__code__.co_filename) not in ("", walk.package)


def _descriptor(walk: Fingerprint, x: Any) -> None:
    walk.say("descriptor", x.__name__)


def _other(walk: Fingerprint, x: Any) -> None:
    """Any other object: known by its class and its attributes, if Python code alone decides what it is."""
    kind: Any = type(x)
    if isinstance(x, np.ufunc):
        walk.say("ufunc", x.__name__)
    elif module_of(kind).startswith("numpy") and callable(x):
        module, name = module_of(x), getattr(x, "__name__", "")
        walk.say("numpy function", module, name)
        if not is_pure_library(module, name):
            walk.doubt(f"it uses `{module}.{name}`")
    elif is_plain(kind):
        walk.say("instance")
        _instance(walk, x)
    else:
        walk.opaque(x, f"an object of class `{full_name(type(x))}`")


def _instance(walk: Fingerprint, x: Any) -> None:
    """The attributes of an instance that the code has names for, and its class."""
    kind = type(x)
    if is_fixed_module(module_of(kind)):
        walk.say("of", module_of(kind), kind.__qualname__)
    else:
        walk.kind(kind)
    members = {name: vars(base)[name] for base in kind.__mro__[::-1] for name in walk.names.intersection(vars(base))}
    cached = {name for name, member in members.items() if isinstance(member, functools.cached_property)}
    with suppress(AttributeError):
        space: dict[str, Any] = object.__getattribute__(x, "__dict__")
        cached = {name for name in cached if name not in space or (id(x), name) in walk.computed}
        walk.uncomputed.update((id(x), name) for name in cached)
        walk.entries(space, cached)
    for name in sorted(members):
        if isinstance(members[name], MemberDescriptorType):
            walk.say(name)
            walk.value(_in_slot(members[name], x))


def _in_slot(member: Any, x: Any) -> Any:
    try:
        return member.__get__(x)
    except AttributeError:
        return None


_ROWS: tuple[tuple[Any, Callable[[Fingerprint, Any], None]], ...] = (
    (enum.Enum, _enum),
    (Type, _type),
    (Field, _field),
    (_DATA, _data),
    (Matrix, _matrix),
    (Ndarray, _ndarray),
    (SNode, _snode),
    (FieldTree, _tree),
    (Program, _hidden),
    (Builtin, _builtin),
    (PyFunc, _pyfunc),
    (FunctionType, _function),
    (MethodType, _method),
    ((BuiltinFunctionType, MethodWrapperType), _native),
    (
        (MethodDescriptorType, WrapperDescriptorType, GetSetDescriptorType, MemberDescriptorType),
        _descriptor,
    ),
    (ModuleType, _module),
    ((GenericAlias,), _alias),
    (type, _class),
    ((staticmethod, classmethod), _wrapped),
    (property, _property),
    (functools.cached_property, _cached_property),
    (functools.partial, _partial),
    (REMEMBERING, _remembering),
    (PurePath, _path),
    (np.generic, _scalar),
    (np.ndarray, _array),
    (np.dtype, _dtype),
    (tuple, _tuple),
    (list, _list),
    (dict, _dict),
    (slice, _slice),
    (range, _range),
    (type(namedtuple("Pair", "a").a), _item),  # type: ignore[misc,attr-defined,unused-ignore]
    ((int, float, str), _number),
)
