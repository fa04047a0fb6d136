"""Which names a compilation asked for, and whether the walk with these says all that it looked up and ran; if not, why,
in words.

A look-up counts if the walk met its owner. A call counts if a walk from the function and its arguments, with the names
of all code that it meets, finds nothing that may give another result the next time, and nothing that the kernel's walk
did not meet. What could be run, and was not, is nobody's business.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap
from types import (
    BuiltinFunctionType,
    DynamicClassAttribute,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

from weft.lang.cache.fingerprint_code import (
    PURE_BUILTINS,
    in_weft,
    is_fixed_file,
    is_fixed_module,
    is_pure_library,
    is_weft_module,
    module_of,
)
from weft.lang.cache.fingerprint_values import describe
from weft.lang.cache.walk import Fingerprint, TooLarge, fingerprint
from weft.lang.translate.contract import REMEMBERING, Ran, Translation

__all__ = ["Evidence"]

_LITERALS = frozenset((bool, int, float, complex, str, bytes, type(None), type(...)))
# Objects of these types are all in the key, or made at compile time of what is.
_VALUES = frozenset((str, int, float, complex, tuple, list, dict, range, slice, np.ndarray, np.dtype))
_ITERATORS = (map, filter, zip, enumerate, reversed)
_MADE_ANEW = (MethodType, MethodWrapperType, BuiltinFunctionType, GenericAlias, functools.partial, *_ITERATORS)
_MUTATORS = frozenset(
    ("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update")
)
_SHOWING = frozenset(("__repr__", "__str__", "__format__"))
_WRITING = frozenset(("str", "repr", "format", "ascii", "join"))  # functions, and methods of strings, that call those
_LOOKING = (operator.is_, operator.is_not)  # at identity alone
_ASKING_TRUTH = (bool, operator.not_, operator.truth)
_MOVING = (len, list, tuple, zip, enumerate, reversed, iter, operator.getitem)  # what is in containers
_SETTINGS = ("random_seed", "threads")  # the options that no code depends on
# Methods that the translator may call of an object without a note.
_UNNOTED = ("__getattr__", "__getattribute__")


class Evidence:
    """What was noted of a compilation, with template arguments `given`; `before` is the walk over all that was in its
    reach."""

    def __init__(
        self,
        given: Mapping[str, Any],
        translation: Translation,
        before: Fingerprint | None,
    ) -> None:
        self.reads, self.ran, self.before = translation.reads, translation.ran, before
        self.texts = translation.texts
        self.seen = [*given.values(), *(value for _, _, value in self.reads)]
        self.names = {name for _, name, _ in self.reads}
        self.paths = {id(value): name for name, value in given.items()}  # what the program calls an object, by identity
        for owner, name, value in self.reads:
            self.paths.setdefault(id(value), self._path(owner, name))
        self.walked = Fingerprint(describe, self.names)
        self._judged: set[tuple[int, ...]] = set()

    def examine(self, walk: Callable[[Iterable[str]], Fingerprint]) -> str:
        """Set `names` and `walked`, the walk with these. Why the compilation may depend on what that walk did not meet;
        "" if it cannot."""
        while True:
            names = frozenset(self.names)
            self.walked = walk(names)
            self._judged.clear()
            self.names |= self.walked.evaluated
            why = self._problem()
            if len(self.names) == len(names):
                return why

    def _problem(self) -> str:
        """Of the first read or call that is not explained. May add to `names`, and is then to be asked again."""
        steps = map(self._text, self.texts), starmap(self._read, self.reads), map(self._call, self.ran)
        why = next(filter(None, chain(*steps)), "") or self._methods()
        if not why and self._judged and self.before is None:
            return "it runs Python, and too much is in reach to tell whether that changes something"
        return why

    def _path(self, owner: Any, name: str) -> str:
        if isinstance(owner, FunctionType):
            return name
        first: Any = _self_of(owner)
        return f"{self._name(first)}.{name}"

    def _name(self, x: Any) -> str:
        if id(x) in self.paths:
            return self.paths[id(x)]
        name = getattr(x, "__qualname__", None) or getattr(x, "__name__", None) or type(x).__name__
        return f"{module_of(x)}.{name}" if is_fixed_module(module_of(x)) and module_of(x) != "builtins" else str(name)

    def _text(self, function: Any) -> str:
        known = in_weft(function.__code__.co_filename) or id(function) in self.walked.functions
        return "" if known else f"`{self._name(function)}` is found in a way that its key does not follow"

    # -- reads ---------------------------------------------------------------------------------------------------------

    def _read(self, owner: Any, name: str, value: Any) -> str:
        del value
        kind = type(owner)
        path = self._path(owner, name)
        if isinstance(owner, FunctionType):
            return self._text(owner)
        if kind is super:
            return self._read(_self_of(owner), name, None)
        if (what := self.walked.opaques.get(id(owner))) is not None:
            return f"`{path}` is an attribute of {what}, which no key can tell from another"
        if kind in _VALUES or issubclass(kind, np.generic):
            return ""
        if is_weft_module(module_of(kind)):
            setting = kind.__name__ == "_CurrentConfig" and name in _SETTINGS
            return f"`{path}` is an option that no key says" if setting else ""
        if isinstance(owner, type) and is_fixed_module(module_of(owner)):
            return ""
        if self.walked.number_of_object(owner) is None:
            return f"`{path}` is an attribute of an object that is made as the kernel is compiled"
        if _is_hidden(kind, name):
            return f"`{path}` is found in a way that its key does not follow"
        getter = self._getter(owner, name)
        return "" if getter is None else self._judge(path, [getter, owner])

    def _getter(self, owner: Any, name: str) -> Any:
        """The object of the user's that Python calls to find that attribute; None if it only looks."""
        kind = type(owner)
        if kind is ModuleType:
            return None if name in vars(owner) else vars(owner).get("__getattr__")
        classes = (*owner.__mro__, *kind.__mro__) if isinstance(owner, type) else kind.__mro__
        member = next((vars(base)[name] for base in classes if name in vars(base)), None)
        if isinstance(member, functools.cached_property):
            return member.func if self.before is not None and (id(owner), name) in self.before.uncomputed else None
        if isinstance(member, (property, DynamicClassAttribute)):
            return None if _is_pure(member.fget) else member.fget
        own = getattr(type(member), "__get__", None)
        return member if isinstance(own, FunctionType) and not is_fixed_file(own.__code__.co_filename) else None

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _call(self, note: Ran) -> str:
        function: Any = note.function
        name = self._name(function)
        if function in (getattr, hasattr):
            found = note.result if function is getattr else None
            self.names.add(note.args[1])
            return self._read(note.args[0], note.args[1], found) or self._judge(name, list(_objects(note.args[:1])))
        if function in _LOOKING:
            return ""
        if note.remembered:
            return f"`{name}` gave a result that it had remembered"
        if self._changes_captured(function):
            return f"`{name}` changes what other code sees"
        if isinstance(function, REMEMBERING):
            function = function.__wrapped__
        arguments = list(_used(function, note.args))
        if _is_pure(function):
            writes = getattr(function, "__name__", "") in _WRITING
            return self._judge(name, arguments, _SHOWING if writes else frozenset())
        if isinstance(function, type) or not _runs_python(function):
            return f"it calls `{name}`, which may give another result the next time"
        return self._judge(name, [function, *arguments])

    def _changes_captured(self, function: Any) -> bool:
        """Whether it is `append` or the like, of a list or dict that is not the kernel's own."""
        owner = getattr(function, "__self__", None)
        return getattr(function, "__name__", "") in _MUTATORS and self.walked.number_of_object(owner) is not None

    def _methods(self) -> str:
        """Of the methods that the translator calls without a note."""
        for x in _objects(self.seen):
            if _has_unnoted(type(x)) and (why := self._judge(self._name(x), [x])):
                return why
        return ""

    def _judge(self, name: str, objects: Sequence[Any], words: frozenset[str] = frozenset()) -> str:
        """Whether Python's work with those objects is known to depend on nothing but what the walk met."""
        key = (*map(id, objects), *map(hash, words))
        if not objects or key in self._judged:
            return ""
        self._judged.add(key)

        def roots(made: Fingerprint) -> None:
            assert isinstance(made.names, set)
            made.names |= words
            for x in objects:
                made.value(x)

        try:
            made = fingerprint(roots, of_run=True)
        except TooLarge as error:
            return f"`{name}` runs as the kernel is compiled, and {error}"
        self.names |= made.names
        why = made.doubts[0] if made.doubts else self._unmet(made) if made.names <= self.walked.names else ""
        return why and f"`{name}` runs as the kernel is compiled, and may give another result the next time: {why}"

    def _unmet(self, made: Fingerprint) -> str:
        """What a call may reach that the first walk did not meet."""
        for x in made.objects:
            if self.walked.number_of_object(x) is None and not (_is_made_of_what_is_known(x) or _is_fixed(x)):
                return f"it reaches `{self._name(x)}`, which its key does not know"
        return ""


