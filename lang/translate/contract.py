"""What a translation is given, and what it gives. Those who only speak of translations import no translator."""

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

# A function, a line of its file, a column; and the calls that led there, each by file and line, from the inside out.
# A function or file, line and column; the calls that led there, each by file and line.
Place = tuple[CodeType | str, int, int] | tuple[CodeType | str, int, int, tuple[tuple[str, int], ...]]

__all__ = ["Argument", "Loss", "Place", "Translation", "loops_of", "with_loops"]

_LOOPS = "__weft_loops__"  # an attribute of functions: settings of `LoopConfig` by their names


@dataclass(frozen=True, eq=False)
class Argument:
    """How one parameter is bound: at run time, to a value of `type` (`annotation` is what the user wrote), or, where
    `type` is None, at compile time to `value`."""

    name: str
    type: Type | None = None
    annotation: Any = None
    value: Any = None


@dataclass(frozen=True, eq=False)
class Loss:
    """A warning of a translation: what it says, where, and the globals of the function that it is about."""

    text: str
    file: str
    line: int
    space: dict[str, Any]
    kind: type[Warning] = PrecisionWarning

    def warn(self) -> None:
        """Give it. Python's filters decide what becomes of it. What `exec` runs may have globals without a name; Python
        drops a warning whose module is None."""
        registry = self.space.setdefault("__warningregistry__", {})
        warning, module = self.kind(self.text), self.space.get("__name__") or self.file
        warnings.warn_explicit(warning, None, self.file, self.line, module, registry)


@dataclass(frozen=True, eq=False)
class Translation:
    """A translated kernel. `trees`: the field trees it reaches, by the numbers that its symbols give them. `kept`: the
    fields themselves. `captures`: what it took from the program around it, each a (namespace or cell, name, value).
    `choices`: the types of choices between values and of locals that atomics update, by place, with and without the
    calls that led there; None where there are several."""

    tree: tree.KernelTree
    trees: tuple[Any, ...]
    kept: tuple[Any, ...]
    captures: tuple[tuple[Any, str, Any], ...]
    choices: dict[Place, Type | None] = field(default_factory=dict[Place, "Type | None"])


def with_loops(function: Any, settings: dict[str, Any]) -> Any:
    """The same function, where those settings hold for outermost loops whose `loop_config` does not say them."""
    made: Any = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    update_wrapper(made, function)
    del made.__wrapped__
    setattr(made, _LOOPS, settings)
    return made


def loops_of(function: Any) -> dict[str, Any]:
    """Those settings."""
    settings: dict[str, Any] = getattr(function, _LOOPS, {})
    return settings
