"""`ti.ad.Tape`: records launches, and runs their gradients in reverse order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from weft.lang.autodiff.contexts import active, suspended
from weft.lang.autodiff.cutting import Derivatives, Plan, plan_of
from weft.lang.autodiff.lost import Losses
from weft.lang.autodiff.memory import memory_of
from weft.lang.autodiff.memory_use import Touch, uses_of, written_by_python
from weft.lang.autodiff.recorder import Recorder
from weft.lang.autodiff.repeats import Repeat, Traced, expect, remember
from weft.lang.autodiff.sites import Site, Sites
from weft.lang.autodiff.tape_check import check_records
from weft.lang.autodiff.variables import (
    called,
    clear_element,
    companion_if_any,
    companion_of,
    elements_of,
    fill_all,
    hand_on,
    numbers_in,
)
from weft.lang.autodiff.versions import Record, Versions, run_back
from weft.lang.autodiff.zeros import Mark, Places, clear_gradients, gradients_change, zeros_after
from weft.lang.data.derived import is_derived
from weft.lang.errors import ArgumentError
from weft.lang.kernels.draws import last_key
from weft.lang.kernels.launch import Replay
from weft.lang.program.init import program

__all__ = ["Tape"]


class Tape(Recorder):
    """In the block, launches of kernels are recorded. Its end runs their gradients in reverse order.

    Example:
        x = ti.field(ti.f32, 3, needs_grad=True)
        loss = ti.field(ti.f32, (), needs_grad=True)
        x.fill(2.0)

        @ti.kernel
        def energy():
            for i in x:
                loss[None] += x[i] ** 2

        with ti.ad.Tape(loss):
            energy()
        x.grad.to_numpy().tolist()  # [4.0, 4.0, 4.0]

    `loss` is a field or ndarray of floats with one number, made with `needs_grad=True`, or a torch tensor with one
    number and `requires_grad`. The begin of the block sets it to 0. The end sets its gradient to 1, and the gradients
    of all other memory grow by the derivatives. Unless `clear_gradients` is False, the begin sets the gradients of all
    fields to 0. With None for `loss`, the end runs nothing: set gradients, then call `grad()`.

    A gradient uses the values that its kernel had. Before a kernel overwrites values that the gradient of an earlier
    call needs, the tape copies them. If the written index is a number that the call passes, as in `x[t + 1, i]`, only
    these elements are copied. With `save=False`, such a call raises Overwritten, which names both lines. `x.fill(0)`,
    `x.from_numpy(a)` and `x.copy_from(y)` are recorded too, and so is `x[0] = 1`, if a kernel has used x in the block.
    Launches of other threads are not, except in a copy of the context.

    A kernel may store a value that carries a derivative to a field or array without a gradient. If a later kernel reads
    it on the way to memory with a gradient, that part of the derivative is lost. The tape gives a GradientWarning with
    the line, and with `validation=True` raises LostDerivative. With `validation=True`, launches are also checked for
    races, as `init(check_races=True)` does it, which is slow. Raises DataRace with both lines.

    `grad_check` lists fields and ndarrays whose gradients the end compares with differences: it runs the recorded
    kernels again, four times for each. Use f64. Raises WrongGradient, which names the elements, if they differ.

    If an exception ends the block, no gradient runs. A kernel that cannot be differentiated raises CompilationError
    with its line when it is called. Raises WeftError for a loss without a gradient, and ArgumentError for one with
    several numbers."""

    def __init__(
        self,
        loss: Any = None,
        clear_gradients: bool = True,
        validation: bool = False,
        grad_check: Sequence[Any] | None = None,
        save: bool = True,
    ) -> None:
        self._loss, self._clear = loss, clear_gradients
        if loss is not None:
            companion_of(loss, "grad", "the loss")
            count = math.prod(elements_of(loss))
            if count != 1:
                raise ArgumentError(
                    f"the loss {called(loss)} must be one number, but it has {count}: add them up in a kernel"
                )
        self._checked = [] if grad_check is None else list(grad_check)
        for one in self._checked:
            companion_of(one, "grad", "the field to check")
        if self._checked and loss is None:
            raise ArgumentError("grad_check needs a loss")
        versions = Versions(save, bool(self._checked))
        super().__init__(versions, Losses(validation), bounds=save and not self._checked)
        self._sites = Sites(versions)
        self._repeat: Repeat | None = None  # the launches that are expected
        # for the next tape
        self._traced: list[Traced] | None = None if self._checked or loss is None or validation else []
        self.validates = validation
        self._mark = Mark()  # that of `program.zeros`, since this tape has cleared gradients, or has run some

    def begin(self) -> None:
        """Clear the gradients and the loss. (Of `Block`.)"""
        if self._clear:
            self._mark = clear_gradients(program())
        for one in self._checked:
            if numbers_in(companion_of(one, "grad", "the field to check")).any():
                raise ArgumentError(
                    f"grad_check of {called(one)}: its gradient is not 0 yet, set it to 0 before the block"
                )
        if self._loss is not None:
            fill_all(self._loss, 0.0)

    def entered(self) -> None:
        """Expect what the last tape recorded. (Of `Block`.)"""
        if self._traced is not None:
            self._repeat = expect(self._loss)

    def finish(self, complete: bool) -> None:
        """Run the gradients. (Of `Block`.)"""
        self.end_loops()
        if self._repeat is not None:
            self._repeat.close()
        elif self._traced:
            remember(self._loss, self._traced)
        if not complete or self._loss is None:
            return
        fill_all(companion_of(self._loss, "grad", "the loss"), 1.0)
        now, cleared = program(), self._mark
        all_zero = now.zeros is cleared and now.config.mask_out_of_bounds
        boxes = self._run_back(all_zero)
        if boxes is not None and all_zero and now.zeros is self._mark:
            now.zeros = zeros_after(now, cleared, boxes)
        if self._checked:
            with suspended():
                check_records(self._records, self._loss, self._checked)

    def grad(self) -> None:
        """Run the gradients of the recorded launches, the last one first."""
        self._run_back()

    def _run_back(self, all_zero: bool = False) -> Places | None:
        """Run them. `all_zero`: the gradients that only tapes have are 0. Gives which gradients have other values than
        0, if all were 0 before. None: that is unknown."""
        self.end_loops()
        now = program()
        self._mark = gradients_change(now)
        try:
            with suspended():
                if self._repeat is not None:
                    return self._repeat.run_back(all_zero)
                run_back(self._records)
                return None
        finally:
            if now.zeros is not self._mark:  # a tape of another thread took them for 0 while these ran
                gradients_change(now)

    @property
    def shares(self) -> bool:  # type: ignore[override]
        """Whether another tape may record the launch. (A `Context`.)"""
        return not self._repeats

    def _catch_up(self) -> None:
        """Record the expected launches that came. (Of `Recorder`.)"""
        self._take_over()
        self._end_trace()

    def _take_over(self) -> None:
        """Expect no more launches, and record those that came."""
        if self._repeat is None:
            return
        repeat, self._repeat = self._repeat, None
        repeat.close()
        for kernel, target, context in repeat.came():
            site, points = self._sites.came(kernel, target, context)
            record = Record(Replay(target, context, ()))
            site.need(points)
            self._records.append(record)
            self._trace(kernel, record, site)

    def _trace(self, kernel: Any, record: Record, site: Site) -> None:
        """Note a launch for the next tape. The first one that it cannot expect ends that."""
        if self._traced is None:
            return
        gradient, uses = record.gradient, site.uses
        if isinstance(gradient, Replay) and not (uses.arrays or uses.lost or record.before or record.after):
            self._traced.append(Traced(kernel, gradient.target.instance.token, gradient.context))
        else:
            self._end_trace()

    def _end_trace(self) -> None:
        """Let the next tape expect what came so far, and no more."""
        if self._traced:
            remember(self._loss, self._traced)
        self._traced = None

    def insert(self, gradient: Callable[[], Any]) -> None:
        """Record a call that has this gradient. The launches in it are recorded by `beside`."""
        self._catch_up()
        self._append(Record(gradient))

    def launch(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Record and run a launch. (A `Context`.)"""
        if kernel.mode:
            return call(*args, **keywords)
        self._take_over()
        if self._repeats:
            return self._launch_again(kernel, call, args, keywords)
        plan = self._plan(kernel, call, args, keywords)
        if plan.pieces:
            return [self.launch(piece, run, args, keywords) for piece, run in plan.pieces][-1]
        gradient, site, points = plan.gradient
        again = kernel.bind(args, keywords) if self._checked else None
        record = Record(gradient, again)
        site.keep(record, points)
        result = plan.run(*args, **keywords)
        if site.uses.draws:
            gradient.key = last_key(plan.launched, args, keywords)
            if again is not None:
                again.key = gradient.key
        self._losses.follow(site.kernel, site.uses, site.flow)
        site.need(points)
        self._append(record)
        self._trace(plan.launched, record, site)
        return result

    def _launch_again(
        self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Record and run a launch that a loop of `ti.ad.steps` may have to make again."""
        plan = self._plan(kernel, call, args, keywords)
        if plan.pieces:
            return [self.launch(piece, run, args, keywords) for piece, run in plan.pieces][-1]
        gradient, site, points = plan.gradient
        again, series = plan.again or self._sites.again(kernel, args, keywords), self._series
        assert series is not None
        record, name, touches = Record(gradient, again), f"kernel '{kernel.__name__}'", site.touches(points)
        record.recorded = plan.again
        series.read(name, touches.reads)
        series.keep(record, name, touches.writes)
        result = plan.run(*args, **keywords)
        if site.uses.draws:
            gradient.key = last_key(plan.launched, args, keywords)
        self._losses.follow(site.kernel, site.uses, site.flow)
        series.need(name, touches.needs)
        series.append(record)
        return result

    def _plan(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Plan:
        plan = plan_of(self, kernel, call, args, keywords, Derivatives(), self._sites.find, again=self._repeats)
        contexts = active()
        launches = not plan.pieces and plan.again is None and (not contexts or contexts[0] is self)
        if launches and any(one.validates for one in (self, *contexts)):
            checked = kernel.related("", (), kernel.piece, checks=True)
            return replace(plan, run=checked.run, launched=checked)
        return plan

    def replace(self, launch: Any, gradient: Callable[[], Any]) -> None:
        """Record a launch whose gradient the program has written. It may need all that the kernel accesses. (A
        `Context`.)"""
        self._catch_up()
        uses = uses_of(launch.instance)
        touched = uses.touched([*uses.every_read, *uses.writes], launch.flat)
        self._now.know(touched)
        self._now.need(f"kernel '{launch.kernel.__name__}'", touched)
        self._append(Record(gradient))

    def write(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """Record what Python writes: the gradient of the source takes that of the target. (A `Listener`.)"""
        self._catch_up()
        if is_derived(target):
            return
        if companion_if_any(target) is None:
            self.overwrite(target, source, again)
            return
        self._will_read_source(source)
        self._keep_all(Record(partial(_hand_on, target, source), again), target)

    def overwrite(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """Keep what Python overwrites, if gradients need it. (A `Context`.)"""
        self._catch_up()
        if is_derived(target):
            return
        self._will_read_source(source)
        self._keep_all(Record(None, again), target)

    def write_element(self, target: Any, index: tuple[int, ...], part: Any, again: Callable[[], None]) -> None:
        """Record that Python writes an element, if a launch has used that memory before. (A `Listener`.)"""
        self._catch_up()
        memory = memory_of(target)
        if is_derived(target) or not self._versions.knows(memory):
            return
        record = Record(partial(clear_element, companion_if_any(target), index, part), again)
        whole, *cells = written_by_python(target)
        self._enter(record, [whole if memory.whole else Touch(memory, index, None, saved=False), *cells])

    def _keep_all(self, record: Record, target: Any) -> None:
        self._enter(record, written_by_python(target))

    def _enter(self, record: Record, writes: Sequence[Touch]) -> None:
        self._now.know(writes)
        self._now.keep(record, "Python", writes)
        if self._series is not None or record.gradient is not None or record.after or self._checked:
            self._append(record)

    def beside(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run a launch that is not recorded itself. What it overwrites may be needed."""
        if kernel.mode:
            return call(*args, **keywords)
        self._catch_up()
        launch = kernel.bind(args, keywords)
        record, uses, name = Record(None, launch), uses_of(launch.instance), f"kernel '{kernel.__name__}'"
        writes = uses.touched(uses.writes, launch.flat)
        self._now.know(writes)
        self._will_read(name, uses, launch.flat)
        self._now.keep(record, name, writes)
        result = call(*args, **keywords)
        if self._series is not None or record.after or self._checked:
            self._append(record)
        return result


def _hand_on(target: Any, source: Any) -> None:
    """The gradient of writing `source` to all elements of `target`."""
    hand_on(companion_if_any(target), companion_if_any(source))