def _self_of(owner: Any) -> Any:
    """The object whose attribute is read of `owner`, which may be a `super()` of it."""
    return getattr(owner, "__self__", None) if type(owner) is super else owner


def _is_hidden(kind: type, name: str) -> bool:
    """Whether an attribute is the interpreter's own: `__dict__` holds more than the key."""
    if name in ("__class__", "__name__", "__doc__"):
        return False
    return name.startswith("__") and isinstance(_member(kind, name), GetSetDescriptorType)


def _member(kind: type, name: str) -> Any:
    """What a class, or one that it is derived from, says under that name; None if none does."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _objects(values: Iterable[Any]) -> Iterator[Any]:
    """What of those values, and in containers among them, may have code of the user's."""
    rest, seen = list(values), set[int]()
    while rest:
        x = rest.pop()
        if type(x) in (tuple, list, dict):
            if id(x) not in seen:
                seen.add(id(x))
                rest += (*x.keys(), *x.values()) if isinstance(x, dict) else x
        elif type(x) not in _LITERALS and not isinstance(x, (np.generic, np.dtype)) and not _is_of_weft(x):
            yield x


def _used(function: Any, args: Sequence[Any]) -> Iterator[Any]:
    """What a call may use of its arguments but their identity."""
    if function in _ASKING_TRUTH:
        return (x for x in _objects(args) if hasattr(type(x), "__bool__") or hasattr(type(x), "__len__"))
    if function in (isinstance, issubclass):
        return (type(x) for x in _objects(args[1:]))
    if function in _MOVING:
        return _objects(x for x in args if type(x) not in (tuple, list))
    return _objects(args)


