"""What a call of a kernel costs by what it passes: `python -m tests.bench.launch_kinds [words of names]`.

Every kind of argument, result and caller. Beside the nanoseconds stands how many of a thousand calls came to Python:
most kinds are native code's alone (see `docs/adr/0010-direct-calls.md`). In turns in one process; the best of many
rounds counts."""

from __future__ import annotations

import asyncio
import enum
import functools
import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import cycle, islice
from typing import Any

import numpy as np

import weft as ti
from weft.lang.kernels.kernel import Kernel

ROUNDS, CALLS = 15, 1000

Kind = tuple[str, Callable[..., Any], Sequence[tuple[Any, ...]]]  # a name, what is called, and with what in turns

vec3 = ti.types.vector(3, ti.f32)
mat2 = ti.types.matrix(2, 2, ti.f32)
particle = ti.types.struct(x=vec3, m=ti.f32, k=ti.i32)
inner_pack = ti.types.argpack(k=ti.f64, v=vec3)
array = ti.types.ndarray()


def numbers() -> Iterator[Kind]:
    """Calls with numbers."""

    @ti.kernel
    def nothing():
        pass

    @ti.kernel
    def real(a: ti.f32):
        pass

    @ti.kernel
    def whole(a: ti.i32):
        pass

    @ti.kernel
    def large(a: ti.u64):
        pass

    @ti.kernel
    def truth(a: ti.u1):
        pass

    @ti.kernel
    def half(a: ti.f16):
        pass

    @ti.kernel
    def four(a: ti.f32, b: ti.f32, c: ti.i32, d: ti.i32 = 4):
        pass

    class Side(enum.IntEnum):
        LEFT = 1

    yield "empty", nothing, [()]
    yield "four scalars", four, [(1.0, 2.0, 3, 4)]
    yield "four scalars, one by default", four, [(1.0, 2.0, 3)]
    yield "four scalars, by keywords", lambda: four(1.0, 2.0, c=3, d=4), [()]
    yield "float", real, [(1.5,)]
    yield "int for f32", real, [(3,)]
    yield "np.float32", real, [(np.float32(1.5),)]
    yield "np.float64", real, [(np.float64(1.5),)]
    yield "np.float32 and float in turns", real, [(np.float32(1.5),), (1.5,)]
    yield "int", whole, [(3,)]
    yield "np.int64", whole, [(np.int64(3),)]
    yield "np.int32", whole, [(np.int32(3),)]
    yield "bool for i32", whole, [(True,)]
    yield "IntEnum", whole, [(Side.LEFT,)]
    yield "0-D array", real, [(np.array(1.5, np.float32),)]
    yield "int for u64", large, [(3,)]
    yield "int beyond i64 for u64", large, [(2**64 - 1,)]
    yield "bool", truth, [(True,)]
    yield "np.bool", truth, [(np.bool_(True),)]
    yield "float for f16", half, [(1.5,)]


def values() -> Iterator[Kind]:
    """Calls with vectors, matrices, structs, packs."""

    @ti.kernel
    def vector(a: vec3):
        pass

    @ti.kernel
    def matrix(a: mat2):
        pass

    @ti.kernel
    def struct(a: particle):
        pass

    yield "vector", vector, [(ti.Vector([1.0, 2.0, 3.0]),)]
    yield "vector of ints", vector, [(ti.Vector([1, 2, 3]),)]
    yield "vector as an array", vector, [(np.ones(3, np.float32),)]
    yield "vector as a list", vector, [([1.0, 2.0, 3.0],)]
    yield "vector as a tuple", vector, [((1.0, 2.0, 3.0),)]
    yield "matrix", matrix, [(ti.Matrix([[1.0, 2.0], [3.0, 4.0]]),)]
    yield "matrix as an array", matrix, [(np.ones((2, 2), np.float32),)]
    yield "struct", struct, [(particle(x=[1, 2, 3], m=1, k=2),)]
    yield "struct as a dict", struct, [({"x": [1.0, 2.0, 3.0], "m": 1.0, "k": 2},)]
    yield from packs()


