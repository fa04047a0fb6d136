"""`init(verify="results")`: what machine code makes is compared with what the kernel means; who errs is named."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.lang.checks.verifying import afresh as afresh
from tests.lang.checks.verifying import verifying as verifying
from weft.codegen.llvm import scalar_ops
from weft.codegen.llvm.spelling import constant
from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.ops import Binary, Kernel
from weft.ir.parse import parse
from weft.ir.passes import PASSES, Pass, pass_
from weft.ir.pipeline import find_pass
from weft.ir.text import print_ir
from weft.ir.transforms import full_simplify
from weft.lang.checks.tally import TALLY
from weft.lang.errors import InternalError, WrongResult


def swapped(root: Kernel) -> bool:
    """Make wrong what subtracts."""
    differences = [op for op in root.all_of(Binary) if op.kind == "sub"]
    for op in differences:
        op.set_operands([op.rhs, op.lhs], op.groups)
    return bool(differences)


def break_pass(monkeypatch: pytest.MonkeyPatch, name: str, more: Callable[[Kernel], bool] = swapped) -> Pass:
    """Let that pass do more."""
    whole = find_pass(name)

    def broken(root: Kernel, config: CompileConfig) -> bool:
        changed = whole(root, config)
        return more(root) or changed

    monkeypatch.setitem(PASSES, name, whole)  # what is undone
    return pass_(name)(broken)


def differences() -> tuple[Any, Any]:
    """A kernel that subtracts, and where to."""
    x = ti.field(ti.i32, 8, name="x")

    @ti.kernel
    def less(y: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] = y[i] - i * i

    return less, x


# ---- what agrees -----------------------------------------------------------------------------------------------------


def test_all_kinds_of_arguments_agree(verifying: Callable[..., None]) -> None:
    verifying(fast_math=False)
    pair = ti.types.struct(a=ti.f64, v=ti.types.vector(3, ti.f32), c=ti.u8)
    x, m = ti.field(ti.f32, (3, 5), offset=(-1, 2)), ti.Matrix.field(2, 2, ti.f64, 4, layout=ti.Layout.SOA)
    nested = ti.field(ti.i32)
    ti.root.dense(ti.i, 3).dense(ti.i, 4).place(nested)
    s = ti.ndarray(pair, 5)

    @ti.kernel
    def run(
        a: ti.types.ndarray(ti.f32, 2),
        s: ti.types.ndarray(),
        n: ti.i8,
        v: ti.types.vector(2, ti.f32),
        p: pair,
        h: ti.f16,
    ) -> ti.types.vector(2, ti.f64):
        for i, j in x:
            x[i, j] += a[i + 1, j - 2] * v.y
        for i in m:
            m[i] = m[i] @ ti.Matrix([[1, 2], [3, i]]) + h
        for i in nested:
            nested[i] = ti.random(ti.i32) + n
        for i in s:
            s[i].a, s[i].v, s[i].c = p.a * i, p.v + i, p.c
        return [p.a, v.x]

    numbers = np.arange(60, dtype=np.float32).reshape(6, 10)
    for _ in range(2):
        run(numbers[::2, ::-2], s, -3, [1.5, 2.5], pair(a=0.1, v=[1, 2, 3], c=7), 0.5)
    assert (TALLY.verified, TALLY.skipped.total(), TALLY.unsettled) == (2, 0, 0)


def test_arguments_that_overlap_do_in_the_copies(verifying: Callable[..., None]) -> None:
    verifying()
    x = ti.field(ti.i32, 6)

    @ti.kernel
    def onwards(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1)):
        ti.loop_config(serialize=True)
        for i in range(5):
            a[i] += 2 * b[i]
            x[0] += b[i]

    numbers = np.arange(8, dtype=np.int32)
    onwards(numbers[1:], numbers[:6])
    assert numbers.tolist() == [0, 1, 4, 11, 26, 57, 6, 7]
    if ti.cfg.arch == "cpu":
        onwards(np.asarray(x), numbers)
    assert TALLY.verified == 1 + (ti.cfg.arch == "cpu")


def test_prints_and_faults_agree(verifying: Callable[..., None], capfd: pytest.CaptureFixture[str]) -> None:
    verifying(debug=True)
    x = ti.field(ti.i32, 4, name="x")

    @ti.kernel
    def tell(n: ti.i32):
        for i in range(n):
            print("element", i, ti.Vector([x[i], 2]), f"{i * 0.5:.2f}")
            assert i < 3, f"{i} is too large"

    @ti.kernel
    def beyond(n: ti.i32):
        for i in range(n):
            x[i] = i

    tell(3)
    with pytest.raises(AssertionError, match="3 is too large\nwhere i = 3"):
        tell(4)
    with pytest.raises(IndexError, match=r"x\[4\] is out of bounds: its shape is \(4,\)\nwhere i = 4"):
        beyond(5)
    assert TALLY.verified == 3
    assert "element 2 [0, 2] 1.00" in capfd.readouterr().out


def test_functions_are_called(verifying: Callable[..., None]) -> None:
    verifying()
    if ti.cfg.arch == "cuda":
        pytest.skip("recursion takes a GPU's stack")

    @ti.real_func
    def product(n: ti.i32) -> ti.i32:
        result = 1
        if n > 1:
            result = n * product(n - 1)
        return result

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        return product(n)

    assert run(6) == 720
    pair = ti.types.struct(k=ti.i32, v=ti.math.vec3)

    @ti.real_func
    def of_all_kinds(
        i: ti.i32, v: ti.types.vector(2, ti.i32), w: ti.types.vector(1, ti.f32), p: pair, a: ti.types.ndarray(ti.i32, 1)
    ) -> ti.i32:
        return i + v[1] + ti.i32(w[0]) + p.k + a[i]

    @ti.kernel
    def calls(a: ti.types.ndarray(ti.i32, 1)):
        for i in a:
            a[i] = of_all_kinds(i, [0, 2], ti.Vector([3.0]), pair(k=i, v=1), a)

    numbers = np.arange(5, dtype=np.int32)
    calls(numbers)
    assert numbers.tolist() == [5, 8, 11, 14, 17]
    assert TALLY.verified == 2


def test_no_call_goes_past_it(verifying: Callable[..., None]) -> None:
    verifying()
    x = ti.ndarray(ti.i32, 4)

    @ti.kernel
    def step(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for i in x:
            x[i] += n

    for _ in range(3):
        step(x, 1)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(step, ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.i32, ndim=1), 2)
    graph = builder.compile()
    graph.run({"x": x})
    graph.run({"x": x})
    assert TALLY.verified == 5
    assert x.to_numpy().tolist() == [7] * 4


# ---- what does not ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["offload", "demote_atomics", "scalarize", "lower_access"])
def test_a_broken_pass_is_named(verifying: Callable[..., None], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    verifying()
    less, x = differences()
    break_pass(monkeypatch, name)
    with pytest.raises(WrongResult) as caught:
        less(np.arange(8, dtype=np.int32))
    text = str(caught.value)
    assert text.startswith("kernel 'less' (")
    assert "x[2]: the kernel computed 2, but -2 is correct (and 5 more there)" in text
    assert f"The pass that introduces the error is pass '{name}', in 'less'." in text
    assert x[2] == 2
    kernel = parse(caught.value.text)
    assert isinstance(caught.value, InternalError)
    assert print_ir(kernel) == caught.value.text.partition("\n")[2]


def test_a_broken_pass_inside_of_another_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu, verify="results")
    less, _ = differences()
    seen = list[Kernel]()

    def once(root: Kernel) -> bool:
        """In the first run on a kernel."""
        first = root not in seen
        seen.append(root)
        return first and swapped(root)

    whole = find_pass("forward")
    broken = break_pass(monkeypatch, "forward", once)
    replaced = {whole: broken}
    order = tuple(replaced.get(each, each) for each in full_simplify._ORDER)
    wakes = {replaced.get(each, each): woken for each, woken in full_simplify._WAKES.items()}
    monkeypatch.setattr(full_simplify, "_ORDER", order)
    monkeypatch.setattr(full_simplify, "_WAKES", wakes)
    with pytest.raises(WrongResult, match=r"pass 'forward' \(in 'full_simplify'\), in 'less'\."):
        less(np.arange(8, dtype=np.int32))


def test_a_pass_that_breaks_a_function_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu, verify="results")

    @ti.real_func
    def less(a: ti.i32, b: ti.i32) -> ti.i32:
        return a - b

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        return less(n, 5)

    break_pass(monkeypatch, "scalarize")
    with pytest.raises(WrongResult, match="the result: the kernel computed 3, but -3 is correct") as caught:
        run(2)
    assert "pass 'scalarize', in 'less" in str(caught.value)


def test_broken_code_generation_is_named(verifying: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    verifying()
    less, _ = differences()
    plain = scalar_ops.binary

    def wrong(f: Any, kind: str, type: Any, a: str, b: str) -> str:
        return plain(f, kind, type, *((b, a) if kind == "sub" and type is ti.i32 else (a, b)))

    monkeypatch.setattr(scalar_ops, "binary", wrong)
    with pytest.raises(WrongResult, match=r"x\[2\]: the kernel computed 2, but -2 is correct"):
        less(np.arange(8, dtype=np.int32))
    with pytest.raises(
        WrongResult, match="The IR is correct after every pass: the error is in code generation or in the runtime"
    ):
        less(np.arange(8, dtype=np.int32))


@pytest.mark.filterwarnings("ignore::weft.runtime.errors.OutOfBoundsWarning")
def test_masked_accesses_are_compared(verifying: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    verifying(mask_out_of_bounds=True)
    x, y = ti.Vector.field(2, ti.i32, (3, 4), offset=(-1, 0)), ti.field(ti.i32, 30)
    x.fill(5)

    @ti.kernel
    def reach(a: ti.types.ndarray(ti.i32, 1)):
        for i in y:
            y[i] = x[i % 6 - 2, 1][i % 3] + a[i - 10]
            x[0, i][1] = i
            a[i] += ti.atomic_add(x[i // 6, i % 6 - 1][0], 1)

    reach(np.zeros(12, np.int32))
    assert TALLY.verified == 1
    assert not TALLY.skipped

    def reads_seven(root: Kernel) -> bool:
        """What masked loads give."""
        zeros = [op for op in root.all_of(ops.Const) if op.value == 0]
        for op in zeros:
            op.value = 7
        return bool(zeros)

    @ti.kernel
    def read(n: ti.i32) -> ti.i32:
        return y[n]

    break_pass(monkeypatch, "mask_accesses", reads_seven)
    with pytest.raises(WrongResult, match=r"the result: the kernel computed 7, but 0 is correct(.|\n)*'mask_accesses'"):
        read(99)


def test_results_prints_and_faults_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu, verify="results", debug=True)

    @ti.kernel
    def returns(n: ti.i32, m: ti.i32) -> ti.i32:
        return n - m

    @ti.kernel
    def prints(n: ti.i32, m: ti.i32):
        print(n - m)

    @ti.kernel
    def fails(n: ti.i32, m: ti.i32):
        assert n - m > 0

    break_pass(monkeypatch, "scalarize")
    for kernel, message in (
        (returns, "the result: the kernel computed -2, but 2 is correct"),
        (prints, r"print: the kernel computed '-2\\n', but '2\\n' is correct"),
        (fails, "fault: the kernel computed assert, but '' is correct"),
    ):
        with pytest.raises(WrongResult, match=message):
            kernel(3, 1)


# ---- what the meaning leaves open ------------------------------------------------------------------------------------


def test_what_depends_on_the_order_is_nobodys_fault(verifying: Callable[..., None]) -> None:
    verifying()
    x, slots, count, total = (ti.field(ti.i32, 600), ti.field(ti.i32, 600), ti.field(ti.i32, ()), ti.field(ti.f32, ()))
    x.from_numpy(np.random.default_rng(1).permutation(600).astype(np.int32))

    @ti.kernel
    def select():
        for i in x:
            if x[i] % 3 == 0:
                slots[ti.atomic_add(count[None], 1)] = x[i]
            total[None] += 1.0 / (1 + x[i])

    select()
    assert TALLY.verified == 1
    assert count[None] == 200


def test_a_lost_update_is_not_taken_for_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cells of a list are filled in any order: that one is empty is a mistake."""
    ti.init(arch=ti.cpu, verify="results")
    out, count = ti.field(ti.i32, 64, name="out"), ti.field(ti.i32, ())

    @ti.kernel
    def append():
        for _ in range(60):
            out[ti.atomic_add(count[None], 1)] = 1

    def lose(root: Kernel) -> bool:
        """Take the sum for the old value."""
        for op in root.all_of(ops.Atomic):
            for user in list(op.users):
                user.set_operands([op.value if one is op else one for one in user.operands], user.groups)
        return True

    break_pass(monkeypatch, "demote_atomics", lose)
    with pytest.raises(WrongResult, match=r"out\[0\]: the kernel computed 0, but 1 is correct \(and 58 more there\)"):
        append()


