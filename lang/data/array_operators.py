"""What fields and ndarrays of numbers, vectors and matrices do as a whole in Python: operators, reductions, iteration.

The kernels that compute are made in a room above (`arrays/`), which is imported at the first use: see `ARRAYS`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim, u1
from weft.lang.atomic_files import replacing
from weft.lang.values.makers import MAKERS
from weft.lang.values.matrix import Matrix
from weft.lang.values.scope import is_whole

__all__ = ["ArrayOperators"]


class ArrayOperators:
    """Operators work element by element, in one kernel, and give a new ndarray. Operands are numbers, lists, vectors
    and matrices (an element each), and arrays; shapes broadcast as in numpy, and types are those of the same operator
    in a kernel. `x += 1` changes x. Raises ArgumentError for operands that do not fit.

        x = ti.field(ti.f32, 4)
        x[1:] = 2 * x[:-1] + 1
        x.max()         # 1.0
        (x > 0).sum()   # 3

    A reduction, such as `x.sum()`, is that of the array `x.to_numpy()`: the axes of vectors and matrices are the last
    ones. Its result is a number of Python, for an `axis` a vector or an ndarray."""

    is_whole_array = True  # operators of vectors, and functions such as `ti.sqrt`, leave these objects to the rest here
    is_equal: bool | None = None  # the truth value of `x == y`, for arrays that such a comparison made

    if TYPE_CHECKING:  # the loop below defines these methods

        def _operator(self, other: Any) -> Any: ...
        def _unary(self) -> Any: ...

        @property
        def dtype(self) -> Prim: ...
        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def ndim(self) -> int: ...
        @property
        def element_shape(self) -> tuple[int, ...]: ...
        @property
        def offset(self) -> tuple[int, ...]: ...

        def to_numpy(self) -> Any: ...
        def _element(self, cells: Any, position: Any, key: Any) -> Matrix: ...
        def _window(self) -> Any: ...
        def _position(self, key: Any) -> Any: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _operator
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __rand__ = _operator
        __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _operator
        __lt__ = __le__ = __gt__ = __ge__ = _operator
        __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = _operator
        __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = _operator
        __neg__ = __abs__ = __invert__ = __pos__ = _unary

    def __eq__(self, other: object) -> Any:
        """Where elements are equal. The truth value of `x == y` of two fields or arrays says whether they are one
        object, as in Taichi; `(x == y).all()` compares elements."""
        return MAKERS.arrays().compare("==", self, other)

    def __ne__(self, other: object) -> Any:
        return MAKERS.arrays().compare("!=", self, other)

    __hash__ = object.__hash__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        """What numpy's functions do with these objects: they take them as arrays. An operator of a numpy array and a
        field, `a + x`, is that of the field."""
        if any(map(is_whole, out or ())):
            raise TypeMismatch(f"np.{ufunc.__name__} cannot write to a field or ndarray: use np.asarray(x) for out=")
        sign = _UFUNCS.get(ufunc.__name__)
        if sign and method == "__call__" and out is None and not options and not is_whole(inputs[0]):
            return MAKERS.arrays().operate(f"{{0}} {sign} {{1}}", inputs)
        arrays = [np.asarray(one) if is_whole(one) else one for one in inputs]
        return getattr(ufunc, method)(*arrays, **({} if out is None else {"out": out}), **options)

    def __bool__(self) -> bool:
        if self.is_equal is not None:
            return self.is_equal
        if self.dtype is not u1:
            return True
        if builtins.max(self.shape, default=1) > 1 or self.element_shape:
            raise TypeMismatch(
                "an array of truth values has no truth value itself: use x.any() or x.all(), or `x is None` to ask "
                "whether there is a field"
            )
        return bool(self.to_numpy().all())

    # -- reductions ----------------------------------------------------------------------------------------------------

    def sum(self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """The sum, of all numbers or along `axis` (a number or a tuple). Integers are added in 64 bits, and floats in
        f64. `dtype` is the type to add in, and that of the result."""
        return self._reduced("sum", out, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """The arithmetic mean, computed in f64. That of no numbers is NaN."""
        return self._reduced("mean", out, axis=axis, dtype=dtype, keepdims=keepdims)

    def var(
        self, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: bool = False
    ) -> Any:
        """The variance: the mean of `(x - x.mean())**2`, where the sum is divided by `n - ddof`."""
        return self._reduced("var", out, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)

    def std(
        self, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: bool = False
    ) -> Any:
        """The standard deviation: the square root of the variance."""
        return self._reduced("std", out, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)

    def min(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """The least number; NaN if there is one. Raises ValueError if there is none."""
        return self._reduced("min", out, axis=axis, keepdims=keepdims)

    def max(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """The greatest number; NaN if there is one. Raises ValueError if there is none."""
        return self._reduced("max", out, axis=axis, keepdims=keepdims)

    def argmin(self, axis: None = None, out: None = None) -> int:
        """The place of the (first) least number in `x.to_numpy().ravel()`. NaN is less than all others. Raises
        ValueError if there is none."""
        return int(self._reduced("argmin", out, axis=axis))

    def argmax(self, axis: None = None, out: None = None) -> int:
        """The place of the (first) greatest number, as `argmin`. NaN is greater than all others."""
        return int(self._reduced("argmax", out, axis=axis))

    def any(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """Whether one number at least is not 0."""
        return self._reduced("any", out, axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        """Whether no number is 0."""
        return self._reduced("all", out, axis=axis, keepdims=keepdims)

    def _reduced(self, name: str, out: Any, **options: Any) -> Any:
        if out is not None:
            raise TypeMismatch(f"{name} of a field or ndarray makes a new result: remove out=")
        return MAKERS.arrays().reduced(name, self, **options)

    # -- iteration -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a field or ndarray without axes has no len()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """The numbers of a field or ndarray with one axis, copied at once; its vectors or matrices, which are views as
        `x[i]`; else the views `x[i, ...]`."""
        if not self.shape:
            raise TypeError("a field or ndarray without axes cannot be iterated over: its element is x[None]")
        if self.ndim == 1 and not self.element_shape:
            numbers = self.to_numpy()
            return iter((numbers.astype(np.uint8) if self.dtype is u1 else numbers).tolist())
        return MAKERS.rows(self) if self.ndim > 1 else self._elements()

    def _elements(self) -> Iterator[Matrix]:
        cells = self._window()
        rows = cells.fetched() if hasattr(cells, "fetched") else cells  # from a GPU, all at once
        first = self.offset[0] if hasattr(self, "offset") else 0
        return (self._element(rows, self._position(i), i) for i in range(first, first + self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        numbers = self.to_numpy()
        wanted = np.asarray(getattr(value, "values", value))
        if wanted.dtype.kind not in "biuf" or wanted.shape not in (self.element_shape, ()):
            raise TypeMismatch(f"an element of {self!r} has shape {self.element_shape}, and `in` asks for {value!r}")
        axes = tuple(range(self.ndim, numbers.ndim))
        return bool((numbers == wanted).all(axis=axes).any())

    # -- files ---------------------------------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write the elements to a file of numpy's format `.npy`, in one step: `x.from_numpy(np.load(path))` reads it.
        Raises WriteFailed, and leaves an old file as it was, if that fails. (`ti.save` writes whole programs.)"""
        import os

        name = os.fspath(path)
        with replacing(name if name.endswith(".npy") else f"{name}.npy") as new:
            np.save(new, self.to_numpy(), allow_pickle=False)


_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip

# Operators of numpy arrays, by the functions that compute them.
_UFUNCS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%",
    "power": "**", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<",
    "right_shift": ">>", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    "equal": "==", "not_equal": "!=",
}  # fmt: skip


def _forward(sign: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: MAKERS.arrays().operator(f"{{0}} {sign} {{1}}", (self, other))


def _backward(sign: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: MAKERS.arrays().operator(f"{{0}} {sign} {{1}}", (other, self))


def _in_place(sign: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: MAKERS.arrays().update(f"{{0}} {sign} {{1}}", self, other)


for _name, _sign in _BINARY.items():
    setattr(ArrayOperators, f"__{_name}__", _forward(_sign))
    setattr(ArrayOperators, f"__r{_name}__", _backward(_sign))
    setattr(ArrayOperators, f"__i{_name}__", _in_place(_sign))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(ArrayOperators, f"__{_name}__", _forward(_sign))
for _name, _text in {"neg": "-{0}", "pos": "+{0}", "invert": "~{0}", "abs": "abs({0})"}.items():
    setattr(ArrayOperators, f"__{_name}__", lambda self, _text=_text: MAKERS.arrays().operator(_text, (self,)))
