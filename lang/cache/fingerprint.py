"""What a kernel depends on, as a number: the key of its code in the disk cache.

    def k(): x[i] += f(N)        ->     text of k, layout of x, text of f and whatever f names, value of N

A walk from the kernel over what its translation looks up: those names, in closures and globals and as attributes of
objects, and functions and what these name in turn. The names are those that the kernel's last compilation asked for.
The walk runs no code of the user's and does not parse: it is quick enough to come before every compilation. What it
cannot tell apart is `opaque`: no kernel that used such a thing is kept. That it missed nothing is not taken on trust: a
compilation notes what it looked up and what it ran, and `evidence.py` must find all of it here (see
docs/adr/0013-cache-key.md).

Where no names are given, the walk takes those of all code that it meets. So it goes over all that a compilation could
look up; and over what was run as a kernel was compiled, from a function and its arguments. There it also looks for what
may give another result the next time, and puts it in `doubts`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from types import CellType, FunctionType
from typing import Any

from weft.lang.cache.fingerprint_code import MAKING, facts_of, package_of
from weft.lang.translate.contract import loops_of

__all__ = ["Fingerprint", "TooLarge"]

_LITERALS: frozenset[type] = frozenset(
    (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
)
_MOST_OBJECTS = 20_000


class TooLarge(Exception):
    """More objects are in reach than are worth looking at."""


class Fingerprint:
    """The result of a walk; also its state. `describe(walk, x)` adds what an object means. `spaces` are the namespaces
    and cells met, `trees` the field trees, both in an order that is the same whenever the key is."""

    def __init__(
        self,
        describe: Callable[[Fingerprint, Any], None],
        names: set[str] | frozenset[str],
        made: set[int] | None = None,
        computed: Iterable[tuple[int, str]] = (),
    ) -> None:
        self._describe = describe
        self.names = names  # what is looked up; a set that can grow takes in those of all code met
        self.made = made  # of a walk over what was run: the classes, by identity, that may be called
        self.computed = frozenset(computed)  # what its cached properties, (owner's identity, name), are no values yet
        self.uncomputed: set[tuple[int, str]] = set()  # those met that have none
        self.doubts: list[str] = []  # why what was run may give another result next time
        self.said: list[str] = []
        self.places: list[str] = []
        self.spaces: list[Any] = []
        self.trees: list[Any] = []
        self._space_numbers: dict[int, int] = {}
        self._tree_numbers: dict[int, dict[int, int]] = {}
        self._numbers: dict[int, int] = {}
        self.objects: list[Any] = []  # those that it knows by identity: they live while this does
        self.opaques: dict[int, str] = {}  # what they are, by identity
        self.functions: set[int] = set()  # the user's functions met, by identity
        self.evaluated: set[str] = set()  # the names in annotations that are still text
        self.package = ""  # where what is walked was installed
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

    # -- the walk ------------------------------------------------------------------------------------------------------

    def say(self, *words: Any) -> None:
        """Add plain data to the key."""
        self.said += map(str, words)

    def value(self, x: Any) -> None:
        """Add what an object means."""
        if type(x) in _LITERALS:
            self.said.append(f"{type(x).__name__} {x!r}")
            return
        if self.made is not None and isinstance(x, type):
            self.made.update(map(id, x.__mro__))
        self.kind(x)

    def kind(self, x: Any) -> None:
        """As `value`, of a class that nobody calls: of an object's, or of one that another is derived from."""
        known = self._numbers.get(id(x))
        if known is not None:
            self.said.append(f"#{known}")
            return
        if len(self._numbers) >= _MOST_OBJECTS:
            raise TooLarge(f"more than {_MOST_OBJECTS} objects are in its reach")
        self._numbers[id(x)] = len(self._numbers)
        self.objects.append(x)
        self._describe(self, x)

    def values(self, items: Sequence[Any], owner: Any) -> None:
        """Add the items of a container, which is opaque if one of them is."""
        self.said.append(f"[{len(items)}]")
        for item in items:
            self.value(item)
        for item in items:
            if id(item) in self.opaques:
                self.opaques[id(owner)] = f"{type(owner).__name__} of {self.opaques[id(item)]}"

    def opaque(self, x: Any, what: str) -> None:
        """Say only what kind of thing `x` is: a kernel that uses it is not kept."""
        self.opaques[id(x)] = what
        self.doubt(f"it uses {what}, which no key can tell from another")
        self.say("opaque", what)

    def doubt(self, why: str) -> None:
        """Note that what was run may give another result the next time."""
        if self.made is not None:
            self.doubts.append(why)

    def may_make(self, kind: type) -> bool:
        """Whether that class may be called as the kernel is compiled."""
        return self.made is not None and id(kind) in self.made

    def entries(self, space: dict[str, Any], without: Iterable[str] = ()) -> None:
        """Add the entries of a namespace that the code has names for."""
        self.space(space)
        for name in sorted(self.names.intersection(space).difference(without)):
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

    def function(self, function: FunctionType) -> None:
        """Add a function of the user's: its text and all that it names."""
        code = function.__code__
        facts = facts_of(code)
        written = _names_of_annotations(function)
        self.evaluated |= written
        names = facts.names.union(written)
        if isinstance(self.names, set):
            self.names |= names if self.made is not None else names - MAKING
        else:
            names = names & self.names
        self.functions.add(id(function))
        if facts.changes:
            self.doubt(f"`{function.__qualname__}` {facts.changes}")
        home, self.package = self.package, package_of(code.co_filename)
        self.said += ("function", function.__name__, function.__qualname__, facts.text, facts.code)
        self.places.append(f"{code.co_filename}:{code.co_firstlineno}")
        self.value(function.__defaults__)
        self.value(function.__kwdefaults__)
        if self.made is None:
            self.value(function.__annotations__)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self.said.append(name)
            self.cell(cell)
        self._globals(function, names)
        if function.__dict__:
            self.entries(function.__dict__)
            self.value(loops_of(function))
        self.package = home

    def cell(self, cell: CellType) -> None:
        """Add what a variable of an enclosing function means."""
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


def _digest(words: Sequence[str]) -> str:
    digest = blake2b(digest_size=20)
    for word in words:
        data = word.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()
