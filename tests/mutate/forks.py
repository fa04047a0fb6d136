"""Work in copies of this process, several at a time: each says what it found line by line, and is ended when it is
silent for too long."""

from __future__ import annotations

import json
import os
import resource
import selectors
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Outcome", "Task", "run"]

_MEMORY = 8 << 30  # bytes: a broken loop may append for ever

Send = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Task:
    """`work(send)` runs in a copy of the process; `patience` says how many seconds may pass after a message."""

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
    deadline: float
    text: bytes = b""

    def read(self, data: bytes) -> None:
        *lines, self.text = (self.text + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            self.outcome.sent.append(message)
            self.deadline = time.monotonic() + self.task.patience(message)


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
                    key.data.deadline = 0
            for key in list(waiting.get_map().values()):
                if key.data.deadline < time.monotonic():
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
    return end, _Child(task, pid, Outcome(task.about), time.monotonic() + task.patience({}))


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
    late = child.deadline > 0
    try:
        os.killpg(child.pid, signal.SIGKILL)  # what a test has started as well
    except (ProcessLookupError, PermissionError):
        pass
    _, status = os.waitpid(child.pid, 0)
    if late:
        child.outcome.end = "late"
    elif os.waitstatus_to_exitcode(status) != 0:
        child.outcome.end = "crashed"
    return child.outcome
