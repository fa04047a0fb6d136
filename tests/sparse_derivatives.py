"""Random kernels on random sparse trees of f64, and the derivatives of each against one another and against
differences.

Forward mode gives J v and reverse mode J^T w, where v is a number for each element that is active before the kernel,
and w one for each that is active after it. What is not active has no derivative."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar

import numpy as np

from tests.sparse_programs import Draw, drawn_tree
from tests.sparse_trees import Declared, elements_near, lower, place, stored_place, stored_value
from weft.ir.config import CompileConfig
from weft.ir.evaluate import Memory, evaluate
from weft.ir.memory_model import Place
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.storage.snode import SNode
from weft.ir.symbols import COMPANIONS, FieldSymbol
from weft.ir.types import f64
from weft.ir.verify import verify

__all__ = ["Case", "SmoothDraw", "Way", "case_on", "drawn_case", "evaluated", "linked", "smooth_tree"]

CONFIG = replace(CompileConfig(fast_math=False), verify=True)
Index = tuple[int, ...]
Vector = dict[tuple[str, Index], float]

_SLACK = 64


_FIRST = ("grad", "dual")


def smooth_tree(rng: Random, kinds: Sequence[str] = _FIRST) -> Declared:
    """A random tree of f64 fields, each with companions of these kinds in the same cells: in the same node, or in a
    dense node beside it."""

    def put(node: SNode, name: str) -> None:
        place(node, name, f64)
        for kind in kinds:
            beside = node.kind == "dense" and node.parent is not None and rng.random() < 0.5
            home = node.parent.add(SNode("dense", node.axes, node.extents)) if beside and node.parent else node
            place(home, f"{name}.{kind}", f64)

    return linked(drawn_tree(rng, put), kinds)


def linked(made: Declared, kinds: Sequence[str]) -> Declared:
    """The tree with fields that know their companions of these kinds: "grad.dual" is the dual of the gradient."""
    known = {one.name: one for one in made.fields}
    for kind in sorted(kinds, key=lambda one: -one.count(".")):  # those of companions first
        *inner, last = kind.split(".")
        for name in [one for one in known if "." not in one and f"{one}.{kind}" in known]:
            holder = ".".join((name, *inner))
            known[holder] = replace(known[holder], **{last: known[f"{name}.{kind}"]})
    return replace(made, fields=tuple(sorted(known.values(), key=lambda one: -one.name.count("."))))


class SmoothDraw(Draw):
    """Draws kernels that compute with reals. A statement writes one field and reads others."""

    counts: ClassVar[Sequence[int]] = (1, 6, 6, 15, 15, 0)

    def statement(self) -> str:
        kinds = [self.scatter, self.scatter, self.visit, self.visit, self.visit, self.parents, self.drop, self.serial]
        return self.rng.choice((*kinds, self.chain))()

    @property
    def fields(self) -> list[FieldSymbol]:
        return [one for one in super().fields if "." not in one.name]

    def read(self, field: FieldSymbol, index: Sequence[str]) -> tuple[str, str]:
        """A smooth function of an element."""
        p, v, s, two, both = (self.new() for _ in range(5))
        factor = self.rng.choice((0.5, 1.5, -2.0))
        text = f"{p} = field_ptr @{field.name}[{', '.join(index)}] : *f64\n{v} = load {p} : f64\n"
        other = two if self.rng.random() < 0.6 else v
        text += f"{s} = unary sin {v} : f64\n{two} = const {factor} : f64\n{both} = binary mul {s}, {other} : f64\n"
        return both, text

    def real(self, value: str, apart: FieldSymbol) -> tuple[str, str]:
        """A real that depends on an integer, and perhaps on an element of another field."""
        scale, real = self.new(), self.new()
        wide, text = self.small(value)
        text += f"{scale} = const 0.125 : f64\n{real} = binary mul {wide}, {scale} : f64\n"
        others = [one for one in self.fields if one is not apart]
        if others and self.rng.random() < 0.8:
            other = self.rng.choice(others)
            at, more = self.index(other.shape, other.offset, value)
            read, again = self.read(other, at)
            total = self.new()
            return total, f"{text}{more}{again}{total} = binary add {real}, {read} : f64\n"
        return real, text

    def add(self, field: FieldSymbol, index: Sequence[str], value: str) -> str:
        p, old = self.new(), self.new()
        real, text = self.real(value, field)
        if self.rng.random() < 0.4 and all(name in self.args for name in index):
            # an own element is overwritten by a function of itself
            own, again = self.read(field, index)
            total = self.new()
            text += f"{again}{total} = binary add {own}, {real} : f64\n"
            return f"{text}{p} = field_ptr @{field.name}[{', '.join(index)}] : *f64\nstore {p}, {total}\n"
        return f"{text}{p} = field_ptr @{field.name}[{', '.join(index)}] : *f64\n{old} = atomic add {p}, {real} : f64\n"

    def summed(self, field: FieldSymbol, index: Sequence[str]) -> str:
        s, old = self.new(), self.new()
        real, text = self.read(field, index)
        return f"{text}{s} = field_ptr @sum[] : *f64\n{old} = atomic add {s}, {real} : f64\n"

    args: Sequence[str] = ()

    def visit(self) -> str:
        """A loop over a field, whose own elements may be overwritten."""
        field = self.rng.choice(self.fields)
        self.args = args = [self.new() for _ in field.shape]
        inside = self.add(field, args, args[0]) if self.rng.random() < 0.6 else self.summed(field, args)
        if self.rng.random() < 0.4 and self.made.nodes:
            inside = self.where(args[0], inside)
        self.args = ()
        listed = ", ".join(f"{arg}: i32" for arg in args)
        return f"struct_for @{field.name} ({listed}) {{\n{inside}}}"

    def where(self, value: str, inside: str) -> str:
        """Only where a cell is active."""
        node, k, asked = self.rng.choice(self.made.nodes), self.new(), self.new()
        shift, line = self.number(1000)
        at, text = self.index(node.asked, (), k)
        return (
            f"{line}{k} = binary add {value}, {shift} : i32\n{text}{asked} = is_active @{node.name}[{', '.join(at)}]\n"
            f"if {asked} then {{\n{inside}}}\n"
        )

    def counted(self, value: str) -> str:
        s, old = self.new(), self.new()
        real, text = self.small(value)
        return f"{text}{s} = field_ptr @sum[] : *f64\n{old} = atomic add {s}, {real} : f64\n"

    def small(self, value: str) -> tuple[str, str]:
        """A real that depends on an integer. (In sums of indices below hash nodes, differences vanish.)"""
        rest, real = self.new(), self.new()
        size, text = self.number(16)
        return real, f"{text}{rest} = binary raw_mod {value}, {size} : i32\n{real} = cast {rest} : f64\n"


# ---- derivatives -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """How kernels are compiled and run, on trees that have 64 bytes behind them."""

    config: CompileConfig
    run: Callable[[Kernel, list[Any]], None]


def evaluated(config: CompileConfig, **how: Any) -> Way:
    """The lowered kernel in the evaluator."""

    def run(kernel: Kernel, trees: list[Any]) -> None:
        lowered, functions = lower(kernel, config)
        evaluate(lowered, [], Memory([tree[:-_SLACK] for tree in trees]), config, functions=functions, **how)

    return Way(config, run)


@dataclass
class Case:
    """A kernel on a tree, which runs where others have activated elements. `values`: what these hold then,
    None before they are drawn."""

    made: Declared
    before: Sequence[str]
    body: str
    config: CompileConfig = CONFIG
    values: Vector | None = None

    def kernel(self, body: str, mode: str = "") -> Kernel:
        """A kernel in that mode."""
        numbers = "\n".join(f"%{n} = const {n} : i32" for n in range(10))
        kernel = parse(f"kernel @k() -> () {{\n{self.made.text}\n{numbers}\n{body}\n}}")
        verify(kernel, "chi")
        kernel.mode = mode
        return kernel

    @property
    def fields(self) -> list[FieldSymbol]:
        """The fields that carry derivatives."""
        return [one for one in self.made.fields if "." not in one.name and one.grad is not None]

    def check(self, seed: int, ways: Sequence[Way] = (), **how: Any) -> int:
        """Compare forward mode with differences, and reverse mode with forward mode; then both with what lowered
        kernels compute. Gives how many terms of the dot products are not 0. Raises CompilationError where a mode is
        refused."""
        random = np.random.default_rng(seed)
        start = self.start()
        vjp = run_passes(self.kernel(self.body, "vjp"), ("differentiate",), self.config)
        jvp = run_passes(self.kernel(self.body, "jvp"), ("differentiate",), self.config)
        after = self.moved(start, {})
        direction = {at: random.uniform(-1, 1) for at in self.active(start)}
        weights = {at: random.uniform(-1, 1) for at in self.active(after)}

        ahead = deepcopy(start)
        self.put(ahead, "dual", direction)
        evaluate(jvp, [], ahead, self.config, **how)
        self.alike(ahead, after)
        duals = self.get(ahead, "dual", weights)
        self.against_differences(start, direction, duals)

        back = deepcopy(after)
        values = self.get(start, "", self.active(start))
        self.put(back, "", self.old(vjp, values, weights))
        self.put(back, "grad", weights)
        evaluate(vjp, [], back, self.config, **how)
        gradients = self.get(back, "grad", direction)
        assert self.cells(back) == self.cells(after), "the gradient changed what is active"
        left = [duals[at] * weights[at] for at in weights]
        right = [gradients[at] * direction[at] for at in direction]
        size = sum(map(abs, left)) + sum(map(abs, right))
        assert abs(sum(left) - sum(right)) <= 1e-12 * size, (sum(left), sum(right))
        for way in ways:
            self.hold(way, (direction, duals), (weights, gradients), values)
        return sum(one != 0 for one in (*left, *right))

    def start(self) -> Memory:
        """What the kernels before it leave, with other values in active elements."""
        memory = Memory.of(self.made.fields, self.made.nodes)
        for body in self.before:
            evaluate(self.kernel(body), [], memory, self.config)
        if self.values is None:
            random = np.random.default_rng(len(self.body))
            self.values = {at: random.uniform(-2, 2) for at in self.active(memory)}
        self.put(memory, "", self.values)
        return memory

    def old(self, gradient: Kernel, values: Vector, weights: Iterable[tuple[str, Index]]) -> Vector:
        """The values from before the kernel that its gradient needs; 0 where an element was not active."""
        return {at: values.get(at, 0.0) for at in weights if at[0] in gradient.saved}

    def hold(self, way: Way, forward: tuple[Vector, Vector], reverse: tuple[Vector, Vector], values: Vector) -> None:
        """In the memory that lowered kernels have left, lowered derivatives leave these companions of these ones.
        `values`: those from before the kernel."""
        memory, trees = self.left_by(way)

        def derive(mode: str, wanted: Vector) -> None:
            way.run(self.kernel(self.body, mode), trees)
            for (name, at), one in wanted.items():
                found = float(stored_value(memory, self.companion(name, COMPANIONS[mode]), at))
                assert abs(found - one) <= 1e-12 * (1 + abs(one)), (mode, name, at, found, one)

        start = [tree.copy() for tree in trees]
        self.put_stored(memory, "dual", forward[0])
        derive("jvp", forward[1])
        for tree, one in zip(trees, start, strict=True):
            tree[:] = one
        way.run(self.kernel(self.body), trees)
        gradient = run_passes(self.kernel(self.body, "vjp"), ("differentiate",), way.config)
        self.put_stored(memory, "", self.old(gradient, values, reverse[0]))
        self.put_stored(memory, "grad", reverse[0])
        derive("vjp", reverse[1])

    def left_by(self, way: Way) -> tuple[Memory, list[Any]]:
        """The memory that the lowered kernels before it leave, with the values of `start`, and its trees."""
        memory = Memory.of(self.made.fields, self.made.nodes)
        trees = [np.concatenate([tree, np.zeros(_SLACK, np.uint8)]) for tree in memory.trees]
        memory.trees[:] = [tree[:-_SLACK] for tree in trees]
        for body in self.before:
            way.run(self.kernel(body), trees)
        self.put_stored(memory, "", self.values or {})
        return memory, trees

    def put_stored(self, memory: Memory, kind: str, values: Vector) -> None:
        for (name, at), value in values.items():
            stored_place(memory, self.companion(name, kind), at).store(value, f64)

    def moved(self, start: Memory, step: Vector) -> Memory:
        """What the kernel leaves, if it starts that far away."""
        memory = deepcopy(start)
        values = self.get(memory, "", step)
        self.put(memory, "", {at: values[at] + move for at, move in step.items()})
        evaluate(self.kernel(self.body), [], memory, self.config)
        return memory

    def against_differences(self, start: Memory, direction: Vector, duals: Vector) -> None:
        far = 1e-6
        ends = [self.moved(start, {at: sign * far * v for at, v in direction.items()}) for sign in (1, -1)]
        values = [self.get(end, "", duals) for end in ends]
        for at, dual in duals.items():
            slope = (values[0][at] - values[1][at]) / (2 * far)
            assert abs(slope - dual) <= 1e-7 * (1 + abs(dual)), (at, slope, dual)

    def active(self, memory: Memory) -> list[tuple[str, Index]]:
        return [
            (one.name, at)
            for one in self.fields
            for at in elements_near(one, memory.sparse.cells)
            if one.node is None or memory.sparse.exists(one, at)
        ]

    def companion(self, name: str, kind: str) -> FieldSymbol:
        full = f"{name}.{kind}" if kind else name
        return next(one for one in self.made.fields if one.name == full)

    def get(self, memory: Memory, kind: str, where: Iterable[tuple[str, Index]]) -> Vector:
        """The values, or the companions of that kind, of these elements."""
        return {at: float(_place(memory, self.companion(at[0], kind), at[1]).load(f64)) for at in where}

    def put(self, memory: Memory, kind: str, values: Vector) -> None:
        for at, value in values.items():
            _place(memory, self.companion(at[0], kind), at[1]).store(value, f64)

    def cells(self, memory: Memory) -> object:
        lengths = {name: {at: n for at, n in own.items() if n} for name, own in memory.sparse.lengths.items()}
        lists = {node.name for node in self.made.nodes if node.length is not None}
        active = {name: cells for name, cells in memory.sparse.active.items() if cells and name not in lists}
        return active, {name: own for name, own in lengths.items() if own}

    def alike(self, one: Memory, other: Memory) -> None:
        """Both have the same values and active cells."""
        assert self.cells(one) == self.cells(other)
        where = self.active(other)
        mine, theirs = self.get(one, "", where), self.get(other, "", where)
        assert all(abs(mine[at] - theirs[at]) <= 1e-12 * (1 + abs(theirs[at])) for at in where)


def drawn_case(seed: int) -> Case:
    """The random case of that number: three kernels, and a fourth one whose derivatives are taken."""
    return case_on(smooth_tree, seed)


def case_on(tree: Callable[[Random], Declared], seed: int) -> Case:
    """The random case of that number on a tree. Most kernels compute with reals."""
    rng = Random(f"grad {seed}")
    made = tree(rng)
    draw = SmoothDraw(rng, made)
    bodies = ["\n".join(draw.scatter(one) for one in draw.fields), *(draw.body() for _ in range(2))]
    for _ in range(4):
        body = draw.statement() if rng.random() < 0.6 else draw.body()
        if "unary sin" in body:
            break
    return Case(made, bodies, body, replace(CONFIG, verify=seed % 10 == 1))


def _place(memory: Memory, symbol: FieldSymbol, at: Index) -> Place:
    return memory.place(symbol, [i + first for i, first in zip(at, symbol.space.first, strict=True)], activates=False)
