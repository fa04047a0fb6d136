"""Modules that run when they are first looked into."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.lang import test_deferred as here
from weft.lang.deferred import deferred

STARTED, GO = threading.Event(), threading.Event()
RUNS: list[str] = []

BODY = """
from tests.lang.test_deferred import RUNS
RUNS.append(__name__)
__all__ = ["first", "Kept"]
first = 1
class Kept:
    pass
"""
SLOW = """
from tests.lang import test_deferred
test_deferred.STARTED.set()
assert test_deferred.GO.wait(30)
last = 2
"""
FAILS = """
from tests.lang.test_deferred import RUNS
half = len(RUNS)
RUNS.append(__name__)
if len(RUNS) < 3:
    raise OSError(f"run {len(RUNS)}")
"""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """A deferred module of that text: `late`, also imported as `belated`."""
    assert here is sys.modules[__name__]  # the one whose RUNS the modules see
    monkeypatch.syspath_prepend(tmp_path)
    RUNS.clear()

    def make(text: str) -> ModuleType:
        (tmp_path / "late.py").write_text(text)
        return deferred("late", "belated")

    yield make
    for name in ("late", "belated"):
        sys.modules.pop(name, None)


def test_it_runs_once_when_looked_into(make: Callable[[str], ModuleType]) -> None:
    late = make(BODY)
    import belated
    import late as imported

    assert belated is late
    assert imported is late
    assert isinstance(late, ModuleType)
    assert late.__name__ == late.__spec__.name == "late"
    assert not RUNS
    assert late.first == 1
    assert type(late) is ModuleType
    assert late.Kept
    assert RUNS == ["late"]


LOOKS: dict[str, Callable[[ModuleType], object]] = {
    "dir": lambda late: "first" in dir(late),
    "vars": lambda late: "first" in vars(late),
    "hasattr": lambda late: hasattr(late, "first") and not hasattr(late, "second"),
    "import of a name": lambda late: here.star("from late import first") == {"first": 1},
    "star import": lambda late: here.star("from belated import *").keys() == {"first", "Kept"},
    "pickle": lambda late: pickle.loads(pickle.dumps(late.Kept)) is late.Kept,
    "unpickle": lambda late: pickle.loads(b"clate\nKept\n.") is late.Kept,
}


def star(statement: str) -> dict[str, object]:
    """What that statement defines."""
    space: dict[str, object] = {}
    exec(statement, space)
    del space["__builtins__"]
    return space


@pytest.mark.parametrize("look", LOOKS)
def test_every_way_to_look_into_it(make: Callable[[str], ModuleType], look: str) -> None:
    late = make(BODY)
    assert LOOKS[look](late)
    assert RUNS == ["late"]


def test_what_is_set_before_it_runs_holds(make: Callable[[str], ModuleType]) -> None:
    late = make(BODY)
    late.first = 5  # type: ignore[attr-defined]
    assert not RUNS
    assert late.first == 5
    del late.Kept
    assert not hasattr(late, "Kept")
    assert RUNS == ["late"]
    early = make(BODY)
    del early.first
    assert not hasattr(early, "first")


def test_two_threads_look_at_once(make: Callable[[str], ModuleType]) -> None:
    late, said = make(SLOW), list[int]()
    STARTED.clear()
    GO.clear()
    threads = [threading.Thread(target=lambda: said.append(late.last)) for _ in range(3)]
    threads[0].start()
    assert STARTED.wait(30)
    for thread in threads[1:]:
        thread.start()
        thread.join(0.1)  # it waits
    assert not said
    GO.set()
    for thread in threads:
        thread.join(30)
    assert said == [2, 2, 2]


def test_one_that_fails_runs_again(make: Callable[[str], ModuleType]) -> None:
    late = make(FAILS)
    late.mine = 3  # type: ignore[attr-defined]
    for number in (1, 2):
        with pytest.raises(OSError, match=f"run {number}"):
            late.half
    assert late.half == 2
    assert late.mine == 3
    assert RUNS == ["late"] * 3


PROGRAM = """
import sys
import weft as ti
import weft.ui
import weft.lang.kernels.graph
from weft import algorithms, tools
from types import ModuleType

late = [algorithms, tools, ti.ui, ti.graph, ti.simt, ti.profiler, ti.testing, ti.torch]
assert all(isinstance(module, ModuleType) and type(module) is not ModuleType for module in late)
assert not {"weft.codegen", "weft.lang.ui.window", "weft.lang.simt.block", "torch"} & sys.modules.keys()
assert weft.ui is ti.ui is sys.modules["weft.lang.ui"]
from weft.ui import Window
from weft.tools import *
assert Window is ti.ui.Window
assert "Scene" in dir(ti.ui) and "GUI" in dir(ti)
assert type(tools) is type(ti.ui) is ModuleType is not type(ti.simt)
print("done")
"""


def test_importing_weft_runs_none(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=dict(os.environ))
    assert done.stdout == "done\n", done.stderr


# A module of ours that is being imported looks into a deferred one while the process waits to fork.
WHILE_IMPORTED = """
import os, signal, sys, threading, time
import weft
from weft.lang.deferred import deferred
from weft.runtime import forks

weft.__path__.append(sys.argv[1])
forks._PATIENCE = float(sys.argv[2])
signal.alarm(60)
started, forked = threading.Event(), threading.Event()
sys.started, sys.forked = started, forked
late = deferred("weft.late")

def work():
    import weft.early
    assert weft.early.seen == 2

thread = threading.Thread(target=work)
thread.start()
assert started.wait(30)
child = os.fork()
forked.set()
if child == 0:
    signal.alarm(60)
    os._exit(10 * (late.own == os.getpid()) + late.last)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
assert late.last == 2
"""
EARLY = """
import sys, time
import weft
sys.started.set()
time.sleep(0.3)
seen = sys.modules["weft.late"].last
"""
LATE = """
import os, sys
own = os.getpid()
sys.{event}
last = 2
"""


def forked(tmp_path: Path, early: str, late: str, patience: float) -> str:
    (tmp_path / "program.py").write_text(WHILE_IMPORTED)
    (tmp_path / "early.py").write_text(early)
    (tmp_path / "late.py").write_text(late)
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path), str(patience)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    return done.stdout


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_fork
def test_a_fork_waits_for_one_within_an_import(tmp_path: Path) -> None:
    """(And not for as long as it has patience: then SIGALRM ends the program.)"""
    assert forked(tmp_path, EARLY, LATE.format(event="started"), 1000) == "2\n"


@needs_fork
def test_one_that_ran_during_a_fork_runs_again_in_the_child(tmp_path: Path) -> None:
    early = EARLY.replace("sys.started.set()\ntime.sleep(0.3)\n", "")
    assert forked(tmp_path, early, LATE.format(event="started.set()\nsys.forked.wait(30)"), 0.1) == "12\n"
