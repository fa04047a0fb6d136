"""Reverse mode for the transforms of functions: a block that records launches, and runs their gradients.

In contrast to `Tape`, all memory of floats has a gradient (`data/derived.py`), and the numbers that kernels take and
return can have one. With a `Propagation`, the launches compute duals too, and the gradients get duals: that is forward
mode over reverse mode, which gives second derivatives."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from weft.ir.artifact import Site
from weft.ir.errors import WeftError
from weft.ir.symbols import COMPANIONS, RECORDS
from weft.lang.autodiff.contexts import active, seen_by
from weft.lang.autodiff.cutting import Derivatives, Plan, plan_of
from weft.lang.autodiff.lost import Losses, flow_of
from weft.lang.autodiff.memory import Copy, Memory, memory_of
from weft.lang.autodiff.memory_use import Touch, uses_of, written_by_python
from weft.lang.autodiff.nesting import (
    again,
    duals_of,
    hand_on_all,
    hand_out,
    heard_by,
    lost_in_python,
    memory_in,
    needs_of,
    rebound,
    refuse_copy,
    refuse_third,
    run_derivative,
    writes_of,
)
from weft.lang.autodiff.propagation import Again, Propagation, carries_floats, float_results, owners_of
from weft.lang.autodiff.recorder import Recorder
from weft.lang.autodiff.selection import Number, reversible
from weft.lang.autodiff.variables import clear_element, numbers_in, places_of, put_numbers
from weft.lang.autodiff.versions import Record, Versions, run_back
from weft.lang.calls.gradient_warnings import warn_at
from weft.lang.data.derived import at_path, derived, kinds_of, with_siblings
from weft.lang.data.operations import Operation
from weft.lang.kernels.draws import last_key
from weft.lang.kernels.launch import Launch

__all__ = ["Recording"]


@dataclass(eq=False)
class _Gradient:
    """A recorded gradient of a launch."""

    launch: Launch

    def __call__(self) -> None:
        run_derivative(self.launch, active())


@dataclass
class _Result:
    """A value that a kernel has returned, the box of its gradient, and the place of a derivative that it carries."""

    value: Any
    box: Any
    kernel: str
    site: Site | None
    told: str = ""  # a warning, if the value is no output


class Recording(Recorder):
    """The block. `kernel` is the kernel of whose `numbers` the gradients are wanted, by name. `duals`: the forward mode
    of second derivatives."""

    whole = True
    _own = "vjp"  # the mode of launches that are no derivatives

    def __init__(self, kernel: Any = None, numbers: Sequence[str] = (), duals: Propagation | None = None) -> None:
        self.kernel, self._numbers, self._duals = kernel, tuple(numbers), duals
        self._outer, self.has_duals = active(), duals is not None
        self.nests = duals is None or bool(self._outer)  # (forward mode takes second derivatives)
        advice = "write to other elements, as a gradient in a function that reverse mode differentiates keeps no values"
        self._forward = [one for one in self._outer if isinstance(one, Propagation)]  # around this block
        versions = Versions(save=not any(one.records for one in self._outer), advice=advice)
        super().__init__(versions, Losses(strict=True, results=True), bounds=not self._outer)
        self._gradients = list[_Gradient]()
        self._results = list[_Result]()
        self._boxes: dict[str, list[Any]] = {}
        for one in self._outer:
            one.enclose(self._kind)
        self._owners: dict[Hashable, Any] = {}  # the memory whose gradients are used
        self._read: dict[Hashable, Memory] = {}  # what the gradients read
        self._places: dict[Hashable, Any] = {}  # which elements stand for a variable, see `places_of`

    @property
    def _mode(self) -> str:
        return f"{self._own}*" if self._duals is None else "vjp.jvp*"

    @property
    def _kind(self) -> str:
        """The companion that holds gradients."""
        return COMPANIONS[self._own]

    @property
    def _paths(self) -> list[str]:
        return [path for path in kinds_of(self._mode) if path.startswith(self._kind)]

    def _is_own(self, memory: Any) -> bool:
        """Whether it holds gradients of this block, or duals of them."""
        return memory.role == self._kind or (self.has_duals and memory.role == "dual")

    def enclose(self, kind: str) -> None:
        """A function in the block begins to compute gradients: leave it their memory. (A `Context`.)"""
        refuse_third(self._outer)
        if kind == self._kind:
            self._own = "vjp2"
            for one in self._gradients:
                kernel = one.launch.kernel
                if kernel._boxed and kernel._boxed[-1] in RECORDS:
                    raise WeftError(
                        f"the gradient of kernel '{kernel.primal.__name__}' needs recorded values, but a later "
                        "function computes a gradient itself: call a function that computes a gradient first"
                    )
                one.launch = rebound(one.launch, kernel.primal.related(self._mode, kernel._boxed, kernel.piece))

    # -- recording -----------------------------------------------------------------------------------------------------

    def launch(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Record and run a launch. (A `Context`.)"""
        if kernel.mode:
            return self._launch_by_hand(kernel, call, args, keywords)
        numbers = self._numbers if kernel is self.kernel else ()
        boxed = (*numbers, *float_results(kernel))

        # (pieces have neither the numbers nor the results of the kernel)
        derivatives = Derivatives(self._mode, boxed)
        plan = plan_of(self, kernel, call, args, keywords, derivatives, cuts=not boxed, again=self._repeats)
        if plan.pieces:
            return [self.launch(piece, run, args, keywords) for piece, run in plan.pieces][-1]
        gradient = plan.gradient
        uses, name = uses_of(gradient.instance), f"kernel '{kernel.__name__}'"
        self._meet_all(gradient)
        paired = self._duals is not None or self._forward  # duals of all may matter to those of gradients
        needed = uses.every_read if paired else uses.reads
        own = uses.touched(uses.writes, gradient.flat)
        writes, reads = self._touched(own), self._touched(uses.touched(needed, gradient.flat))
        again = plan.again if self._repeats and plan.again else self._repeated(self._bind(kernel), args, keywords)
        record, versions = Record(self._kept(gradient), again), self._now
        record.recorded = plan.again
        self._check_again(name, own)
        versions.know([*writes, *reads])
        self._will_read(name, uses, gradient.flat)
        versions.keep(record, name, writes)
        result = self._run(record, kernel, plan, args, keywords)
        if gradient.instance.facts is not None and gradient.instance.facts.draws:
            duals = None if plan.again is not None else self._duals
            launched = plan.launched if duals is None else duals.derivative(kernel)
            gradient.key = last_key(launched, args, keywords)
        self._losses.follow(kernel.__name__, uses, partial(flow_of, uses, gradient.flat))
        versions.need(name, reads)
        self._read.update({touch.memory.key: touch.memory for touch in reads})
        self._append(record)
        self._note(kernel, gradient, result)
        return result

    def _bind(self, kernel: Any) -> Callable[..., Any]:
        """What gives a launch of a kernel, to be made again."""
        return kernel.bind if self._duals is None else partial(self._duals.again, kernel)

    def _check_again(self, name: str, touched: Sequence[Touch]) -> None:
        """Raise ArgumentError if a loop cannot make a call again that touches this memory. (With duals, which are a
        part of the state then.)"""
        if self._duals is not None and self._repeats:
            assert self._series is not None
            self._series.check(name, touched)

    def _kept(self, gradient: Launch) -> _Gradient:
        self._gradients.append(_Gradient(gradient))
        return self._gradients[-1]

    def _meet_all(self, gradient: Launch) -> None:
        for one in memory_in(gradient, uses_of(gradient.instance)):
            if not self._is_own(one):
                self.meet(one)

    def _launch_by_hand(self, kernel: Any, call: Callable[..., Any], args: Any, keywords: Any) -> Any:
        """Record and run a derivative that the program itself launches."""
        if not self.nests or kernel.mode != "vjp":
            raise WeftError(
                f"{kernel.__name__}() is launched in a function that is differentiated: launch the kernel, and let "
                "ti.ad compute its gradient, or use @ti.ad.grad_replaced"
            )
        self.enclose("grad")
        launch = kernel.bind(args, keywords)
        if launch.instance.facts.draws:
            launch.key = last_key(kernel.primal, args, keywords)
        return self.launch_derivative(launch, lambda: call(*args, **keywords))

    def launch_derivative(self, launch: Any, run: Callable[[], Any]) -> Any:
        """Record and run a launch of a derivative. (A `Context`.)"""
        primal = launch.kernel.primal
        boxed = (*(self._numbers if primal is self.kernel else ()), *float_results(primal))
        gradient = again(launch, self._own, boxed)
        uses, name = uses_of(gradient.instance), f"the derivative of kernel '{primal.__name__}'"
        self._meet_all(gradient)
        writes, reads = writes_of(launch, gradient, uses), needs_of(gradient, uses)
        record, versions = Record(self._kept(gradient), launch if self._repeats else None), self._now
        versions.know([*writes, *reads])
        if self._repeats:
            self._will_read_again(name, [Touch(memory_of(one), (), None, False) for one in self._values(gradient)])
        versions.keep(record, name, writes)
        result = run()
        versions.need(name, reads)
        self._read.update({touch.memory.key: touch.memory for touch in reads})
        self._append(record)
        boxes = {} if gradient.kernel.boxes is None else gradient.kernel.boxes.found(gradient.flat)
        self._note_results(primal, boxes, result, launch.kernel.mode)
        if primal is self.kernel:
            self._note_numbers(boxes)
        return result

    def _values(self, gradient: Launch) -> list[Any]:
        return [one for one in memory_in(gradient, uses_of(gradient.instance)) if not self._is_own(one)]

    def consume(self, values: Sequence[Any]) -> None:
        """A function in the block has used results. (A `Context`.)"""
        for one in self._results:
            if any(one.value is value for value in values):
                one.site = None

    def note(self, value: Any, box: Any, memory: Any, told: str, places: Any) -> None:
        """A function in the block has given Python a value from memory. (A `Context`.)"""
        self.meet(box)
        self.meet(memory)
        self._append(Record(partial(self._hand_on, box, memory, places)))
        self._results.append(_Result(value, box, "", None, told))

    def _run(self, record: Record, kernel: Any, plan: Plan, args: Any, keywords: Any) -> Any:
        if self._duals is None:
            return plan.run(*args, **keywords)
        if plan.again is not None:
            return self._duals.record(kernel, plan.again, args, keywords)
        result = self._duals.launch(kernel, plan.run, args, keywords)
        if isinstance(record.forward, Again):
            record.forward.launched()
        return result

    def _touched(self, touched: Sequence[Touch]) -> list[Touch]:
        """These touches, and those of the duals: what is put back gets its dual back, also that of blocks around."""
        own = [] if self._duals is None else [partial(derived, kind="dual")]
        return [*touched, *duals_of(touched, [*own, *(outer.dual for outer in reversed(self._forward))])]

    def _note(self, kernel: Any, gradient: Any, result: Any) -> None:
        """Note the results and the boxes of a launch."""
        boxes = {} if gradient.kernel.boxes is None else gradient.kernel.boxes.found(gradient.flat)
        for name, box in boxes.items():
            if self._duals is not None and name in self._duals.numbers:
                derived(box, "dual").from_numpy(np.asarray(self._duals.numbers[name]))
        site = next((site for site in gradient.instance.facts.lost if site.text[0] == "return"), None)
        values = result if isinstance(result, tuple) else (result,)
        for k, value in enumerate(values):
            if f"return.{k}" in boxes:
                self._results.append(_Result(value, boxes[f"return.{k}"], kernel.__name__, site))
        if kernel is self.kernel:
            self._note_numbers(boxes)

    def _note_numbers(self, boxes: dict[str, Any]) -> None:
        for name, box in boxes.items():
            self._boxes.setdefault(name, []).append(box)

    def _note_results(self, primal: Any, boxes: dict[str, Any], result: Any, mode: str) -> None:
        """Note the results of a launch of a derivative: values, and in forward mode then the duals of floats."""
        if result is None or not mode.startswith("jvp"):
            return
        values = result if isinstance(result, tuple) else (result,)
        duals = iter(values[len(primal.results) :])
        for k, annotation in enumerate(primal.results):
            dual = next(duals) if carries_floats(annotation) else None
            box = boxes.get(f"return.{k}")
            if box is not None:
                self._results.append(_Result(values[k], box, primal.__name__, None))
                self._results.append(_Result(dual, derived(box, "dual"), primal.__name__, None))

    def _will_read_again(self, name: str, reads: Sequence[Touch]) -> None:
        self._check_again(name, reads)
        reads = self._touched(reads)
        super()._will_read_again(name, reads)
        self._read.update({touch.memory.key: touch.memory for touch in reads})

    def choose(self, variable: Any) -> None:
        """Note what is differentiated by, before the function runs."""
        if not isinstance(variable, Number):
            self.meet(reversible(variable))
            self._places[memory_of(variable).key] = places_of(variable)

    def meet(self, memory: Any) -> None:
        """Note memory whose gradient is used."""
        key = memory_of(memory).key
        if key not in self._owners:
            self._owners[key] = memory
            if self._duals is not None:
                self._duals.know(derived(memory, "grad"))  # `pull` sets its dual to 0
                self._duals.dual(memory)  # 0 before it is copied: it may hold that of an earlier call

    def plainly(self, launch: Any) -> AbstractContextManager[None]:
        """In the block, launches compute no duals. (A `Context`.)"""
        return nullcontext() if self._duals is None else self._duals.plainly(launch)

    def replace(self, launch: Any, gradient: Callable[[], Any]) -> None:
        """Record a launch whose gradient the program has written. (A `Context`.)"""
        uses = uses_of(launch.instance)
        for owner in owners_of(launch):
            self.meet(owner)
        touched = self._touched(uses.touched([*uses.every_read, *uses.writes], launch.flat))
        self._now.know(touched)
        self._now.need(f"kernel '{launch.kernel.__name__}'", touched)
        self._read.update({touch.memory.key: touch.memory for touch in touched})
        self.insert(gradient)

    def insert(self, gradient: Callable[[], Any]) -> None:
        """Record a call that has this gradient. The launches in it are recorded by `beside`. (A `Context`.)"""
        if self._duals is None:
            self._append(Record(partial(self._run_rule, gradient)))
            return
        duals = self._duals

        def differentiated() -> None:
            with seen_by(duals):
                gradient()

        self._append(Record(differentiated))

    def _run_rule(self, gradient: Callable[[], Any]) -> None:
        """Run a gradient that the program has written. It names the companions of a gradient that is not nested."""
        if self._own != "vjp":
            raise WeftError(
                "a function that is differentiated computes a gradient and calls a function with a gradient by hand: "
                "its gradient names the memory of the inner gradient"
            )
        gradient()

    def beside(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run a launch that is not recorded itself. What it overwrites may be needed. (A `Context`.)"""
        launch = kernel.bind(args, keywords)
        record = Record(None, launch if self._duals is None else self._duals.again(kernel, args, keywords))
        uses, name = uses_of(launch.instance), f"kernel '{kernel.__name__}'"
        writes = self._touched(uses.touched(uses.writes, launch.flat))
        self._check_again(name, uses.touched(uses.writes, launch.flat))
        self._now.know(writes)
        self._will_read(name, uses, launch.flat)
        self._now.keep(record, name, writes)
        result = self._run(record, kernel, Plan(call, kernel, None), args, keywords)
        if self._series is not None or record.after:
            self._append(record)
        return result

    def operate(self, operation: Operation, run: Callable[[], Any]) -> Any:
        """Record and run an operation. (A `Listener`.)"""
        if self._outer:
            raise WeftError(
                f"{operation.name} has no second derivative: its gradient is computed in a function that is "
                "differentiated"
            )
        if self._duals is not None:
            self._duals.refuse(operation, "no second derivative: differentiate the gradients by differences")
            return self.operate_beside(operation, run)
        for one in (*operation.reads, *operation.writes):
            self.meet(one)
        return super().operate(operation, run)

    def carries(self, memory: Any) -> bool:
        """Whether the memory has floats: all of these have gradients. (Of `Block`.)"""
        return bool(memory.dtype.is_float)

    def gradient_of(self, memory: Any) -> Any:
        """The gradient of a field or ndarray. None if it has none. (Of `Gradients`.)"""
        return derived(memory, self._kind)

    def gradient_kernel(self, kernel: Any) -> Any:
        """The kernel of the gradient."""
        return kernel.derivative(self._mode, ())

    def write(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """Record what Python writes: the gradient of the source takes that of the target. (A `Listener`.)"""
        if self._is_own(target):
            return
        for one in (target, source):
            if derived(one, self._kind) is not None:
                self.meet(one)
        refuse_copy(target, source, self._outer)
        self._overwrite(Record(partial(self._hand_on, target, source), again), target, source, again)

    def overwrite(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """Keep what Python overwrites, if gradients need it. (A `Context`.)"""
        if not self._is_own(target):
            self._overwrite(Record(None, again), target, source, again)

    def _overwrite(self, record: Record, target: Any, source: Any, again: Callable[[], None]) -> None:
        self._will_read_source(source)
        writes = self._touched(written_by_python(target))
        self._now.know(writes)
        self._now.keep(record, "Python", writes)
        if self._series is not None or record.gradient is not None or record.after:
            self._append(record)
        if self._duals is not None:
            self._write_duals(record, partial(self._duals.write, target, source, again))

    def _write_duals(self, record: Record, write: Callable[[], None]) -> None:
        """Set the duals of what Python writes, now and when that is done again."""
        assert self._duals is not None
        write()
        if self._duals.computes_duals:
            record.forward = partial(_both, record.forward, write)

    def write_element(self, target: Any, index: tuple[int, ...], part: Any, again: Callable[[], None]) -> None:
        """Record that Python writes an element, if a launch has used that memory before. (A `Listener`.)"""
        memory = memory_of(target)
        if self._is_own(target) or not (self._versions.knows(memory) or memory.key in self._owners):
            return
        record = Record(partial(self._clear_element, target, index, part), again)
        whole, *cells = written_by_python(target)
        touched = [whole if memory.whole else Touch(memory, index, None, False), *cells]
        self._now.keep(record, "Python", self._touched(touched))
        self._append(record)
        if self._duals is not None:
            self._write_duals(record, partial(self._duals.write_element, target, index, part, again))

    def _clear_element(self, target: Any, index: tuple[int, ...], part: Any) -> None:
        """The gradient of writing a number to an element, or to a part of it."""
        for path in self._paths:
            clear_element(at_path(target, path), index, part)

    def _hand_on(self, target: Any, source: Any, places: Any = None) -> None:
        """The gradient of writing `source` to all elements of `target`. `places`: see `numbers_in`."""
        hand_on_all(target, source, self._paths, self._forward, places)

    # -- gradients -----------------------------------------------------------------------------------------------------

    def box_of_result(self, value: Any) -> Any:
        """The box of what a kernel has returned. None if `value` is no such object."""
        return next((one.box for one in reversed(self._results) if one.value is value), None)

    def warn_of_results(self, used: Sequence[Any]) -> None:
        """Warn of the results of kernels that carry a derivative, and that Python took, except for these objects."""
        for outer in self._outer:
            outer.consume(used)
        for one in self._results:
            if any(one.value is value for value in used):
                continue
            if one.told:
                warn_at(None, one.told)
            if one.site is not None:
                warn_at(
                    one.site.span,
                    f"the result of kernel '{one.kernel}' carries a derivative, which is lost in Python: let the "
                    "kernel store it in a field, or return ti.stop_grad(value) if this is what you want",
                )

    def pull(self, outputs: Sequence[tuple[Any, Any]]) -> None:
        """Compute the gradients of all memory, from those of `outputs`: memory, each with the gradient of it."""
        self.end_loops()
        boxes = [*(one.box for one in self._results), *(box for found in self._boxes.values() for box in found)]
        with heard_by(self._outer):
            for memory in (*self._owners.values(), *boxes):
                for path in self._paths:
                    with_siblings(at_path(memory, path)).fill(0)
            for memory, weights in outputs:
                grad = derived(memory, self._kind)
                put_numbers(grad, numbers_in(grad) + weights)
            run_back(self._records)

    def gradient(self, variable: Any, path: str = "") -> Any:
        """The gradient of a variable, or the dual of it, after `pull`: a Python number or a numpy array."""
        found = [at_path(one, path or self._kind) for one in self._memory_of(variable)]
        places = None if isinstance(variable, Number) else self._places.get(memory_of(variable).key)
        value = functools.reduce(operator.add, [numbers_in(one, places) for one in found])
        if len(found) == 1:
            told = "" if isinstance(variable, Number) else lost_in_python(variable, self._kind)
            return hand_out(value.item() if value.ndim == 0 else value, found[0], told, places)
        return value.item() if value.ndim == 0 else value

    def _memory_of(self, variable: Any) -> list[Any]:
        return self._boxes[variable.name] if isinstance(variable, Number) else [variable]

    def values(self) -> list[Copy]:
        """Copies of all memory that the gradients read, with the values at the end of the block."""
        return [Copy.of(memory) for memory in self._read.values()]


def _both(first: Callable[[], Any] | None, second: Callable[[], Any]) -> None:
    if first is not None:
        first()
    second()
