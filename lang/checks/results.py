"""Verify each launch that is small enough with the evaluator, and compare the results: `init(verify="results")`.

A verified kernel takes the arguments of the loaded kernel. It copies all memory that the launch can reach, runs the
machine code, and evaluates the kernel on the copies twice: as translated, and as the passes left it. A difference that
the semantics of the kernel do not allow (see `ir/shadow/`) is a bug of the compiler. The pipeline is then run again,
and the kernel is evaluated after each pass, to name the first pass that changed its meaning. If no pass did, the bug is
in code generation or in the runtime.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.config import CompileConfig
from weft.ir.core import Op, Value
from weft.ir.errors import Span
from weft.ir.memory_model import Fault, unflatten
from weft.ir.shadow.compare import Comparison, Difference, compare
from weft.ir.shadow.launch import Launch, places_of, size_of
from weft.ir.shadow.replay import AS_WRITTEN, ORDERS, VARIANTS, Outcome, Variant, is_loose, replay
from weft.ir.shadow.stages import Culprit, Kept, first_change
from weft.ir.text import print_ir
from weft.ir.tree import KernelTree
from weft.ir.types import Prim, Type
from weft.lang.checks.tally import TALLY
from weft.lang.errors import WrongResult
from weft.lang.logs.levels import logger
from weft.runtime.errors import KernelFault, kind_of_fault

if TYPE_CHECKING:
    from weft.runtime.device import Device

__all__ = ["USUAL_LIMIT", "Verified"]

A = TypeVar("A", bound=Op)

USUAL_LIMIT = 200_000  # ops of an evaluation, which take about a second
_MOST_BYTES = 16 << 20
_OFTEN = 16  # times the limit: beyond this sum, launches of one kernel are verified more and more rarely
_THREADS = 3  # with which tasks are evaluated: how the work is shared and private copies are verified too

# What the machine can do but the evaluator cannot follow.
_BEYOND = {"endless": "too long", "recursion": "calls too deep for the evaluator"}


class Verified:
    """A loaded kernel that verifies its launches. `root` is the kernel that it was compiled from, under `config`."""

    def __init__(self, program: Any, run: Any, root: KernelTree, config: CompileConfig, kept: Kept) -> None:
        self.program, self.inner, self.root, self.kept = program, run, root, kept
        self.config, self.evaluated = config, replace(config, threads=_THREADS)
        self.name = root.name
        self.limit = int(program.chosen.get("verify_limit", USUAL_LIMIT))
        self.launches = self.work = 0
        self.warned = False
        self.loose = is_loose(kept.written, config)

    def overlap(self, trees: Sequence[int], args: Sequence[Any]) -> bool:
        """Return whether the loaded kernel finds that the arguments overlap."""
        overlap = getattr(self.inner, "overlap", None)
        return overlap is not None and bool(overlap(trees, args))

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> Any:
        with self.program.lock:
            places = places_of(self.kept.written[0], trees, args, _value)
            if why := self._why_not(places):
                results = self.inner(trees, args)
                TALLY.skip(self.name, why)
                return results
            device = self.program.device
            device.synchronize()
            read = _Reader(device, args)
            launch = Launch.taken(places, device.random_key, read)
            return self._repeated(launch, read, trees, args)

    def _why_not(self, places: Any) -> str:
        """Return why a launch is not verified, or "" if it is."""
        self.launches += 1
        if self._never:
            return self._never
        if size_of(places) > _MOST_BYTES:
            return "too much memory"
        rarely = self.work > _OFTEN * self.limit and self.launches & (self.launches - 1)
        return "of kernels that were verified often enough" if rarely else ""

    @cached_property
    def _never(self) -> str:
        """Return why no launch can be verified, or "" if one can."""
        work = sum(map(_least_work, self.kept.written[0].body))
        return _BEYOND["endless"] if work > self.limit else ""

    @cached_property
    def _races(self) -> bool:
        """Return whether iterations assign different values to a shared local, or also read it. The result of such a
        launch may then match none of the orders of iterations that were tried."""
        writes: list[ops.Store | ops.AtomicStore | ops.Atomic | ops.Exchange] = []
        writes += [op for op in self._all(ops.Store) if op.relaxed]
        writes += [op for op in self._all(ops.Atomic) if op.kind == "xchg"]
        writes += [*self._all(ops.AtomicStore), *self._all(ops.Exchange)]
        stored = dict[Value, set[Any]]()
        for op in writes:
            if isinstance(root_of(op.ptr), ops.SharedLocal):
                stored.setdefault(root_of(op.ptr), set()).add(_known_value(op.value))
        read = {root_of(load.ptr) for load in self._all(ops.Load) if _is_parallel(load)}
        return any(local in read or len(values) > 1 or None in values for local, values in stored.items())

    def _all(self, kind: type[A]) -> list[A]:
        return [op for kernel in self.kept.written for op in kernel.all_of(kind)]

    def _repeated(self, launch: Launch, read: _Reader, trees: Sequence[int], args: Sequence[Any]) -> Any:
        printed, fault = list[str](), None
        results: Sequence[Any] = ()
        self.inner.heard.append(printed.append)
        try:
            results = self.inner(trees, args)
        except KernelFault as error:
            fault = error
        finally:
            self.inner.heard.remove(printed.append)
        self.program.device.synchronize()
        ended = None if fault is None else Fault(kind_of_fault(fault), str(fault))
        self._judge(launch, Outcome(launch.after(read), results, printed, ended), fault)
        if fault is not None:
            raise fault
        return results

    # -- the verdict ---------------------------------------------------------------------------------------------------

    def _judge(self, launch: Launch, found: Outcome, fault: KernelFault | None) -> None:
        """Raise WrongResult if the results are not those that the kernel means."""
        expected = self._replay(launch, self.kept.written)
        if why := self._beyond(expected, found):
            TALLY.skip(self.name, why)
            return
        trial = _Trial(self, launch, expected)
        verdict = trial.of(found)
        if verdict.differences and self._races:
            TALLY.skip(self.name, "with a race on a local variable")
            return
        if verdict.differences:
            raise self._wrong(trial, verdict.differences) from fault
        lowered = self._replay(launch, self.kept.lowered)
        if _cut_short(lowered):
            TALLY.skip(self.name, _BEYOND["endless"])
            return
        after = trial.of(lowered)
        if after.differences:
            raise self._wrong(trial, after.differences, "even if the evaluator runs the IR after the passes") from fault
        if lowered.fault is not None and found.fault is not None and self._other_words(lowered.fault, found.fault):
            raise WrongResult(
                _told(self.root, [Difference("fault", found.fault.message, lowered.fault.message)], None, "")
            ) from fault
        TALLY.agreed(self.name, expected.work, verdict.unsettled)

    def _beyond(self, expected: Outcome, found: Outcome) -> str:
        """Return why a launch cannot be judged: the evaluator cannot follow it, or the program accesses memory out of
        bounds and nothing checks or masks the access."""
        if expected.fault is None:
            return ""
        kind = expected.fault.kind
        if kind in ("bounds", "memory") and not (self.config.boundary_check or self.config.mask_out_of_bounds):
            if not self.warned:
                logger.warning("kernel %s: %s (init(debug=True) shows where)", self.name, expected.fault.message)
            self.warned = True
            return "with accesses out of bounds"
        return _BEYOND.get(kind, "") if found.fault is None or kind == "endless" else ""

    def _other_words(self, lowered: Fault, found: Fault) -> bool:
        """Return whether two faults of one kind differ in content. (If several iterations fail, any of them may be the
        first.)"""
        kernel = self.kept.lowered[0]
        if self.loose or any(task.kind != "serial" for task in kernel.all_of(ops.Task)):
            return False
        return not found.message.endswith(lowered.message)

    def _replay(self, launch: Launch, kernels: Sequence[ops.Kernel], variant: Variant = AS_WRITTEN) -> Outcome:
        limit = self.limit if kernels is self.kept.written and variant is AS_WRITTEN else 8 * self.limit
        with np.errstate(all="ignore"):
            outcome = replay(kernels[0], kernels[1:], launch, self.evaluated, limit, variant)
        self.work += outcome.work
        return outcome

    def _wrong(self, trial: _Trial, differences: list[Difference], how: str = "") -> WrongResult:
        def changed(kernels: Sequence[ops.Kernel]) -> bool:
            outcomes = (self._replay(trial.launch, kernels, variant) for variant in (AS_WRITTEN, *ORDERS))
            return any(not _cut_short(one) and trial.of(one).differences for one in outcomes)

        culprit = first_change(self.root, self.config, self.kept, changed)
        error = WrongResult(_told(self.root, differences, culprit, how))
        error.text = culprit.text if culprit is not None else print_ir(self.kept.lowered[0])
        return error


class _Trial:
    """One launch, its expected outcome, and the other outcomes that are allowed. They are evaluated when first
    requested."""

    def __init__(self, verified: Verified, launch: Launch, expected: Outcome) -> None:
        self.verified, self.launch, self.expected = verified, launch, expected
        self.known = list[Outcome]()

    def of(self, found: Outcome) -> Comparison:
        """Return what is wrong with an outcome."""
        one = self.verified
        return compare(one.kept.written[0], self.launch, self.expected, found, self.variants(), one.loose)

    def variants(self) -> Iterator[Outcome]:
        """The outcomes that the semantics of the kernel allow."""
        yield from self.known
        for variant in VARIANTS[len(self.known) :]:
            self.known.append(self.verified._replay(self.launch, self.verified.kept.written, variant))
            yield self.known[-1]


def _cut_short(outcome: Outcome) -> bool:
    """Return whether the evaluator gave up."""
    return outcome.fault is not None and outcome.fault.kind in _BEYOND


def _least_work(op: Op) -> int:
    """Return a lower bound of the number of ops in an evaluation of `op`, from the known extents."""
    inner = sum(_least_work(one) for block in op.regions for one in block) if not isinstance(op, ops.If) else 0
    if isinstance(op, ops.StructFor):
        return 1 + prod(op.field.shape) * inner
    if isinstance(op, ops.ParallelFor):
        return 1 + prod(max(0, _known(end) - _known(begin)) for begin, end in zip(op.begins, op.ends)) * inner
    if isinstance(op, ops.For):
        return 1 + (max(0, _known(op.end) - _known(op.begin)) * inner if _known(op.step) == 1 else 0)
    return 1 + (0 if isinstance(op, ops.While) else inner)


def _is_parallel(op: Op | None) -> bool:
    """Return whether iterations of the op run in parallel."""
    return op is not None and (isinstance(op, ops.ParallelFor | ops.StructFor) or _is_parallel(op.parent))


def _known_value(value: Value) -> Any:
    """Return the value of a constant, else None."""
    return value.value if isinstance(value, ops.Const) else None


def _known(value: Any) -> int:
    return int(value.value) if isinstance(value, ops.Const) else 0


def _value(value: Any, type: Type) -> Any:
    """Convert an argument that is not an array from the form of a launch to that of the evaluator."""
    return unflatten([value] if isinstance(type, Prim) else list(value), type)


class _Reader:
    """Copies bytes. numpy arrays are in host memory, everything else is in device memory."""

    def __init__(self, device: Device, args: Sequence[Any]) -> None:
        self.device = device
        self.host = [_address(arg) for arg in args if isinstance(arg, np.ndarray) and arg.size]
        for stream in {arg.stream for arg in args if getattr(arg, "stream", 0) > 0}:
            device.memory.follow(stream)

    def __call__(self, address: int, size: int) -> Any:
        if any(address <= first < address + size for first in self.host):
            return np.frombuffer(ctypes.string_at(address, size), np.uint8).copy()
        data = np.empty(size, np.uint8)
        self.device.memory.copy_out(data.ctypes.data, address, size)
        return data


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


# ---- the message -----------------------------------------------------------------------------------------------------

_SHOWN = 4


def _told(root: KernelTree, differences: list[Difference], culprit: Culprit | None, how: str) -> str:
    where = _place(root)
    lines = [f"kernel '{root.name}'{where} computed a wrong result{how and ', ' + how}:"]
    for one in differences[:_SHOWN]:
        more = f" (and {one.count - 1} more there)" if one.count > 1 else ""
        lines.append(
            f"  {one.what}: the kernel computed {_quoted(one.found)}, but {_quoted(one.expected)} is correct{more}"
        )
    if len(differences) > _SHOWN:
        lines.append(f"  and {len(differences) - _SHOWN} more fields, arrays or results")
    if culprit is not None:
        lines.append(f"The pass that introduces the error is {culprit}.")
    else:
        lines.append("The IR is correct after every pass: the error is in code generation or in the runtime.")
    lines.append("This is a bug in Weft, not in your program. Please report it, with the IR in `error.text`.")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return text if text and "\n" not in text else repr(text)


def _place(root: KernelTree) -> str:
    span: Span | None = next((one.span for one in root.body if one.span is not None), None)
    return "" if span is None else f" ({span.file}:{span.line})"
