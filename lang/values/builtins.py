"""Functions that kernels and Python both call: `ti.sin`, `ti.select`, `ti.atomic_add`, `ti.ndrange` ...

Each function is a `Builtin`: a name, and its implementation for Python scope. The translator and the interpreter
dispatch on the name, or on the row of the UNARY or BINARY table with that name. Python calls the implementation. In
Python scope, numpy scalars and matrices follow the type rules of kernels. Python's own numbers are 64 bits wide unless
they are combined with a typed value."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable, Iterator
from inspect import Signature
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from weft.ir.boxes import points
from weft.ir.errors import CompilationError, TypeMismatch, WeftError
from weft.ir.scalar import BINARY, UNARY, binary_type, cast_value, promote, unary_type
from weft.ir.types import Prim, f64, i64, u1
from weft.lang.arguments import FAULTS, unfit
from weft.lang.errors import StaticAssertion
from weft.lang.program.init import program, python_random
from weft.lang.values.documentation import documented, signature
from weft.lang.values.makers import MAKERS
from weft.lang.values.scope import is_whole, result, typed, with_types
from weft.lang.values.types import prim_of_numpy, primitive

__all__ = ["BUILTINS", "Builtin", "PyFunc", "apply_binary", "apply_unary", "ndrange", "pyfunc", "strong_type"]

BUILTINS: dict[str, Builtin] = {}
# The functions of numbers that work on fields and ndarrays element by element.
ELEMENTWISE: frozenset[str] = frozenset(
    (*UNARY, *BINARY, "select", "cast", "isnan", "isinf", "logical_and", "logical_or")
)
_USUAL = frozenset((bool, int, float))


def any_whole(args: tuple[Any, ...]) -> bool:
    """Whether one of these is a whole field or ndarray."""
    return not _USUAL.issuperset(map(type, args)) and builtins.any(map(is_whole, args))


@documented(is_library=False)
class Builtin:
    """A function of the language. The translator dispatches on `name`. A call in Python runs `python`. `names_type`
    says that the call names the type of its result, so the result keeps that type. The stubs document it; `doc` is for
    those that they do not have."""

    def __init__(self, name: str, python: Callable[..., Any], doc: str = "", names_type: bool = False) -> None:
        self.name, self.python, self.names_type, self.own_documentation = name, python, names_type, doc
        self.__name__ = name
        BUILTINS[name] = self

    @property
    def __signature__(self) -> Signature:
        return signature(self.__name__) or inspect.signature(self.python)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if not keywords and any_whole(args) and self.name in ELEMENTWISE:
            return MAKERS.arrays().apply_function(self.name, args)
        try:
            value = self.python(*args, **keywords)
            return value if self.names_type else result(value, args)
        except WeftError:
            raise
        except FAULTS as fault:
            raise unfit(self.__name__, (*args, *keywords.values()), fault) from None

    def __repr__(self) -> str:
        return f"<builtin {self.name}>"


@documented(is_library=True)
class PyFunc:
    """A function that kernels inline, as they inline a `@func`, and that Python calls. `function` is the plain Python
    function. The stubs say more of those of Weft than the function itself."""

    is_pyfunc = True

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._is_ours = (function.__module__ or "").startswith("weft.lang.")
        if self._is_ours:
            self.own_documentation = self.__dict__.pop("__doc__")

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self._is_ours:
            try:
                return result(with_types(self.function, *args, **keywords), args)
            except WeftError:
                raise
            except FAULTS as fault:
                raise self._unfit((*args, *keywords.values()), fault) from None
        return self.function(*args, **keywords)

    def _unfit(self, arguments: tuple[Any, ...], fault: Exception) -> TypeMismatch:
        name = self.function.__name__
        if isinstance(fault, AttributeError) and any(fault.obj is one for one in arguments):
            return TypeMismatch(f"{name} takes a vector or matrix, not a value of type {type(fault.obj).__name__}")
        return unfit(name, arguments, fault)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        return self.function.__qualname__  # copy and pickle it by name, as Python does with functions


def pyfunc(function: Callable[..., Any]) -> PyFunc:
    """Make `function` callable in kernels, which inline it, and in Python. Raises CompilationError for anything that is
    not written with `def`.

    Example:
        @ti.pyfunc
        def lerp(a, b, t):
            return a + (b - a) * t

        @ti.kernel
        def middle(a: ti.f32, b: ti.f32) -> ti.f32:
            return lerp(a, b, 0.5)

        middle(2.0, 4.0), lerp(2.0, 4.0, 0.5)  # (3.0, 3.0)
    """
    if not isinstance(function, FunctionType):
        raise CompilationError(f"@ti.pyfunc must decorate a function that is written with 'def', not {function!r}")
    return PyFunc(function)


def _values(x: Any) -> Any:
    return getattr(x, "values", x)


def _rewrap(result: Any) -> Any:
    if isinstance(result, np.ndarray) and result.ndim:
        return MAKERS.matrix(result)
    return result


def strong_type(x: Any) -> Prim | None:
    """The primitive type of a numpy value or a matrix. None for a Python number, which takes the type of the other
    operand."""
    values = _values(x)
    # Compare exact types: numpy.float64 is a subclass of Python's float.
    return None if type(values) in (bool, int, float) else prim_of_numpy(np.asarray(values).dtype)


def _weak_type(x: Any) -> Prim:
    return u1 if isinstance(x, bool) else i64 if isinstance(x, int) else f64


def _common(a: Any, b: Any) -> tuple[Prim, Prim]:
    """The types of both operands. A Python number takes the type of the other operand unless it would lose its
    fraction."""
    left, right = strong_type(a), strong_type(b)
    if left is None and right is None:
        return _weak_type(a), _weak_type(b)
    if left is None or right is None:
        number, strong = (a, right) if left is None else (b, left)
        assert strong is not None
        fits = strong.is_float or isinstance(number, bool) or (isinstance(number, int) and strong is not u1)
        weak = strong if fits else _weak_type(number)
        return (weak, strong) if left is None else (strong, weak)
    return left, right


def _float_for(*prims: Prim) -> Prim:
    """The float type that integers are converted to: `default_fp`, or f64 if an operand is as wide as Python's
    numbers."""
    return f64 if builtins.any(prim.bits == 64 for prim in prims) else program().config.default_fp


def apply_unary(kind: str, x: Any) -> Any:
    """Apply row `kind` of UNARY to a number or a matrix. Raises TypeError if the row does not take this type."""
    values = _values(x)
    prim = strong_type(x) or _weak_type(values)
    operand, _ = unary_type(kind, prim, _float_for(prim))
    return _rewrap(UNARY[kind].evaluate(cast_value(values, operand)))


def apply_binary(kind: str, a: Any, b: Any) -> Any:
    """Apply row `kind` of BINARY to numbers or matrices, element by element. A scalar is combined with every element.
    Raises TypeMismatch for different shapes and TypeError for types that the row does not take."""
    left, right = _values(a), _values(b)
    if np.ndim(left) and np.ndim(right) and np.shape(left) != np.shape(right):
        raise TypeMismatch(f"'{kind}' of shapes {np.shape(left)} and {np.shape(right)}: the shapes must be equal")
    prims = _common(a, b)
    lhs, rhs, _ = binary_type(kind, *prims, _float_for(*prims))
    return _rewrap(BINARY[kind].evaluate(cast_value(left, lhs), cast_value(right, rhs)))


def _unary(name: str) -> Builtin:
    return Builtin(name, lambda x: apply_unary(name, x))


def _rounding(name: str) -> Builtin:
    def run(x: Any, dtype: Any = None) -> Any:
        result = apply_unary(name, x)
        return result if dtype is None else _cast(result, dtype)

    return Builtin(name, run)


def _binary(name: str) -> Builtin:
    return Builtin(name, lambda a, b: apply_binary(name, a, b))


def _nary(name: str) -> Builtin:
    def run(*values: Any) -> Any:
        if len(values) < 2:
            raise TypeMismatch(f"{name} takes at least two values, got {len(values)}")
        return functools.reduce(lambda a, b: apply_binary(name, a, b), values)

    return Builtin(name, run)


abs = _unary("abs")
sign = _unary("sign")
bit_not = _unary("bit_not")
logical_not = _unary("not")
floor = _rounding("floor")
ceil = _rounding("ceil")
trunc = _rounding("trunc")
round = _rounding("round")
sqrt = _unary("sqrt")
rsqrt = _unary("rsqrt")
sin = _unary("sin")
cos = _unary("cos")
tan = _unary("tan")
asin = _unary("asin")
acos = _unary("acos")
atan = _unary("atan")
sinh = _unary("sinh")
cosh = _unary("cosh")
tanh = _unary("tanh")
exp = _unary("exp")
exp2 = _unary("exp2")
log = _unary("log")
log2 = _unary("log2")
popcnt = _unary("popcnt")
clz = _unary("clz")

atan2 = _binary("atan2")
pow = _binary("pow")
raw_div = _binary("raw_div")
raw_mod = _binary("raw_mod")
bit_shr = _binary("bit_shr")
bit_sar = _binary("shr")
bit_shl = _binary("shl")
max = _nary("max")
min = _nary("min")


def _truth(x: Any) -> Any:
    return cast_value(_values(x), u1)


logical_and = Builtin("logical_and", lambda a, b: _rewrap(_truth(a) & _truth(b)))
logical_or = Builtin("logical_or", lambda a, b: _rewrap(_truth(a) | _truth(b)))


def _select(condition: Any, a: Any, b: Any) -> Any:
    shapes = {np.shape(_values(x)) for x in (condition, a, b)} - {()}
    if len(shapes) > 1:
        raise TypeMismatch(f"'select' of shapes {', '.join(map(str, sorted(shapes)))}: the shapes must be equal")
    common = promote(*_common(a, b))
    left, right = cast_value(_values(a), common), cast_value(_values(b), common)
    return _rewrap(np.where(_truth(condition), left, right)[()])


def _cast(x: Any, dtype: Any) -> Any:
    return _rewrap(cast_value(_values(x), primitive(dtype)))


def _bit_cast(x: Any, dtype: Any) -> Any:
    prim = primitive(dtype)
    config = program().config
    values = _values(x)
    if strong_type(x) is None:
        values = cast_value(values, config.default_fp if isinstance(values, float) else config.default_ip)
    array = np.asarray(values)
    if array.dtype.itemsize != prim.size:
        raise TypeMismatch(f"bit_cast needs types of the same size, not {prim_of_numpy(array.dtype)} and {prim}")
    return _rewrap(array.view(prim.np)[()])


def _randn(dtype: Any = float) -> Any:
    return primitive(dtype).np.type(program().random.gauss(0.0, 1.0))


def _frexp(x: Any) -> tuple[Any, Any]:
    prim = strong_type(x) or _weak_type(x)
    mantissa, exponent = np.frexp(cast_value(_values(x), prim if prim.is_float else _float_for(prim)))
    return _rewrap(mantissa), _rewrap(exponent)


select = Builtin("select", _select)
ifte = Builtin("ifte", lambda c, a, b: a if c else b)
cast = Builtin("cast", _cast, names_type=True)
bit_cast = Builtin("bit_cast", _bit_cast, names_type=True)
random = Builtin(
    "random",
    lambda dtype=float: python_random(primitive(dtype)),
)
randn = Builtin("randn", _randn)
frexp = Builtin("frexp", _frexp)


def _kernel_only(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise CompilationError(f"{name} works only in kernels: in Python it cannot change its target")

    return refuse


def _atomic(kind: str) -> Builtin:
    name = f"atomic_{kind}"
    return Builtin(
        name,
        _kernel_only(name),
    )


atomic_add, atomic_sub, atomic_mul = _atomic("add"), _atomic("sub"), _atomic("mul")
atomic_min, atomic_max = _atomic("min"), _atomic("max")
atomic_and, atomic_or, atomic_xor = _atomic("and"), _atomic("or"), _atomic("xor")


class ndrange:
    """All index tuples of a box: `ndrange(n, (begin, end), ...)`. The last axis varies fastest.

    In a kernel, a loop over it is one parallel loop. In Python, it iterates over the tuples. `bounds` holds (begin,
    end) for each axis. Raises TypeMismatch for an axis that is neither a number nor a pair.

    Example:
        x = ti.field(ti.i32, (4, 6))

        @ti.kernel
        def inner():
            for i, j in ti.ndrange((1, 3), (1, 5)):
                x[i, j] = 1

        inner()
        x.sum()  # 8
        list(ti.ndrange(2, (5, 7)))  # [(0, 5), (0, 6), (1, 5), (1, 6)]
        len(ti.ndrange(10, 20)), ti.ndrange(10, 20).dimensions  # (200, [10, 20])
        [list(I) for I in ti.ndrange(1, 2).grouped()]  # [[0, 0], [0, 1]]
    """

    def __init__(self, *extents: Any) -> None:
        self.bounds: list[tuple[Any, Any]] = []
        for extent in extents:
            if isinstance(extent, tuple | list):
                if len(extent) != 2:
                    raise TypeMismatch(f"an axis of ndrange must be an extent or (begin, end), not {extent!r}")
                self.bounds.append((extent[0], extent[1]))
            else:
                self.bounds.append((0, extent))
        for bound in (bound for axis in self.bounds for bound in axis):
            if bound is None or isinstance(bound, str | tuple | list | dict | set):
                raise TypeMismatch(
                    f"an axis of ndrange must be an extent or (begin, end) of whole numbers, not {bound!r}"
                )

    @property
    def dimensions(self) -> list[Any]:
        """The extent of each axis, a list of integers; 0 for an axis that ends before it begins."""
        return [builtins.max(0, end - begin) for begin, end in self.bounds]

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return points([range(int(begin), int(end)) for begin, end in self.bounds])

    def __len__(self) -> int:
        return int(np.prod(self.dimensions, dtype=np.int64))

    def grouped(self) -> Iterator[Any]:
        """The index tuples as vectors, one vector for each iteration."""
        return _grouped(self)


def _grouped(over: Any) -> Iterator[Any]:
    if not isinstance(over, ndrange) and not isinstance(getattr(over, "shape", None), tuple | list):
        raise TypeMismatch(f"grouped takes an ndrange, a field or an array, not {over!r}")
    indices = over if isinstance(over, ndrange) else ndrange(*over.shape)
    whole = primitive(int).np
    return (MAKERS.matrix(np.array(index, whole)) for index in indices)


def _static(x: Any, *more: Any) -> Any:
    return (x, *more) if more else x


def _static_assert(condition: Any, message: Any = None) -> None:
    if not condition:
        raise StaticAssertion(str(message) if message is not None else "static_assert failed")


def _filled(value: int) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        if hasattr(x, "values"):
            return _rewrap(np.full_like(x.values, value))
        if not isinstance(x, int | float | np.number | np.bool_):
            raise TypeMismatch(f"expected a number, vector or matrix, not {x!r}")
        return type(x)(value)

    return run


def _predicate(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: _rewrap(function(_values(x)))


static = Builtin(
    "static",
    _static,
)
grouped = Builtin("grouped", _grouped)


def _loop_config(
    *, block_dim: Any = None, serialize: Any = None, parallelize: Any = None, block_dim_adaptive: Any = None, **_: Any
) -> Any:
    raise CompilationError("loop_config works only in a kernel: call it directly before the loop that it configures")


loop_config = Builtin("loop_config", _loop_config)
static_print = Builtin("static_print", print)
static_assert = Builtin("static_assert", _static_assert)
zero = Builtin("zero", _filled(0))
one = Builtin("one", _filled(1))
isnan = Builtin("isnan", _predicate(np.isnan))
isinf = Builtin("isinf", _predicate(np.isinf))
any = Builtin("any", lambda x: bool(np.any(_values(x))), "Whether some element of a matrix is nonzero.")
all = Builtin("all", lambda x: bool(np.all(_values(x))), "Whether every element of a matrix is nonzero.")
block_local = Builtin("block_local", lambda *_: None)
cache_read_only = Builtin("cache_read_only", lambda *_: None)
assume_in_range = Builtin("assume_in_range", lambda x, base, low, high: x)


def _in_kernels(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise CompilationError(f"{name} works only in a kernel")

    return refuse


def _on_cells(name: str) -> Builtin:
    return Builtin(name, _in_kernels(name))


def _stopped(x: Any) -> Any:
    if is_whole(x) and not typed.get():
        raise CompilationError(
            "stop_grad of a field works only in a kernel, for the rest of a block; no tape records the kernels that a "
            "function with @ti.ad.no_grad launches"
        )
    return x


activate = _on_cells("activate")
deactivate = _on_cells("deactivate")
is_active = _on_cells("is_active")
length = _on_cells("length")
append = _on_cells("append")
no_activate = _on_cells("no_activate")
stop_grad = Builtin("stop_grad", _stopped)
