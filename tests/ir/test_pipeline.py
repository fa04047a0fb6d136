"""What the pipelines do around the passes: finding them, watching them, blaming them."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from weft.ir import ops, transforms
from weft.ir.config import CompileConfig
from weft.ir.core import Builder
from weft.ir.errors import CompilationError, InternalError
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.passes import OBSERVER, PASSES, pass_
from weft.ir.pipeline import find_pass, run_passes
from weft.ir.text import print_ir
from weft.ir.trace import Trace
from weft.ir.types import f32, i32

TEXT = "kernel @k() -> () {\n  %x = const 1 : i32\n}\n"
STRICT = CompileConfig(verify=True)


@pytest.fixture(autouse=True)
def passes() -> Iterator[None]:
    """Passes that exist for these tests only."""
    before = dict(PASSES)

    @pass_("idle")
    def idle(root: Kernel, config: CompileConfig) -> bool:
        return False

    @pass_("append")
    def append(root: Kernel, config: CompileConfig) -> bool:
        root.body.append(ops.Const(2, type=i32))
        return True

    @pass_("both")
    def both(root: Kernel, config: CompileConfig) -> bool:
        return append(root, config) | idle(root, config)

    @pass_("sly")
    def sly(root: Kernel, config: CompileConfig) -> bool:
        root.body.append(ops.Const(3, type=i32))
        return False

    @pass_("broken")
    def broken(root: Kernel, config: CompileConfig) -> bool:
        Builder(root.body).add(ops.Const(1, type=f32))
        return True

    @pass_("crash")
    def crash(root: Kernel, config: CompileConfig) -> bool:
        raise KeyError("x")

    @pass_("blame_user")
    def blame_user(root: Kernel, config: CompileConfig) -> bool:
        raise CompilationError("your fault")

    yield
    PASSES.clear()
    PASSES.update(before)


def test_a_pass_is_found_by_its_name() -> None:
    assert find_pass("idle") is PASSES["idle"]
    with pytest.raises(ModuleNotFoundError):
        find_pass("no_such_pass")


LATE = """
from weft.ir.passes import pass_
from tests.ir import test_pipeline

@pass_("late")
def late(root, config):
    return _last_line

test_pipeline.REGISTERED.set()
assert test_pipeline.GO.wait(30)
_last_line = True
"""
REGISTERED, GO = threading.Event(), threading.Event()


def test_a_pass_that_another_thread_is_still_importing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is registered, but what it needs may stand below it in the file."""
    (tmp_path / "late.py").write_text(LATE)
    monkeypatch.setattr(transforms, "__path__", [*transforms.__path__, str(tmp_path)])
    kernel, said = parse(TEXT), list[bool]()
    threads = [threading.Thread(target=lambda: said.append(find_pass("late")(kernel, STRICT))) for _ in range(2)]
    threads[0].start()
    assert REGISTERED.wait(30)
    threads[1].start()
    threads[1].join(0.2)  # it waits, too
    GO.set()
    for thread in threads:
        thread.join(30)
    del sys.modules["weft.ir.transforms.late"], PASSES["late"]
    assert said == [True, True]


def test_nested_passes_are_seen_before_the_stage() -> None:
    seen: list[tuple[str, bool]] = []
    kernel = run_passes(
        parse(TEXT), ["both", "idle"], CompileConfig(), lambda name, _, changed, *times: seen.append((name, changed))
    )
    assert seen == [("append", True), ("idle", False), ("both", True), ("idle", False)]
    assert len(kernel.body) == 2
    assert OBSERVER.get() is None


def test_tidying_twice_in_a_row_is_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []

    @pass_("tidy")
    def tidy(root: Kernel, config: CompileConfig) -> bool:
        runs.append("tidy")
        return True

    monkeypatch.setattr("weft.ir.pipeline.TIDYING", {"tidy"})
    run_passes(parse(TEXT), ["tidy", "idle", "tidy", "append", "tidy"], CompileConfig())
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("sly", "pass 'sly' changed kernel 'k', but returned that it had not"),
        ("broken", "pass 'broken', kernel 'k': op 'const' () : f32: has the value 1"),
        ("crash", "pass 'crash', kernel 'k': KeyError: 'x'"),
    ],
)
def test_our_mistakes_name_the_pass(name: str, complaint: str) -> None:
    with pytest.raises(InternalError) as caught:
        run_passes(parse(TEXT), ["idle", name], STRICT)
    assert complaint in str(caught.value)
    assert caught.value.text == f"# pass {name}, from level chi\n{TEXT}"
    assert print_ir(parse(caught.value.text)) == TEXT
    assert OBSERVER.get() is None


def test_the_users_mistakes_stay_the_users() -> None:
    with pytest.raises(CompilationError, match="your fault"):
        run_passes(parse(TEXT), ["blame_user"], STRICT)


def test_without_verify_nothing_is_checked() -> None:
    run_passes(parse(TEXT), ["sly", "broken"], CompileConfig())
    with pytest.raises(InternalError):
        run_passes(parse(TEXT), ["broken"], CompileConfig(debug=True))


def _traced(dump: str, names: list[str], time: str = "") -> str:
    trace = Trace.from_environment({"WEFT_DUMP": dump, "WEFT_TIME": time})
    trace.stream = io.StringIO()
    with trace.stage("translate"):
        trace.show("tree", "k", lambda: "the tree")
    run_passes(parse(TEXT), names, CompileConfig(), trace.observer)
    trace.show("llvm", "k", lambda: "the llvm")
    trace.report("k")
    return trace.stream.getvalue()


def test_dumps_show_what_is_asked_for() -> None:
    assert _traced("", ["append"]) == ""
    assert _traced("idle", ["append", "idle"]) == (
        f"{'---- k: after idle ':-<100}\nkernel @k() -> () {{\n  %x = const 1 : i32\n  %0 = const 2 : i32\n}}\n\n"
    )
    everything = _traced("all", ["both"])
    assert [line.split(": ")[1].strip(" -") for line in everything.splitlines() if line.startswith("----")] == [
        "tree",
        "after append",
        "after both",
    ]
    assert "the llvm" in _traced("llvm, tree", [])
    assert "WEFT_DUMP: no pass 'csee' ran; these did: idle" in _traced("csee", ["idle"])


def test_who_listens_hears_when_passes_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """However late that is: time passes between the end of a pass and the call that tells of it."""
    clock, heard = count(), dict[str, tuple[float, float]]()
    monkeypatch.setattr("weft.ir.passes.perf_counter", lambda: float(next(clock)))
    trace = Trace(listener=lambda name, began, ended: heard.update({name: (began, ended)}))
    run_passes(parse(TEXT), ["append", "both"], CompileConfig(), trace.observer)
    assert heard == {"append": (3.0, 4.0), "idle": (5.0, 6.0), "both": (2.0, 7.0)}


def test_the_table_of_times() -> None:
    lines = _traced("", ["append", "append"], time="1").splitlines()
    assert lines[0].split() == ["k", "ms", "runs", "changed"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:] if line}
    assert list(rows) == ["translate", "append", "total"]
    assert rows["append"][1:] == ["2", "2"]
