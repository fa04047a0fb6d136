"""The launches of a loop of `ti.ad.steps`, as one record of a tape.

While the loop runs, its launches are recorded, without the old values that their gradients need, but for a last part of
the loop that fits into memory. Checkpoints are made on the way (`schedule.py` says where). The reverse goes from the
last step to the first: from a checkpoint, launches are made again, and those of the last steps are made with the old
values that their gradients need.

A launch that is made again has the same code, arguments and random numbers. So it writes the same values if memory that
it reads has the same values. Memory differs only in what the steps overwrite, and checkpoints have copies of that."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from weft.ir.errors import WeftError
from weft.lang.autodiff.checkpoints import Budget, Checkpoints
from weft.lang.autodiff.foreign import Unchanged
from weft.lang.autodiff.memory import Copy, Key
from weft.lang.autodiff.memory_use import Touch
from weft.lang.autodiff.schedule import split
from weft.lang.autodiff.steps import Loop
from weft.lang.autodiff.versions import Latest, Record, Versions
from weft.lang.calls.gradient_warnings import warn_at
from weft.lang.data.derived import is_derived
from weft.lang.data.sparse_access import SPARSE
from weft.lang.errors import ArgumentError
from weft.lang.interpret.random import draws
from weft.lang.kernels.launch import Replay, replay_each
from weft.lang.program.init import program
from weft.runtime.memory import readable_size

__all__ = ["MemoryTooSmall", "Series"]

_TRIALS = 3  # steps after which the tapes of later ones are known well enough to do without checkpoints
_SAFETY = 2  # how many times more bytes they may then take


class MemoryTooSmall(WeftError):
    """The memory of a loop of `ti.ad.steps` is less than one step needs."""


class Series(Record):
    """A recorded loop. It takes the place of `outer`, the Versions of the tape, while the loop runs. `checks`: whether
    all that `read` and `keep` are told is checked. If not, the caller calls `check`."""

    def __init__(self, outer: Versions, checks: bool = True) -> None:
        super().__init__(None)
        self._outer, self._limit, self._checks = outer, 0, checks  # bytes
        self._total = 0  # how many steps are expected
        self.steps: list[list[Record]] = []
        self._budget = Budget()
        self._checkpoints: Checkpoints | None = Checkpoints(self._budget)
        self._foreign = Unchanged()
        self._own: dict[int, Sequence[Touch]] = {}  # what was checked, and has no array of another library
        self._random = _RandomKey()
        self._reads: dict[int, tuple[str, Sequence[Touch]]] = {}  # what launches read that may be made again
        self._versions: Versions | None = outer  # of the steps with tapes
        self._taped = 0  # the first step with a tape, if _versions is not None
        self._all_tapes = 0  # bytes of the tapes from there on
        self._tape = 0  # bytes of the tape of a step
        self._target, self._marks = 0, False  # the step before which to choose again, and whether a checkpoint is made
        self._warned = False

    # -- while the loop runs -------------------------------------------------------------------------------------------

    def begin(self, loops: Sequence[Loop]) -> None:
        """A step of the last of these loops begins, of which each is in the one before it."""
        self._limit = min([one.bytes for one in loops])
        if self._checkpoints is None:
            self._all_tapes += 0 if self._warned else self._last_tape()
            self._warn_if(self._all_tapes > self._limit)
            self.steps.append([])
            return
        now = len(self.steps)
        loops[-1].first = now
        rest = 0
        for loop in reversed(loops):
            ahead = loop.count - loop.step - 1
            rest += 1 + ahead if loop is loops[-1] else ahead * (now - loop.first + rest)
        self._total = now + rest
        if self.steps:
            self._decide(now)
        self.steps.append([])

    @property
    def repeats(self) -> bool:
        """Whether launches that come now may be made again. If not, the tape records them as ever."""
        return self._checkpoints is not None

    def know(self, touched: Sequence[Touch]) -> None:
        """Note the memory of a launch. (Of `Versions`.)"""
        self._outer.know(touched)

    def read(self, name: str, reads: Sequence[Touch]) -> None:
        """Note what a launch reads, before it runs."""
        if self._versions is self._outer:  # perhaps all steps fit, and no launch is made again
            self._reads.setdefault(id(reads), (name, reads))
        else:
            self._outer.need_once(name, reads)
        if self._checks:
            self.check(name, reads)

    def keep(self, record: Record, writer: str, writes: Sequence[Touch]) -> None:
        """Copy what `writer` is about to overwrite. (Of `Versions`.)"""
        if self._checks:
            self.check(writer, writes)
        record.name, record.writes, record.key = writer, writes, self._random.value
        self._keep(record, self._versions)

    def check(self, name: str, touches: Sequence[Touch]) -> None:
        """Raise ArgumentError if a call of that name cannot be made again: because Python has changed an array, or
        because gradients have other values then."""
        if id(touches) in self._own:
            return
        foreign = self._foreign.check(name, touches)
        for touch in touches:
            if is_derived(touch.memory.owner):
                where = "" if touch.span is None else f"\n{touch.span.render()}\n"
                raise ArgumentError(
                    f"{where}{name} uses {touch.memory.name}, which is a gradient or a dual. In a loop of ti.ad.steps, "
                    "launches are made again while gradients are computed: launch it before or after the loop"
                )
        if not foreign:
            self._own[id(touches)] = touches  # it lives as long, so that no other list has its identity

    def _keep(self, record: Record, versions: Versions | None) -> None:
        made: Mapping[Key, Copy] = {}
        if self._checkpoints is not None:
            made = self._checkpoints.save(record.writes)
        if versions is not None:
            versions.keep(record, record.name, record.writes, made)
            self._budget.hold([*record.before, *record.after])

    def need(self, kernel: str, reads: Sequence[Touch]) -> None:
        """Note what the gradient of a kernel reads. (Of `Versions`.)"""
        self._needs = reads
        self._outer.need_once(kernel, reads)
        if self._versions is not None and self._versions is not self._outer:
            self._versions.need_once(kernel, reads)

    def append(self, record: Record) -> None:
        """Record a call that has been made."""
        record.needs, self._needs = self._needs, ()
        self._hold_records(record, self._versions)
        self._foreign.renew(record.writes)
        self.steps[-1].append(record)

    _needs: Sequence[Touch] = ()

    def _hold_records(self, record: Record, versions: Versions | None) -> None:
        """Count the records that a call has made, or drop them if it has no tape."""
        if record.recorded is None:
            return
        if versions is None:
            record.recorded.drop()
        else:
            self._budget.add(record.recorded.size)

    def _decide(self, step: int) -> None:
        """Choose what the next step is: one with a tape, or one without, perhaps behind a checkpoint."""
        assert self._checkpoints is not None
        if self._versions is not None:
            if self._rest_fits(step):
                return
            self._check_size()
            self._forget(self._taped, step)
            self._versions = None
            for name, reads in self._reads.values():
                self._outer.need_once(name, reads)
            self._reads.clear()
        elif step < self._target:
            return
        elif self._marks:
            self._checkpoints.take(step)
        while True:
            newest = self._checkpoints.newest
            ahead, self._marks = self._split(max(self._total, step + 1) - newest)
            self._target = newest + ahead
            if self._target > step:
                return
            if not self._marks or newest == step:
                self._versions, self._taped, self._all_tapes = Versions(True), step, 0
                return
            self._checkpoints.take(step)

    def _rest_fits(self, step: int) -> bool:
        """Whether all further steps can have tapes."""
        assert self._checkpoints is not None
        last = self._last_tape()
        self._tape = max(self._tape, last)
        self._all_tapes += last
        ahead = max(0, self._total - step) * self._tape + self._checkpoints.touched
        fits = self._budget.used + ahead <= self._limit
        if (
            self._taped == 0
            and step >= _TRIALS
            and self._all_tapes + (_SAFETY * ahead if fits else ahead) <= self._limit
        ):
            self._keep_all()
            return True
        return fits

    def finish(self) -> None:
        """The loop has ended."""
        if self._versions is self._outer and self._checkpoints is not None:
            self._keep_all()

    def _keep_all(self) -> None:
        """All steps have tapes, so no launch is made again."""
        assert self._checkpoints is not None
        self._checkpoints.clear()
        self._checkpoints = None
        self._reads.clear()

    def _split(self, steps: int) -> tuple[int, bool]:
        """How to reverse that many steps from the newest checkpoint on."""
        assert self._checkpoints is not None
        checkpoints = self._checkpoints
        free = self._limit - self._budget.used - checkpoints.missing - checkpoints.touched
        return split(steps, max(0, free), max(1, checkpoints.state), self._tape)

    def _check_size(self) -> None:
        """Raise MemoryTooSmall if no step can have a tape."""
        assert self._checkpoints is not None
        state, latest = self._checkpoints.state, self._checkpoints.touched
        needed = state + latest + self._tape
        if needed > self._limit:
            raise MemoryTooSmall(
                f"the memory of ti.ad.steps is {readable_size(self._limit)}, but a step of this loop needs "
                f"{readable_size(needed)}: {readable_size(state)} for the values at its begin, "
                f"{readable_size(latest)} for the values at the end of the loop, and {readable_size(self._tape)} for "
                f"what its gradients read. Give memory={needed} or more"
            )

    def _last_tape(self) -> int:
        """How many bytes the tape of the last step takes."""
        copies = sum([copy.size for record in self.steps[-1] for copy in (*record.before, *record.after)])
        return copies + sum([one.recorded.size for one in self.steps[-1] if one.recorded is not None])

    def _warn_if(self, over: bool) -> None:
        """Warn if the loop uses more than its memory."""
        if over and not self._warned:
            self._warned = True
            warn_at(
                None,
                f"ti.ad.steps uses more than its memory of {readable_size(self._limit)}, because later steps need more "
                "than the first ones",
            )

    def _forget(self, first: int, end: int) -> None:
        """Forget the tapes of these steps."""
        for step in self.steps[first:end]:
            for record in step:
                self._budget.release([*record.before, *record.after])
                record.before.clear()
                record.after.clear()
                if record.recorded is not None:
                    self._budget.add(-record.recorded.size)
                    record.recorded.drop()

    # -- backward ------------------------------------------------------------------------------------------------------

    def run_back(self, latest: Latest) -> None:
        """Run the gradients of all steps. Memory has the values from before the loop then, as far as others need
        them."""
        end = len(self.steps)
        if self._versions is not None:
            self._back(self._taped, end, latest)
            if self._checkpoints is None:
                return
            self._forget(self._taped, end)
            end, self._versions = self._taped, None
        assert self._checkpoints is not None
        with self._random.kept():
            while end > 0:
                end = self._reverse_last(end, latest)
        self._checkpoints.back_to_newest(latest)

    def _back(self, first: int, end: int, latest: Latest) -> None:
        """Run the gradients of steps that have tapes."""
        for record in reversed([record for step in self.steps[first:end] for record in step]):
            record.run_back(latest)

    _gradients: list[Any] | None = None  # in cells that are not active while steps are made again

    def _reverse_last(self, end: int, latest: Latest) -> int:
        """Run the gradients of the last steps before step `end`. Returns how many steps are left."""
        assert self._checkpoints is not None
        self._checkpoints.drop_from(end)
        if self._gradients is None:
            self._gradients = [SPARSE.gradients(tree) for tree in self._checkpoints.trees]
        self._checkpoints.back_to_newest(latest)
        at = self._checkpoints.newest
        keep = True
        while keep:
            ahead, keep = self._split(end - at)
            self._all_again([record for step in self.steps[at : at + ahead] for record in step])
            at += ahead
            if keep:
                self._checkpoints.take(at)
        if self._with_tapes(at, end):
            for found in self._gradients:
                SPARSE.put_gradients(found)
            self._gradients = None
            self._back(at, end, latest)
            self._forget(at, end)
            return at
        self._forget(at, end)
        return end

    def _with_tapes(self, first: int, end: int) -> bool:
        """Make the launches of these steps again, with their tapes. Returns whether they fit into memory: if not, a
        shorter part may."""
        assert self._checkpoints is not None
        versions, before = Versions(True), self._budget.used
        for number, step in enumerate(self.steps[first:end], 1):
            for record in step:
                self._again(record, versions)
            if self._budget.used + self._checkpoints.missing > self._limit:
                tape = -(-(self._budget.used - before) // number)
                if end - first > 1 and tape > self._tape:
                    self._tape = tape
                    return False
                self._warn_if(self._budget.used > self._limit)
        return True

    def _all_again(self, records: Sequence[Record]) -> None:
        """Make launches again, without their tapes: those before which nothing is copied, by one call of native
        code."""
        assert self._checkpoints is not None
        waiting = list[tuple[Replay, int]]()
        for record in records:
            forward = record.forward
            if isinstance(forward, Replay) and self._checkpoints.has(record.writes):
                waiting.append((forward, record.key))
                continue
            if waiting:
                replay_each(waiting)
                waiting.clear()
            self._again(record, None)
        if waiting:
            replay_each(waiting)

    def _again(self, record: Record, versions: Versions | None) -> None:
        """Make a launch again."""
        self._keep(record, versions)
        if record.forward is not None:
            self._random.value = record.key
            record.forward()
        self._hold_records(record, versions)
        if versions is not None:
            versions.need_once(record.name, record.needs)


class _RandomKey:
    """The key of the random numbers of the next launch."""

    def __init__(self) -> None:
        current = program()
        self._holder: Any = draws() if current.interprets else current.device
        self._name = "next_key" if current.interprets else "random_key"

    @property
    def value(self) -> int:
        """The key."""
        return int(getattr(self._holder, self._name))

    @value.setter
    def value(self, key: int) -> None:
        setattr(self._holder, self._name, key)

    @contextmanager
    def kept(self) -> Generator[None]:
        """Let later launches draw the random numbers that they would have drawn without the block."""
        before = self.value
        try:
            yield
        finally:
            self.value = before
