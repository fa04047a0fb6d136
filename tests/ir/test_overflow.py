"""Arithmetic that tells where it leaves its type: `check_overflow`, as translated and as lowered, against Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.sampling import only
from weft.ir import tree
from weft.ir.config import CompileConfig
from weft.ir.errors import Span
from weft.ir.evaluate import Memory, evaluate
from weft.ir.ops import Kernel
from weft.ir.pipeline import lower
from weft.ir.scalar import range_of
from weft.ir.symbols import Param
from weft.ir.text import print_ir
from weft.ir.transforms.infer_types import infer_types
from weft.ir.transforms.lower_tree import lower_tree
from weft.ir.types import INTEGERS, Prim, element, i8, i16, i32, i64, tensor, u1, u8

CONFIG = CompileConfig(check_overflow=True)
WHOLE = [prim for prim in INTEGERS if prim is not u1]


def shifted(a: int, b: int) -> int:
    return 0 if a == 0 else a << b if 0 <= b < 64 else 1 << 80


def power(a: int, b: int) -> int | None:
    """None: a power of no whole number, which is not an overflow."""
    return None if b < 0 else a if b == 1 else int(a == 1) or (b % 2 or -1) * a if abs(a) < 2 and b else a ** min(b, 80)


EXACT: dict[str, Callable[[int, int], int | None]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "shl": shifted,
    "pow": power,
    "floordiv": lambda a, b: a // b if b else None,
    "raw_div": lambda a, b: (abs(a) // abs(b)) * (1 if a * b > 0 else -1) if b else None,
    "neg": lambda a, _: -a,
    "abs": lambda a, _: abs(a),
}


def arithmetic(kind: str, type: Any) -> tree.Expr:
    a, b = (tree.ParamRef(k, type=type) for k in (0, 1))
    if kind in ("neg", "abs"):
        return tree.Unary(kind, a, type=type)
    return tree.Binary(kind, a, b, type=type)


def kernels(value: tree.Expr, params: tuple[Any, ...], config: CompileConfig = CONFIG) -> list[Kernel]:
    """As translated, and as lowered."""
    named = [Param(f"p{k}", type) for k, type in enumerate(params)]
    root = tree.KernelTree("k", tuple(named), (value.type,), (), [tree.Return([value])])
    translated = lower_tree(root, config)
    infer_types(translated, config)
    return [translated, lower(root, config)]


def numbers(prim: Prim) -> list[int]:
    low, high = range_of(prim)
    root = int(high**0.5)
    near = {0, 1, 2, 3, prim.bits - 2, prim.bits - 1, prim.bits, root, root + 1, high // 2 + 1, high - 1, high}
    return sorted(near | ({-1, -2, -root - 1, low // 2 - 1, low + 1, low} if low else set()))


def told(kernel: Kernel, *given: Any) -> list[str]:
    memory = Memory()
    evaluate(kernel, list(given), memory, CONFIG)
    return memory.warned


@pytest.mark.parametrize("prim", only([i8, i64], WHOLE), ids=str)
@pytest.mark.parametrize("kind", EXACT)
def test_it_is_told_where_the_exact_result_does_not_fit(kind: str, prim: Prim) -> None:
    low, high = range_of(prim)
    made = kernels(arithmetic(kind, prim), (prim, prim))
    values = numbers(prim)
    for a in values:
        for b in values if kind not in ("neg", "abs") else [0]:
            exact = EXACT[kind](a, b)
            fits = exact is None or low <= exact <= high
            for kernel in made:
                assert (not told(kernel, prim.np.type(a), prim.np.type(b))) == fits, (a, b)


def test_the_words() -> None:
    for kernel in kernels(arithmetic("mul", i32), (i32, i32)):
        assert told(kernel, np.int32(65536), np.int32(-65536)) == [
            "65536 * -65536 does not fit into i32: it became 0",
        ]
    vector = tensor(i16, (2,))
    for kernel in kernels(arithmetic("sub", vector), (vector, vector)):
        (text,) = told(kernel, np.array([1, -30000], np.int16), np.array([5, 30000], np.int16))
        assert text == "[1, -30000] - [5, 30000] does not fit into i16: it became [-4, 5536]"


def test_sums_of_products() -> None:
    square = tensor(i8, (2, 2))
    a, b = (tree.ParamRef(k, type=square) for k in (0, 1))
    product = tree.MatMul(a, b, type=square)
    small, large = np.array([[1, 2], [3, 4]], np.int8), np.array([[100, 0], [30, 100]], np.int8)
    for kernel in kernels(product, (square, square)):
        assert not told(kernel, small, small)
        assert told(kernel, small, large)
        (values,) = evaluate(kernel, [small, large], Memory(), CONFIG)
        assert np.array_equal(values, (small.astype(int) @ large).astype(np.int8))
    for kind, over in (("add", 28), ("mul", 2)):
        vector = tensor(i8, (3,))
        total = tree.Reduce(kind, tree.ParamRef(0, type=vector), type=i8)
        for kernel in kernels(total, (vector,)):
            assert not told(kernel, np.array([100, 1, 1], np.int8))
            assert told(kernel, np.array([100, over, 1], np.int8))


def test_a_place_tells_once() -> None:
    here = Span("program.py", 3, 4, 3, 9)
    a = tree.ParamRef(0, type=u8)
    once = [tree.Binary("add", a, tree.Const(k, type=u8), type=u8, span=here) for k in (200, 201)]
    other = tree.Binary("sub", a, tree.Const(255, type=u8), type=u8, span=Span("program.py", 4, 4, 4, 9))
    value = tree.Binary("xor", tree.Binary("xor", once[0], once[1], type=u8), other, type=u8)
    for kernel in kernels(value, (u8,)):
        assert [text[:9] for text in told(kernel, np.uint8(100))] == ["100 + 200", "100 - 255"]


def test_without_the_option_nothing_is_added() -> None:
    for kernel in kernels(arithmetic("add", i32), (i32, i32), CompileConfig(debug=True)):
        assert "warn" not in print_ir(kernel)


@pytest.mark.parametrize("name", ["add", "mul", "pow", "vector"])
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    type = tensor(i64, (2,)) if name == "vector" else i32
    kernel, _ = kernels(arithmetic("mul" if name == "vector" else name, type), (type, type))
    assert element(type).is_int
    golden(f"overflow/{name}.chi", print_ir(kernel).rstrip() + "\n")
