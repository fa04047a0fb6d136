"""What a kernel depends on, as a number: the key of its code in the disk cache.

    def k(): x[i] += f(N)        ->     text of k, layout of x, text of f and whatever f names, value of N

A walk from the kernel over all that its translation can look up: names in closures and globals, attributes of objects
by the names that occur in the code, functions and what these name in turn. The walk runs no code of the user's and does
not parse: it is quick enough to come before every compilation. What it cannot tell apart is `opaque`: no kernel that
used such a thing is kept. That it missed nothing is not taken on trust: a compilation notes what it looked up, and
`explains` must find all of it here (see docs/adr/0013-cache-key.md).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from weft.lang.cache.fingerprint_code import (
    PURE_BUILTINS,
    facts_of,
    in_weft,
    is_fixed_file,
    is_fixed_module,
    is_pure_library,
    is_weft_module,
    module_of,
)

__all__ = ["Fingerprint", "fingerprint"]

_LITERALS: frozenset[type] = frozenset(
    (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
)
_MOST_OBJECTS = 20_000
_MOST_ROUNDS = 16
_MUTATORS = frozenset(
    ("append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update")
)
_SHOWING: tuple[Any, ...] = (str, repr, format, ascii)
# Objects of these types are all in the key, or made at compile time of what is.
_VALUES = frozenset((str, int, float, complex, tuple, list, dict, range, slice, np.ndarray, np.dtype))
_SETTINGS = ("random_seed", "threads")  # the options that no code depends on


class TooLarge(Exception):
    """More objects are in reach than are worth looking at."""


class Fingerprint:
    """The result of a walk; also its state. `spaces` are the namespaces and cells met, `trees` the field trees, both in
    an order that is the same whenever the key is."""

    def __init__(self, names: set[str]) -> None:
        self.names = names  # attributes are looked up by these
        self.said: list[str] = []
        self.places: list[str] = []
        self.spaces: list[Any] = []
        self.trees: list[Any] = []
        self._space_numbers: dict[int, int] = {}
        self._tree_numbers: dict[int, dict[int, int]] = {}
        self._numbers: dict[int, int] = {}
        self.objects: list[Any] = []  # those that it knows by identity: they live while this does
        self._opaque: set[int] = set()
        self._outer: dict[int, frozenset[str]] = {}  # the free names of each function
        self.impure = False  # some function in reach, run by Python, may give another result next time
        self.runs = False  # methods of the user's may run at compile time without a call being written
        self.shows = False  # some class in reach has its own way to be written as text
        self.space(vars(builtins))

    # -- results -------------------------------------------------------------------------------------------------------

    def key(self) -> str:
        """The number: 40 hexadecimal digits."""
        return _digest(self.said)

    def place(self) -> str:
        """A number for the files and lines of all functions, which only error messages depend on."""
        return _digest(self.places)

    def number_of_space(self, space: Any) -> int | None:
        """The position of a namespace or cell in `spaces`."""
        return self._space_numbers.get(id(space))

    def number_of_object(self, x: Any) -> int | None:
        """The position of an object in `objects`."""
        return self._numbers.get(id(x))

    def number_of_tree(self, tree: Any) -> int | None:
        """The position of a field tree in `trees`."""
        numbers = self._tree_numbers.get(id(tree))
        return None if numbers is None else numbers[0]

    def explains(self, reads: Iterable[tuple[Any, str, Any]], ran: Iterable[Callable[..., Any]]) -> bool:
        """Whether a compilation that read those (owner, name, value) and ran those functions depended on nothing that
        is not in the key."""
        if not all(self._explains_read(*read) for read in reads):
            return False
        if self.shows and any(function in _SHOWING for function in ran):
            return False
        called = [function for function in ran if not _is_pure(function)]
        if any(self._changes_captured(function) for function in ran):
            return False
        if not all(self._knows_function(function) for function in called):
            return False
        return not (self.impure and (called or self.runs))

    def _explains_read(self, owner: Any, name: str, value: Any) -> bool:
        if id(value) in self._opaque:
            return False
        if isinstance(owner, FunctionType):
            return in_weft(owner.__code__.co_filename) or name in self._outer.get(id(owner), ())
        kind = type(owner)
        if kind is super:
            return self._explains_read(owner.__self__, name, value)
        if kind in _VALUES or issubclass(kind, np.generic):
            return id(owner) not in self._opaque
        if is_weft_module(module_of(kind)):
            return not (kind.__name__ == "_CurrentConfig" and name in _SETTINGS)
        if isinstance(owner, type) and is_fixed_module(module_of(owner)):
            return True
        return id(owner) in self._numbers and name in self.names

    def _knows_function(self, function: Any) -> bool:
        function = getattr(function, "__func__", function)
        return isinstance(function, FunctionType) and id(function) in self._outer

    def _changes_captured(self, function: Any) -> bool:
        """Whether it is `append` or the like, of a list or dict that is not the kernel's own."""
        return (
            getattr(function, "__name__", "") in _MUTATORS and id(getattr(function, "__self__", None)) in self._numbers
        )

    # -- the walk ------------------------------------------------------------------------------------------------------

    def say(self, *words: Any) -> None:
        """Add plain data to the key."""
        self.said += map(str, words)

    def value(self, x: Any) -> None:
        """Add what an object means."""
        if type(x) in _LITERALS:
            self.said.append(f"{type(x).__name__} {x!r}")
            return
        known = self._numbers.get(id(x))
        if known is not None:
            self.said.append(f"#{known}")
            return
        if len(self._numbers) >= _MOST_OBJECTS:
            raise TooLarge
        self._numbers[id(x)] = len(self._numbers)
        self.objects.append(x)
        from weft.lang.cache.fingerprint_values import describe

        this: Any = self  # checkers see this module under two names
        describe(this, x)

    def values(self, items: Sequence[Any], owner: Any) -> None:
        """Add the items of a container, which is opaque if one of them is."""
        self.said.append(f"[{len(items)}]")
        before = len(self._opaque)
        for item in items:
            self.value(item)
        if len(self._opaque) > before or any(id(item) in self._opaque for item in items):
            self._opaque.add(id(owner))

    def opaque(self, x: Any, what: str) -> None:
        """Say only what kind of thing `x` is: a kernel that uses it is not kept."""
        self._opaque.add(id(x))
        self.impure = True
        self.say("opaque", what)

    def entries(self, space: dict[str, Any]) -> None:
        """Add the entries of a namespace that the code has names for."""
        self.space(space)
        for name in sorted(self.names.intersection(space)):
            self.said.append(name)
            self.value(space[name])
        self.said.append(".")

    def space(self, space: Any) -> None:
        """Number a namespace or cell."""
        if id(space) not in self._space_numbers:
            self._space_numbers[id(space)] = len(self.spaces)
            self.spaces.append(space)

    def tree(self, tree: Any) -> dict[int, int]:
        """Add a field tree; gives the numbers of its nodes by identity, and of the tree itself under 0."""
        numbers = self._tree_numbers.get(id(tree))
        if numbers is None:
            numbers = self._tree_numbers[id(tree)] = {0: len(self.trees)}
            self.trees.append(tree)
            self.say("tree", "destroyed" if tree.destroyed else "alive")
            self._node(tree.node, numbers)
        self.said.append(f"tree {numbers[0]}")
        return numbers

    def _node(self, node: Any, numbers: dict[int, int]) -> None:
        numbers[id(node)] = len(numbers)
        dtype = None if node.dtype is None else node.dtype.text
        self.say(node.kind, node.axes, node.extents, dtype, node.name, len(node.children))
        for child in node.children:
            self._node(child, numbers)

    def function(self, function: FunctionType, runs: bool = True) -> None:
        """Add a function of the user's: its text and all that it names. `runs`: Python may run it."""
        code = function.__code__
        facts = facts_of(code)
        names = facts.names.union(_names_of_annotations(function))
        self._outer[id(function)] = names
        self.names |= names
        self.impure |= runs and facts.changes
        self.said += ("function", facts.text, facts.code)
        self.places.append(f"{code.co_filename}:{code.co_firstlineno}")
        for part in (function.__defaults__, function.__kwdefaults__, function.__annotations__):
            self.value(part)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self.said.append(name)
            self._cell(cell)
        self._globals(function, names)
        if function.__dict__:
            self.entries(function.__dict__)

    def _cell(self, cell: CellType) -> None:
        self.space(cell)
        try:
            content = cell.cell_contents
        except ValueError:
            self.said.append("empty")
            return
        self.value(content)

    def _globals(self, function: FunctionType, names: frozenset[str]) -> None:
        space = function.__globals__
        self.space(space)
        for name in sorted(names.intersection(space)):
            self.said.append(name)
            self.value(space[name])
        for name in sorted(names.difference(space).intersection(vars(builtins))):
            self.said.append(name)
            self.value(vars(builtins)[name])
        self.said.append(".")


