"""No program sees that an operator of fields waits for the one that takes its result."""

import sys
import weakref

import numpy as np
import pytest

from weft.lang.arrays import intermediates


@pytest.fixture
def x(ti):
    made = ti.field(ti.f32, 4)
    made.from_numpy(np.arange(4))
    return made


class _Keeper:
    def __rsub__(self, other):
        return other


def test_a_value_that_two_take_is_computed_once(ti, x):
    other = ti.field(ti.f32, 3)
    x[1:] = other[:] = 2 * x[:-1]
    assert other.to_numpy().tolist() == [0, 2, 4]
    assert x.to_numpy().tolist() == [0, 0, 2, 4]

    one = ti.ndarray(ti.i32, 1)
    one.fill(1)

    def changed():
        one.fill(100)
        return 50

    found = 0 < one * 2 < changed()
    assert found.to_numpy().tolist() == [True]


def test_namespaces_that_run_functions(ti, x):
    class Changing(dict):
        def __getitem__(self, name):
            value = super().__getitem__(name)
            if name == "number":
                loads.append(name)
                x.fill(100)
            return value

    for spaces in (({}, Changing(x=x, number=3)), (Changing(x=x, number=3),)):
        x.from_numpy(np.arange(4))
        loads = []
        exec("z = 2 * x - number", *spaces)
        assert spaces[-1]["z"].to_numpy().tolist() == [-3, -1, 1, 3]
        assert len(loads) <= 1  # (some versions of Python load global names past the function)


def test_a_comprehension_hides_a_name(ti, x):
    start = x.to_numpy()
    space = {"x": x, "y": x, "keepers": [_Keeper()]}
    exec("kept = [2 * x - y for y in keepers][0]", space)
    x.fill(9)
    np.testing.assert_array_equal(space["kept"].to_numpy(), 2 * start)


def test_local_variables_end_when_they_are_deleted(ti, x):
    class Large:
        pass

    def run(x, y):
        large = Large()
        seen = weakref.ref(large)
        z = 2 * x - y
        del large
        assert seen() is None
        return z

    assert run(x, x).to_numpy().tolist() == [0, 1, 2, 3]


def test_what_locals_returned_stays(ti, x):
    def run(x, y):
        options = locals()
        options.pop("x")
        options["y"] = 5
        z = 2 * x - y
        assert options == {"y": 5}
        return z

    assert run(x, x).to_numpy().tolist() == [0, 1, 2, 3]

    def copied(x, y):
        exec("hidden = 5")
        z = 2 * x - y
        return z, sys._getframe().f_locals.get("hidden")

    assert copied(x, x)[1] == (5 if sys.version_info < (3, 13) else None)


def test_an_operator_inside_of_that_of_another_object(ti, x):
    class Changing:
        def __mul__(self, other):
            x.fill(100)
            return 0

    objects = np.empty(2, object)
    objects[:] = x, Changing()
    one = 1
    for run in (lambda: objects * 2 - one, lambda: (lambda: objects)() * 2 - one):
        x.from_numpy(np.arange(4))
        assert run()[0].to_numpy().tolist() == [-1, 1, 3, 5]


def test_classes_that_a_program_derives(ti, x):
    start = x.to_numpy()

    class Own(ti.ScalarNdarray):
        def __rsub__(self, other):
            return other

        def __sub__(self, other):
            return other

    own = Own(ti.f32, 4)
    for keep in (lambda: own - 2 * x, lambda: (own + 0) - 2 * x):
        x.from_numpy(start)
        kept = keep()
        x.fill(9)
        assert isinstance(kept, ti.Ndarray)
    x.from_numpy(start)
    kept = own - 2 * x
    x.fill(9)
    np.testing.assert_array_equal(kept.to_numpy(), 2 * start)


@pytest.fixture
def rules(monkeypatch):
    """Sets the rules of the instructions that are known."""

    def change(known):
        monkeypatch.setattr(intermediates, "_RULES", known)
        intermediates._consumers.cache_clear()

    yield change
    intermediates._consumers.cache_clear()


def test_unknown_bytecode_computes_at_once(ti, x, rules):
    y = ti.field(ti.f32, 4)
    y.fill(2)
    expected = 0.5 * (x.to_numpy()[2:] + 3) - y.to_numpy()[1:-1]

    def run():
        y[1:-1] = 0.5 * (x[2:] + 3) - y[1:-1]
        found = y.to_numpy()[1:-1]
        y.fill(2)
        return found

    known = dict(intermediates._RULES)
    assert intermediates._consumers(run.__code__)
    for name in known:
        rules({other: rule for other, rule in known.items() if other != name})
        np.testing.assert_array_equal(run(), expected, err_msg=name)
    rules({})
    np.testing.assert_array_equal(run(), expected)
    assert intermediates._consumers(run.__code__) == {}
