"""`ti.jax.op`: make a kernel a function of JAX arrays, for `jax.jit` and `jax.grad`.

The function is a `jax.custom_vjp` around a `jax.pure_callback`, which launches the kernel. Its gradient is such a
function, too, and the gradient of that is a callback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from weft.ir.errors import CompilationError, WeftError
from weft.lang.arrays.op_derivatives import OpDerivatives
from weft.lang.arrays.op_plan import OpPlan
from weft.lang.calls.parameters import ArrayParameter
from weft.lang.errors import ArgumentError

__all__ = ["op"]


def op(kernel: Any, *, out: Any) -> Any:
    """Make a function of JAX arrays from a kernel of arrays, numbers and vectors. Returns the function.

    It takes the parameters of the kernel that `out` does not name, in order, and returns those that `out` names (a
    tuple, if several): new arrays, which the kernel gets filled with zeros. They have the shape and type of the first
    array argument. If `out` is a dictionary, its functions give them from the other arguments, passed by name:
    `out={"y": lambda x, **_: jax.ShapeDtypeStruct(x.shape[:1], x.dtype)}`. The kernel must write to nothing else.

    `jax.jit`, `jax.grad` and `jax.vjp` see the function, and `jax.vmap` calls it once for each element. Gradients by
    arrays of floats, and second gradients (reverse mode over reverse mode), are those of the kernel. Numbers and
    vectors are constants: pass Python numbers, and tuples.

    The arrays are in the memory of the CPU. Raises CompilationError for a kernel that cannot be such a function, and
    ImportError without JAX. A gradient raises CompilationError with the line if the kernel cannot be differentiated.

    Example:
        import jax.numpy as jnp

        @ti.kernel
        def square(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
            for i in x:
                y[i] = x[i] * x[i]

        squared = ti.jax.op(square, out="y")
        squared(jnp.array([1.0, 2.0, 3.0])).tolist()  # [1.0, 4.0, 9.0]
    """
    jax = import_module("jax")
    plan = OpPlan(kernel, out, "ti.jax.op", _like_first)
    if plan.mutated or not plan.makers:
        what = f"it changes '{plan.mutated[0]}'" if plan.mutated else "it writes to nothing"
        raise CompilationError(f"{plan.label} cannot be a function of JAX: {what}, and arrays of JAX are immutable")
    return _Function(jax, plan).function()


def _like_first(**given: Any) -> Any:
    first = next((one for one in given.values() if hasattr(one, "dtype")), None)
    if first is None:
        raise ArgumentError("no array argument gives the shape of a result: use out={name: function}")
    return first


class _Function:
    """The function, and its derivatives. Arguments are numbers first, then arrays, results, and gradients."""

    def __init__(self, jax: Any, plan: OpPlan) -> None:
        self._jax, self._plan = jax, plan
        self._arrays = [p.name for p in plan.inputs if isinstance(p, ArrayParameter)]
        self._numbers = [p.name for p in plan.inputs if not isinstance(p, ArrayParameter)]
        self._results = [p.name for p in plan.parameters if p.name in plan.makers]
        names = [p.name for p in plan.parameters]
        self._derivatives = OpDerivatives(plan.kernel, names, lambda like: np.zeros(like.shape, like.dtype))

    def function(self) -> Callable[..., Any]:
        """The function of the program: its arguments are in the order of the kernel."""
        called, inputs = self._differentiable(), [p.name for p in self._plan.inputs]

        def function(*args: Any) -> Any:
            if len(args) != len(inputs):
                raise ArgumentError(f"{self._plan.label} takes {', '.join(inputs)} from JAX, got {len(args)} arguments")
            given = dict(zip(inputs, args, strict=True))
            numbers = tuple(given[name] for name in self._numbers)
            made = called(numbers, *(given[name] for name in self._arrays))
            return made[0] if len(made) == 1 else made

        function.__name__, function.__doc__ = self._plan.kernel.__name__, self._plan.kernel.__doc__
        return function

    def _differentiable(self) -> Any:
        jax, gradient = self._jax, self._gradient()
        function = jax.custom_vjp(self._forward, nondiff_argnums=(0,))

        def keep(numbers: Any, *arrays: Any) -> Any:
            made = function(numbers, *arrays)
            return made, (arrays, made)

        def flow(numbers: Any, kept: Any, weights: Any) -> Any:
            arrays, made = kept
            return self._only_floats(arrays, gradient(numbers, *arrays, *made, *weights))

        function.defvjp(keep, flow)
        return function

    def _gradient(self) -> Any:
        jax, count, results = self._jax, len(self._arrays), len(self._results)
        function = jax.custom_vjp(self._backward, nondiff_argnums=(0,))

        def keep(numbers: Any, *given: Any) -> Any:
            return function(numbers, *given), given

        def flow(numbers: Any, given: Any, directions: Any) -> Any:
            arrays, weights = given[:count], given[count + results :]
            found = self._second(numbers, *given, *directions)
            by_arrays = self._only_floats(arrays, found[:count])
            return (*by_arrays, *[None] * results, *self._only_floats(weights, found[count:]))

        function.defvjp(keep, flow)
        return function

    # -- callbacks -----------------------------------------------------------------------------------------------------

    def _forward(self, numbers: Any, *arrays: Any) -> Any:
        def run(*arrays: Any) -> Any:
            given = self._given(numbers, arrays)
            made = self._made(given)
            self._plan.kernel(*({**given, **made}[p.name] for p in self._plan.parameters))
            return tuple(made.values())

        return self._call(run, self._shapes(self._given(numbers, arrays)), arrays)

    def _backward(self, numbers: Any, *given: Any) -> Any:
        def run(*given: Any) -> Any:
            values, weights, _ = self._split(numbers, given)
            wanted = self._floats(values, self._arrays)
            found = self._derivatives.gradient(values, lambda: self._made(values), weights, wanted)
            return self._filled(self._arrays, values, found)

        if self._plan.draws:
            raise WeftError(
                f"{self._plan.label} draws random numbers, which its gradient cannot draw again: pass them as an array"
            )
        return self._call(run, given[: len(self._arrays)], given)

    def _second(self, numbers: Any, *given: Any) -> Any:
        """The gradients of the gradient, by the arrays and by the weights."""

        def run(*given: Any) -> Any:
            values, weights, directions = self._split(numbers, given)
            wanted, made = self._floats(values, self._arrays), self._made(values)
            results = {name: made[name] for name in weights}
            duals = self._derivatives.along({**values, **made}, results, directions)
            found = self._derivatives.second(values, lambda: self._made(values), weights, duals, directions, wanted)
            return (*self._filled(self._arrays, values, found), *self._filled(self._results, values, duals))

        count = len(self._arrays)
        return self._call(run, given[: count + len(self._results)], given)

    def _call(self, run: Callable[..., Any], shapes: Sequence[Any], given: Sequence[Any]) -> Any:
        shapes = tuple(self._jax.ShapeDtypeStruct(one.shape, one.dtype) for one in shapes)
        return self._jax.pure_callback(run, shapes, *given, vmap_method="sequential")

    # -- the parts -----------------------------------------------------------------------------------------------------

    def _given(self, numbers: Any, arrays: Sequence[Any]) -> dict[str, Any]:
        """The arguments by name. Arrays are those of numpy, except while JAX traces the function."""
        own = [one if self._traced(one) else np.asarray(one) for one in arrays]
        return {**dict(zip(self._numbers, numbers, strict=True)), **dict(zip(self._arrays, own, strict=True))}

    def _traced(self, one: Any) -> bool:
        return isinstance(one, self._jax.core.Tracer)

    def _shapes(self, given: dict[str, Any]) -> list[Any]:
        """The shapes and types of the results."""
        ordered = {p.name: given[p.name] for p in self._plan.inputs}
        return [self._plan.makers[name](**ordered) for name in self._results]

    def _made(self, given: dict[str, Any]) -> dict[str, Any]:
        """Results as they are before the kernel runs."""
        shapes = zip(self._results, self._shapes(given), strict=True)
        return {name: np.zeros(one.shape, one.dtype) for name, one in shapes}

    def _split(self, numbers: Any, given: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Arguments, and copies of results, of the gradients of results, and of directions."""
        count, results = len(self._arrays), len(self._results)
        values = self._given(numbers, given[:count])
        values.update(zip(self._results, map(np.array, given[count : count + results]), strict=True))
        rest = [np.array(one) for one in given[count + results :]]
        weights, directions = dict(zip(self._results, rest[:results])), dict(zip(self._arrays, rest[results:]))
        return (
            values,
            {name: weights[name] for name in self._floats(values, self._results)},
            {name: one for name, one in directions.items() if name in self._floats(values, self._arrays)},
        )

    def _floats(self, values: dict[str, Any], names: Sequence[str]) -> list[str]:
        return [name for name in names if values[name].dtype.kind == "f"]

    def _filled(self, names: Sequence[str], values: dict[str, Any], found: dict[str, Any]) -> tuple[Any, ...]:
        """What was found, and zeros for integers."""
        return tuple(found.get(name, np.zeros(values[name].shape, values[name].dtype)) for name in names)

    def _only_floats(self, likes: Sequence[Any], found: Sequence[Any]) -> tuple[Any, ...]:
        """Gradients, and None for arrays of integers, which have none."""
        return tuple(one if np.dtype(like.dtype).kind == "f" else None for like, one in zip(likes, found, strict=True))
