"""`ti.graph`: a sequence of kernel calls that is defined once and run many times with different arguments.

    x, dt = graph.Arg(graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1), graph.Arg(graph.ArgKind.SCALAR, "dt", ti.f32)
    builder = graph.GraphBuilder()
    builder.dispatch(advance, x, dt)
    step = builder.compile()
    step.run({"x": positions, "dt": 0.1})

Each run checks its arguments once, under the names that the graph gives them. The calls are ordinary kernel calls: the
first run compiles the kernels, and later runs call the machine code directly."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim
from weft.lang.calls.parameters import ArrayParameter, Compound, Parameter, Scalar, make_parameter
from weft.lang.data.ndarray import Ndarray
from weft.lang.errors import ArgumentError
from weft.lang.values.types import MatrixType, primitive, to_ir

__all__ = ["Arg", "ArgKind", "Graph", "GraphBuilder", "Sequential"]


class ArgKind(Enum):
    """The kinds of graph arguments: SCALAR, MATRIX (vectors too) and NDARRAY. TEXTURE and RWTEXTURE are Taichi's; Weft
    has no textures.

    Example:
        [kind.name for kind in ti.graph.ArgKind][:3]  # ['SCALAR', 'MATRIX', 'NDARRAY']
    """

    SCALAR = "a number"
    MATRIX = "a vector or matrix"
    NDARRAY = "an ndarray"
    TEXTURE = "a texture"
    RWTEXTURE = "a texture that is written"


class Arg:
    """An argument of a graph, by name. `dtype` is a primitive for SCALAR, a vector or matrix type for MATRIX, and
    either for NDARRAY, which has `ndim` axes. Raises TypeMismatch if these do not fit.

    Example:
        ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=2).name  # 'x'
        ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32)  # raises TypeMismatch
    """

    def __init__(self, tag: Any, name: Any, dtype: Any = None, ndim: Any = None) -> None:
        if not isinstance(tag, ArgKind) or not isinstance(name, str):
            raise TypeMismatch(f"Arg takes an ArgKind and a name, not {tag!r} and {name!r}")
        if tag in (ArgKind.TEXTURE, ArgKind.RWTEXTURE):
            raise TypeMismatch(f"argument '{name}': textures are not implemented yet")
        self.tag: ArgKind = tag
        self.name: str = name
        self.ndim = ndim
        self.dtype: Any = dtype if isinstance(dtype, MatrixType) else primitive(dtype)
        if (tag is ArgKind.MATRIX and isinstance(self.dtype, Prim)) or (
            tag is ArgKind.SCALAR and not isinstance(self.dtype, Prim)
        ):
            raise TypeMismatch(f"argument '{name}' is {tag.value}: its dtype cannot be {dtype!r}")
        if ndim is not None and (not isinstance(ndim, int | np.integer) or ndim < 0):
            raise TypeMismatch(f"argument '{name}': ndim must be a number of axes, not {ndim!r}")
        if (ndim is not None) is not (tag is ArgKind.NDARRAY):
            raise TypeMismatch(f"argument '{name}' is {tag.value}: {'say its' if ndim is None else 'it has no'} ndim")

    def __repr__(self) -> str:
        axes = f", ndim={self.ndim}" if self.ndim is not None else ""
        return f"Arg({self.tag.name}, '{self.name}', {self.dtype!r}{axes})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arg) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.tag, self.name, to_ir(self.dtype), self.ndim

    def check(self, value: Any) -> None:
        """Raise ArgumentError unless `value` fits this argument. (The kernels check numbers and vectors.)"""
        if not isinstance(value, Ndarray) or self.tag is not ArgKind.NDARRAY:
            return
        if (to_ir(value.element_type), len(value.shape)) != (to_ir(self.dtype), self.ndim):
            found = f"an ndarray of {value.element_type!r} with {len(value.shape)} axes"
            raise ArgumentError(f"the graph's argument {self!r} cannot be {found}")


class Sequential:
    """A sequence of calls, of `GraphBuilder.create_sequential`. It can be appended several times.

    Example:
        x = ti.field(ti.i32, ())

        @ti.kernel
        def add(amount: ti.i32):
            x[None] += amount

        builder = ti.graph.GraphBuilder()
        steps = builder.create_sequential()
        steps.dispatch(add, 3)
        builder.append(steps)
        builder.append(steps)
        builder.compile().run({})
        x[None]  # 6
    """

    def __init__(self) -> None:
        self.calls: list[tuple[Any, tuple[Any, ...]]] = []

    def dispatch(self, kernel_fn: Any, *args: Any) -> None:
        """Add a call of `kernel_fn`. Each of `args` is an Arg, or a value that is the same in every run. Raises
        ArgumentError if the kernel takes other arguments."""
        if not getattr(kernel_fn, "is_kernel", False):
            raise ArgumentError(f"dispatch takes a kernel, not {kernel_fn!r}")
        kernel = getattr(kernel_fn, "kernel", kernel_fn)  # unwrap a method
        if len(args) != len(kernel.params):
            raise ArgumentError(f"kernel '{kernel.__name__}' takes {len(kernel.params)} arguments, got {len(args)}")
        for (name, annotation), arg in zip(kernel.params, args, strict=True):
            if isinstance(arg, Arg) and not _fits(arg, make_parameter(name, annotation)):
                raise ArgumentError(
                    f"parameter '{name}' of kernel '{kernel.__name__}' is annotated {annotation!r}, which does "
                    f"not accept {arg!r}"
                )
        self.calls.append((kernel_fn, args))


def _fits(arg: Arg, parameter: Parameter) -> bool:
    if isinstance(parameter, ArrayParameter):
        wanted = parameter.annotation
        of_elements = wanted.element_dim or wanted.element in (None, to_ir(arg.dtype))
        return arg.tag is ArgKind.NDARRAY and bool(of_elements) and wanted.ndim in (None, arg.ndim)
    if isinstance(parameter, Scalar):
        return arg.tag is ArgKind.SCALAR
    return not isinstance(parameter, Compound) or (
        arg.tag is ArgKind.MATRIX and to_ir(parameter.annotation) is to_ir(arg.dtype)
    )


class GraphBuilder(Sequential):
    """Collects calls: its own, and those of the sequences that are appended. `compile` makes a graph of them.

    Example:
        @ti.kernel
        def scale(x: ti.types.ndarray(ti.f32, 1), factor: ti.f32):
            for i in x:
                x[i] *= factor

        x = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
        factor = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "factor", ti.f32)
        builder = ti.graph.GraphBuilder()
        builder.dispatch(scale, x, factor)
        twice = builder.create_sequential()
        twice.dispatch(scale, x, factor)
        builder.append(twice)
        graph = builder.compile()
        data = ti.ndarray(ti.f32, 3)
        data.fill(1.0)
        graph.run({"x": data, "factor": 3.0})
        data.to_numpy().tolist()  # [9.0, 9.0, 9.0]
    """

    def create_sequential(self) -> Sequential:
        """Make a sequence that can be appended any number of times."""
        return Sequential()

    def append(self, node: Any) -> None:
        """Append all current calls of `node`. Raises ArgumentError unless `create_sequential` made it."""
        if not isinstance(node, Sequential):
            raise ArgumentError(f"append takes a sequence that create_sequential made, not {node!r}")
        self.calls.extend(node.calls)

    def compile(self) -> Graph:
        """Make the graph. Raises ArgumentError if two different arguments have the same name."""
        return Graph(self.calls)


class Graph:
    """The result of `GraphBuilder.compile`: calls whose arguments are given to each run.

    Example:
        x = ti.field(ti.i32, ())

        @ti.kernel
        def add(amount: ti.i32):
            x[None] += amount

        builder = ti.graph.GraphBuilder()
        builder.dispatch(add, ti.graph.Arg(ti.graph.ArgKind.SCALAR, "amount", ti.i32))
        graph = builder.compile()
        graph.run({"amount": 2})
        graph.run({"amount": 5})
        x[None]  # 7
    """

    def __init__(self, calls: Any) -> None:
        if not isinstance(calls, list):
            raise ArgumentError(f"a graph takes a list of calls, not {calls!r}: make graphs with GraphBuilder.compile")
        if not all(isinstance(call, tuple) and len(call) == 2 for call in calls):
            raise ArgumentError(
                "a graph takes pairs of a kernel and its arguments: make graphs with GraphBuilder.compile"
            )
        self._args: dict[str, Arg] = {}
        for arg in (arg for _, args in calls for arg in args if isinstance(arg, Arg)):
            known = self._args.setdefault(arg.name, arg)
            if known != arg:
                raise ArgumentError(f"'{arg.name}' is {known!r} in one call, but {arg!r} in another")
        self._calls: list[tuple[Any, tuple[Any, ...]]] = list(calls)

    def run(self, args: Any) -> None:
        """Run all calls, with the arguments by name. Raises ArgumentError for a missing or unknown argument, or one
        that does not fit."""
        if not isinstance(args, Mapping):
            raise ArgumentError(f"run takes a dict from the names of arguments to their values, not {args!r}")
        missing, unknown = self._args.keys() - args.keys(), args.keys() - self._args.keys()
        if missing or unknown:
            what = f"needs '{min(missing)}'" if missing else f"has no argument '{min(unknown)}'"
            raise ArgumentError(f"the graph {what}; its arguments are {', '.join(self._args) or 'none'}")
        for name, arg in self._args.items():
            arg.check(args[name])
        for kernel, given in self._calls:
            kernel(*[args[one.name] if isinstance(one, Arg) else one for one in given])