def _names_of_annotations(function: FunctionType) -> set[str]:
    """The names in annotations that are still text."""
    texts = (text for text in function.__annotations__.values() if isinstance(text, str))
    return {
        word for text in texts for word in "".join(c if c.isidentifier() or c.isdigit() else " " for c in text).split()
    }


def _is_pure(function: Any) -> bool:
    """Whether calling it at compile time needs no explanation: it is Weft's, or one of Python's that only compute."""
    module: str = module_of(function)
    name: str = getattr(function, "__name__", "")
    if isinstance(function, MethodType):
        return in_weft(getattr(getattr(function.__func__, "__code__", None), "co_filename", ""))
    if isinstance(function, FunctionType) and not is_fixed_file(function.__code__.co_filename):
        return False
    owner = getattr(function, "__self__", None)
    if isinstance(function, BuiltinFunctionType) and not isinstance(owner, (ModuleType, type(None))):
        return isinstance(owner, (str, int, float, tuple, bytes, range, list, dict))
    return name in PURE_BUILTINS | {"getattr"} if module == "builtins" else is_pure_library(module, name)


def _digest(words: Sequence[str]) -> str:
    digest = blake2b(digest_size=20)
    for word in words:
        data = word.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def fingerprint(roots: Callable[[Fingerprint], None]) -> Fingerprint:
    """The walk from what `roots` adds. The more names are met, the more attributes count: walk until no name is new.
    TooLarge if there is no end to it."""
    names: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        count = len(names)
        made = Fingerprint(names)
        roots(made)
        if len(names) == count:
            return made
    raise TooLarge
