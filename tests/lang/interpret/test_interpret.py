"""arch=python: kernels as ordinary Python with the language's meaning, seen by debuggers and tracebacks."""

from __future__ import annotations

import math
import runpy
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import weft as ti

pytestmark = pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")  # values are cut short on purpose


@pytest.fixture(autouse=True)
def python_arch() -> Iterator[None]:
    ti.init(arch=ti.python, debug=True)
    yield
    ti.reset()


def test_values_have_the_types_of_the_language() -> None:
    @ti.kernel
    def run(n: ti.i32, f: ti.f32) -> ti.f64:
        a = n  # i32 from now on
        a = f * 3
        wrapped = 2147483647 + n
        third = 1 / 3
        b = ti.cast(third, ti.f64)
        b += a * 100 + (-7) // 2 + (-7) % 3 + ti.raw_mod(-7, 3) + (wrapped < 0)
        return b

    assert run(2, 1.5) == float(np.float32(1) / np.float32(3)) + 400 - 4 + 2 - 1 + 1


def test_fields_and_loops() -> None:
    x = ti.field(ti.i32, (3, 4), offset=(-1, 2))
    v = ti.Vector.field(2, ti.f32, 3)

    @ti.kernel
    def run():
        for i, j in x:
            x[i, j] += i * 10 + j + 0.9
        for I in ti.grouped(x):
            x[I] += I.x
        for i, j in ti.ndrange(2, (1, 3)):
            v[i][j - 1] += i + j
        for i in range(3):
            if i == 1:
                continue
            v[i] *= 2

    run()
    i, j = np.indices((3, 4))
    assert (x.to_numpy() == np.trunc((i - 1) * 10 + j + 2.9) + i - 1).all()
    assert v.to_numpy().tolist() == [[2, 4], [2, 3], [0, 0]]


def test_atomics_give_the_old_value() -> None:
    x = ti.field(ti.i32, ())

    @ti.kernel
    def run() -> ti.types.vector(4, ti.i32):
        a = 5
        first = ti.atomic_add(x[None], 3.7)
        second = ti.atomic_max(x[None], 9)
        third = ti.atomic_sub(a, 2)
        return ti.Vector([first, second, third, a])

    assert run().to_list() == [0, 3, 5, 3]
    assert x[None] == 9


def test_matrices_go_by_value_and_templates_by_reference() -> None:
    v = ti.Vector.field(2, ti.f32, 1)

    @ti.func
    def changed(p, q: ti.template()):
        p[0] = 7
        q[0] = 8
        return p

    @ti.kernel
    def run(w: ti.types.vector(2, ti.f32)) -> ti.f32:
        a = w
        b = changed(a, v[0])
        a.y = 3
        return a[0] + b.x * 10 + w.y * 100

    assert run([1, 2]) == 1 + 70 + 200
    assert v[0][0] == 8


def test_static_is_python() -> None:
    flags = SimpleNamespace(many=True)

    @ti.kernel
    def run() -> ti.i32:
        total = 0
        for i in ti.static(range(4)):
            if ti.static(flags.many and i % 2 == 0):
                total += i
        if ti.static(not flags.many):
            other = 1.5
        else:
            other = 2
        other = 3.9
        return total * 10 + other

    assert run() == 23


def test_arrays_without_a_copy() -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.f32, ndim=2), b: ti.types.ndarray(dtype=ti.types.vector(2, ti.f32), ndim=1)):
        for i, j in a:
            a[i, j] += i + j * a.shape[0]
        for i in b:
            b[i] = [i, 2]
            b[i].x += 0.5

    a, b = np.ones((2, 3), np.float32)[:, ::-1], np.zeros((3, 2), np.float32)
    run(a, b)
    assert a.tolist() == [[1, 3, 5], [2, 4, 6]]
    assert b.tolist() == [[0.5, 2], [1.5, 2], [2.5, 2]]


def test_an_index_outside_a_field_says_so() -> None:
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def run(i: ti.i32):
        x[i] = 1

    with pytest.raises(IndexError, match="-1"):
        run(-1)


def test_asserts_only_in_debug() -> None:
    @ti.kernel
    def run(n: ti.i32):
        assert n > 0, "n must be positive"

    with pytest.raises(AssertionError, match="n must be positive"):
        run(0)
    ti.init(arch=ti.python)
    run(0)


def test_a_traceback_goes_through_funcs() -> None:
    x = ti.field(ti.f32, 4)

    @ti.func
    def inner(i):
        return x[i + 1]  # the guilty line

    @ti.func
    def outer(i):
        return inner(i) * 2

    @ti.kernel
    def run() -> ti.f32:
        a = 3
        return outer(a)

    with pytest.raises(IndexError) as caught:
        run()
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__]
    assert [frame.name for frame in frames[-3:]] == ["run", "outer", "inner"]
    assert frames[-1].line == "return x[i + 1]  # the guilty line"


