"""Functions and lambdas inside kernels, and kernels whose text is in no file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import weft as ti
from weft.ir.errors import CompilationError


@pytest.fixture(params=["cpu", "python"], autouse=True)
def arch(request: pytest.FixtureRequest) -> None:
    ti.init(arch=getattr(ti, request.param))


def test_functions_inside_a_kernel():
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k(s: ti.i32) -> ti.i32:
        r = 5

        def f(x, y=3):
            r = x * 2
            return r + y + s

        @ti.func
        def h(x: ti.i32) -> ti.i32:
            if x > 2:
                return 1
            return r

        g = lambda x: x + r  # noqa: E731
        for i in x:
            q = lambda a, b=2: a * b + i  # noqa: B023, E731
            x[i] = q(i) + f(i)
        return f(3) + g(1) + f(1, y=2) + h(3) + h(1) * 10 + (lambda v: v * v)(r)

    assert k(100) == 295
    assert x.to_numpy().tolist() == [103, 108, 113, 118]


def test_a_lambda_as_an_argument():
    @ti.func
    def apply(f: ti.template(), x):
        return f(x)

    @ti.kernel
    def k() -> ti.i32:
        n = 4
        return apply(lambda x: x + n, 3)

    assert k() == 7


def test_a_wrong_call_of_an_inner_function():
    ti.init(arch=ti.cpu)

    @ti.kernel
    def k() -> ti.i32:
        def f(a):
            return a

        return f(1, 2)

    with pytest.raises(CompilationError, match="'f' takes 1 arguments, got 2"):
        k()


PROGRAM = """
import weft as ti
ti.init()
@ti.func
def g(x):
    return x + 1
@ti.kernel
def k() -> int:
    return g(41)
print(k())
"""


def run(*command: str, **keywords: object) -> str:
    root = Path(__file__).parents[2] / ".links"
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, **keywords)
    return done.stdout.strip() or done.stderr


def test_kernels_on_the_command_line_and_from_standard_input(tmp_path: Path):
    assert run("-c", PROGRAM) == "42"
    path = tmp_path / "program.txt"
    path.write_text(PROGRAM)
    with path.open() as file:
        assert run("-", stdin=file) == "42"


def test_a_kernel_in_an_executed_string():
    scope = {"ti": ti}
    text = PROGRAM.replace("ti.init()", "").replace("print(k())", "")
    exec(text, scope)
    assert scope["k"]() == 42
