"""The operators of a rewritten kernel (see `rewrite.py`): Weft's rules on numpy scalars and matrices.

A value is a numpy scalar of the exact type, a `Matrix`, or a `Struct`. Python numbers (literals, captured constants,
values of `static`) become `default_ip` or `default_fp` when they meet an operator or a variable.
"""

from __future__ import annotations

import builtins
import math
import operator
import sys
from collections.abc import Callable, Iterator
from functools import partial, reduce
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.scalar import BINARY, UNARY, binary_type, cast_value, promote, unary_type
from weft.ir.types import Prim, Tensor, u1
from weft.lang.data.field import Field
from weft.lang.data.snode_api import SNode
from weft.lang.data.struct_field import StructElement
from weft.lang.interpret.chains import Chains
from weft.lang.interpret.debugger import standard, stop
from weft.lang.interpret.faults import Loop, out_of_bounds, sound
from weft.lang.interpret.overflow import OVERFLOWS, silently, tell_overflow
from weft.lang.interpret.places import Grouped, box, cells_of, index_type
from weft.lang.interpret.random import draws, order_numbers
from weft.lang.interpret.references import References
from weft.lang.interpret.rewrite import HELPER, is_written
from weft.lang.interpret.sparse import ON_CELLS, dormant, list_at, list_method
from weft.lang.interpret.text import Texts
from weft.lang.interpret.types import captured, fit, is_known, is_value, keeping, own, stored, strong
from weft.lang.interpret.updates import Updates
from weft.lang.program.init import program
from weft.lang.values.argpack import Members
from weft.lang.values.builtins import Builtin, ndrange
from weft.lang.values.matrix import Matrix, Vector
from weft.lang.values.scope import choices
from weft.lang.values.struct import Struct
from weft.lang.values.types import CompoundType, MatrixType, prim_of_numpy, primitive
from weft.runtime.errors import KernelFault

__all__ = ["Semantics"]

# Python's own operators: for numbers that are known before the kernel runs, and for tuples, strings and types.
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "mod": operator.mod,
    "floordiv": operator.floordiv,
    "pow": operator.pow,
    "shl": operator.lshift,
    "shr": operator.rshift,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "matmul": operator.matmul,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_PYTHON_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg,
    "bit_not": operator.invert,
    "not": operator.not_,
    "abs": abs,
}


def unary(kind: str, x: Any) -> Any:
    """Apply row `kind` of UNARY."""
    if (is_known(x) or not is_value(x)) and kind in _PYTHON_UNARY:
        return _PYTHON_UNARY[kind](x)
    values = _values(x)
    operand, _ = unary_type(kind, _prim(values), program().config.default_fp)
    x = cast_value(values, operand)
    return _wrapped(_checked(kind, UNARY[kind].evaluate(x), x))


def binary(kind: str, a: Any, b: Any) -> Any:
    """Apply row `kind` of BINARY, elementwise. A scalar is combined with every element. `@` gives the matrix
    product."""
    if isinstance(a, str) and kind == "mod":
        return texts.percent(a, b)
    if kind in _PYTHON and ((is_known(a) and is_known(b)) or not (is_value(a) and is_value(b))):
        return _PYTHON[kind](a, b)
    if kind == "matmul":
        product = a @ b
        _checked(kind, _values(product), _values(a), _values(b))
        return product
    left, right = _values(a), _values(b)
    if np.ndim(left) and np.ndim(right) and np.shape(left) != np.shape(right):
        raise TypeMismatch(f"'{kind}' of shapes {np.shape(left)} and {np.shape(right)}: the shapes must be equal")
    lhs, rhs, _ = binary_type(kind, _prim(left), _prim(right), program().config.default_fp)
    return alike(kind, cast_value(left, lhs), cast_value(right, rhs))


def alike(kind: str, a: Any, b: Any) -> Any:
    """Apply the operator to values that have the type of the computation. Truth values add modulo 2."""
    left, right = _values(a), _values(b)
    return _wrapped(_checked(kind, BINARY[kind].evaluate(left, right), left, right))


