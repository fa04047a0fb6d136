"""Modules under other names: `weft.ui` is `weft.lang.ui`, which is imported when it is first used."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.lang.compat import test_finder as here
from weft.lang.compat.finder import AliasFinder

RUNS: list[str] = []
STARTED, GO = threading.Event(), threading.Event()


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Makes a module `late` of that text, which has the other name `belated`."""
    assert here is sys.modules[__name__]  # the one whose RUNS the module sees
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, AliasFinder({"belated": "late"}.get)])
    RUNS.clear()
    yield lambda text: (tmp_path / "late.py").write_text(f"import {__name__} as test\n{text}")
    for name in ("late", "belated"):
        sys.modules.pop(name, None)


def named(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize("names", [("late", "belated"), ("belated", "late")])
def test_both_names_mean_one_module(late: Callable[[str], None], names: tuple[str, str]) -> None:
    late("test.RUNS.append(__name__)")
    one, other = map(named, names)
    assert one is other
    assert RUNS == ["late"]
    assert one.__spec__ is not None
    assert one.__spec__.name == one.__name__ == "late"
    assert importlib.reload(one) is one


def test_a_module_that_fails_runs_again(late: Callable[[str], None]) -> None:
    late("test.RUNS.append(__name__)\nif len(test.RUNS) < 3:\n    raise OSError(len(test.RUNS))")
    for number in (1, 2):
        with pytest.raises(OSError, match=str(number)):
            named("belated")
    assert named("belated") is named("late")
    assert RUNS == ["late"] * 3


def test_threads_import_it_at_once(late: Callable[[str], None]) -> None:
    late("test.STARTED.set()\nassert test.GO.wait(30)\nlast = 2")
    STARTED.clear()
    GO.clear()
    found = list[int]()
    threads = [
        threading.Thread(target=lambda name=name: found.append(named(name).last)) for name in ("belated", "late") * 2
    ]
    threads[0].start()
    assert STARTED.wait(30)
    for thread in threads[1:]:
        thread.start()
        thread.join(0.1)  # it waits
    assert not found
    GO.set()
    for thread in threads:
        thread.join(30)
    assert found == [2, 2, 2, 2]
    assert named("late").__spec__.name == "late"  # type: ignore[union-attr]


PROGRAM = """
import sys
import weft as ti
late = {"arrays.torch_op", "algorithms", "simt", "measure.profiler", "measure.testing", "kernels.graph", "ui"}
assert not {f"weft.lang.{name}" for name in late} & sys.modules.keys()
assert "ui" in dir(ti) and "GUI" in dir(ti)
import weft.ui
assert weft.ui is ti.ui is sys.modules["weft.lang.ui"] and weft.ui.__spec__.name == "weft.lang.ui"
import weft.lang.kernels.graph
assert ti.graph is weft.lang.kernels.graph
from weft import algorithms, tools
from weft.ui import Window
from weft.tools import *
from weft.tools.image import imread
assert Window is ti.ui.Window and imread is ti.tools.imread is ti.tools.image.imread
assert "weft.lang.measure.testing" not in sys.modules
assert ti.simt.block and ti.profiler and ti.testing
print("done")
"""


def test_names_of_weft(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=dict(os.environ))
    assert done.stdout == "done\n", done.stderr


# A thread imports a module by its other name while the process waits to fork.
FORKS = """
import os, signal, sys, threading, time
import weft
from weft.lang.compat.finder import name_modules
from weft.runtime import forks

weft.__path__.append(sys.argv[1])
forks._PATIENCE = float(sys.argv[2])
signal.alarm(60)
started, forked = threading.Event(), threading.Event()
sys.started, sys.forked = started, forked
name_modules({"weft.belated": "weft.late"})

def work():
    import weft.belated
    assert weft.belated.last == 2

thread = threading.Thread(target=work)
thread.start()
assert started.wait(30)
child = os.fork()
forked.set()
if child == 0:
    signal.alarm(60)
    import weft.belated, weft.late
    right = weft.late is weft.belated and weft.late.__spec__.name == "weft.late"
    os._exit(10 * (weft.belated.own == os.getpid()) + weft.belated.last * right)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    ("waits", "patience", "said"), [("time.sleep(0.3)", "1000", "2"), ("sys.forked.wait(30)", "0.1", "12")]
)
def test_a_fork_waits_for_the_import_or_the_child_imports_it_again(
    tmp_path: Path, waits: str, patience: str, said: str
) -> None:
    (tmp_path / "program.py").write_text(FORKS)
    text = f"import os, sys, time\nown = os.getpid()\nsys.started.set()\n{waits}\nlast = 2\n"
    (tmp_path / "late.py").write_text(text)
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path), patience]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{said}\n"
