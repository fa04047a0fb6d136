"""Derivatives of functions that compute derivatives themselves.

    ti.ad.grad(f, "x")              launches f, and then the gradient of f
    ti.ad.grad(ti.ad.grad(f, "x"), "x")

What the inner function computes are values to the outer one: it differentiates the launches of derivatives as those of
all other kernels, in a mode of two parts such as "vjp.vjp2*". If both are reverse mode, or both forward mode, the outer
one uses companions of its own ("grad2"), which it begins to use when the inner function begins."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from weft.ir.errors import WeftError
from weft.ir.symbols import COMPANIONS, MODES
from weft.lang.autodiff.contexts import Context, active, suspended
from weft.lang.autodiff.memory import memory_of
from weft.lang.autodiff.memory_use import Touch, Uses
from weft.lang.autodiff.variables import called, hand_on, places_of
from weft.lang.calls.companions import with_companions
from weft.lang.data.derived import at_path, ir_mode, nested_mode
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.operations import unheard
from weft.lang.data.writes import LISTENERS
from weft.lang.kernels.launch import Launch
from weft.lang.values.makers import MAKERS

__all__ = [
    "again",
    "duals_of",
    "hand_on_all",
    "hand_out",
    "heard_by",
    "lost_in_python",
    "memory_in",
    "needs_of",
    "rebound",
    "refuse_copy",
    "refuse_third",
    "run_derivative",
    "writes_of",
]


@contextmanager
def heard_by(contexts: Sequence[Context]) -> Generator[None]:
    """Let these blocks hear what this thread does, and no others."""
    token = LISTENERS.set(tuple(contexts))
    try:
        yield
    finally:
        LISTENERS.reset(token)


def run_derivative(launch: Launch, contexts: Sequence[Context]) -> Any:
    """Run a launch of a derivative. These blocks differentiate it, the innermost, which is the last one, first."""
    if not contexts:
        with unheard():
            return launch()
    *outer, innermost = contexts
    return innermost.launch_derivative(launch, lambda: run_derivative(launch, outer))


def refuse_third(outer: Sequence[Any]) -> None:
    """Raise the error for a derivative in a block that is in another one already, if these are some. Each needs
    companions of its own, and there are those of two."""
    if outer:
        raise WeftError(
            "a function of ti.ad is called in a function that another one differentiates, and that one in a third one: "
            "derivatives of programs nest two deep, and three only as ti.ad.jvp of ti.ad.hvp, or of ti.ad.jvp of "
            "ti.ad.grad. ti.ad.derivative in a kernel nests without end"
        )


def again(launch: Launch, outer: str, boxed: Sequence[str] = ()) -> Launch:
    """The launch of the derivative in the mode `outer` of a derivative, with the same arguments. `boxed`: numbers that
    have derivatives, besides those that have one in the launch."""
    kernel = launch.kernel
    mode = nested_mode(kernel.mode, outer)
    refuse_third([] if ir_mode(mode) in MODES else [launch])
    names = tuple(dict.fromkeys((*kernel._boxed, *boxed)))
    return rebound(launch, kernel.primal.related(mode, names, kernel.piece))


def rebound(launch: Launch, kernel: Any) -> Launch:
    """A launch of another derivative of the same kernel, with the same arguments and boxes."""
    program, boxes = kernel._program(), launch.kernel.boxes
    count = len(launch.flat) - len(launch.kernel.hidden)
    flat: Sequence[Any] = launch.flat[: count - (0 if boxes is None else boxes.count)]
    if kernel._arrays:
        flat = with_companions(kernel.__name__, kernel.mode, flat, kernel._arrays)
    if kernel.boxes is not None:
        flat = [*flat, *kernel.boxes.arguments(flat, {} if boxes is None else boxes.found(launch.flat))]
    instance = kernel._instance(program, launch.owner, flat)
    if instance.overlap(flat, True):
        instance = kernel._careful(program, instance, launch.owner, flat)
    made = Launch(kernel, program, instance, flat, None, launch.owner)
    made.key = launch.key
    return made


def duals_of(touched: Sequence[Touch], kinds: Sequence[Callable[[Any], Any]]) -> list[Touch]:
    """The touches of the duals of what is touched. `kinds`: each gives the dual of a field or array, or None."""
    found = list(touched)
    for dual_of in kinds:  # a dual has a dual itself
        pairs = [(touch, dual_of(touch.memory.owner)) for touch in found]
        found += [replace(touch, memory=memory_of(dual)) for touch, dual in pairs if dual is not None]
    return found[len(touched) :]


def hand_on_all(target: Any, source: Any, paths: Sequence[str], forward: Sequence[Any], places: Any) -> None:
    """The gradients, at these paths, of setting all elements of memory to those of a source (see `hand_on`), and their
    duals in blocks of forward mode."""
    given, taking = (_with_duals(one, paths, forward) for one in (target, source))
    with suspended() if forward else nullcontext():  # the duals move with the gradients
        for grad, into in zip(given, taking, strict=True):
            if grad is not None:
                hand_on(grad, into, places)


def _with_duals(memory: Any, paths: Sequence[str], forward: Sequence[Any]) -> list[Any]:
    """The companions of memory at these paths, and their duals in blocks of forward mode. None for each that does not
    exist, and for all if the memory is None."""
    found = [None if memory is None else at_path(memory, path) for path in paths]
    for block in reversed(forward):
        found += [None if one is None else block.dual(one) for one in found]
    return found


def refuse_copy(target: Any, source: Any, contexts: Sequence[Context]) -> None:
    """Raise the error for copying memory by Python in a function whose gradient one of these blocks differentiates in
    reverse mode: it does not know what becomes of the gradients."""
    if source is not None and source.dtype.is_float and any(one.records for one in contexts):
        raise WeftError(
            f"{called(target)}.copy_from({called(source)}) in a function whose gradient reverse mode differentiates: "
            "let a kernel copy the elements, or use forward mode, as ti.ad.jvp"
        )


def memory_in(launch: Launch, uses: Uses) -> list[Any]:
    """The fields and arrays of floats that a launch of a derivative uses, with those that hold derivatives."""
    every = [*uses.fields(), *(one for one in launch.flat if isinstance(one, Ndarray))]
    return [one for one in every if one.dtype.is_float]


def writes_of(launch: Launch, made: Launch, uses: Uses) -> list[Touch]:
    """What a launch of a derivative writes: a gradient the gradients, forward mode the duals, too. `made`: the launch
    of the derivative of it, and its uses."""
    kind = COMPANIONS[ir_mode(launch.kernel.mode)]
    found = {memory_of(one).key: one for one in memory_in(made, uses) if one.role == kind}
    if kind.startswith("dual"):
        found |= {(one := uses.memory(place, made.flat)).key: one.owner for place in {w.place for w in uses.writes}}
    return [Touch(memory_of(one), (), None, memory_of(one).key in _saved(made, uses)) for one in found.values()]


def needs_of(made: Launch, uses: Uses) -> list[Touch]:
    """What the derivative of a derivative reads."""
    facts = made.instance.facts
    assert facts is not None
    places = [uses.memory(place, made.flat) for place in facts.reads]
    return [Touch(one, (), None, one.key in _saved(made, uses)) for one in {one.key: one for one in places}.values()]


def _saved(made: Launch, uses: Uses) -> set[Any]:
    return {uses.memory(place, made.flat).key for place in uses.saved}


def hand_out(value: Any, memory: Any, told: str = "", places: Any = None) -> Any:
    """Give a value that was read from memory to Python. The blocks around know that the object carries its
    derivative. `told`: a warning, if it is no output of the function. `places`: see `numbers_in`."""
    contexts = active()
    if contexts:
        box = MAKERS.ndarray(memory.dtype, np.shape(value))
        with unheard():
            box.from_numpy(np.asarray(value))
        for one in contexts:
            one.note(value, box, memory, told, places_of(memory) if places is None else places)
    return value


def lost_in_python(variable: Any, kind: str) -> str:
    """What to tell if Python drops the gradient by a field or an array, and no kernel can read it. "" if one can."""
    if kind in variable.companions:
        return ""
    kind = "an array" if isinstance(variable, Ndarray) else "a field"
    what = called(variable) if getattr(variable, "name", "") else kind
    return (
        f"the gradient by {what} is lost in Python, where its derivative ends: make it with needs_grad=True and let "
        "kernels read x.grad, or return the gradient"
    )