def _checked(kind: str, result: Any, *operands: Any) -> Any:
    """Return `result` after the enabled checks."""
    if kind in OVERFLOWS and result.dtype.kind in "iu" and program().config.check_overflow:
        tell_overflow(kind, result, operands, HELPER)
    return sound(kind, result, *operands)


def _values(x: Any) -> Any:
    return x.values if isinstance(x, Matrix) else strong(x)


def _prim(x: Any) -> Prim:
    return prim_of_numpy(_values(x).dtype)


def _wrapped(result: Any) -> Any:
    return Matrix.wrap(result) if isinstance(result, np.ndarray) else result


def _cast(x: Any, dtype: Any) -> Any:
    if type(x) is int:  # a literal may be wider than default_ip
        return cast_value(x, primitive(dtype))
    values = _values(x)
    return _wrapped(sound("cast", cast_value(values, primitive(dtype)), values))


def _nary(kind: str) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        one = values[0] if len(values) == 1 else values
        return reduce(lambda a, b: binary(kind, a, b), one.values.ravel() if isinstance(one, Matrix) else one)

    return run


def _rounding(kind: str) -> Callable[..., Any]:
    return lambda x, dtype=None: unary(kind, x) if dtype is None else _cast(unary(kind, x), dtype)


def _range(*bounds: Any) -> Iterator[Any]:
    """Iterate like `range`. All bounds and indices have one type."""
    prim = index_type(bounds)
    limits = [int(_cast(bound, prim)) for bound in bounds]
    if len(limits) == 3 and limits[2] == 0:
        if program().config.debug:
            raise KernelFault("the step of a range is 0")
        return iter(())
    return map(prim.np.type, range(*limits))


def _select(condition: Any, a: Any, b: Any) -> Any:
    common = promote(_prim(a), _prim(b))
    left, right = cast_value(_values(a), common), cast_value(_values(b), common)
    return _wrapped(np.where(_values(condition) != 0, left, right)[()])


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """Apply `function` to kernel values. Python numbers get the default types."""

    def run(*args: Any, **keywords: Any) -> Any:
        return strong(function(*map(strong, args), **keywords))

    return run


def _randn(dtype: Any = float) -> Any:
    """Draw a normally distributed number by Box and Muller: sqrt(-2 ln(1 - u)) cos(2 pi v) of two uniform numbers in
    [0, 1)."""
    prim = primitive(dtype)
    u, v = draws().number(prim), draws().number(prim)
    one, minus_two, turn = (cast_value(x, prim) for x in (1.0, -2.0, 6.283185307179586))
    radius = unary("sqrt", binary("mul", minus_two, unary("log", binary("sub", one, u))))
    return binary("mul", radius, unary("cos", binary("mul", turn, v)))


def _loop_config(**settings: Any) -> None:
    draws().serialize = bool(settings.get("serialize", False))


def _sum(values: Any, start: Any = 0) -> Any:
    return reduce(lambda a, b: binary("add", a, b), values, start)


_ROUND = {name: _rounding(name) for name in ("floor", "ceil", "trunc", "round")}
_BY_NAME: dict[str, Callable[..., Any]] = {
    **{kind: (lambda x, kind=kind: unary(kind, x)) for kind in UNARY},
    **{kind: (lambda a, b, kind=kind: binary(kind, a, b)) for kind in BINARY},
    "min": _nary("min"),
    "max": _nary("max"),
    "cast": _cast,
    "select": _select,
    "grouped": Grouped,
    "random": lambda dtype=float: draws().number(primitive(dtype)),
    "randn": _randn,
    "loop_config": _loop_config,
    "static_print": lambda *_, **__: None,  # printed when the kernel was translated
    **_ROUND,
    **ON_CELLS,
}
# Inside a kernel, Python's own functions and those of `math` are the functions of the language.
_BY_FUNCTION: dict[Any, Callable[..., Any]] = {
    **{getattr(math, kind): _BY_NAME[kind] for kind in UNARY if hasattr(math, kind) and kind != "trunc"},
    **{getattr(builtins, kind): _BY_NAME[kind] for kind in ("abs", "min", "max", "pow", "round")},
    math.atan2: _BY_NAME["atan2"],
    math.pow: _BY_NAME["pow"],
    math.fabs: _BY_NAME["abs"],
    math.fmod: _BY_NAME["raw_mod"],
    range: _range,
    sum: _sum,
    int: lambda x=0: _cast(x, int),
    float: lambda x=0.0: _cast(x, float),
    bool: lambda x=False: _cast(x, u1),
}


