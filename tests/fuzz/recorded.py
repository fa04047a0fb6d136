"""Programs whose gradient reads records: the recording kernel runs in place of the program, as a tape runs it.

Each way in which a gradient runs has its own records, from the recording kernel that runs in the same way. What that
kernel leaves and returns must be what the program leaves and returns (`leaving.py`)."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tests.fuzz.determined import determined
from tests.fuzz.leaving import Leaving
from tests.fuzz.modes import SECOND
from tests.fuzz.spaces import Numbers, copied
from weft.ir.autodiff.companions import carries
from weft.ir.core import ops_of
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Store
from weft.ir.pipeline import run_passes
from weft.ir.symbols import COUNTING, READING, RECORDING, Param, records_kind
from weft.ir.types import Array, array, i64

__all__ = ["Different", "hidden_of", "paired_ways", "recorded_ways", "with_records"]


class Different(Exception):
    """The recording kernel computes something else than the program."""


Back = Callable[[Any, Any], None]
Ways = Iterator[tuple[str, Any]]
Given = tuple[list[Any], list[Any]]  # the trees and the arguments of a kernel
_MOST = 100_000  # records; a program has some thousand


def recorded_ways(subject: Any, runs: Callable[[Any], Ways], counts: Counter[str]) -> Iterator[tuple[str, Back]]:
    """The ways in which the gradient of a program with records runs. Raises CompilationError at once where the gradient
    is refused."""
    reader, recorder = _of(subject, READING), _Recorder(_of(subject, RECORDING), runs, counts, _most(subject))
    pairs = zip(runs(reader), runs(recorder.subject), strict=True)
    first = next(pairs)
    return _following(reader, recorder, first, pairs)


def paired_ways(subject: Any, runs: Callable[[Any], Ways], counts: Counter[str]) -> tuple[Any, Ways]:
    """The subject and the ways of second derivatives with records, which are followed by their duals. Each way takes
    the memory of the program before it runs, with its duals, and then what the gradient takes."""
    reader, writer = (_of(subject, records_kind(kind, False, paired=True)) for kind in (READING, RECORDING))
    recorder = _Recorder(writer, runs, counts, max(_count(subject, one, SECOND) for one in _configs(subject)), False)

    def made() -> Ways:
        for (name, run), (_, make) in zip(runs(reader), runs(writer), strict=True):

            def both(start: Given, given: Given, run: Any = run, make: Any = make, name: str = name) -> None:
                left, records = recorder.run_paired(make, start)
                recorder.check(name, left, lambda make: recorder.run_paired(make, start)[0])
                run(given[0], [*given[1], records])

            yield name, both

    return reader, made()


def _of(subject: Any, kind: str) -> Any:
    made = copy.copy(subject)
    made.records_kind = kind
    return made


def _most(subject: Any) -> int:
    """The most records in any way. (Which values are recorded depends on optimizations.)"""
    return max(_count(subject, config) for config in _configs(subject))


def _configs(subject: Any) -> list[Any]:
    return [replace(subject.config, advanced_optimization=advanced) for advanced in (False, True)]


def _count(subject: Any, config: Any, mode: str = "vjp") -> int:
    """What the counting kernel says."""
    counter = _of(subject, records_kind(COUNTING, False, paired=mode == SECOND))
    kernel = run_passes(counter.differentiated(mode), ("differentiate",), config)
    assert all(not isinstance(op, Store) or op.value.type is i64 for op in ops_of(kernel.body))
    counter.records = np.zeros(1, np.int64)
    numbers = counter.start.copy()
    parts = [_nothing(counter) for _ in range(3 if mode == SECOND else 1)]
    trees, hidden = hidden_of(counter, parts)
    evaluate(kernel, [*numbers.args, *hidden, counter.records], Memory([*numbers.trees, *trees]), config)
    count = int(counter.records[0])
    number, *more = kernel.records.split()
    assert number in ("?", str(count)), (number, count)
    assert 0 <= count <= _MOST, count
    return count + (_MOST if "+" in more else 0)


def _nothing(subject: Any) -> Any:
    return subject.companions(np.zeros(subject.base.size), True)


@dataclass
class _Recorder:
    """The recording kernel of a program, and what it must leave. `count`: how many records it may make. `returns`:
    what it returns is compared, too."""

    subject: Any
    runs: Callable[[Any], Ways]
    counts: Counter[str]
    count: int
    returns: bool = True

    @cached_property
    def leaving(self) -> Leaving:
        """What the program leaves."""
        return Leaving(self.subject, self.returns)

    def run(self, make: Any) -> tuple[Any, Any]:
        """What it leaves, and the records."""
        self.subject.records = np.full(self.count, -1, np.int64)
        left = self.subject.start.copy()
        self.subject.launch("vjp", make, left, _nothing(self.subject))
        return left, self.subject.records

    def run_paired(self, make: Any, start: Given) -> tuple[Any, Any]:
        """What it leaves, and the records with their duals, from copies of memory and arguments, with duals."""
        trees, args = ([copied(one) for one in part] for part in start)
        records = np.full(self.count, -1, np.int64)
        make(trees, [*args, records])
        return Numbers(trees[: self.subject.trees], args[: len(self.subject.text.params)]), records

    def check(self, name: str, left: Any, again: Callable[[Any], Any]) -> None:
        """Raise Different if the kernel has left something else than the program. Machine code rounds sin, exp, pow ...
        in its own way, and a program may amplify that. Then it must leave the same bits where these functions are
        `determined`; `again` says what such a kernel leaves."""
        in_machine_code = "machine code" in name
        wrong = self.leaving.differs(left, not in_machine_code)
        if wrong and in_machine_code:
            self.counts["recording kernels that amplify rounding"] += 1
            with determined():
                make = next(run for found, run in self.runs(self.subject) if found == name)
                wrong = Leaving(self.subject, self.returns).differs(again(make))
        self.counts["recording kernels"] += 1
        if wrong:
            raise Different(f"{name}: the recording kernel differs from the program: {wrong}")


def _following(reader: Any, recorder: _Recorder, first: Any, pairs: Iterator[Any]) -> Iterator[tuple[str, Back]]:
    now: Any = first
    while now is not None:
        (name, run), (_, make) = now

        def back(after: Any, gradients: Any, run: Any = run, make: Any = make, name: str = name) -> None:
            left, records = recorder.run(make)
            recorder.check(name, left, lambda make: recorder.run(make)[0])
            reader.records = records
            reader.launch("vjp", run, reader.before(left), gradients)

        yield name, back
        now = next(pairs, None)


def hidden_of(subject: Any, parts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The trees and the hidden arguments of companions, for a kernel that takes one after another."""
    arrays = [k for k, one in enumerate(subject.text.params) if isinstance(one.type, Array) and carries(one.type.elem)]
    return [tree for part in parts for tree in part.trees], [part.args[k] for part in parts for k in arrays]


def with_records(kernel: Any, kind: str) -> Any:
    """A kernel with the parameter for records."""
    kernel.params = (*kernel.params, Param("records", array(i64, 1), kind))
    return kernel