PROGRAM = """\
import weft as ti

ti.init(arch=ti.python)
x = ti.field(ti.f32, 4)


@ti.func
def half(a):
    b = a / 2
    return b


@ti.kernel
def run(n: ti.i32):
    for i in range(n):
        t = i * 0.25
        breakpoint()
        x[i] = half(t)


run(2)
print("done", x[1])
"""


def test_pdb_shows_the_users_lines_and_values(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    session = "p i, t\nc\np 'second', float(t)\nb 9\nc\np 'in half', float(a)\nw\nn\np float(b)\nc\n"
    done = subprocess.run(
        [sys.executable, str(program)], input=session, capture_output=True, text=True, timeout=60, check=False
    )
    out = done.stdout
    assert done.returncode == 0, done.stderr
    # From Python 3.13 on, breakpoint() stops at its own line, before at the next.
    assert f"> {program}({17 if sys.version_info >= (3, 13) else 18})run()" in out
    assert "-> x[i] = half(t)" in out
    assert "('second', 0.25)" in out
    assert f"> {program}(9)half()" in out
    assert "-> b = a / 2" in out
    assert "('in half', 0.25)" in out
    assert "0.125" in out
    assert "done 0.125" in out


def test_debugging_calls_are_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    def note(text: str) -> None:
        seen.append(text)

    @ti.kernel
    def run(n: ti.i32):
        note("begun")
        print(n, math.comb(4, 2))
        ti.static_print("compiled for", n)

    run(3)
    run(4)
    assert capsys.readouterr().out.splitlines() == ["compiled for i32", "3 6", "4 6"]
    assert seen == ["begun", "begun"]


@pytest.mark.parametrize("shown", ["type(n)", "hex(n)", '"n is " + str(n)', "len(x)", "open"])
def test_prints_of_what_only_python_can_compute_are_refused_as_elsewhere(shown: str, tmp_path: Path) -> None:
    program = tmp_path / "shown.py"
    program.write_text(
        "import weft as ti\nx = ti.field(ti.f32, 4)\n\n@ti.kernel\n"
        f"def show(n: ti.i32):\n    for i in x:\n        print(i, {shown})\n\nshow(3)\n"
    )
    said: list[str] = []
    for arch in ("cpu", "python"):
        ti.init(arch=arch)
        try:
            runpy.run_path(str(program))
        except ti.WeftError as error:
            said.append(str(error))
    assert len(said) in (0, 2)
    assert len({*said}) <= 1
    assert bool(said) == (shown != "open")


def test_a_kernel_is_rehearsed_for_each_template() -> None:
    @ti.kernel
    def run(flag: ti.template()) -> ti.i32:
        a = 1
        if ti.static(flag):
            a = ti.Vector([1, 2])
        return a

    assert run(False) == 1
    with pytest.raises(TypeError, match="their shapes differ"):
        run(True)


def run_everything(arch: str) -> dict[str, object]:
    """A program that uses much of the language, on that arch; all it computes."""
    ti.init(arch=arch, fast_math=False)
    x = ti.field(ti.f64, (3, 4))
    v = ti.Vector.field(2, ti.f32, 5)
    flag = True

    @ti.func
    def blend(a, b, t):
        if t > 2:
            return a
        return a * (1 - t) + b * t

    @ti.kernel
    def run(n: ti.i32, w: ti.types.vector(2, ti.f32)) -> ti.f64:
        for i, j in x:
            x[i, j] = 0.1 * i + j / 3
        for i in v:
            v[i] = blend(w, ti.Vector([1.0, 2.0]), i * 0.75)
            v[i] += v[i].yx * w.norm()
        total = x[0, 0]
        for i, j in ti.ndrange(3, 4):
            total += x[i, j] if (i + j) % 2 == 0 else -x[i, j]
        if flag:
            extra = n
        extra += 2.9
        m = ti.Matrix([[1.0, 2.0], [3.0, n]])
        k = n
        while k > 0:
            k -= 2
            if k == 1:
                continue
            total += (m @ w)[0] * k + m.inverse()[1, 1]
        low, high = ti.min(n, 2), max(n, 2.5)
        low, high = high, low
        return total + extra + low * 10 + high + (-n) // 2 + (-n) % 3 + (1 if n > 3 else 0.5)

    result = run(5, [3, 4])
    return {"result": result, "x": x.to_numpy(), "v": v.to_numpy()}


def test_python_and_cpu_agree() -> None:
    python, cpu = run_everything(ti.python), run_everything(ti.cpu)
    for name, value in python.items():
        assert np.allclose(value, cpu[name], rtol=1e-6), (name, value, cpu[name])
