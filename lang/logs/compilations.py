"""A trace of a compilation that logs the stages of the compiler, by topic (see `topics.py`)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

from weft.ir.trace import Trace
from weft.lang.logs.topics import CODEGEN, OFFLOAD, PASSES, TRANSLATE

if TYPE_CHECKING:
    from weft.ir.ops import Kernel
    from weft.ir.passes import Observer

__all__ = ["trace_of"]

_TOPICS = (TRANSLATE, PASSES, OFFLOAD, CODEGEN)


def trace_of(program: Any, name: str) -> Trace:
    """Return the trace that the environment requests for a kernel of that name. It also logs the topics that are on."""
    plain = Trace.from_environment(also=program.dumps)
    return _Told(plain.dumps, plain.timed, kernel=name) if any(topic.on for topic in _TOPICS) else plain


class _Told(Trace):
    def __init__(self, dumps: frozenset[str], timed: bool, kernel: str) -> None:
        super().__init__(dumps, timed)
        self.kernel = kernel
        self.began: tuple[str, float] | None = None

    @property
    def observer(self) -> Observer | None:
        return self.observe

    def observe(self, name: str, kernel: Kernel, changed: bool, began: float, ended: float) -> None:
        from weft.ir.pipeline import STAGES
        from weft.ir.tasks import tasks_of

        super().observe(name, kernel, changed, began, ended)
        if PASSES.on:
            tell = PASSES.info if changed and name in STAGES else PASSES.debug
            found = "changed it" if changed else "found nothing"
            tell("%s: %s %s, %.2f ms", self.kernel, name, found, (ended - began) * 1e3)
        if OFFLOAD.on and name == "flag_access":
            for number, task in enumerate(tasks_of(kernel)):
                reads, writes = (", ".join(names) or "nothing" for names in (task.read_set, task.write_set))
                where = "" if task.span is None else f", line {task.span.line}"
                what = (self.kernel, number, task.kind, where, reads, writes)
                OFFLOAD.info("%s: task %d, %s%s, reads %s, writes %s", *what)

    @contextmanager
    def stage(self, name: str) -> Generator[None, None, None]:
        start = perf_counter()
        with super().stage(name):
            yield
        if TRANSLATE.on and name == "translate":
            TRANSLATE.info("%s: translated, %.2f ms", self.kernel, (perf_counter() - start) * 1e3)

    def lap(self, name: str = "") -> None:
        super().lap(name)
        now = perf_counter()
        if CODEGEN.on and self.began is not None:
            CODEGEN.info("%s: %s, %.2f ms", self.kernel, self.began[0], (now - self.began[1]) * 1e3)
        self.began = (name, now) if name else None