def _is_of_weft(x: Any) -> bool:
    """Whether Python runs nothing of the user's when it uses it."""
    if isinstance(x, (type, FunctionType, ModuleType)):
        return is_weft_module(module_of(x) if not isinstance(x, ModuleType) else x.__name__)
    return is_weft_module(module_of(type(x))) and not getattr(x, "is_pyfunc", False)


def _is_made_of_what_is_known(x: Any) -> bool:
    """Whether an object need not be the one that the walk met: the walk went on to what it is made of."""
    kind = type(x)
    return kind in _VALUES or isinstance(x, (np.generic, *_MADE_ANEW)) or is_weft_module(module_of(kind))


def _is_fixed(x: Any) -> bool:
    """Whether it is a function or class of a library, which only another version of it changes."""
    if isinstance(x, FunctionType):
        return is_fixed_file(x.__code__.co_filename) and not (x.__closure__ and in_weft(x.__code__.co_filename))
    return isinstance(x, type) and is_fixed_module(module_of(x))


def _has_unnoted(kind: type) -> bool:
    """Whether the class of an object has such a method, written in Python by the user."""
    parts = (vars(base).get(name) for base in kind.__mro__ for name in _UNNOTED)
    return any(isinstance(part, FunctionType) and not is_fixed_file(part.__code__.co_filename) for part in parts)


def _runs_python(function: Any) -> bool:
    """Whether what it runs can be walked: a function, a method, an object with a `__call__` of the user's."""
    inner = function.__func__ if isinstance(function, MethodType) else function
    if isinstance(inner, FunctionType):
        return not is_fixed_file(inner.__code__.co_filename)
    if isinstance(inner, functools.partial):
        return True
    kind = type(inner)
    return isinstance(_member(kind, "__call__"), FunctionType) and not is_fixed_module(module_of(kind))


def _is_pure(function: Any) -> bool:
    """Whether calling it at compile time needs no explanation: it is Weft's, or one of Python's that only compute."""
    module: str = module_of(function)
    name: str = getattr(function, "__name__", "")
    if isinstance(function, MethodType):
        return in_weft(getattr(getattr(function.__func__, "__code__", None), "co_filename", ""))
    if isinstance(function, FunctionType) and not is_fixed_file(function.__code__.co_filename):
        return False
    owner = getattr(function, "__self__", None)
    if isinstance(function, (BuiltinFunctionType, MethodWrapperType)) and not isinstance(
        owner, (ModuleType, type(None))
    ):
        return isinstance(owner, (str, int, float, tuple, bytes, range, list, dict))
    qualified = getattr(function, "__qualname__", "")
    return name in PURE_BUILTINS if module == "builtins" else is_pure_library(module, name, qualified)
