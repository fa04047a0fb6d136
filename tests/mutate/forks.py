"""Work in copies of this process, several at a time: each says what it found line by line, and is ended when it is
silent for too long. That is measured in the processor's time, since other programs may need the machine, too; only what
waits for something is ended by the clock."""

from __future__ import annotations

import json
import os
import resource
import selectors
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Outcome", "Task", "run"]

_WAITING = 10  # times as long by the clock
_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY = 6 << 30  # bytes: a broken loop may append for ever

Send = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Task:
    """`work(send)` runs in a copy of the process; `patience` says how many seconds it may compute after a message."""

    about: Any
    work: Callable[[Send], None]
    patience: Callable[[dict[str, Any]], float]


@dataclass
class Outcome:
    """What a task sent, and how it ended: "done", "late" (silent for too long) or "crashed"."""

    about: Any
    sent: list[dict[str, Any]] = field(default_factory=list)
    end: str = "done"


@dataclass
class _Child:
    task: Task
    pid: int
    outcome: Outcome
    seconds: float  # of the processor, at most
    deadline: float = 0.0
    text: bytes = b""
    ended: bool = False

    def expect(self, patience: float) -> None:
        """Something within so many seconds."""
        self.seconds, self.deadline = self.spent() + patience, time.monotonic() + _WAITING * patience

    def spent(self) -> float:
        """Seconds that it has computed."""
        parts = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / _TICKS

    def late(self) -> bool:
        """Whether it has been silent for too long."""
        return self.spent() > self.seconds or time.monotonic() > self.deadline

    def read(self, data: bytes) -> None:
        *lines, self.text = (self.text + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            self.outcome.sent.append(message)
            self.expect(self.task.patience(message))


def run(tasks: Iterator[Task], processes: int) -> Iterator[Outcome]:
    """The outcomes, in the order in which tasks end. A task is asked for when there is room for it."""
    with selectors.DefaultSelector() as waiting:
        while True:
            while len(waiting.get_map()) < processes and (task := next(tasks, None)) is not None:
                end, child = _start(task)
                waiting.register(end, selectors.EVENT_READ, child)
            if not waiting.get_map():
                return
            for key, _ in waiting.select(timeout=0.5):
                if data := os.read(key.fd, 1 << 16):
                    key.data.read(data)
                else:
                    key.data.ended = True
            for key in list(waiting.get_map().values()):
                if key.data.ended or key.data.late():
                    waiting.unregister(key.fd)
                    os.close(key.fd)
                    yield _finish(key.data)


def _start(task: Task) -> tuple[int, _Child]:
    end, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(end)
        _work(task, out)
    os.close(out)
    child = _Child(task, pid, Outcome(task.about), 0.0)
    child.expect(task.patience({}))
    return end, child


def _work(task: Task, out: int) -> None:
    """In the copy: what tests print goes nowhere."""
    code = 1
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nowhere, standard)
        task.work(lambda message: _write(out, message))
        code = 0
    except BaseException:
        _write(out, {"error": traceback.format_exc()})
    finally:
        os._exit(code)


def _write(out: int, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(out, data) :]


def _finish(child: _Child) -> Outcome:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)  # what a test has started as well
    _, status = os.waitpid(child.pid, 0)
    if not child.ended:
        child.outcome.end = "late"
    elif os.waitstatus_to_exitcode(status) != 0:
        child.outcome.end = "crashed"
    return child.outcome
