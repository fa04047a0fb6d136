"""What kernels print and say in assertions: the same on every arch."""

# ruff: noqa: UP031, UP032 - every form of formatting is tried
from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from tests.lang.test_errors import failure

ARCHS = ("cpu", "python")
N, name = 5, "outer"


@pytest.fixture(params=ARCHS)
def arch(request: pytest.FixtureRequest) -> str:
    ti.init(arch=request.param, debug=True)
    return str(request.param)


def _lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    ti.sync()
    return capsys.readouterr().out.split("\n")[:-1]


def test_values(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ti.types.struct(a=ti.i32, v=ti.math.vec2)
    x, v, s = ti.field(ti.f32, 3), ti.Vector.field(3, ti.f32, 2), pair.field(shape=2)

    @ti.kernel
    def show(n: ti.i32, f: ti.f32):
        b = ti.Vector([1, 2, 3])
        c = ti.Matrix([[1.5, 2.0], [3.0, 4.25]])
        print("plain", n, f, -f)
        print("matrices", b, c, b * 0.5)
        print("structs", pair(a=3, v=ti.math.vec2(1, 2)), s[0])
        print("fields", x[0], v[1])
        print("known", N, name, math.pi, True, None)
        print("truth", f > 0, not (f > 0))
        print("nested", (n, f), [n, b])
        print("types", ti.i64(1) << 40, ti.u8(250), ti.u64(2) ** 63, ti.f64(1) / 3, ti.f16(0.1))
        print("ends", 1e6 * f, f / 0.0, -f / 0.0)
        print(f, b, sep="|", end="$\n")
        print("a", "bc", sep="")
        print()
        print(n, end=" ")
        print(n, flush=True)

    show(42, 0.25)
    assert _lines(capsys) == [
        "plain 42 0.25 -0.25",
        "matrices [1, 2, 3] [[1.5, 2.0], [3.0, 4.25]] [0.5, 1.0, 1.5]",
        "structs {a: 3, v: [1.0, 2.0]} {a: 0, v: [0.0, 0.0]}",
        "fields 0.0 [0.0, 0.0, 0.0]",
        "known 5 outer 3.1415927 True None",
        "truth True False",
        "nested [42, 0.25] [42, [1, 2, 3]]",
        "types 1099511627776 250 9223372036854775808 0.3333333333333333 0.1",
        "ends 250000.0 inf -inf",
        "0.25|[1, 2, 3]$",
        "abc",
        "",
        "42 42",
    ]


def test_formats(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ti.types.struct(a=ti.i32, v=ti.math.vec2)

    @ti.kernel
    def show(n: ti.i32, f: ti.f32):
        b = ti.Vector([1, 2])
        c = ti.Matrix([[1.5, 2.0], [3.0, 4.25]])
        print(f"{f:.3f} {n:5d}|{n:<5}|{n:^6}|{n:+} {f:e} {f:10.2f} {n:x} {n:#06x} {n:b} {n:03d}")
        print(f"{b} {b:03d} {c:.1f} {b.x} {{braces}}")
        print(f"{pair(a=n, v=b)} {f=} {n = :d}")
        print(f"{N} {name!r} {name:>8} {math.pi:.2f} {math.pi}")
        print("%.3f %d %s" % (f, n, f))
        print("one %d, floats %d" % (n, 3.75 * f), "vector %s %.1f" % (b, c))
        print("%5.1f%% %05d %x %-5d| %+d %e %i" % (f, n, n, n, n, f, n))
        print("%s and %8s" % (name, "known"))
        print("{} {:.2f} {}".format(n, f, b))
        print("{1} {0} {1:>6}".format(n, f))
        print(f"{n} {f:.1f} {name}")

    show(42, 0.25)
    assert _lines(capsys) == [
        "0.250    42|42   |  42  |+42 2.500000e-01       0.25 2a 0x002a 101010 042",
        "[1, 2] [001, 002] [[1.5, 2.0], [3.0, 4.2]] 1 {braces}",
        "{a: 42, v: [1.0, 2.0]} f=0.25 n = 42",
        "5 'outer'    outer 3.14 3.141592653589793",
        "0.250 42 0.25",
        "one 42, floats 0 vector [1, 2] [[1.5, 2.0], [3.0, 4.2]]",
        "  0.2% 00042 2a 42   | +42 2.500000e-01 42",
        "outer and    known",
        "42 0.25 [1, 2]",
        "0.25 42   0.25",
        "42 0.2 outer",
    ]


def test_order_within_a_thread(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    @ti.func
    def say(k):
        print("in", k)

    @ti.kernel
    def count():
        print("begin")
        for _ in range(1):
            for k in range(3):
                say(k)
        print("end")

    count()
    assert _lines(capsys) == ["begin", "in 0", "in 1", "in 2", "end"]


def _failure(run: Any, *args: Any) -> str:
    with pytest.raises(ti.TaichiAssertionError) as caught:
        run(*args)
    assert isinstance(caught.value, AssertionError)
    return str(caught.value).splitlines()[-1]


def test_assertions(arch: str) -> None:
    @ti.kernel
    def f_string(n: ti.i32):
        x = n * 0.5
        assert x < 2, f"x={x:.2f} of {n:03d}, {ti.Vector([n, 2])}, {n > 3} {name}"

    @ti.kernel
    def percent(n: ti.i32):
        assert n < 5, "n is %d, %.1f" % (n, 1.5)

    @ti.kernel
    def braces(n: ti.i32):
        assert n < 5, f"n is {n} or {n:>4}"

    @ti.kernel
    def bare(n: ti.i32):
        for i in range(n):
            assert i < 5

    @ti.kernel
    def plain(n: ti.i32):
        assert n < 5, "too many"

    f_string(3)
    assert _failure(f_string, 7) == "x=3.50 of 007, [7, 2], True outer"
    assert _failure(percent, 7) == "n is 7, 1.5"
    assert _failure(braces, 7) == "n is 7 or    7"
    assert _failure(bare, 7) == "where i = 5"  # below the assertion itself
    assert _failure(plain, 7) == "too many"
    f_string(3)  # the process lives on


def test_assertions_are_for_debugging() -> None:
    for arch in ARCHS:
        ti.init(arch=arch)

        @ti.kernel
        def run(n: ti.i32):
            assert n < 5, f"{n}"

        run(7)


# Statements with a format that does not fit its value, or a text that is none: told when the kernel is compiled.
FORMATS: dict[str, str] = {
    "float_as_integer": "print(f'{a:.3d}')",
    "integer_with_precision": "print(f'{n:.3}')",
    "vector": "print(f'{v:d}')",
    "unknown": "print('{:.2q}'.format(n))",
    "of_run_time": "print(f'{a:{n}}')",
    "part_of_a_value": "print('{.real}'.format(a))",
    "unknown_percent": "print('%y' % a)",
    "too_few": "print('%d %d' % (n,))",
    "too_few_braces": "print('{} {}'.format(a))",
    "too_many": "print('%d' % (n, n))",
    "in_an_assertion": "assert n < 3, f'{n:.2q}'",
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_cannot_be_formatted(name: str, golden: Callable[[str, str], None]) -> None:
    ti.init(arch=ti.cpu)
    kernel = f"@ti.kernel\ndef k(a: ti.f32, n: ti.i32):\n    v = ti.Vector([a, a])\n    {FORMATS[name]}\nk(1.5, 2)\n"
    text = failure(kernel)
    if sys.version_info < (3, 12):
        golden(f"errors/format_{name}.txt", text)
        return
    kept = Path(__file__).parent / "golden" / "errors" / f"format_{name}.txt"
    assert _without_carets(text) == _without_carets(kept.read_text(encoding="utf-8"))


def _without_carets(text: str) -> list[str]:
    """From Python 3.12 on they are finer: they point into f-strings."""
    return [line for line in text.splitlines() if line.strip(" ^")]