def _from_matrix(function: Any) -> bool:
    """Return whether `function` makes or belongs to matrices: `Vector`, `Matrix.zero`, `v.cast`, `types.vector(3,
    f32)`."""
    if isinstance(function, (Builtin, CompoundType)) or function in (Matrix, Vector):
        return True
    return isinstance(function, FunctionType) and function.__module__ == Matrix.__module__


def _member(base: Any, name: str) -> Any:
    """Return `base.name`. A number from a struct field has the exact type of the member."""
    if isinstance(base, StructElement) and name in base.struct_type.members:
        return base._over.members[name].load(base._at)
    if (of_list := list_method(base, name)) is not None:
        return of_list
    if isinstance(base, Struct) and name in base.struct_type.members:
        return base.typed(name)
    found = getattr(base, name)
    return found if isinstance(base, (Matrix, Struct, Members)) else captured(found)


texts = Texts(strong, _member)


class Semantics(Chains, References, Updates):
    """The `__weft__` of one rewritten function: its operators, and the types of its parameters and result.

    `interpreted` returns the rewritten form of a Python function that is called."""

    def __init__(
        self,
        annotations: dict[str, Any],
        interpreted: Callable[[Callable[..., Any]], Callable[..., Any]],
        code: CodeType,
        file: str,
    ) -> None:
        super().__init__()
        self.annotations, self.returns, self.interpreted = annotations, annotations.get("return"), interpreted
        self.code, self.file = code, file
        self.loops: list[Loop] = []

    shown, formatted, failure = texts.shown, texts.formatted, texts.failure
    slice, captured = slice, staticmethod(captured)
    standard, stop = staticmethod(standard), staticmethod(stop)
    member = staticmethod(_member)
    strong, declare = staticmethod(strong), staticmethod(own)
    unary, binary, alike = staticmethod(unary), staticmethod(binary), staticmethod(alike)

    def assign(self, old: Any, value: Any) -> Any:
        """Return `value` for a variable that holds `old`."""
        return stored(old, value)

    @property
    def debug(self) -> bool:
        """Whether assertions are checked."""
        return program().config.debug

    def parameter(self, name: str, value: Any) -> Any:
        """Return an argument, passed by value. `self` is the object itself."""
        return value if name == "self" else fit(value, self.annotations.get(name))

    def annotated(self, value: Any, annotation: Any) -> Any:
        """Return the value of `x: annotation = value`."""
        return fit(strong(value), annotation)

    def result(self, value: Any) -> Any:
        """Return the result of `return value` in the annotated type; a tuple item by item."""
        wanted = getattr(self.returns, "__args__", self.returns)
        if isinstance(value, (tuple, list)) and isinstance(wanted, MatrixType):
            return wanted(list(value))
        if isinstance(value, (tuple, list)):
            parts = wanted if isinstance(wanted, (tuple, list)) else [None] * len(value)
            fitted = [fit(strong(item), part) for item, part in zip(value, parts, strict=True)]
            return tuple(self.chosen(0, position, item) for position, item in enumerate(fitted))
        return self.chosen(0, 0, fit(strong(value), wanted))

    def truth(self, x: Any) -> Any:
        """Return an operand of `and` or `or`. A value that is known beforehand stays unchanged."""
        return cast_value(x, u1) if isinstance(x, np.generic) else x

    def compare(self, kind: str, a: Any, b: Any) -> Any:
        """Evaluate one comparison."""
        return binary(kind, a, b)

    def choose(self, condition: Any, a: Callable[[], Any], b: Callable[[], Any]) -> Any:
        """Evaluate `a() if condition else b()` in the common type of both."""
        if is_known(condition):
            return a() if condition else b()
        taken, left = (a, b) if condition else (b, a)
        value = taken()
        try:
            other = silently(left)
        except (IndexError, ArithmeticError):  # the condition may guard against these
            return strong(value)
        if not (is_value(value) and is_value(other)) or isinstance(value, Struct):
            return value
        value, other = strong(value), strong(other)
        return _cast(value, promote(_prim(value), _prim(other)))

    def chosen(self, line: int, column: int, value: Any) -> Any:
        """Return the selected value in the common type of all alternatives, which the translator determined."""
        wanted = _found(self.code, line, column)
        prim = wanted.elem if isinstance(wanted, Tensor) else wanted
        return _cast(strong(value), prim) if isinstance(prim, Prim) and is_value(value) else strong(value)

    def shares(self, line: int, column: int) -> bool:
        """Return whether the iterations of a parallel loop share the local that is updated at that place."""
        return _found(self.file, line, column) is not None

    def deciding(self, kind: str, *sides: Callable[[], Any]) -> Any:
        """Evaluate `a() and b()` or `a() or b()`: the operand that decides, in the common type of all. Matrices:
        elementwise."""
        values: list[Any] = []
        for number, side in enumerate(sides, 1):
            guarded = any(not isinstance(v, Matrix) and bool(v) is (kind == "or") for v in values)
            try:
                value = silently(side) if guarded else side()
            except IndexError:  # the operands before may guard against it
                if not guarded:
                    raise
                break
            known, last = is_known(value), number == len(sides)
            decides = known and bool(value) is (kind == "or")
            if not values and known and (decides or last):
                return value
            if not known or decides or last:
                values.append(value)
            if decides:
                break
        if any(isinstance(value, Matrix) for value in values):
            return reduce(lambda a, b: binary(kind, a, b), [_cast(value, u1) for value in values])
        taken = next((value for value in values[:-1] if bool(value) is (kind == "or")), values[-1])
        return _cast(taken, reduce(promote, map(_prim, values)))

    def unpack(self, value: Any, count: int) -> list[Any]:
        """Return the parts of a tuple assignment."""
        parts = [own(part) for part in value]
        if len(parts) != count:
            raise TypeMismatch(f"{count} names are on the left of '=', but {len(parts)} values are on the right")
        return parts

    def iterate(self, over: Any) -> Any:
        """Return what a loop iterates over: its indices (a tuple per point for several axes), or `over` itself."""
        if not isinstance(over, (ndrange, SNode)) and cells_of(over) is None:
            return dormant(over)
        points, prim = box(over)
        indices = (tuple(map(prim.np.type, point)) for point in points)
        return dormant(index[0] if len(index) == 1 else index for index in indices)

    def parallel(self, over: Any) -> Any:
        """Iterate as `iterate` does, over a loop that is parallel on other arches. Each iteration has its own random
        numbers."""
        state, points = draws(), self.iterate(over)
        if state.serialize:
            state.serialize = False
            return points
        return state.iterations(points, order_numbers(over.over if isinstance(over, Grouped) else over))

    # ---- parts of things

    def load(self, base: Any, index: Any, name: str = "") -> Any:
        """Return `base[index]`. The program writes `name` for `base`. A vector of a field is a view of it; an item of a
        Python sequence is returned unchanged."""
        place = base if isinstance(base, Matrix) else cells_of(base)
        if place is None:
            return base[_python_index(index)]
        try:
            return place[_matrix_key(place, index)] if isinstance(place, Matrix) else place.load(index)
        except IndexError as error:
            if (of_list := list_at(base, index)) is not None:
                return of_list
            raise out_of_bounds(name, index, place) or error from None

    def store(self, base: Any, index: Any, value: Any, name: str = "") -> None:
        """Store `value` in `base[index]`, cast to the type of the element."""
        place = base if isinstance(base, Matrix) else cells_of(base)
        if place is None:
            base[_python_index(index)] = value
            return
        try:
            if isinstance(place, Matrix):
                place[_matrix_key(place, index)] = strong(value)
            else:
                place.store(index, strong(value))
        except IndexError as error:
            raise out_of_bounds(name, index, place) or error from None
        if program().config.check_nan and isinstance(value, (Matrix, np.generic)):
            left = place[_matrix_key(place, index)] if isinstance(place, Matrix) else place.load(index)
            sound("cast", _values(left), _values(value))

    def store_member(self, base: Any, name: str, value: Any) -> None:
        """Store `value` in `base.name`."""
        setattr(base, name, own(value))

    # ---- calls

    def callee(self, function: Any) -> Any:
        """Return what a call of `function` runs: the implementation in the language, or the rewritten body."""
        if isinstance(function, Builtin):
            return _BY_NAME.get(function.name) or _strict(function.python)
        if isinstance(function, Prim):
            # A literal that does not fit the default type is allowed as the argument of a type.
            return lambda x=0: cast_value(x, function) if type(x) is int else _cast(x, function)
        if isinstance(function, (type, BuiltinFunctionType)) and function in _BY_FUNCTION:
            return _BY_FUNCTION[function]
        text = getattr(function, "__self__", None)
        if isinstance(text, str) and function.__name__ == "format":
            return lambda *args, **keywords: texts.braces(text, *args, **keywords)
        if isinstance(function, partial):
            return partial(self.callee(function.func), *function.args, **function.keywords)
        own: Any = type(function).__call__ if callable(function) else None
        if getattr(own, "is_pyfunc", None) is not None:  # an object whose `__call__` is a @func
            function = MethodType(own, function)
        inner = getattr(function, "__func__", function)
        body = getattr(inner, "function", None)  # of a `@func`
        if body is not None:
            run = self.interpreted(body)
            return MethodType(run, function.__self__) if isinstance(function, MethodType) else run
        if isinstance(function, MethodType) and isinstance(function.__self__, (Field, Matrix, Struct)):
            known = isinstance(function.__self__, Matrix) and function.__name__ == "sum"
            return partial(_nary("add"), function.__self__) if known else _strict(function)
        if isinstance(inner, FunctionType) and not _from_matrix(function):
            return self.plain(function, inner)
        if _from_matrix(function):
            return _strict(function)
        return keeping(function) if isinstance(function, type) and function.__module__ != "builtins" else function

    def plain(self, function: Any, inner: FunctionType) -> Callable[..., Any]:
        """Return a function that calls a Python function as it is if all arguments are known beforehand, else rewritten
        like a `@func`."""

        def run(*args: Any, **keywords: Any) -> Any:
            if not any(isinstance(x, (np.generic, Matrix, Struct)) for x in (*args, *keywords.values())):
                return function(*args, **keywords)
            owner = (function.__self__,) if isinstance(function, MethodType) else ()
            return self.interpreted(inner)(*owner, *args, **keywords)

        return run