def packs() -> Iterator[Kind]:
    """Calls with argument packs."""
    small = ti.types.argpack(dt=ti.f32, n=ti.i32)
    large = ti.types.argpack(a=ti.i32, inner=inner_pack, p=particle, arr=ti.types.ndarray(dtype=ti.f32, ndim=1))

    @ti.kernel
    def two(p: small):
        pass

    @ti.kernel
    def many(p: large):
        p.arr[0] = p.inner.v[1]

    made = {"a": 3, "inner": inner_pack(k=1e-12, v=[1, 2, 3]), "p": particle()}
    yield "pack of two scalars", two, [(small(dt=0.1, n=3),)]
    yield "pack of five kinds, ndarray", many, [(large(**made, arr=ti.ndarray(ti.f32, 3)),)]
    yield "pack of five kinds, numpy", many, [(large(**made, arr=np.zeros(3, np.float32)),)]


def arrays() -> Iterator[Kind]:
    """Calls with arrays."""

    @ti.kernel
    def one(a: array):
        pass

    @ti.kernel
    def first(a: array) -> ti.f32:
        return a[0]

    @ti.kernel
    def vectors(a: ti.types.ndarray(dtype=vec3, ndim=1)):
        pass

    @ti.kernel
    def ten(a: array, b: array, c: array, d: array, e: array, f: array, g: array, h: array, i: array, j: array):
        a[0] = b[0] + c[0] + d[0] + e[0] + f[0] + g[0] + h[0] + i[0] + j[0]

    yield "ten ndarrays", ten, [tuple(ti.ndarray(ti.f32, 16) for _ in range(10))]
    yield "ten numpy arrays", ten, [tuple(np.zeros(16, np.float32) for _ in range(10))]
    for axes in range(1, 5):
        yield f"numpy, {axes}-D", one, [(np.zeros((4,) * axes, np.float32),)]
    cells = np.zeros((6, 6), np.float32)
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    yield "numpy, a window", one, [(cells[1:4, 1:4],)]
    yield "numpy, other windows in turns", one, [(cells[1:4, 1:4],), (cells[::2, ::3],), (cells[::-1],)]
    yield "numpy, Fortran order", one, [(np.asfortranarray(cells),)]
    yield "numpy, read-only", first, [(frozen,)]
    yield "numpy, empty", one, [(np.zeros((0, 3), np.float32),)]
    yield "numpy, a subclass", one, [(np.zeros(4, np.float32).view(np.matrix),)]
    yield "numpy, vectors", vectors, [(np.zeros((4, 3), np.float32),)]
    yield "numpy, two dtypes in turns", one, [(np.zeros(4, np.float32),), (np.zeros(4, np.int32),)]
    yield "ndarray", one, [(ti.ndarray(ti.f32, 16),)]
    yield "ndarrays in turns", one, [(ti.ndarray(ti.f32, 16),), (ti.ndarray(ti.f32, 9),)]
    yield "ndarray of vectors", one, [(ti.Vector.ndarray(3, ti.f32, 16),)]
    yield "ndarray of matrices", one, [(ti.Matrix.ndarray(2, 2, ti.f32, 16),)]
    yield "ndarray of structs", one, [(ti.ndarray(particle, 16),)]
    yield "memoryview", one, [(memoryview(bytearray(16)),)]
    if importlib.util.find_spec("torch"):
        torch = import_module("torch")
        yield "torch", one, [(torch.zeros(4),)]
        yield "torch, two dtypes in turns", one, [(torch.zeros(4),), (torch.zeros(4, dtype=torch.int32),)]
        yield "torch, transposed", one, [(torch.zeros(4, 3).t(),)]


class Base:
    """What a solver's class inherits from."""

    def __init__(self) -> None:
        self.a, self.b = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
        self.scale = 2.0

    @ti.kernel
    def inherited(self):
        self.a[0] = self.b[0]


