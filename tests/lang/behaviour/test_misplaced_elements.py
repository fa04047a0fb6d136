"""Elements that are not there, of every type in every layout: a read gives 0, a store is dropped, an atomic gives 0.
One warning names the kernel, the line, the field, the index and the shape."""

import linecache
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.lang.behaviour.masked import masked
from tests.sampling import every
from weft.runtime.errors import OutOfBoundsWarning

__all__ = ["masked"]  # for all tests here

DTYPES = ("u1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64")
OPERATIONS = ("read", "store", "add", "max", "old value")
PLACES = ("alone", "parallel", "inner", "lanes", "called")
INDICES = ("i32", "u64", "i64", "i8", "u32")

# What has the elements, its shape, its first index, which part.
Made = tuple[Any, tuple[int, int], tuple[int, int], Any]


def _tree(ti: Any, dtype: Any, outer: Any, inner: Any, offset: Any = None) -> Any:
    x = ti.field(dtype)
    ti.root.dense(ti.ij, outer).dense(ti.ij, inner).place(x, **({"offset": offset} if offset else {}))
    return x


def _beside(ti: Any, dtype: Any) -> Any:
    x = ti.field(dtype)
    ti.root.dense(ti.ij, (5, 3)).place(ti.field(ti.i8), x)
    return x


LAYOUTS: dict[str, Callable[[Any, Any], Made]] = {
    "rows": lambda ti, dtype: (ti.field(dtype, (5, 3)), (5, 3), (0, 0), None),
    "columns": lambda ti, dtype: (ti.field(dtype, (5, 3), order="ji"), (5, 3), (0, 0), None),
    "beside another": lambda ti, dtype: (_beside(ti, dtype), (5, 3), (0, 0), None),
    "blocks": lambda ti, dtype: (_tree(ti, dtype, (2, 3), (3, 1)), (6, 3), (0, 0), None),
    "rows of columns": lambda ti, dtype: (_tree(ti, dtype, (4, 1), (1, 4)), (4, 4), (0, 0), None),
    "offset": lambda ti, dtype: (ti.field(dtype, (5, 3), offset=(-2, 7)), (5, 3), (-2, 7), None),
    "blocks with an offset": lambda ti, dtype: (_tree(ti, dtype, (2, 3), (3, 1), (-2, 7)), (6, 3), (-2, 7), None),
    "structs": lambda ti, dtype: (ti.Struct.field({"a": ti.i8, "m": dtype}, shape=(5, 3)), (5, 3), (0, 0), "m"),
    "vectors": lambda ti, dtype: (ti.Vector.field(3, dtype, (5, 3)), (5, 3), (0, 0), 1),
    "vectors apart": lambda ti, dtype: (
        ti.Vector.field(3, dtype, (5, 3), layout=ti.Layout.SOA),
        (5, 3),
        (0, 0),
        1,
    ),
    "components": lambda ti, dtype: (ti.Vector.field(3, dtype, 5), (5, 3), (0, 0), "component"),
    "an array": lambda ti, dtype: (ti.ndarray(dtype, (5, 3)), (5, 3), (0, 0), None),
    "an array of vectors": lambda ti, dtype: (ti.Vector.ndarray(3, dtype, (5, 3)), (5, 3), (0, 0), 1),
    "an array of structs": lambda ti, dtype: (
        ti.ndarray(ti.types.struct(a=ti.i8, m=dtype), (5, 3)),
        (5, 3),
        (0, 0),
        "m",
    ),
}

CASES = [
    (layout, dtype, PLACES[(row + column) % len(PLACES)], INDICES[(row + 2 * column) % len(INDICES)])
    for row, layout in enumerate(LAYOUTS)
    for column, dtype in enumerate(DTYPES)
]


def _reaching(ti: Any, part: Any, operation: str, at: Any, values: Any, out: Any) -> Any:
    """A function that does the operation on element `at[k]` of its argument."""
    dtype = out.dtype

    @ti.func
    def act(element: ti.template(), value):
        answer = ti.cast(0, dtype)
        if ti.static(operation == "read"):
            answer = element
        elif ti.static(operation == "store"):
            element = value
        elif ti.static(operation == "add"):
            element += value
        elif ti.static(operation == "max"):
            ti.atomic_max(element, value)
        else:
            answer = ti.atomic_add(element, value)
        return answer

    @ti.func
    def reach(x, k):
        i, j, value = at[k, 0], at[k, 1], values[k]
        answer = ti.cast(0, dtype)
        if ti.static(part is None):
            answer = act(x[i, j], value)
        elif ti.static(part == "m"):
            answer = act(x[i, j].m, value)
        elif ti.static(part == "component"):
            answer = act(x[i][j], value)
        else:
            answer = act(x[i, j][part], value)
        out[k] = answer

    return reach


