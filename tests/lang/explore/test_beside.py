"""Two kernels side by side: `weft explore --beside` and `--time`, and the second pane of the page."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from tests.lang.explore.test_explore import browse, needs_browser, weft
from weft.lang.explore import page_of
from weft.lang.explore.data import kernel_data
from weft.lang.stages.throughput import Loop, Throughput

PROGRAM = """\
import weft as ti

ti.init(arch=ti.cpu, cpu_max_num_threads=2)
x, y = ti.field(ti.f32, 1 << 20), ti.field(ti.f32, 1 << 20)

@ti.kernel
def third(a: ti.f32):
    for i in x:
        y[i] = x[i] / 3 + a
    for i in x:
        x[i] = y[i]

for _ in range(5):
    third(1.0)
"""


def data(page: str) -> list[dict[str, Any]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return list(json.loads(found[1].replace("<\\/", "</")))


def card(kernel: dict[str, Any], task: int) -> dict[str, str]:
    return dict(kernel["facts"][task]["rows"])


@pytest.fixture
def divide() -> Any:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, 512)

    @ti.kernel
    def divide():
        for i in x:
            x[i] = x[i] / 3

    return divide


def test_the_command_compiles_variants_and_times_tasks(tmp_path: Path) -> None:
    (tmp_path / "third.py").write_text(PROGRAM)
    arguments = ("third.py:third", "--beside", "cuda", "--beside", "fast_math=False,opt_level=1", "--time")
    ran = weft(tmp_path, *arguments)
    assert ran.returncode == 0, ran.stderr
    first, cuda, exact = data((tmp_path / "third.html").read_text(encoding="utf-8"))
    names = ["third (cpu)", "third (cuda)", "third (cpu, fast_math=False, opt_level=1)"]
    assert [one["name"] for one in (first, cuda, exact)] == names
    assert "fdiv" in str(exact["lines"])
    assert "measured" not in card(exact, 0)
    for task in (0, 1):
        assert re.fullmatch(r"[\d.e-]+ ms, the least of 5 launches|no time: .*", card(first, task)["measured"])


@pytest.mark.unverified
@pytest.mark.skipif(sys.platform != "linux", reason="samples need Linux")
def test_the_command_samples_lines(tmp_path: Path) -> None:
    """A line of the kernel, and one of a function in another file; a serial task, too."""
    (tmp_path / "other.py").write_text(
        "import weft as ti\n\n\n@ti.func\ndef root(a):\n    return ti.exp(-ti.sqrt(a))\n"
    )
    (tmp_path / "slow.py").write_text(
        "import weft as ti\nfrom other import root\n\n"
        "ti.init(arch=ti.cpu)\nx = ti.field(ti.f32, 1 << 14)\n\n"
        "@ti.kernel\ndef slow():\n"
        "    for i in x:\n        for j in range(4000):\n            x[i] += root(x[i] + j)\n"
        "    s, k = 1.0, 0\n    while k < 3000000:\n        s = 1 / (s + 1)\n        k += 1\n    x[0] = s\n\n"
        "for _ in range(10):\n    slow()\n"
    )
    ran = weft(tmp_path, "slow.py", "--time")
    assert ran.returncode == 0, ran.stderr
    (kernel,) = data((tmp_path / "slow.html").read_text(encoding="utf-8"))
    names = [Path(file).name for file in kernel["files"]]
    assert all(key.partition(":")[0] in ("0", "1") for key in kernel["samples"])
    shares = {
        f"{names[int(file)]}:{line}": found[0]
        for key, found in kernel["samples"].items()
        for file, line in [key.split(":")]
    }
    share, said = shares["other.py:6"]
    assert share > 0.5
    assert re.fullmatch(r"\d+ of \d+ samples of task 0, about [\d.e+]+ ms", said)
    serial = [said for key, (_, said) in shares.items() if key in ("slow.py:13", "slow.py:14", "slow.py:15")]
    assert serial
    assert all(
        re.fullmatch(r"\d+ of \d+ samples of (task 1|the code beside the parallel loops)", one) for one in serial
    )
    assert re.fullmatch(r"\d+ samples, \d+ of no line", card(kernel, 0)["lines"])


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("wrong=1", "'wrong' is no option of the compiler; these are fast_math,"),
        ("fast_math=perhaps", "init: fast_math must be True or False, not 'perhaps'"),
        ("cuda,python", "write an arch, or options as name=value"),
        ("cpu_features=v9", "cpu_features"),
    ],
)
def test_the_command_refuses_other_variants(tmp_path: Path, variant: str, message: str) -> None:
    (tmp_path / "third.py").write_text(PROGRAM)
    ran = weft(tmp_path, "third.py:third", "--beside", variant)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr


def test_kernels_of_one_name_are_told_apart(divide: Any) -> None:
    stages = divide.stages()
    assert [one["name"] for one in data(page_of([stages, stages.on("cuda")]))] == ["divide (cpu)", "divide (cuda)"]
    assert [one["name"] for one in data(page_of([stages, stages]))] == ["divide (1)", "divide (2)"]


def test_simulated_loops_are_on_the_card_of_their_task(divide: Any) -> None:
    stages = divide.stages()
    loop = Loop(4, 9, "weft_task0", 1, 2.5, 2.0, 6, (("results in registers", 40.0),), {5: (4, 0.5)})
    stages.__dict__["throughput"] = Throughput((loop,), "haswell", "LLVM version 1")
    kernel = kernel_data(stages)
    said = "line 5 of the assembly: 6 instructions, 2.5 cycles for a pass, waits for results in registers in 40 %"
    assert card(kernel, 0)["simulated"] == f"{said} (haswell)"
    assert kernel["costs"] == {5: (4, 0.5)}


def test_a_missing_simulator_is_told(divide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("WEFT_MCA", raising=False)
    assert "llvm-mca is not on the PATH" in card(kernel_data(divide.stages()), 0)["simulated"]


@needs_browser
def test_the_second_pane(divide: Any, tmp_path: Path) -> None:
    probe = """
    const shown = (id) => document.getElementById(id).textContent;
    const lit = (id) => [...document.querySelectorAll(`#${id} .row.lit`)].length;
    found.hidden = document.getElementById("other").hidden;
    press("4");
    press("b");
    found.titles = [shown("one"), shown("two")];
    found.left = seen("#text .row.minus");
    found.right = seen("#text2 .row.plus");
    move(line("x[i] = x[i] / 3"), "mousemove");
    found.lit = [lit("text"), lit("text2")];
    move(document.getElementById("source"), "mouseleave");
    move([...document.querySelectorAll("#text2 .row")].find((one) => one.textContent.includes("load")), "mousemove");
    found.back = seen("#source .row.lit");
    press("7");
    found.machine = shown("two");
    found.than = [...document.querySelectorAll(".than")].map((one) => one.textContent);
    press("p");
    found.passes = document.getElementById("other").hidden;
    press("4");
    press("b");
    found.after = document.getElementById("other").hidden;
    beside.text.draw();  // as the browser does when the size of the pane has changed
    found.wide = document.documentElement.scrollWidth;
    """
    stages = divide.stages()
    found = browse(page_of([stages, stages.with_options(fast_math=False), stages.on("cuda")]), tmp_path, probe)
    assert found["hidden"]
    assert found["titles"][0].startswith("divide (cpu)  cpu, Lowered, ")
    assert found["titles"][1].startswith("divide (cpu, fast_math=False)  cpu, Lowered, ")
    assert any("0.333" in text for text in found["left"])
    assert any("3.0" in text for text in found["right"])
    assert all(count > 0 for count in found["lit"])
    assert found["back"] == ["x[i] = x[i] / 3"]
    assert "Assembly" in found["machine"]
    assert all(text.startswith("beside: ") for text in found["than"])
    assert (found["passes"], found["after"]) == (True, True)
    assert found["wide"] <= 1366


@needs_browser
def test_machine_code_of_another_arch_stands_beside(divide: Any, tmp_path: Path) -> None:
    stages = divide.stages()
    probe = "found.two = document.getElementById('two').textContent;"
    found = browse(page_of([stages, stages.on("cuda")]), tmp_path, probe, "#tab=asm&beside=1")
    assert found["two"].startswith("divide (cuda)  cuda, PTX, ")