@ti.data_oriented
class Solver(Base):
    """A class with kernels."""

    count = 3

    @property
    def twice(self) -> float:
        return 2 * self.scale

    @ti.kernel
    def method(self, x: ti.f32):
        self.a[0] = x * self.scale

    @ti.kernel
    def by_property(self):
        self.a[0] = self.twice

    @ti.kernel
    def by_class(self):
        self.a[0] = self.count

    @staticmethod
    @ti.kernel
    def static_method(x: ti.f32):
        pass

    @classmethod
    def class_method(cls, x):
        cls.static_method(x)


def methods() -> Iterator[Kind]:
    """Calls of methods."""
    one, other = Solver(), Solver()
    bound = one.method
    yield "method", lambda: one.method(1.0), [()]
    yield "method, stored", bound, [(1.0,)]
    yield "method, of two objects in turns", lambda solver: solver.method(1.0), [(one,), (other,)]
    yield "method, inherited", lambda: one.inherited(), [()]
    yield "method that reads a property", lambda: one.by_property(), [()]
    yield "method that reads the class", lambda: one.by_class(), [()]
    yield "static method", lambda: one.static_method(1.0), [()]
    yield "class method", lambda: Solver.class_method(1.0), [()]

    def swapped() -> None:
        one.a, one.b = one.b, one.a
        one.inherited()

    yield "method, its fields swapped each time", swapped, [()]


def templates() -> Iterator[Kind]:
    """Calls with what is fixed at compile time, passed or found."""
    fields = [ti.field(ti.f32, 4) for _ in range(4)]

    @ti.kernel
    def take(a: ti.template()):
        pass

    @ti.kernel
    def pair(a: ti.template(), b: ti.template()):
        a[0] = b[0]

    @ti.func
    def square(x):
        return x * x

    @ti.func
    def cube(x):
        return x * x * x

    @ti.kernel
    def apply(f: ti.template()):
        fields[0][0] = f(2.0)

    yield "template: field", take, [(fields[0],)]
    yield "template: two fields swapped", pair, [(fields[0], fields[1]), (fields[1], fields[0])]
    yield "template: four fields in turns", take, [(one,) for one in fields]
    yield "template: an int", take, [(3,)]
    yield "template: ints in turns", take, [(3,), (4,)]
    yield "template: equal ints, other objects", take, [(int("1000"),), (int("1000"),)]
    yield "template: equal floats, other objects", take, [(float("1.5"),), (float("1.5"),)]
    yield "template: functions in turns", apply, [(square,), (cube,)]
    yield "template: a vector", take, [(ti.Vector([1.0, 2.0]),)]
    yield "template: a list", take, [([1, 2],)]
    yield "template: a struct", take, [(particle(),)]
    yield from captures(fields)


def captures(fields: Sequence[Any]) -> Iterator[Kind]:
    """Calls of kernels that take names from around them."""
    x, y = fields[:2]
    number, down, table = 2.0, ti.Vector([0.0, -9.5]), [1, 2, 3]

    @ti.kernel
    def swap():
        x[0] = y[0]

    def swapped() -> None:
        nonlocal x, y
        x, y = y, x
        swap()

    @ti.kernel
    def constant():
        x[0] = number

    @ti.kernel
    def vector():
        x[0] = down[1]

    @ti.kernel
    def listed():
        for k in ti.static(range(3)):
            x[k] = table[k]

    yield "captured: a number", constant, [()]
    yield "captured: a vector", vector, [()]
    yield "captured: a list", listed, [()]
    yield "captured: fields swapped each time", swapped, [()]


def results() -> Iterator[Kind]:
    """Calls that give something."""

    @ti.kernel
    def number() -> ti.f32:
        return 1.5

    @ti.kernel
    def half() -> ti.f16:
        return 1.5

    @ti.kernel
    def vector() -> vec3:
        return vec3(1, 2, 3)

    @ti.kernel
    def struct() -> particle:
        return particle(m=2)

    @ti.kernel
    def several() -> (ti.i32, ti.f32):
        return 1, 2.5

    yield "gives a number", number, [()]
    yield "gives an f16", half, [()]
    yield "gives a vector", vector, [()]
    yield "gives a struct", struct, [()]
    yield "gives a tuple", several, [()]


