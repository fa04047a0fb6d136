"""The input and the output of a translation. A module that only names these types does not import the translator."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import update_wrapper
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from weft.ir.types import Type
from weft.lang.errors import PrecisionWarning

if TYPE_CHECKING:
    from weft.ir import tree

# A function or file, line and column; the calls that led there, each by file and line, innermost first.
Place = tuple[CodeType | str, int, int] | tuple[CodeType | str, int, int, tuple[tuple[str, int], ...]]

__all__ = ["Argument", "Loss", "Place", "Translation", "loops_of", "with_loops"]

_LOOPS = "__weft_loops__"  # an attribute of functions: settings of `LoopConfig` by name


@dataclass(frozen=True, eq=False)
class Argument:
    """How one parameter is bound. If `type` is given, it is a run-time value of that type, and `annotation` is what the
    user wrote. If `type` is None, it is the compile-time value `value`. `hidden` is that of its `Param`: the program
    does not name it."""

    name: str
    type: Type | None = None
    annotation: Any = None
    value: Any = None
    hidden: str = ""


@dataclass(frozen=True, eq=False)
class Loss:
    """A warning of a translation: its text, its place, and the globals of the function that it is about."""

    text: str
    file: str
    line: int
    space: dict[str, Any]
    kind: type[Warning] = PrecisionWarning

    def warn(self) -> None:
        """Issue the warning. Python's filters apply. Code that `exec` runs may have globals without `__name__`, and
        Python drops a warning whose module is None."""
        registry = self.space.setdefault("__warningregistry__", {})
        warning, module = self.kind(self.text), self.space.get("__name__") or self.file
        warnings.warn_explicit(warning, None, self.file, self.line, module, registry)


@dataclass(frozen=True, eq=False)
class Translation:
    """A translated kernel. `trees` are the field trees that it accesses, in the order of the numbers in its symbols.
    `kept` are the fields themselves. `captures` are the values that it took from the program, each a (namespace or
    cell, name, value). `choices` are the types of choices between values and of locals that atomics update, by place,
    with and without the calls that led there. The type is None if there are several. `grown`: for each tree, how often
    it had grown (`FieldTree.grow`), which says to what layout of it the kernel was translated."""

    tree: tree.KernelTree
    trees: tuple[Any, ...]
    kept: tuple[Any, ...]
    captures: tuple[tuple[Any, str, Any], ...]
    choices: dict[Place, Type | None] = field(default_factory=dict[Place, "Type | None"])
    grown: tuple[int, ...] = ()


def with_loops(function: Any, settings: dict[str, Any]) -> Any:
    """Return the same function with these settings for outermost loops whose `loop_config` does not give them."""
    made: Any = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    update_wrapper(made, function)
    del made.__wrapped__
    setattr(made, _LOOPS, settings)
    return made


def loops_of(function: Any) -> dict[str, Any]:
    """The settings of `with_loops`."""
    settings: dict[str, Any] = getattr(function, _LOOPS, {})
    return settings
