"""What the blocks that record launches have in common: their records, and loops of `ti.ad.steps`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from weft.lang.autodiff.contexts import Block
from weft.lang.autodiff.lost import Losses
from weft.lang.autodiff.memory import memory_of
from weft.lang.autodiff.memory_use import Touch, Uses, uses_of
from weft.lang.autodiff.series import Series
from weft.lang.autodiff.steps import Loop
from weft.lang.autodiff.variables import called, companion_if_any
from weft.lang.autodiff.versions import Record, Versions
from weft.lang.calls.gradient_warnings import warn_at
from weft.lang.data.field import Field
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.operations import Operation
from weft.lang.errors import ArgumentError
from weft.lang.kernels.bound import BoundKernel

__all__ = ["Recorder"]


class Recorder(Block):
    """A block that records launches. With `bounds`, loops of `ti.ad.steps` have a bounded memory; otherwise they are
    plain loops."""

    records = True

    def __init__(self, versions: Versions, losses: Losses, bounds: bool) -> None:
        self._records: list[Record] = []
        self._versions, self._losses, self._bounds = versions, losses, bounds
        self._loops: list[Loop] = []  # of `ti.ad.steps`, the outermost first
        self._series: Series | None = None  # the record of these loops, while they run

    def begin_step(self, loop: Loop) -> None:
        """A step of a loop of `ti.ad.steps` begins. (Of `steps`.)"""
        if not self._bounds:
            return
        self._catch_up()
        if loop not in self._loops:
            self._loops.append(loop)
        if self._series is None:
            self._series = Series(self._versions, checks=not self.has_duals)
            self._records.append(self._series)
        self._series.begin(self._loops)

    def _catch_up(self) -> None:
        """Record launches that came and are not recorded yet. What comes next is no launch, or one of a loop."""

    def end_loop(self, loop: Loop) -> None:
        """A loop of `ti.ad.steps` ends. (Of `steps`.)"""
        if loop in self._loops:
            self._loops.remove(loop)
        if not self._loops:
            self._end_series()

    def end_loops(self) -> None:
        """What comes from now on is no part of a loop."""
        self._loops.clear()
        self._end_series()

    def _end_series(self) -> None:
        if self._series is not None:
            self._series.finish()
            self._series = None

    @property
    def _repeats(self) -> bool:
        """Whether a loop may make launches again that come now."""
        return self._series is not None and self._series.repeats

    @property
    def _now(self) -> Versions | Series:
        """What keeps old values at this time."""
        return self._series if self._series is not None and self._series.repeats else self._versions

    def _append(self, record: Record) -> None:
        if self._series is None:
            self._records.append(record)
        else:
            self._series.append(record)

    def _repeated(self, bind: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The launch, to be made again, if a loop may have to do that."""
        return bind(args, keywords) if self._repeats else None

    def _will_read(self, name: str, uses: Uses, flat: Sequence[Any]) -> None:
        """A launch comes. In a loop, all that it reads may be read again."""
        if self._repeats:
            self._will_read_again(name, uses.touched(uses.every_read, flat))

    def _will_read_source(self, source: Any) -> None:
        """Python copies this field or ndarray. (None: it writes numbers.)"""
        if self._repeats and source is not None:
            self._will_read_again("Python", [Touch(memory_of(source), (), None, saved=False)])

    # -- operations ----------------------------------------------------------------------------------------------------

    def operate(self, operation: Operation, run: Callable[[], Any]) -> Any:
        """Record and run an operation. (A `Listener`.)"""
        self._catch_up()
        read, parameters = self._parameters(operation)
        if not _is_known(operation) and any(self.gradient_of(one) is not None for one in operation.writes):
            raise ArgumentError(
                f"{operation.name} can be recorded only if its operator is a kernel: decorate it with @ti.kernel, or "
                "call the solver in a function with @ti.ad.no_grad"
            )
        self._warn_of_lost(operation, [*operation.reads, *parameters])
        for touch in (*_whole(operation.reads), *read):
            self._losses.taken(operation.name, touch.memory.key)
        record = Record(partial(operation.back, self, parameters), operation.run)
        return self._operated(operation, record, read, run)

    def operate_beside(self, operation: Operation, run: Callable[[], Any]) -> Any:
        """Run an operation that is not recorded itself. (A `Context`.)"""
        self._catch_up()
        read = self._parameters(operation)[0] if self._repeats else []
        return self._operated(operation, Record(None, operation.run), read, run)

    def _operated(self, operation: Operation, record: Record, read: list[Touch], run: Callable[[], Any]) -> Any:
        versions, writes, reads = self._now, _whole(operation.writes), [*_whole(operation.reads), *read]
        versions.know([*writes, *reads])
        if self._repeats:
            self._will_read_again(operation.name, reads)
        versions.keep(record, operation.name, () if operation.fresh else writes)
        result = run()
        if record.gradient is not None:
            versions.need(operation.name, [*read, *_whole(operation.needs)])
        self._append(record)
        return result

    def _parameters(self, operation: Operation) -> tuple[list[Touch], list[Any]]:
        """What the kernel of an operation reads, and the fields and ndarrays of that which are parameters."""
        if operation.kernel is None or not _is_known(operation):
            return [], []
        launch = self._bound_gradient(operation.kernel, operation.args)
        uses = uses_of(launch.instance)
        read = uses.touched(uses.every_read, launch.flat)
        own = {touch.memory.key for touch in _whole((*operation.writes, *operation.own))}
        found = {id(touch.memory.owner): touch.memory.owner for touch in read if touch.memory.key not in own}
        return read, [one for one in found.values() if isinstance(one, Field | Ndarray)]

    def _bound_gradient(self, kernel: Any, args: tuple[Any, ...]) -> Any:
        if isinstance(kernel, BoundKernel):
            kernel, args = kernel.kernel, (kernel.class_instance, *args)
        return self.gradient_kernel(kernel).bind(args, {})

    def _warn_of_lost(self, operation: Operation, inputs: Sequence[Any]) -> None:
        """Warn if the derivatives of these end in what the operation writes."""
        lost = [one for one in operation.writes if self.gradient_of(one) is None]
        if lost and any(self.gradient_of(one) is not None for one in inputs):
            warn_at(
                None,
                f"the derivative of the result of {operation.name} is lost, because {called(lost[0])} has no gradient: "
                "make it with needs_grad=True",
            )

    def carries(self, memory: Any) -> bool:
        """Whether the memory has a gradient. (Of `Block`.)"""
        return memory.hidden("grad") is not None if isinstance(memory, Field) else companion_if_any(memory) is not None

    def gradient_of(self, memory: Any) -> Any:
        """The gradient of a field or ndarray. None if it has none. (Of `Gradients`.)"""
        return companion_if_any(memory) if isinstance(memory, Field | Ndarray) else None

    def gradient_kernel(self, kernel: Any) -> Any:
        """The kernel of the gradient."""
        return kernel.grad

    def run_gradient(self, kernel: Any, args: tuple[Any, ...]) -> None:
        """Run the gradient of a launch. (Of `Gradients`.)"""
        self._bound_gradient(kernel, args)()

    def _will_read_again(self, name: str, reads: Sequence[Touch]) -> None:
        """What a loop may read again."""
        assert self._series is not None
        self._series.read(name, reads)


def _whole(memory: Iterable[Any]) -> list[Touch]:
    """All elements of these fields and arrays."""
    return [Touch(memory_of(one), (), None, saved=False) for one in memory]


def _is_known(operation: Operation) -> bool:
    """Whether all that it launches is known."""
    return operation.kernel is None or getattr(operation.kernel, "is_kernel", False)