def _found(owner: CodeType | str, line: int, column: int) -> Any:
    """Return what the translator recorded for a place in a function or file, or None if it recorded nothing."""
    known, place = choices.get(), (owner, line, column)
    found = known.get(place)
    if found is None and place in known:  # different records in different calls
        found = known.get((*place, _calls()))
    return found


def _calls() -> tuple[tuple[str, int], ...]:
    """Return the calls that led to the running function, each as file and line, innermost first."""
    frame: FrameType | None = sys._getframe()
    found = list[tuple[str, int]]()
    while frame is not None:
        code = frame.f_code
        if HELPER in code.co_freevars and is_written(code):
            found.append((code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(found[1:])


def _matrix_key(matrix: Matrix, index: Any) -> Any:
    """Return the indices of an element of a matrix. Raises IndexError outside of it."""
    given = index if isinstance(index, tuple) else (index,)
    # A negative constant counts from the end. An index that is computed when the kernel runs does not.
    parts = [i + n if type(i) is int and -n <= i < 0 else _python_index(i) for i, n in zip(given, matrix.shape)]
    key = (*parts, *given[len(parts) :]) if isinstance(index, tuple) else parts[0]
    for i, extent in zip(key if isinstance(key, tuple) else (key,), matrix.shape):
        if not isinstance(i, slice) and not 0 <= i < extent:
            raise IndexError(f"index {key} is out of bounds for a matrix of shape {matrix.shape}")
    return key


def _python_index(index: Any) -> Any:
    return int(index) if isinstance(index, np.integer) else index
