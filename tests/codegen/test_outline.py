"""Bodies of very long loops are functions of their own: same results, and nothing else is cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.codegen.folding import has_lanes
from tests.sampling import only
from weft.codegen.llvm import machine, outline


@pytest.fixture(autouse=True)
def start() -> None:
    ti.init(arch=ti.cpu, offline_cache=False, cpu_max_num_threads=2)


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The LLVM modules that kernels become from now on."""
    seen: list[str] = []
    compile_object = machine.compile_object

    def noting(text: str, *rest: Any) -> bytes:
        seen.append(text)
        return compile_object(text, *rest)

    monkeypatch.setattr(machine, "compile_object", noting)
    return seen


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every loop be too long."""
    monkeypatch.setattr(outline, "_LONG", 1)
    monkeypatch.setattr(outline, "_LONG_IN_LANES", 1)


def made(lines: list[str], **names: Any) -> Any:
    """A kernel of those lines."""
    space: dict[str, Any] = {"ti": ti, **names}
    text = "\n".join(["@ti.kernel", "def k():", *lines])
    exec(text, space)
    return space["k"]


def branches(count: int) -> list[str]:
    """A loop with so many branches."""
    sides = ([f"        if x[i] > {k % 7}:", f"            x[i] -= {k % 5}.5"] for k in range(count))
    return ["    for i in x:", *(line for pair in sides for line in pair), "        x[i] += 9"]


def is_cut(modules: list[str]) -> bool:
    return "_body(" in modules[-1]


@pytest.mark.parametrize(("count", "cut"), [(50, False), (1500, True)])
@pytest.mark.parametrize("lanes", only([16], [1, 16]))
def test_long_bodies(modules: list[str], count: int, cut: bool, lanes: int) -> None:
    x = ti.field(ti.f32, 37)
    x.from_numpy(np.arange(37, dtype=np.float32))
    lines = branches(count)
    made([f"    ti.loop_config(simd={lanes})", *lines], x=x)()
    expected = np.arange(37, dtype=np.float32)
    for number in range(count):
        expected[expected > number % 7] -= number % 5 + 0.5
    assert x.to_numpy().tolist() == (expected + 9).tolist()
    assert is_cut(modules) == cut


def reduction() -> None:
    x = ti.field(ti.i64, 100)
    x.from_numpy(np.arange(100))

    @ti.kernel
    def k() -> ti.i64:
        total = ti.i64(0)
        for i in x:
            if x[i] % 3 == 0:
                total += x[i]
        return total

    assert k() == sum(range(0, 100, 3))


def rows() -> None:
    x = ti.field(ti.i32, (5, 3, 20))

    @ti.kernel
    def k():
        for i, j, l in x:
            for _ in range(l):
                if x[i, j, l] > 5:
                    break
                x[i, j, l] += i + j

    k()
    for (i, j, length), value in np.ndenumerate(x.to_numpy()):
        expected = 0
        for _ in range(length):
            expected += 0 if expected > 5 else i + j
        assert value == expected


def scatter() -> None:
    x = ti.field(ti.i32, 16)

    @ti.kernel
    def k():
        for i in range(5000):
            x[i * 7 % 16] += 1

    k()
    assert x.to_numpy().sum() == 5000


def draws() -> None:
    x = ti.field(ti.f32, 1000)

    @ti.kernel
    def k():
        for i in x:
            x[i] = ti.random() + (ti.random() if i % 2 else 0.0)

    k()
    assert len(set(x.to_numpy().tolist())) > 990


@pytest.mark.parametrize("program", [reduction, rows, scatter, draws])
def test_all_kinds_of_loops_can_be_cut(short: None, modules: list[str], program: Callable[[], None]) -> None:
    program()
    # One by one, a value that lives through all of `rows` is of a kind that is not passed on: it stays as it is.
    assert is_cut(modules) or (program is rows and not has_lanes())


def test_random_numbers_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for least in (10**6, 1):
        monkeypatch.setattr(outline, "_LONG", least)
        monkeypatch.setattr(outline, "_LONG_IN_LANES", least)
        ti.init(arch=ti.cpu, offline_cache=False, random_seed=3)
        x = ti.field(ti.f32, 100)
        made(["    for i in x:", "        x[i] = ti.random()"], x=x)()
        seen.append(x.to_numpy().tolist())
    assert seen[0] == seen[1]


def test_a_failed_assertion_leaves_the_loop(short: None) -> None:
    ti.init(arch=ti.cpu, offline_cache=False, debug=True, cpu_max_num_threads=1)
    x = ti.field(ti.i32, 10)

    @ti.kernel
    def k():
        ti.loop_config(serialize=True)
        for i in range(10):
            assert i < 4, "far"
            x[i] = 1

    @ti.kernel
    def parallel():
        for i in x:
            x[i + 4] = 1

    with pytest.raises(AssertionError, match="far"):
        k()
    assert x.to_numpy().tolist() == [1] * 4 + [0] * 6
    with pytest.raises(ti.TaichiAssertionError, match="out of"):
        parallel()


def test_debug_lines_keep_the_body_in_its_function(short: None, modules: list[str]) -> None:
    ti.init(arch=ti.cpu, offline_cache=False, line_info=True)
    x = ti.field(ti.i32, 10)
    made(["    for i in x:", "        x[i] = i"], x=x)()
    assert not is_cut(modules)
    assert x.to_numpy().tolist() == list(range(10))
