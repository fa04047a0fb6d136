"""What a translation is given, and what it gives. Those who only speak of translations import no translator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, update_wrapper
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from weft.ir.types import Type
from weft.lang.errors import PrecisionWarning, RaceWarning

if TYPE_CHECKING:
    from weft.ir import tree

# A function, a line of its file, a column; and the calls that led there, each by file and line, from the inside out.
# A function or file, line and column; the calls that led there, each by file and line.
Place = tuple[CodeType | str, int, int] | tuple[CodeType | str, int, int, tuple[tuple[str, int], ...]]

__all__ = ["REMEMBERING", "WARNINGS", "Argument", "Loss", "Place", "Ran", "Translation", "loops_of", "with_loops"]

REMEMBERING: Any = type(lru_cache(len))  # the class of functions that remember their results

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
    kind: type[Warning] = PrecisionWarning  # one of WARNINGS

    def warn(self) -> None:
        """Give it. Python's filters decide what becomes of it. What `exec` runs may have globals without a name; Python
        drops a warning whose module is None."""
        registry = self.space.setdefault("__warningregistry__", {})
        warning, module = self.kind(self.text), self.space.get("__name__") or self.file
        warnings.warn_explicit(warning, None, self.file, self.line, module, registry)


# The kinds of warnings by name, as a kernel on disk keeps them.
WARNINGS: dict[str, type[Warning]] = {kind.__name__: kind for kind in (PrecisionWarning, RaceWarning, SyntaxWarning)}


class Ran:
    """A call at compile time: the function, its arguments, what it gave. `remembered`: that was the result of an
    earlier call (`functools.lru_cache`)."""

    __slots__ = ("_hits", "args", "function", "remembered", "result")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function: Any = function
        self.args, self.result, self.remembered = args, None, False
        self._hits = self._remembered()

    def gave(self, result: Any) -> Any:
        """Note the result, and give it."""
        self.result = result
        self.remembered = self._remembered() > self._hits
        return result

    def _remembered(self) -> int:
        return int(self.function.cache_info().hits) if isinstance(self.function, REMEMBERING) else 0


@dataclass(frozen=True, eq=False)
class Translation:
    """A translated kernel. `trees` are the field trees it reaches, by the numbers its symbols give them; `kept` the
    fields themselves; `captures` what was taken from the program around it: (namespace or cell, name, value). `texts`
    are the functions that were translated, `reads` is all that was looked up around them, by owner and name, and `ran`
    what of Python was called. `losses` are the warnings that were given; `choices` the types of choices between values
    and of locals that atomics update, by place, with and without the calls that led there, None where there are
    several."""

    tree: tree.KernelTree
    trees: tuple[Any, ...]
    kept: tuple[Any, ...]
    captures: tuple[tuple[Any, str, Any], ...]
    texts: tuple[Any, ...] = ()
    reads: tuple[tuple[Any, str, Any], ...] = ()
    ran: tuple[Ran, ...] = ()
    losses: tuple[Loss, ...] = ()
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
