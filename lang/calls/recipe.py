"""Records what an instance of a kernel was compiled from, so that `stages` can compile it again."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from weft.ir.errors import WeftError
from weft.lang.calls.parameters import template_key
from weft.lang.data.derived import ASSIGNS
from weft.lang.data.snode_api import SNode
from weft.lang.program.backends import Backend, threads_of
from weft.lang.translate.entry import Argument, Translation, translate_kernel

if TYPE_CHECKING:
    from weft.ir.config import CompileConfig
    from weft.lang.calls.compile import Instance

__all__ = ["ON_COMPILED", "Recipe"]

# Called with every instance of a kernel as soon as it is compiled.
ON_COMPILED: ContextVar[Callable[[Instance], None] | None] = ContextVar("ON_COMPILED", default=None)


class Recipe:
    """What an instance of a kernel was compiled from. The instance can be compiled again as long as the program lives.
    A recipe does not keep fields and objects alive."""

    def __init__(
        self,
        program: Any,
        function: Callable[..., Any],
        arguments: Sequence[Argument],
        results: Sequence[Any],
        mode: str = "",
        piece: int | None = None,
    ) -> None:
        self.function, self.results, self.mode, self.piece = function, tuple(results), mode, piece
        self.config: CompileConfig = program.config
        self._program = weakref.ref(program)
        self._arguments = [_weakly(one) for one in arguments]

    @property
    def suffix(self) -> str:
        """What follows the name of the kernel: "" for the kernel, ".grad" for its gradient, its mode for another
        derivative."""
        return {"": "", "vjp": ".grad", ASSIGNS: ".grad.assign"}.get(self.mode, f".{self.mode}")

    def translate(self) -> Translation:
        """Translate the kernel again. Raises WeftError if an object that it was compiled for is gone."""
        program = self._program()
        if program is None or not program.alive:
            raise WeftError(f"kernel '{self.function.__name__}' was compiled before the last `init` or `reset`")
        arguments = [self._again(*one) for one in self._arguments]
        return translate_kernel(self.function, arguments, self.results, self.config, self.mode, self.piece)

    def with_config(self, **changes: Any) -> Recipe:
        """The same recipe, to be compiled with other options."""
        changed = copy(self)
        changed.config = replace(self.config, **changes)
        return changed

    def machine(self, backend: Backend) -> Any:
        """The machine to compile for on this arch: the program's device, if it has that arch."""
        program = self._program()
        if program is None or not program.alive or program.backend.lowered_as != backend.lowered_as:
            return backend.machine(None)
        return backend.machine(program.device)

    def threads(self) -> int:
        """The number of CPU threads to compile for."""
        program = self._program()
        return 0 if program is None or not program.alive else threads_of(program.device)

    def _again(self, argument: Argument, ref: Any) -> Argument:
        if ref is None:
            return argument
        value = ref()
        if value is None:
            name = self.function.__name__
            raise WeftError(
                f"kernel '{name}' was compiled for an object that no longer exists: its argument '{argument.name}'"
            )
        return replace(argument, value=value)


def _weakly(argument: Argument) -> tuple[Argument, Any]:
    """The argument without its value, and a weak reference to the value, if the kernel is compiled for the identity of
    the value or for a node. Else the argument, and None."""
    if isinstance(argument.value, SNode):
        return replace(argument, value=None), argument.value.weakly()
    if not isinstance(template_key(argument.value), int):
        return argument, None
    try:
        return replace(argument, value=None), weakref.ref(argument.value)
    except TypeError:
        return argument, None
