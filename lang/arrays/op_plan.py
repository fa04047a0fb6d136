"""Kernels as operators of other libraries: which parameters are arguments, and which are results."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from weft.ir import types as ir
from weft.ir.errors import CompilationError, WeftError
from weft.ir.transforms.lower_tree_facts import written_arrays
from weft.ir.types import Prim, Tensor, f32, i32
from weft.lang.arrays.op_derivatives import draws_random_numbers
from weft.lang.calls.parameters import ArrayParameter, Compound, Parameter, Scalar, make_parameter
from weft.lang.errors import PrecisionWarning
from weft.lang.kernels.kernel import Kernel
from weft.lang.program.init import program
from weft.lang.translate.entry import Argument, translate_kernel

__all__ = ["OpPlan"]

_MOST_AXES = 4  # of an array whose annotation gives no number of axes
_MOST_TRIED = 256

Maker = Callable[..., Any]  # makes a result from the operator's arguments, by name


class OpPlan:
    """A kernel viewed as an operator: `makers` of the parameters that are results, and `mutated`, the names of the
    others that it writes to. `who` is the name of the function in messages, and `like_first` makes a result that is
    like the first array of the arguments."""

    def __init__(self, kernel: Any, out: Any, who: str, like_first: Maker) -> None:
        if not isinstance(kernel, Kernel):
            raise CompilationError(f"{who} takes a kernel, not {kernel!r}")
        self.kernel, self.label = kernel, f"kernel '{kernel.__name__}'"
        if kernel.results:
            raise CompilationError(
                f"{self.label} returns a value, but a kernel of {who} cannot return one: write the value to an array"
            )
        self.parameters = [_parameter(self.label, name, annotation) for name, annotation in kernel.params]
        names = [p.name for p in self.parameters]
        self.makers: dict[str, Maker] = (
            dict(out) if isinstance(out, dict) else dict.fromkeys((out,) if isinstance(out, str) else out, like_first)
        )
        arrays = [p.name for p in self.parameters if isinstance(p, ArrayParameter)]
        for one in self.makers:
            if one not in arrays:
                raise CompilationError(
                    f"out= names '{one}', which is not an array of {self.label}; its arrays are {', '.join(arrays)}"
                )
        self.inputs = [p for p in self.parameters if p.name not in self.makers]
        self.first = next((p.name for p in self.inputs if isinstance(p, ArrayParameter)), None)
        order = [*(p.name for p in self.parameters if p.name in self.makers), *(p.name for p in self.inputs)]
        self.draws = False  # whether it draws random numbers
        self._places = [order.index(name) for name in names]  # of the kernel's arguments among results and inputs
        written = self._written()
        self.mutated = tuple(p.name for p in self.inputs if p.name in written)
        for one in self.makers:
            if one not in written:
                raise CompilationError(f"out= names '{one}', but {self.label} does not write to it")

    def results(self, given: dict[str, Any]) -> dict[str, Any]:
        """New arrays for the results, in the order of the parameters, from the other arguments."""
        return {p.name: self.makers[p.name](**given) for p in self.parameters if p.name in self.makers}

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


def _parameter(label: str, name: str, annotation: Any) -> Parameter:
    made = make_parameter(name, annotation)
    if not isinstance(made, ArrayParameter | Scalar | Compound) or (
        isinstance(made, Compound) and not _is_vector(made)
    ):
        raise CompilationError(
            f"{label}: parameter '{name}' is {annotation!r}; parameters of an operator must be arrays, numbers "
            "or vectors"
        )
    return made


def _is_vector(parameter: Compound) -> bool:
    return isinstance(parameter.type, Tensor) and len(parameter.type.shape) == 1


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
