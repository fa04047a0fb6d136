"""One kernel computes an expression of fields and ndarrays, and the result is that of its operators one by one."""

import ast

import numpy as np
import pytest

from tests.sampling import draws
from weft.lang.measure import watching


@pytest.fixture
def launches(ti):
    """How many kernels a function launches."""
    met = []

    def watch(kernel, call, args, keywords):
        met.append(kernel)
        return call(*args, **keywords)

    def count(function):
        met.clear()
        function()
        return len(met)

    watching.begin(watch)
    yield count
    watching.end(watch)


@pytest.fixture
def arrays(ti):
    x, y = ti.field(ti.f32, 6), ti.ndarray(ti.f32, 6)
    x.from_numpy(np.arange(6))
    y.fill(2)
    return x, y


def _assign(x, y):
    x[1:-1] = 0.5 * (x[2:] + x[:-2]) - y[1:-1] * 2


def _update(x, y):
    x[::2] += 3 * y[::2] - 1


def _update_all(x, y):
    x *= 2 - y


def test_an_expression_is_one_kernel(ti, arrays, launches):
    x, y = arrays

    @ti.data_oriented
    class Own:
        shared = y

        def __init__(self):
            self.x, self.y = x, y

    own = Own()
    for expression in (
        lambda: 2 * x - y,
        lambda: x * y + y * x,
        lambda: own.x * 0.5 + own.y / 3 - own.shared,
        lambda: -(x - y),
        lambda: 0.5 * (x[2:] + y[:-2]) + x[1:-1],
        lambda: 2 * x > y + 1,
        lambda: _assign(x, y),
        lambda: _update(x, y),
        lambda: _update_all(x, y),
    ):
        assert launches(expression) == 1

    def steps():
        z = 2 * x  # a name has it: it is no intermediate value
        return z - y

    assert launches(steps) == 2
    assert launches(lambda: 2 * x) == 1
    assert launches(lambda: [x + 1, x - 1]) == 2


def test_what_runs_in_between_is_not_seen(ti, arrays):
    """Python computes `2 * x` before anything to the right of it."""
    x, y = arrays
    start = x.to_numpy()

    def changed(value=0.0):
        x.fill(7)
        return value

    class Changing:
        @property
        def value(self):
            return changed()

        def __getattr__(self, name):
            return changed()

        def __getitem__(self, key):
            return changed()

        def __radd__(self, other):
            changed()
            return other

    class Descriptor:
        def __get__(self, instance, owner):
            return changed()

    class Inherited(Changing):
        other = Descriptor()

    changing, inherited = Changing(), Inherited()
    for expression in (
        lambda: 2 * x + changed(),
        lambda: 2 * x + changing.value,
        lambda: 2 * x + changing.missing,
        lambda: 2 * x + changing[1:],
        lambda: 2 * x + inherited.value,
        lambda: 2 * x + inherited.other,
        lambda: 2 * x + (changed() if x is not None else 1),
        lambda: 2 * x + [changed()][0],
        lambda: 2 * x + changing,
    ):
        x.from_numpy(start)
        np.testing.assert_array_equal(expression().to_numpy(), 2 * start)
        assert x[0] == 7


def test_what_keeps_a_value_keeps_that_of_its_time(ti, arrays):
    x, y = arrays
    start = x.to_numpy()

    class Keeper:
        def __init__(self):
            self.kept = []

        def __add__(self, other):
            self.kept.append(other)
            return self

        __radd__ = __add__

        def __setitem__(self, key, value):
            self.kept.append(value)

    def store(keeper):
        keeper[1:] = 2 * x

    def name():
        z = 2 * x
        yield z
        yield 2 * x

    def generated(_):
        made.extend(name())

    made = []
    for keep in (
        lambda keeper: keeper + 2 * x,
        lambda keeper: 2 * x + keeper,
        store,
        lambda keeper: made.append(2 * x),
        lambda keeper: made.extend([2 * x, *[2 * x]]),
        lambda keeper: made.append({"a": 2 * x}["a"]),
        lambda keeper: made.append((lambda: 2 * x)()),
        lambda keeper: made.append(2 * x if y is not None else 0),
        lambda keeper: made.append(eval("2 * x", {"x": x})),
        generated,
    ):
        x.from_numpy(start)
        keeper = Keeper()
        made.clear()
        keep(keeper)
        x.fill(9)
        assert made or keeper.kept
        for value in (*made, *keeper.kept):
            assert isinstance(value, ti.Ndarray)
            np.testing.assert_array_equal(value.to_numpy(), 2 * start)


