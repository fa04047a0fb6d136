"""`ti.torch.op`: make a kernel an operator of PyTorch, for eager mode, `torch.compile` and autograd.

The operator is a `torch.library` custom op. The annotations of the kernel give its schema. The operator declares that
it mutates the tensors that the kernel's tree writes to, so `torch.compile` knows what it may reorder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from weft.ir.errors import CompilationError
from weft.ir.types import Prim, u1
from weft.lang.arrays.op_plan import OpPlan
from weft.lang.arrays.torch_gradients import register_backward, register_derived
from weft.lang.calls.parameters import ArrayParameter, Compound, Scalar
from weft.lang.errors import ArgumentError
from weft.lang.kernels.kernel import Kernel

__all__ = ["op"]


def op(kernel: Any, name: str | None = None, *, out: Any = (), backward: Any = None) -> Any:
    """Register a kernel of arrays, numbers and vectors as an operator of PyTorch. Returns the operator.

    Without `out`, the operator mutates the tensors that the kernel writes to, and returns nothing. `out` names
    parameters that the operator creates and returns instead (a tuple, if several). They are tensors of zeros like its
    first tensor. If `out` is a dictionary, its functions create them from the other arguments, passed by name:
    `out={"y": lambda x, **_: x.new_zeros(x.shape[0])}`.

    An operator with `out` that writes to nothing else has gradients by its tensors of floats, and second gradients.
    They are those of the kernel, as `kernel.grad` computes them. A gradient raises CompilationError with the line if
    the kernel cannot be differentiated, and WeftError if it draws random numbers.

    `backward`, a kernel, computes gradients instead. Its parameters are recognized by their names: those of the
    operator's parameters and results; `grad_y`, the gradient with respect to result `y`; and `grad_x`, the gradient to
    compute for parameter `x`, which is zero at first.

    `name` is "namespace::name". The default is `weft::` with the kernel's module and name. Raises CompilationError for
    a kernel that cannot be an operator, and ImportError without PyTorch (2.4 or later).

    Example:
        import torch

        @ti.kernel
        def square(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
            for i in x:
                y[i] = x[i] * x[i]

        squared = ti.torch.op(square, name="docs::square", out="y")
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        squared(x).sum().backward()
        x.grad.tolist()  # [2.0, 4.0, 6.0]
    """
    torch = import_module("torch")
    made = _Plan(kernel, out)
    name = name or _name_of(kernel)
    operator = torch.library.custom_op(name, made.run, mutates_args=made.mutated, schema=made.schema())
    operator.register_fake(made.fake)
    if backward is not None:
        register_backward(torch, name, operator, made, _backward(made, backward))
    elif made.makers and not made.mutated:
        register_derived(torch, name, operator, made)
    return operator


def _backward(forward: _Plan, kernel: Any) -> _Plan:
    """The plan of the kernel that computes gradients."""
    if not forward.makers or forward.mutated:
        what = f"it changes '{forward.mutated[0]}'" if forward.mutated else "it has no results: name them with out="
        raise CompilationError(f"{forward.label} cannot have a backward kernel: {what}")
    if not isinstance(kernel, Kernel):
        raise CompilationError(f"backward= must be a kernel, not {kernel!r}")
    return _Plan(kernel, ())


def _name_of(kernel: Kernel) -> str:
    return "weft::" + re.sub(r"\W+", "_", f"{kernel.function.__module__}.{kernel.function.__qualname__}").strip("_")


class _Plan(OpPlan):
    """A kernel viewed as an operator of PyTorch."""

    def __init__(self, kernel: Any, out: Any) -> None:
        self._torch = import_module("torch")
        super().__init__(kernel, out, "ti.torch.op", self._like_first)

    def _like_first(self, **given: Any) -> Any:
        if self.first is None:
            raise ArgumentError(
                f"{self.label} has no tensor argument from which to take the shape of a result: use "
                "out={name: function}"
            )
        return self._torch.zeros_like(given[self.first], memory_format=self._torch.contiguous_format)

    def schema(self) -> str:
        """Return the schema of the operator."""
        results = ", ".join(["Tensor"] * len(self.makers))
        return f"({', '.join(self.listed())}) -> {results if len(self.makers) == 1 else f'({results})'}"

    def fake(self, *args: Any) -> Any:
        """Return the results without computing them."""
        return _answer(self._made(args))

    def run(self, *args: Any) -> Any:
        """Run the operator."""
        made = self._made(args)
        given = (*made, *args)
        self.kernel(*[given[place] for place in self._places])
        return _answer(made)

    def _made(self, args: Sequence[Any]) -> list[Any]:
        return list(self.results({p.name: value for p, value in zip(self.inputs, args)}).values())

    def listed(self) -> list[str]:
        """The parameters of the operator as its schema writes them."""
        aliases = {name: number for number, name in enumerate(self.mutated)}
        return [_TYPES[type(p)](p, aliases.get(p.name)) for p in self.inputs]


def _answer(made: Sequence[Any]) -> Any:
    """Return the operator's return value for its results."""
    return None if not made else made[0] if len(made) == 1 else tuple(made)


def _number(prim: Prim) -> str:
    return "float" if prim.is_float else "bool" if prim is u1 else "SymInt"


# How the schema writes a parameter, by its kind. `alias` is the number of a tensor that is written to.
_TYPES: dict[type, Callable[[Any, int | None], str]] = {
    ArrayParameter: lambda p, alias: f"Tensor{'' if alias is None else f'(a{alias}!)'} {p.name}",
    Scalar: lambda p, alias: f"{_number(p.prim)} {p.name}",
    Compound: lambda p, alias: f"{_number(p.type.elem)}[] {p.name}",
}
