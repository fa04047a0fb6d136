"""`ti.ad.derivative`: the derivative of a function, computed in a kernel, or by one."""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import numpy as np

from weft.ir.errors import CompilationError, TypeMismatch
from weft.ir.types import Prim, Tensor, Type, element, shape_of
from weft.lang.autodiff.contexts import suspended
from weft.lang.data.derived import derived
from weft.lang.functions.source import source_of
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.translate.entry import translate_kernel
from weft.lang.translate.functions import FUNCTIONS, Call
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import to_expr
from weft.lang.values.builtins import Builtin
from weft.lang.values.kinds import Cell, Constant
from weft.lang.values.makers import MAKERS
from weft.lang.values.matrix import Matrix
from weft.lang.values.types import MatrixType, VectorType, prim_of_numpy

__all__ = ["derivative"]


class _Note:
    """The type of what a function returned, which the translator found."""

    type: Type | None = None


def _noted(*_: Any) -> Any:
    raise CompilationError("only the translator takes notes")


_note = Builtin("note_type", _noted, "Note the type of what a function returned.")


def _take_note(t: Translator, c: Call) -> None:
    note, value = c.args
    if value is None or isinstance(value, (tuple, list)):
        raise t.error("derivative takes a function that returns a number, a vector or a matrix", c.node, TypeMismatch)
    note.type = to_expr(t, value, c.node).type


FUNCTIONS[_note.name] = _take_note


@kernel
def _noting(note: Constant, function: Constant, rest: Constant, x: Cell) -> None:
    _note(note, function(x[None], *rest))


@kernel
def _evaluated(function: Constant, rest: Constant, x: Cell, out: Cell) -> None:
    out[None] = function(x[None], *rest)


def _in_python(function: Any, x: Any, *rest: Any) -> Any:
    """The derivative in Python, and in kernels that run as Python: forward mode of a kernel that calls the function."""
    if isinstance(function, FunctionType) and program().interprets:
        _check_source(function)
    numbers = x.values if isinstance(x, Matrix) else np.asarray(x)
    if numbers.dtype.kind != "f":
        raise TypeMismatch(f"the argument must be a float, or a vector or matrix of floats, not {x!r}")
    typed = isinstance(x, (Matrix, np.floating))
    given = MAKERS.ndarray(_type(prim_of_numpy(numbers.dtype) if typed else program().config.default_fp, numbers), ())
    given.from_numpy(numbers)
    type = _type_of_result(function, rest, given)
    out = MAKERS.ndarray(_type(element(type), np.empty(shape_of(type))), ())
    if len(numbers.shape + out.element_shape) > 2:
        raise TypeMismatch("the derivative has more than two axes: differentiate by each number")
    launch = _evaluated.derivative("jvp*").bind((function, rest, given, out), {})
    columns = list[Any]()
    for direction in np.eye(math.prod(numbers.shape)):
        derived(given, "dual").from_numpy(direction.reshape(numbers.shape))
        with suspended():
            launch()
        columns.append(derived(out, "dual").to_numpy())
    found = np.stack(columns, axis=-1).reshape(out.element_shape + numbers.shape)
    return Matrix.wrap(found) if found.ndim else found[()]


def _check_source(function: FunctionType) -> None:
    try:
        source_of(function)
    except CompilationError as error:
        raise CompilationError(
            "with arch=python, ti.ad.derivative cannot differentiate a lambda or function that is written in a kernel: "
            "make it a @ti.func"
        ) from error


def _type_of_result(function: Any, rest: Any, given: Any) -> Type:
    note, args = _Note(), (function, rest, given)
    current = _noting._program()
    translate_kernel(_noting.function, _noting._arguments(None, (note, *args), exposed=False), (), current.config)
    if note.type is None or not isinstance(note.type, (Prim, Tensor)) or not element(note.type).is_float:
        raise TypeMismatch(
            f"the result of the function must be a float, or a vector or matrix of floats, not {note.type}"
        )
    return note.type


def _type(prim: Any, numbers: Any) -> Any:
    shape = numbers.shape
    if not shape:
        return prim
    return VectorType(shape[0], prim) if len(shape) == 1 else MatrixType(shape[0], shape[1], prim)


derivative = Builtin(
    "derivative",
    _in_python,
    """The derivative of a function by its first argument, as a value in a kernel.

    Example:
        points, slopes = ti.Vector.field(2, ti.f64, 3), ti.Vector.field(2, ti.f64, 3)

        @ti.func
        def height(p):
            return p.x * p.y ** 2

        @ti.kernel
        def compute():
            for i in points:
                slopes[i] = ti.ad.derivative(height, points[i])

        points.fill(3.0)
        compute()
        slopes[0].to_list()         # [9.0, 18.0]

    `ti.ad.derivative(f, x, ...)` calls `f(x, ...)`. `f` is a `@ti.func`, a lambda, or any other function that a kernel
    can call. `x` is a float, or a vector or matrix of floats. The result has the axes of what `f` returns, and then
    those of `x`: a number for two numbers, the gradient for a vector and a number, the Jacobian matrix for two vectors.

    The compiler differentiates the function by forward mode, once for each number of `x`. Nothing is stored. `f` may
    take derivatives itself, which gives second derivatives, and a kernel that uses this can be differentiated. Other
    arguments and fields that `f` reads are constants. Raises CompilationError, with the line, if `f` stores what
    depends on `x` to a field or array or passes it to a real function, and TypeMismatch for values that are no floats,
    and for more than two axes. With arch=python, `f` must not be written in the kernel.""",
)