def _kernels(ti: Any, kind: Any, part: Any, operation: str, at: Any, values: Any, out: Any) -> dict[str, Any]:
    """What asks for elements `at[k]` of an argument of that kind, for all k."""
    reach = _reaching(ti, part, operation, at, values, out)

    @ti.kernel
    def alone(x: kind, k: ti.i32):
        reach(x, k)

    @ti.kernel
    def parallel(x: kind):
        ti.loop_config(simd=1)
        for k in values:
            reach(x, k)

    @ti.kernel
    def lanes(x: kind):
        ti.loop_config(simd=8)
        for k in values:
            reach(x, k)

    @ti.kernel
    def inner(x: kind):
        for _ in range(1):
            for k in range(values.shape[0]):
                reach(x, k)

    @ti.real_func
    def reach_there(x: kind, k: ti.i32):
        reach(x, k)

    @ti.kernel
    def called(x: kind):
        for k in values:
            reach_there(x, k)

    return {
        "called": called,
        "alone": lambda x: [alone(x, k) for k in range(values.shape[0])],
        "parallel": parallel,
        "lanes": lanes,
        "inner": inner,
    }


def _wanted(shape: tuple[int, int], first: tuple[int, int], kind: Any) -> list[tuple[int, int]]:
    """Different indices of that type: those of all elements, and many beside and far from them."""
    least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    inside = [[*range(begin, begin + extent)] for begin, extent in zip(first, shape)]
    beside = [
        [begin - 1, begin + extent, begin + 2**32, begin + 2**63, 2**63 + 2, least, most, most // 2]
        for begin, extent in zip(first, shape)
    ]
    pairs = [(i, j) for i in inside[0] for j in inside[1]]
    pairs += [(i, inside[1][k % shape[1]]) for k, i in enumerate(beside[0])]
    pairs += [(inside[0][k % shape[0]], j) for k, j in enumerate(beside[1])]
    pairs += list(zip(beside[0], reversed(beside[1])))
    fit = [*dict.fromkeys(pair for pair in pairs if all(least <= index <= most for index in pair))]
    return [fit[k] for k in np.random.default_rng(0).permutation(len(fit))]


def _part(values: Any, part: Any) -> Any:
    """A view of what is asked for."""
    return values["m"] if part == "m" else values if part in (None, "component") else values[..., part]


def _after(operation: str, old: Any, value: Any) -> Any:
    if operation == "add" or operation == "old value":
        return old ^ value if old.dtype == np.bool_ else old + value
    return {"read": old, "store": value, "max": max(old, value)}[operation]


def _names(text: str, pairs: list[tuple[int, int]]) -> bool:
    """Whether a warning names one of these places, or the index of one along the axis that was looked at."""
    found = re.search(r"\[([^][]*)\] is out of bounds", text)
    assert found, text
    shown = found[1].split(", ")
    asked = [part for pair in pairs for part in (pair[: len(shown)], pair[-len(shown) :])]
    return any(all(map(_is_shown_as, part, shown)) for part in asked)


def _is_shown_as(index: int, text: str) -> bool:
    return text in (":", str(index)) or (text == f"{2**63 - 1} or more" and index >= 2**63 - 1)


@pytest.mark.parametrize(("layout", "dtype", "place", "index"), every(19, CASES))
def test_elements_that_are_not_there(ti, layout, dtype, place, index):
    x, shape, first, part = LAYOUTS[layout](ti, getattr(ti, dtype))
    kind = ti.types.ndarray() if layout.startswith("an array") else ti.template()
    number = np.dtype({"u1": np.bool_}.get(dtype) or f"{dtype[0]}{int(dtype[1:]) // 8}")
    counts = np.dtype(f"{index[0]}{int(index[1:]) // 8}")
    pairs = _wanted(shape, first, counts)
    is_there = [all(0 <= k - b < n for k, b, n in zip(pair, first, shape)) for pair in pairs]
    at, values = ti.field(getattr(ti, index), (len(pairs), 2)), ti.field(getattr(ti, dtype), len(pairs))
    out = ti.field(getattr(ti, dtype), len(pairs))
    at.from_numpy(np.array(pairs, object).astype(counts))
    drawn = np.random.default_rng(1)
    given = drawn.integers(0, 2 if dtype == "u1" else 50, len(pairs)).astype(number)
    values.from_numpy(given)
    for operation in OPERATIONS:
        contents = x.to_numpy()
        wanted = _part(contents, part)
        wanted[...] = drawn.integers(0, 2 if dtype == "u1" else 50, wanted.shape).astype(number)
        x.from_numpy(contents)
        answers = np.zeros(len(pairs), number)
        for k, pair in enumerate(pairs):
            if is_there[k]:
                cell = tuple(i - b for i, b in zip(pair, first))
                answers[k] = wanted[cell] if operation in ("read", "old value") else 0
                wanted[cell] = _after(operation, wanted[cell], given[k])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _kernels(ti, kind, part, operation, at, values, out)[place](x)
            ti.sync()
        left = x.to_numpy()
        assert (_part(left, part) == wanted).all(), operation
        assert out.to_numpy().astype(number).tolist() == answers.tolist(), operation
        (warning,) = [one for one in caught if issubclass(one.category, OutOfBoundsWarning)]
        text = str(warning.message)
        assert text.startswith(f"kernel '{place}'")
        assert ": x[" in text
        assert "its shape is (" in text
        assert warning.filename == __file__
        line = linecache.getline(__file__, warning.lineno)
        assert "element" in line or "act(x[i" in line
        assert _names(text, [pair for pair, there in zip(pairs, is_there) if not there]), text


def _parts(ti: Any, m: Any, v: Any, s: Any, kind: Any) -> list[tuple[Any, int]]:
    """Kernels that ask for parts of elements at `n`, and what they give where that is not there."""

    @ti.kernel
    def rows(n: ti.i32) -> ti.i32:
        m[0][n, :] = ti.Vector([5, 6, 7])
        m[0][:, n] += 3
        row = m[0][n, :]
        return row.sum()

    @ti.kernel
    def rows_of_elements(n: ti.i32) -> ti.i32:
        m[n][1, :] += 3
        return m[n][:, 1].sum()

    @ti.kernel
    def swizzles(n: ti.i32) -> ti.i32:
        v[n].xy = ti.Vector([5, 5])
        return v[n].zyx.sum()

    @ti.kernel
    def members(n: ti.i32) -> ti.i32:
        s[n].p[1] += 5
        s[n].p = 3
        s[1].p[n] = 4
        return s[n].p.sum() + s[n].a + s[1].p[n]

    @ti.kernel
    def whole_structs(n: ti.i32) -> ti.i32:
        s[n] = kind(a=1, p=ti.Vector([1, 2, 3]))
        found = s[n]
        return found.a + found.p.sum()

    return [(rows, 0), (rows_of_elements, 0), (swizzles, 0), (members, 0), (whole_structs, 0)]


def _passed_parts(ti: Any, m: Any, v: Any, kind: Any) -> list[tuple[Any, int]]:
    """The same for parts that are passed to functions and to atomics, and for parts of locals."""

    @ti.func
    def add_five(a: ti.template(), n):
        a[n] += 5
        return a[n]

    @ti.real_func
    def add_seven(x: ti.ref(ti.i32)) -> ti.i32:
        x += 7
        return x

    @ti.kernel
    def references(n: ti.i32) -> ti.i32:
        return add_seven(v[n][1]) + add_seven(v[1][n])

    @ti.kernel
    def templates(n: ti.i32) -> ti.i32:
        a = ti.Vector([1, 2, 3])
        found = add_five(a, n)
        return found + a.sum() + add_five(v, n).sum() + add_five(v[1], n)

    @ti.kernel
    def atomics(n: ti.i32) -> ti.i32:
        return ti.atomic_min(v[n][0], -9) + ti.atomic_xor(m[n][1, 1], 5) + ti.atomic_sub(v[1][n], 3)

    @ti.kernel
    def local_values(n: ti.i32) -> ti.i32:
        a, b, c = ti.Vector([1, 2, 3]), ti.Matrix([[1, 2], [3, 4]]), kind(a=1, p=ti.Vector([1, 2, 3]))
        a[n] += 5
        b[n, 0] = 9
        b[0, n] += 9
        c.p[n] += 4
        return a[n] + a.sum() + b.sum() + c.p[n] + c.p.sum()

    return [(references, 0), (templates, 6), (atomics, 0), (local_values, 22)]


def test_parts_of_elements_that_are_not_there(ti):
    kind = ti.types.struct(a=ti.i32, p=ti.types.vector(3, ti.i32))
    m, v, s = ti.Matrix.field(3, 3, ti.i32, 4), ti.Vector.field(3, ti.i32, 4), kind.field(4)
    m.fill(1)
    v.fill(2)
    for kernel, wanted in [*_parts(ti, m, v, s, kind), *_passed_parts(ti, m, v, kind)]:
        for n in (4, -1, 2**31 - 1, -(2**31), 7):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                assert kernel(n) == wanted, (kernel.__name__, n)
                ti.sync()
            told = [str(one.message) for one in caught if issubclass(one.category, OutOfBoundsWarning)]
            assert len(told) == (n == 4)
            assert all(f"kernel '{kernel.__name__}'" in text and "is out of bounds" in text for text in told)
    assert (m.to_numpy() == 1).all()
    assert (v.to_numpy() == 2).all()
    assert not s.a.to_numpy().any()
    assert not s.p.to_numpy().any()
