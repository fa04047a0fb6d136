"""`mask_accesses`: random kernels that go out of bounds mean what they meant, and no access of theirs is out of bounds
any more: the evaluator would raise a fault."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Value, ops_of
from weft.ir.errors import LIBRARY, Span
from weft.ir.evaluate import Memory, evaluate
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.storage.dense import Term
from weft.ir.symbols import FieldSymbol, Param
from weft.ir.target import CPU, CUDA
from weft.ir.tasks import is_masked
from weft.ir.text import print_ir
from weft.ir.types import array, i32, i64, tensor, u1, u8

MASKED = CompileConfig(fast_math=False, verify=True, mask_out_of_bounds=True)
PLAIN = replace(MASKED, mask_out_of_bounds=False)
BEFORE = TO_TASKS[: TO_TASKS.index("mask_accesses")]
AFTER = (*TO_TASKS[TO_TASKS.index("mask_accesses") + 1 :], *TO_LOWERED)

X = FieldSymbol.dense("x", i32, (8,), 0, (0,), (Term(0, 1, 8, 4),), (0,), (0,))
Y = FieldSymbol.dense("y", i32, (4, 5), 1, (0,), (Term(0, 1, 4, 20), Term(1, 1, 5, 4)), (-1, 2), (0, 1))
V = FieldSymbol.dense("v", tensor(i32, (3,)), (6,), 2, (0, 4, 8), (Term(0, 1, 6, 12),), (0,), (0,))
W = FieldSymbol.dense("w", i32, (16,), 3, (0,), (Term(0, 1, 16, 4),), (0,), (0,))  # holds indices
S = FieldSymbol.dense("s", i32, (6,), 4, (0,), (Term(0, 1, 6, 4),), (0,), (0,))
FIELDS = (X, Y, V, W, S)
PARAMS = (Param("n", i32), Param("m", i32), Param("a", array(i32, 1)))


@dataclass
class Writer:
    """Writes one kernel at random. Iterations store to their own elements only, and add up what may be added in any
    order."""

    rng: random.Random
    kernel: ops.Kernel = field(default_factory=lambda: ops.Kernel("k", PARAMS, (), FIELDS))
    numbers: list[Value] = field(default_factory=list[Value])
    own: list[Value] = field(default_factory=list[Value])

    def index(self, build: Builder, depth: int = 2) -> Value:
        """An integer that may serve as an index."""
        pick = self.rng.random()
        if depth == 0 or pick < 0.45:
            return self.rng.choice(self.numbers) if self.numbers and pick < 0.4 else self.constant(build)
        if pick < 0.9:
            kind = self.rng.choice(("add", "add", "sub", "min", "max", "mod", "mul"))
            lhs = self.index(build, depth - 1)
            rhs = self.constant(build) if kind in ("mod", "mul") else self.index(build, depth - 1)
            if kind == "mod":
                rhs = build.add(ops.Const(self.rng.randint(1, 9), type=i32))
            return build.add(ops.Binary(kind, lhs, rhs, type=i32))
        return build.add(ops.Load(build.add(ops.FieldPtr(W, [self.index(build, depth - 1)]))))

    def constant(self, build: Builder) -> Value:
        return build.add(ops.Const(self.rng.choice((-3, -1, 0, 1, 1, 2, 3, 5, 7, 2**31 - 1)), type=i32))

    def place(self, build: Builder, fields: tuple[Any, ...]) -> Value:
        """An element of one of the fields, or of the array."""
        which = self.rng.choice(fields)
        if which == "a":
            return build.add(ops.ArrayPtr(build.add(ops.Arg(2, type=PARAMS[2].type)), [self.index(build)]))
        ptr = build.add(ops.FieldPtr(which, [self.index(build) for _ in which.shape]))
        if which is V:
            return build.add(ops.ElementPtr(ptr, [self.index(build, 1)]))
        return ptr

    def condition(self, build: Builder) -> Value:
        kinds = ("lt", "le", "gt", "ge", "eq", "ne")
        test = build.add(ops.Binary(self.rng.choice(kinds), self.index(build, 1), self.index(build, 1), type=u1))
        if self.rng.random() < 0.4:
            other = build.add(ops.Binary(self.rng.choice(kinds), self.index(build, 1), self.index(build, 1), type=u1))
            test = build.add(ops.Binary(self.rng.choice(("and", "or")), test, other, type=u1))
        return test

    def block(self, block: Block, depth: int, inside: bool = False) -> None:
        known = len(self.numbers)
        for _ in range(self.rng.randint(1, 3)):
            self.statement(Builder(block), depth, inside)
        if inside and self.rng.random() < 0.1:
            Builder(block).add(ops.Continue())
        del self.numbers[known:]

    def statement(self, build: Builder, depth: int, inside: bool) -> None:
        pick = self.rng.random()
        if depth and pick < 0.2:
            loop = build.add(ops.For(self.clamped(build, "max", -3), self.clamped(build, "min", 9), self.step(build)))
            arg = BlockArg(i32)
            arg.block, loop.body.args = loop.body, [arg]
            self.numbers.append(arg)
            self.block(loop.body, depth - 1, True)
            self.numbers.remove(arg)
        elif depth and pick < 0.45:
            branch = build.add(ops.If(self.condition(build)))
            self.block(branch.then, depth - 1)
            if self.rng.random() < 0.4:
                self.block(branch.orelse, depth - 1)
        elif pick < 0.6:
            self.numbers.append(build.add(ops.Load(self.place(build, (X, Y, V, W, "a")))))
        elif pick < 0.8:
            value = build.add(ops.Load(self.place(build, (X, Y, V, W, "a"))))
            build.add(ops.Atomic("add", build.add(ops.FieldPtr(S, [self.index(build)])), value))
        else:
            value = build.add(ops.Load(self.place(build, (X, Y, V, W, "a"))))
            build.add(ops.Atomic("xor", build.add(ops.FieldPtr(S, [self.rng.choice(self.own)])), value))

    def clamped(self, build: Builder, kind: str, limit: int) -> Value:
        """A bound of a loop that is not too long."""
        return build.add(ops.Binary(kind, self.index(build, 1), build.add(ops.Const(limit, type=i32)), type=i32))

    def step(self, build: Builder) -> Value:
        return build.add(ops.Const(self.rng.choice((1, 1, 1, 2)), type=i32))

    def write(self) -> ops.Kernel:
        top = Builder(self.kernel.body)
        n, m = (top.add(ops.Arg(k, type=i32)) for k in (0, 1))
        for _ in range(self.rng.randint(1, 2)):
            self.numbers = [n, m]
            if self.rng.random() < 0.3:
                loop: Any = top.add(ops.StructFor(self.rng.choice((X, Y))))
                axes = len(loop.field.shape)
            else:
                axes = self.rng.randint(1, 2)
                begins: list[Value] = [top.add(ops.Const(self.rng.randint(-2, 3), type=i32)) for _ in range(axes)]
                ends: list[Value] = [
                    self.rng.choice((n, m, top.add(ops.Const(self.rng.randint(0, 7), type=i32)))) for _ in begins
                ]
                loop = top.add(ops.ParallelFor(begins, ends))
            for _ in range(axes):
                arg = BlockArg(i32)
                arg.block = loop.body
                loop.body.args.append(arg)
            self.own = list(loop.body.args)
            self.numbers += self.own * 3
            self.block(loop.body, 2)
        return self.kernel


def outcome(kernel: ops.Kernel, args: list[Any], config: CompileConfig) -> tuple[list[Any], list[str]]:
    """What is in memory after a run, and what is told."""
    memory, rng = Memory.of(FIELDS), np.random.default_rng(3)
    for symbol in FIELDS:
        shape = memory.read(symbol).shape
        memory.write(symbol, rng.integers(-4, 9, shape) if symbol is W else rng.integers(1, 1000, shape))
    given = [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    evaluate(kernel, given, memory, config, limit=50_000)
    return [memory.read(symbol).tolist() for symbol in FIELDS] + [given[2].tolist()], memory.warned


def inputs(rng: random.Random) -> list[Any]:
    array = np.arange(1, rng.choice((0, 1, 5, 12)) + 1, dtype=np.int32)
    return [rng.randint(-2, 10), rng.randint(-2, 6), array]


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels_that_go_out_of_bounds(seed: int) -> None:
    for number in range(6):
        rng = random.Random(seed * 1000 + number)
        kernel = Writer(rng).write()
        runs = [inputs(rng) for _ in range(3)]
        run_passes(kernel, BEFORE, MASKED)
        expected = [outcome(kernel, args, MASKED)[0] for args in runs]
        text, config = print_ir(kernel), replace(MASKED, traits=rng.choice((CPU, CUDA)))
        for stage in (("mask_accesses",), AFTER):
            run_passes(kernel, stage, config, level="tasks")
            for args, wanted in zip(runs, expected, strict=True):
                assert outcome(kernel, args, PLAIN)[0] == wanted, f"{args}\n{text}\nbecame\n{print_ir(kernel)}"


def test_these_kernels_reach_what_they_should() -> None:
    """Many are masked, and versioned as loops and as tasks."""
    met = {"versions": 0, "masks": 0, "tasks": 0}
    for seed in range(60):
        kernel = run_passes(Writer(random.Random(seed)).write(), BEFORE, MASKED)
        tasks = len(kernel.all_of(ops.Task))
        run_passes(kernel, ("mask_accesses",), MASKED, level="tasks")
        met["tasks"] += len(kernel.all_of(ops.Task)) > tasks
        met["versions"] += any(op.versioned for op in kernel.all_of(ops.If))
        met["masks"] += any(is_masked(op) and not op.versioned for op in kernel.all_of(ops.If))
    assert all(count > 2 for count in met.values()), met


# ---- what is proven --------------------------------------------------------------------------------------------------


def kernel_of(*params: Param) -> tuple[ops.Kernel, Builder]:
    kernel = ops.Kernel("k", params, (), (X,))
    return kernel, Builder(kernel.body)


def parallel(build: Builder, begin: Value, end: Value) -> tuple[Builder, Value]:
    loop = build.add(ops.ParallelFor([begin], [end]))
    arg = BlockArg(i32, "i")
    arg.block, loop.body.args = loop.body, [arg]
    return Builder(loop.body), arg


def number(build: Builder, value: int, type: Any = i32) -> Value:
    return build.add(ops.Const(value, type=type))


def store_at(build: Builder, index: Value) -> None:
    build.add(ops.Store(build.add(ops.FieldPtr(X, [index])), number(build, 1)))


def masks(kernel: ops.Kernel, config: CompileConfig = MASKED) -> tuple[int, int]:
    """How many tasks there are then, and how many masks."""
    run_passes(kernel, (*BEFORE, "mask_accesses"), config)
    return len(kernel.all_of(ops.Task)), len(kernel.all_of(ops.Warn))


def test_a_constant_box_needs_no_mask() -> None:
    kernel, top = kernel_of()
    body, i = parallel(top, number(top, 0), number(top, 7))
    store_at(body, body.add(ops.Binary("add", i, number(body, 1), type=i32)))
    assert masks(kernel) == (1, 0)


def test_a_box_of_unknown_size_is_asked_once() -> None:
    kernel, top = kernel_of(Param("n", i32))
    body, i = parallel(top, number(top, 0), top.add(ops.Arg(0, type=i32)))
    store_at(body, i)
    assert masks(kernel) == (2, 1)
    fast, careful = (op for op in kernel.body if isinstance(op, ops.Task))
    assert not fast.all_of(ops.Warn)
    assert careful.all_of(ops.Warn)


@pytest.mark.parametrize("guard", ["lt", "le"])
def test_a_condition_proves_as_much_as_it_says(guard: str) -> None:
    kernel, top = kernel_of(Param("n", i32))
    body, i = parallel(top, number(top, 0), number(top, 100))
    holds = body.add(ops.Binary(guard, i, number(body, 8), type=u1))
    store_at(Builder(body.add(ops.If(holds)).then), i)
    assert masks(kernel)[1] == (0 if guard == "lt" else 1)


def test_an_early_continue_proves_the_rest_of_the_body() -> None:
    kernel, top = kernel_of()
    body, i = parallel(top, number(top, 0), number(top, 100))
    leaves = body.add(ops.If(body.add(ops.Binary("ge", i, number(body, 8), type=u1))))
    Builder(leaves.then).add(ops.Continue())
    store_at(body, i)
    assert masks(kernel) == (1, 0)


def test_a_sum_that_may_wrap_around_proves_nothing() -> None:
    """`n + 2**31 - 1 < 8` holds of sums that wrapped around, too: the address must not be computed in 64 bits."""
    kernel, top = kernel_of(Param("n", i32), Param("m", i32))
    n, m = (top.add(ops.Arg(k, type=i32)) for k in (0, 1))
    total = top.add(ops.Binary("add", n, m, type=i32))
    above = top.add(ops.If(top.add(ops.Binary("ge", total, number(top, 0), type=u1))))
    inner = Builder(above.then)
    below = inner.add(ops.If(inner.add(ops.Binary("lt", total, number(inner, 8), type=u1))))
    store_at(Builder(below.then), total)
    assert masks(kernel)[1] == 0
    (ptr,) = kernel.all_of(ops.FieldPtr)
    assert ptr.indices[0].type is i64


BARRIER = """kernel @k() -> () {
  field @w: i32[16] tree=3 components=(0) terms=((0, 1, 16, 4)) offset=(0) order=(0)
  field @x: i32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) offset=(0) order=(0)
  task range_for config={block_dim=32} bounds {
    %0 = const 0 : i32
    %1 = const 16 : i32
    yield begins=[%0], ends=[%1]
  } body (%i: i32) {
    %2 = field_ptr @w[%i] : *i32
    %k = load %2 : i32
    %3 = const 1 : i32
    %4 = const 2 : i32
    %k1 = binary add %k, %3 : i32
    %k2 = binary add %k, %4 : i32
    %5 = field_ptr @x[%k] : *i32
    %a = load %5 : i32
    %6 = field_ptr @x[%k1] : *i32
    %b = load %6 : i32
    %7 = field_ptr @x[%k2] : *i32
    %c = load %7 : i32
    SIMT
    %8 = binary add %a, %b : i32
    %9 = binary add %8, %c : i32
    store %2, %9
  }
}
"""


@pytest.mark.parametrize(("simt", "versions"), [("", 1), ("simt block_sync []", 0)])
def test_threads_of_a_block_do_not_part_before_a_barrier(simt: str, versions: int) -> None:
    """Whether three neighbours are in bounds differs from thread to thread. So there are no versions of what waits for
    the other threads."""
    kernel = parse(BARRIER.replace("SIMT", simt))
    run_passes(kernel, ("mask_accesses",), replace(MASKED, traits=CUDA), level="tasks")
    assert sum(branch.versioned for branch in kernel.all_of(ops.If)) == versions


def test_the_first_address_of_a_version_belongs_to_it() -> None:
    """Its index may wrap around in the masked copy only. So its distance from the next addresses is known."""
    text = BARRIER.replace("x[%k]", "x[.]").replace("x[%k2]", "x[%k]").replace("x[.]", "x[%k2]").replace("SIMT", "")
    kernel = run_passes(parse(text), ("mask_accesses",), MASKED, level="tasks")
    (branch,) = (each for each in kernel.all_of(ops.If) if each.versioned)
    mine, copies = ([op.ptr for op in ops_of(side) if isinstance(op, ops.Load)] for side in branch.regions)
    assert [ptr.indices[0].type for ptr in mine if isinstance(ptr, ops.FieldPtr)] == [i32] * 3
    assert all(isinstance(ptr, ops.FieldPtr) and ptr.within(branch) for ptr in mine)
    assert not {*mine} & {*copies}


def test_kernels_of_wefts_own_know_their_shapes() -> None:
    for file, wanted in (("program.py", 1), (f"{LIBRARY}algorithms.py", 0)):
        kernel, top = kernel_of(Param("n", i32))
        store_at(Builder(kernel.body, None, Span(file, 1)), top.add(ops.Arg(0, type=i32)))
        assert masks(kernel)[1] == wanted


def test_only_where_it_is_wanted() -> None:
    for config in (PLAIN, replace(MASKED, debug=True), replace(MASKED, boundary_check=True)):
        kernel, top = kernel_of(Param("n", i32))
        store_at(top, top.add(ops.Arg(0, type=i32)))
        run_passes(kernel, BEFORE, replace(config, debug=False, boundary_check=False))
        assert not run_passes(kernel, ("mask_accesses",), config, level="tasks").all_of(ops.Warn)


CHANGES_ITS_BOX = """
kernel @k() -> () {
  field @x: i32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) offset=(0) order=(0)
  task range_for bounds {
    %0 = const 0 : i32
    %1 = field_ptr @x[%0] : *i32
    %2 = load %1 : i32
    yield begins=[%0], ends=[%2]
  } body (%i: i32) {
    %3 = field_ptr @x[%i] : *i32
    store %3, %i
  }
}
"""


def test_a_task_whose_box_it_changes_itself_is_not_doubled() -> None:
    """The second would be asked when the first has changed the answer."""
    kernel = parse(CHANGES_ITS_BOX)
    run_passes(kernel, ("mask_accesses",), MASKED, level="tasks")
    assert len(kernel.all_of(ops.Task)) == 1
    assert len(kernel.all_of(ops.Warn)) == 1


WAITS = """
kernel @k() -> () {
  field @x: i32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) offset=(-3) order=(0)
  field @w: i32[16] tree=1 components=(0) terms=((0, 1, 16, 4)) offset=(0) order=(0)
  task range_for bounds {
    %0 = const 0 : i32
    %1 = const 16 : i32
    yield begins=[%0], ends=[%1]
  } body (%i: i32) {
    %2 = field_ptr @w[%i] : *i32
    %3 = load %2 : i32
    %4 = field_ptr @x[%3] : *i32
    %5 = load %4 : i32
    store %2, %5
  }
}
"""


@pytest.mark.parametrize("indices", [[-3, 4, 0], [-4], [5, 1], [2**31 - 1, -(2**31)]])
def test_a_straight_body_tells_behind_the_loop(indices: list[int]) -> None:
    kernel = parse(WAITS)
    x, w = kernel.fields
    run_passes(kernel, ("mask_accesses",), MASKED, level="tasks")
    assert not any(op.regions for task in kernel.all_of(ops.Task) for op in task.body)
    for stage in ((), AFTER):
        run_passes(kernel, stage, MASKED, level="tasks")
        memory = Memory.of(kernel.fields)
        memory.write(x, np.arange(11, 19))
        memory.write(w, (indices * 16)[:16])
        evaluate(kernel, [], memory, PLAIN)
        expected = [14 + k if -3 <= k < 5 else 0 for k in (indices * 16)[:16]]
        assert memory.read(w).tolist() == expected
        assert bool(memory.warned) == (not all(-3 <= k < 5 for k in indices))


def test_types_of_indices() -> None:
    for type in (u8, i64):
        kernel, top = kernel_of(Param("n", type))
        store_at(top, top.add(ops.Arg(0, type=type)))
        run_passes(kernel, BEFORE, MASKED)
        run_passes(kernel, ("mask_accesses",), MASKED, level="tasks")
        for n in (0, 7, 8, 255) if type is u8 else (0, 7, 8, -1, 2**40):
            memory = Memory.of((X,))
            evaluate(kernel, [n], memory, PLAIN)
            assert memory.read(X).tolist() == [int(k == n) for k in range(8)]
            assert bool(memory.warned) == (not 0 <= n < 8)
