"""`ti.torch.op`: make a kernel an operator of PyTorch, for eager mode, `torch.compile` and autograd.

The operator is a `torch.library` custom op. The annotations of the kernel give its schema. The operator declares that
it mutates the tensors that the kernel's tree writes to, so `torch.compile` knows what it may reorder.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from weft.ir import types as ir
from weft.ir.errors import CompilationError, WeftError
from weft.ir.transforms.lower_tree_facts import written_arrays
from weft.ir.types import Prim, Tensor, f32, i32, u1
from weft.lang.arrays.op_derivatives import draws_random_numbers
from weft.lang.arrays.torch_gradients import register_backward, register_derived
from weft.lang.calls.parameters import ArrayParameter, Compound, Parameter, Scalar, make_parameter
from weft.lang.errors import ArgumentError, PrecisionWarning
from weft.lang.kernels.kernel import Kernel
from weft.lang.program.init import program
from weft.lang.translate.entry import Argument, translate_kernel

__all__ = ["op"]

_MOST_AXES = 4  # of an array whose annotation gives no number of axes
_MOST_TRIED = 256

# How to make new tensors from the operator's arguments, by name. It works for real tensors and for the fake tensors of
# `torch.compile`.
Maker = Callable[..., Any]


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
    a kernel that cannot be an operator, and ImportError without PyTorch (2.4 or later)."""
    torch = import_module("torch")
    if not isinstance(kernel, Kernel):
        raise CompilationError(f"ti.torch.op takes a kernel, not {kernel!r}")
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


class _Plan:
    """A kernel viewed as an operator: `makers` of the parameters that are results, and `mutated`, the names of the
    others that it writes to."""

    def __init__(self, kernel: Kernel, out: Any) -> None:
        self._torch = import_module("torch")
        self.kernel, self.label = kernel, f"kernel '{kernel.__name__}'"
        if kernel.results:
            raise CompilationError(
                f"{self.label} returns a value, but a kernel of ti.torch.op cannot return one: write the value "
                "to an array"
            )
        self.parameters = [_parameter(self.label, name, annotation) for name, annotation in kernel.params]
        names = [p.name for p in self.parameters]
        self.makers: dict[str, Maker] = self._makers(out)
        arrays = [p.name for p in self.parameters if isinstance(p, ArrayParameter)]
        for one in self.makers:
            if one not in arrays:
                raise CompilationError(
                    f"out= names '{one}', which is not an array of {self.label}; its arrays are {', '.join(arrays)}"
                )
        self.inputs = [p for p in self.parameters if p.name not in self.makers]
        self._first = next((p.name for p in self.inputs if isinstance(p, ArrayParameter)), None)
        order = [*(p.name for p in self.parameters if p.name in self.makers), *(p.name for p in self.inputs)]
        self.draws = False  # whether it draws random numbers
        self._places = [order.index(name) for name in names]  # of the kernel's arguments among results and inputs
        written = self._written()
        self.mutated = tuple(p.name for p in self.inputs if p.name in written)
        for one in self.makers:
            if one not in written:
                raise CompilationError(f"out= names '{one}', but {self.label} does not write to it")

    def _makers(self, out: Any) -> dict[str, Maker]:
        if isinstance(out, dict):
            return dict(out)
        return dict.fromkeys((out,) if isinstance(out, str) else out, self._like_first)

    def _like_first(self, **given: Any) -> Any:
        if self._first is None:
            raise ArgumentError(
                f"{self.label} has no tensor argument from which to take the shape of a result: use "
                "out={name: function}"
            )
        return self._torch.zeros_like(given[self._first], memory_format=self._torch.contiguous_format)

    def _written(self) -> set[str]:
        """Return the arrays that the kernel writes to. If the annotations are incomplete, likely arguments are
        tried."""
        error: Exception | None = None
        for arguments in itertools.islice(_candidates(self.parameters), _MOST_TRIED):
            try:
                with warnings.catch_warnings():  # they will be emitted for the types of a call
                    warnings.simplefilter("ignore", PrecisionWarning)
                    made = translate_kernel(self.kernel.function, arguments, (), program().config)
            except WeftError as why:
                error = error or why
                continue
            self.draws = draws_random_numbers(made.tree)
            return {self.parameters[index].name for index in written_arrays(made.tree)}
        raise CompilationError(
            f"{self.label}: Weft cannot tell which arrays it writes to without their types: give their ndim "
            "and dtype, as in ti.types.ndarray(dtype=ti.f32, ndim=2)"
        ) from error

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

    def results(self, given: dict[str, Any]) -> dict[str, Any]:
        """New tensors for the results, in the order of the parameters, from the other arguments."""
        return {p.name: self.makers[p.name](**given) for p in self.parameters if p.name in self.makers}

    def listed(self) -> list[str]:
        """The parameters of the operator as its schema writes them."""
        aliases = {name: number for number, name in enumerate(self.mutated)}
        return [_TYPES[type(p)](p, aliases.get(p.name)) for p in self.inputs]


def _answer(made: Sequence[Any]) -> Any:
    """Return the operator's return value for its results."""
    return None if not made else made[0] if len(made) == 1 else tuple(made)


def _parameter(label: str, name: str, annotation: Any) -> Parameter:
    made = make_parameter(name, annotation)
    if type(made) not in _TYPES or (isinstance(made, Compound) and not _is_vector(made)):
        raise CompilationError(
            f"{label}: parameter '{name}' is {annotation!r}; parameters of an operator must be arrays, numbers "
            "or vectors"
        )
    return made


def _is_vector(parameter: Compound) -> bool:
    return isinstance(parameter.type, Tensor) and len(parameter.type.shape) == 1


def _number(prim: Prim) -> str:
    return "float" if prim.is_float else "bool" if prim is u1 else "SymInt"


# How the schema writes a parameter, by its kind. `alias` is the number of a tensor that is written to.
_TYPES: dict[type, Callable[[Any, int | None], str]] = {
    ArrayParameter: lambda p, alias: f"Tensor{'' if alias is None else f'(a{alias}!)'} {p.name}",
    Scalar: lambda p, alias: f"{_number(p.prim)} {p.name}",
    Compound: lambda p, alias: f"{_number(p.type.elem)}[] {p.name}",
}


def _candidates(parameters: Sequence[Parameter]) -> Iterator[list[Argument]]:
    """Yield arguments that the kernel may accept, likely ones first."""
    open_axes = [p for p in parameters if isinstance(p, ArrayParameter) and p.annotation.ndim is None]
    alike = [(n,) * len(open_axes) for n in range(1, _MOST_AXES + 1)]
    mixed = itertools.product(range(1, _MOST_AXES + 1), repeat=len(open_axes))
    for axes in (*alike, *(one for one in itertools.islice(mixed, _MOST_TRIED) if one not in alike)):
        chosen = {p.name: n for p, n in zip(open_axes, axes)}
        for prim in (f32, i32):
            yield [_argument(p, chosen.get(p.name), prim) for p in parameters]


def _argument(parameter: Parameter, axes: int | None, prim: Prim) -> Argument:
    if not isinstance(parameter, ArrayParameter):
        return parameter.argument(None)
    annotation = parameter.annotation
    ndim = annotation.ndim if axes is None else axes
    assert ndim is not None
    return Argument(parameter.name, ir.array(annotation.element or prim, ndim), annotation)
