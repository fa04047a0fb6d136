"""How a tape runs a kernel whose gradient needs values that memory has neither before nor after it.

It runs the kernel piece by piece, if the values are in memory between two of its loops (`ir/pieces.py`). Otherwise it
runs the recording kernel, which also stores the values (`ir/autodiff/records.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from weft.ir.autodiff.torn import Torn
from weft.ir.pieces import pieces_of
from weft.ir.symbols import COUNTING, READING, RECORDING, records_kind
from weft.lang.autodiff.contexts import Context, active
from weft.lang.data.derived import ir_mode
from weft.lang.data.writes import LISTENERS

if TYPE_CHECKING:
    from weft.lang.autodiff.records import RecordedLaunch

__all__ = ["Derivatives", "Plan", "pieces_for", "plan_of"]

Call = Callable[..., Any]


@dataclass(frozen=True)
class Derivatives:
    """Which gradient kernels are meant: their mode, and the numbers that have derivatives, too."""

    mode: str = "vjp"
    boxed: tuple[str, ...] = ()

    def of(self, kernel: Any, records: str = "") -> Any:
        """That of a kernel. `records`: a row of RECORDS, for one of those that work with records."""
        return kernel.related(self.mode, (*self.boxed, records) if records else self.boxed, kernel.piece)


@dataclass(frozen=True)
class Plan:
    """How to run a launch. `run` launches the kernel, and `launched` is the kernel that draws its random numbers.
    `gradient` is what was bound for the gradient. `pieces`: kernels that run in the place of all that, each with what
    launches it for the contexts around this one. `again` makes the launch again, if it makes records."""

    run: Call
    launched: Any
    gradient: Any
    again: RecordedLaunch | None = None
    pieces: Sequence[tuple[Any, Call]] = ()


def plan_of(
    context: Context | None,
    kernel: Any,
    call: Call,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    derivatives: Derivatives,
    bind: Call = lambda _, gradient, *given: gradient.bind(*given),
    cuts: bool = True,
    unrecorded: str = "",
    again: bool = False,
) -> Plan:
    """The plan for a launch. `bind` binds the gradient of the kernel to the arguments. `cuts`: the kernel may be cut.
    `unrecorded`: why nothing may be recorded, if that is so. `again`: the launch may be made again. Raises
    CompilationError if the kernel cannot be differentiated."""
    contexts = active()
    others = [one for one in contexts if one is not context]
    if others and not (context is not None and all(one.shares for one in contexts)):
        unrecorded = unrecorded or "another block is around this one"
    outer = call if others and context is not contexts[0] else None
    instance = kernel.bind(args, keywords).instance if kernel.is_torn else None
    pieces: list[Any] = instance.pieces if instance is not None and cuts else []
    is_torn = instance is not None and (instance.pieces or instance.is_recorded)
    if not pieces and (unrecorded or not is_torn):
        try:
            return Plan(call, kernel, bind(kernel, derivatives.of(kernel), args, keywords))
        except Torn as torn:
            instance = kernel.bind(args, keywords).instance
            pieces = pieces_for(kernel, args, keywords) if cuts else []
            if not pieces and unrecorded:
                raise Torn(f"{torn.message} Here it does not: {unrecorded}.", torn.span) from None
            kernel.is_torn, instance.pieces, instance.is_recorded = True, pieces, not pieces
    if pieces:
        return Plan(call, kernel, None, None, [(piece, partial(_outside, context, piece)) for piece in pieces])
    try:
        return _recorded(kernel, args, keywords, derivatives, bind, again, outer)
    except Torn as torn:
        raise Torn(f"{torn.message} Here it does not: the launch cannot record them.", torn.span) from None


def pieces_for(kernel: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
    """Kernels that compute what this one computes for such arguments, one after another. It has none if it cannot be
    cut."""
    count = len(pieces_of(kernel.bind(args, keywords).instance.recipe.translate().tree))
    return [kernel.related("", (), number) for number in range(count)] if count > 1 and kernel.piece is None else []


def _outside(context: Context | None, piece: Any, *args: Any, **keywords: Any) -> Any:
    """Launch a piece for the contexts around this one."""
    contexts = active()
    place = next((k for k, one in enumerate(contexts) if one is context), len(contexts))
    token = LISTENERS.set(contexts[:place])
    try:
        return piece(*args, **keywords)
    finally:
        LISTENERS.reset(token)


def _recorded(
    kernel: Any,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    derivatives: Derivatives,
    bind: Call,
    again: bool,
    outer: Call | None,
) -> Plan:
    """The plan for a launch with records. `outer` makes the launch for tapes around this one, of which the outermost
    one records it."""
    from weft.lang.autodiff.records import RecordedLaunch, shared_launch  # few programs need it

    paired = ir_mode(derivatives.mode) == "vjp.jvp"
    recorder, reader, counter = (
        partial(derivatives.of, kernel, records_kind(kind, again, paired)) for kind in (RECORDING, READING, COUNTING)
    )
    gradient = bind(kernel, reader(), args, keywords)
    launch = gradient[0] if isinstance(gradient, tuple) else gradient
    if outer is not None:
        return Plan(shared_launch(outer, launch), recorder(), gradient)
    made = RecordedLaunch(recorder(), counter, launch)
    return Plan(made.run, recorder(), gradient, made)