def callers() -> Iterator[Kind]:
    """Calls in other ways, of other kernels."""
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def one(a: ti.f32):
        x[0] = a

    @ti.real_func
    def fibonacci(n: ti.i32) -> ti.i32:
        result = n
        if n > 1:
            result = fibonacci(n - 1) + fibonacci(n - 2)
        return result

    @ti.kernel
    def real():
        x[0] = fibonacci(3)

    @ti.kernel
    def asserts(a: ti.f32):
        assert a < 2

    @ti.kernel
    def silent(a: ti.i32):
        if a > 2:
            print(a)

    async def awaited() -> None:
        for _ in range(CALLS):
            one(1.0)

    yield "functools.partial", functools.partial(one, 1.0), [()]
    yield "map", lambda: list(map(one, (1.0,))), [()]
    yield "kernel with a real function", real, [()]
    yield "kernel that asserts", asserts, [(1.0,)]
    yield "kernel that might print", silent, [(1,)]
    yield "1000 calls in asyncio.run", lambda: asyncio.run(awaited()), [()]
    yield "1000 calls on each of 2 threads", lambda: on_threads(one), [()]


def on_threads(call: Callable[[float], Any]) -> None:
    """A thousand calls on each of two threads."""

    def run() -> None:
        for _ in range(CALLS):
            call(1.0)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def checked() -> Iterator[Kind]:
    """Calls in debug mode."""
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def one(a: ti.f32, b: array):
        x[0] = a + b[1]

    yield "debug=True", one, [(1.0, ti.ndarray(ti.f32, 4))]


class Calls:
    """Counts the calls that come to Python."""

    def __init__(self) -> None:
        self.count, plain = 0, Kernel.call_on

        def noted(kernel: Kernel, *args: Any) -> Any:
            self.count += 1
            return plain(kernel, *args)

        self._plain, self._noted = plain, noted

    def of(self, turn: Callable[[], None]) -> int:
        """How many of those that it makes."""
        self.count = 0
        setattr(Kernel, "call_on", self._noted)  # noqa: B010 - a method
        try:
            turn()
        finally:
            setattr(Kernel, "call_on", self._plain)  # noqa: B010
        return self.count


def turn_of(call: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], count: int) -> Callable[[], None]:
    """A function that makes so many calls."""
    given = [*islice(cycle(arguments), count)]

    def turn() -> None:
        for args in given:
            call(*args)

    return turn


def show(kinds: Iterator[Kind], words: Sequence[str]) -> None:
    """Print a line for each whose name has one of those words; all, if there are none."""
    chosen = [kind for kind in kinds if not words or any(word in kind[0] for word in words)]
    counts = [1 if name.startswith("1000") else CALLS for name, _, _ in chosen]
    turns = [turn_of(call, given, count) for (_, call, given), count in zip(chosen, counts)]
    slow = Calls()
    for turn in turns:
        turn()
    times = [float("inf")] * len(turns)
    for _ in range(ROUNDS):
        for k, (turn, count) in enumerate(zip(turns, counts)):
            began = time.perf_counter()
            turn()
            times[k] = min(times[k], 1e9 * (time.perf_counter() - began) / count)
    for (name, _, _), turn, spent in zip(chosen, turns, times):
        print(f"{name:42}{spent:10.0f} ns {slow.of(turn):6} of Python's")


def main() -> None:
    """Print the table."""
    words = sys.argv[1:]
    for kinds in (numbers, values, arrays, methods, templates, results, callers):
        ti.init(arch=ti.cpu)
        show(kinds(), words)
    ti.init(arch=ti.cpu, debug=True)
    show(checked(), words)


if __name__ == "__main__":
    main()