def test_results_are_used_as_any_array(ti, arrays):
    x, y = arrays
    a, b = x.to_numpy(), y.to_numpy()
    np.testing.assert_array_equal((2 * x - y)[1:].to_numpy(), (2 * a - b)[1:])
    assert (2 * x - y).sum() == (2 * a - b).sum()
    assert sum(2 * x - y) == (2 * a - b).sum()
    np.testing.assert_allclose(np.sin(2 * x - y), np.sin(2 * a - b), rtol=1e-5)
    np.testing.assert_array_equal(((2 * x - y) == y).to_numpy(), (2 * a - b) == b)
    np.testing.assert_array_equal((a * (2 * x)).to_numpy(), a * (2 * a))
    np.testing.assert_allclose(ti.sqrt(2 * x + y).to_numpy(), np.sqrt(2 * a + b), rtol=1e-6)
    x[0] = (2 * x - y).max()
    assert x[0] == 8


class _Steps(ast.NodeTransformer):
    """Gives each operator a name of its own."""

    def __init__(self):
        self.statements, self.count = [], 0

    def visit_BinOp(self, node):
        self.generic_visit(node)
        self.count += 1
        name = f"t{self.count}"
        self.statements.append(f"{name} = {ast.unparse(node)}")
        return ast.Name(name, ast.Load())


def _tree(rng, names, depth):
    if depth == 0 or rng.random() < 0.15:
        return [*names, "2", "0.1", "(-3)", "True"][rng.integers(len(names) + 4)]
    sign = ["+", "-", "*", "/", "<<"][rng.choice(5, p=[0.3, 0.3, 0.3, 0.05, 0.05])]
    return f"({_tree(rng, names, depth - 1)} {sign} {_tree(rng, names, depth - 1)})"


def _run(text, result, space):
    """The result, or the class of the error."""
    try:
        exec(text, space)
        return space[result]
    except (TypeError, ArithmeticError, ValueError) as error:
        return type(error).__name__


def test_random_expressions_are_their_steps(ti):
    rng = np.random.default_rng(11)
    ti.init(arch=ti.cfg.arch, fast_math=False)
    types = {"a": ti.f32, "b": ti.f64, "c": ti.i32, "d": ti.u8, "e": ti.f16, "v": ti.vec3}
    space = {"np": np, "n": np.float32(0.7), "w": ti.Vector([1, 2, 3]), "m": np.arange(3, dtype=np.int16)}
    for k, (name, dtype) in enumerate(types.items()):
        space[name] = (ti.field, ti.ndarray)[k % 2](dtype, 3)
        space[name].from_numpy(rng.integers(0, 5, space[name].to_numpy().shape))
    for _ in range(draws(120)):
        names = list(rng.choice([*types, "n", "w", "m", "a[::-1]", "b[1:2]"], 3))
        text = _tree(rng, names, 3)
        steps = _Steps()
        last = ast.unparse(steps.visit(ast.parse(text, mode="eval")).body)
        space["got"] = _run(f"got = {text}", "got", space)
        wanted = _run("\n".join([*steps.statements, f"wanted = {last}"]), "wanted", space)
        got = space["got"]
        if isinstance(wanted, ti.Ndarray):
            assert (got.dtype, got.shape, got.element_shape) == (wanted.dtype, wanted.shape, wanted.element_shape), text
            np.testing.assert_array_equal(got.to_numpy(), wanted.to_numpy(), err_msg=text)
        elif isinstance(wanted, str):
            assert got == wanted, text


def test_random_assignments_are_numpys(ti):
    rng = np.random.default_rng(12)
    for round in range(draws(40)):
        x = (ti.field, ti.ndarray)[round % 2](ti.f64, 12)
        a = rng.integers(-9, 9, 12).astype(np.float64)
        x.from_numpy(a)
        keys = [slice(int(start), int(start) + 6) for start in rng.integers(0, 7, 3)]
        keys = [key if rng.random() < 0.6 else slice(None, None, 2) for key in keys]
        to, one, other = keys
        if rng.random() < 0.5:
            x[to] = 0.5 * (x[one] - x[other]) + 3 * x[to]
            a[to] = 0.5 * (a[one] - a[other]) + 3 * a[to]
        else:
            x[to] += x[one] - 2 * x[other]
            a[to] += a[one] - 2 * a[other]
        np.testing.assert_allclose(x.to_numpy(), a)


def test_long_expressions_are_cut(ti, launches):
    x = [ti.field(ti.i32, 2) for _ in range(40)]
    for k, one in enumerate(x):
        one.fill(k)
    names = {f"x{k}": one for k, one in enumerate(x)}
    text = " + ".join(names)
    assert eval(text, names).to_numpy().tolist() == [780, 780]
    assert launches(lambda: eval(text, names)) < 6