def test_appends_in_any_order_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu, verify="results")
    slots, count = ti.field(ti.i32, 64, name="slots"), ti.field(ti.i32, ())

    @ti.kernel
    def append(n: ti.i32):
        for i in range(60):
            slots[ti.atomic_add(count[None], 1)] = n - i * 2

    break_pass(monkeypatch, "demote_atomics")
    with pytest.raises(
        WrongResult, match=r"the number of times that \d+ is in slots: the kernel computed 0, but 1 is correct"
    ) as caught:
        append(200)
    assert "pass 'demote_atomics', in 'append'" in str(caught.value)


@pytest.mark.parametrize("fast", [True, False])
def test_rounding_is_nobodys_fault(verifying: Callable[..., None], fast: bool) -> None:
    verifying(fast_math=fast)
    x, y = ti.field(ti.f32, 60), ti.field(ti.f32, 60)

    @ti.kernel
    def chaos(n: ti.i32) -> ti.f32:
        total = 0.0
        for i in x:
            a = 0.1 + 0.8 * (i / 60)
            for _ in range(n):
                a = 3.9 * a * (1.0 - a)
            x[i] = a
            y[i] = ti.sin(a * 100) + ti.exp(a) / 3 - ti.sqrt(a)
            total += ti.floor(a * 8)
        return total

    chaos(3)
    chaos(40)
    assert TALLY.verified == 2


@pytest.mark.parametrize("units", [0, 1])
def test_without_fast_math_numbers_are_exact(monkeypatch: pytest.MonkeyPatch, units: int) -> None:
    """A difference of one unit in the last place is found."""
    ti.init(arch=ti.cpu, verify="results", fast_math=False)
    x = ti.field(ti.f32, 4, name="x")

    @ti.kernel
    def thirds():
        for i in x:
            x[i] = (1.0 + i) * 3.3 / 7

    plain = scalar_ops.binary
    factor = ti.f32(1 + units * 2**-23)

    def rough(f: Any, kind: str, type: Any, a: str, b: str) -> str:
        found = plain(f, kind, type, a, b)
        if kind != "mul" or type is not ti.f32:
            return found
        return f.set(f"fmul float {found}, {constant(float(factor), type)}")

    monkeypatch.setattr(scalar_ops, "binary", rough)
    with pytest.raises(WrongResult, match=r"x\[\d\]: ") if units else nullcontext():
        thirds()
