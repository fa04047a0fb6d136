"""Random kernels over all types of numbers leave and return what they do in plain Python: compiled for each arch, and
to the evaluator after every pass; from fields that lie one by one, and from such as share blocks."""

import linecache
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft as ti
from tests import emulated
from tests.generate_kernels import COUNT, FIELDS, SHAPE, kernels
from tests.lang.behaviour.conftest import missing
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.transforms.lower_tree import lower_tree
from weft.lang.translate import translate_kernel

pytestmark = pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")  # values are cut short on purpose

ARGUMENTS = (-7, 200, 2**40 + 3)
_numbers = count()


def fields(together):
    """The fields of a kernel, filled with values that are often at the edges of their types."""
    made = {}
    for name, (type, axes, _) in FIELDS.items():
        shape = () if together else (COUNT, SHAPE)[axes - 1]
        made[name] = ti.field(getattr(ti, type), shape) if shape else ti.field(getattr(ti, type))
    if together:
        lines, boxes = ([made[name] for name, (_, axes, _) in FIELDS.items() if axes == n] for n in (1, 2))
        ti.root.dense(ti.i, COUNT).place(*lines[::2])
        ti.root.dense(ti.i, SHAPE[1]).dense(ti.i, SHAPE[0]).place(*lines[1::2])
        ti.root.dense(ti.ij, (1, 3)).dense(ti.ij, (5, 3)).place(*boxes[::2])
        ti.root.dense(ti.j, SHAPE[1]).dense(ti.i, SHAPE[0]).place(*boxes[1::2])
    random = np.random.default_rng(5)
    for name, (type, axes, _) in FIELDS.items():
        made[name].from_numpy(edges(random, getattr(ti, type), (COUNT, SHAPE)[axes - 1]))
    return made


def edges(random, prim, shape):
    """Values of a type, many of them as large or small as they get."""
    if prim.is_float:
        values = random.choice([0.0, -0.0, 1.5, -2.25, 0.1, 1e4, -3e-5, 7.0], shape)
    else:
        low = -(2 ** (prim.bits - 1)) if prim.is_signed else 0
        values = random.choice(np.array([low, 2 ** (prim.bits - prim.is_signed) - 1, 0, 1, 2, 5, 100], prim.np), shape)
    return np.asarray(values).astype(prim.np)


def compiled(source, made):
    """The kernel of a text; its lines are where Python looks for them."""
    name = f"<kernel {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"ti": ti, **made}
    exec(compile(source, name, "exec"), space)
    return space["run"]


def on_arch(source, together, arch, **options):
    """What is returned, and left in the fields, by a run on that arch."""
    ti.init(arch=arch, fast_math=False, **options)
    made = fields(together)
    result = compiled(source, made)(*ARGUMENTS)
    return {"the result": np.array(result), **{name: field.to_numpy() for name, field in made.items()}}


def evaluated(source, together):
    """The same by the evaluator, of the kernel as all passes leave it."""
    ti.init(arch="cpu", fast_math=False)
    made = fields(together)
    kernel, program = compiled(source, made), ti.lang.init.program()
    kernel._start_over(program)
    values = [parameter.argument(value) for parameter, value in zip(kernel._parameters, ARGUMENTS)]
    translation = translate_kernel(kernel.function, values, (ti.i64,), program.config)
    chi = lower_tree(translation.tree, program.config)
    run_passes(chi, TO_TASKS + TO_LOWERED, program.config, None, "untyped")
    (result,) = evaluate(chi, ARGUMENTS, Memory([tree.buffer() for tree in translation.trees]), program.config)
    return {"the result": np.array(result), **{name: field.to_numpy() for name, field in made.items()}}


_CHECKED = {"check_out_of_bound": True, "verify": True, "opt_level": 1}
_WAYS = {
    "cpu": lambda source, together: on_arch(source, together, "cpu"),
    "cpu, checked": lambda source, together: on_arch(source, together, "cpu", **_CHECKED),
    "the evaluator": evaluated,
    "cuda": lambda source, together: on_arch(source, together, "cuda"),
    "cuda, checked": lambda source, together: on_arch(source, together, "cuda", **_CHECKED),
}
_SETTINGS = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


def hold(way, source, together):
    """The kernel does what it does in plain Python."""
    try:
        wanted, found = on_arch(source, together, "python"), _WAYS[way](source, together)
        for what, values in wanted.items():
            np.testing.assert_array_equal(found[what], values, f"{what} of {way} and python differ in\n{source}")
    finally:
        ti.reset()


@pytest.mark.parametrize("way", _WAYS)
@settings(max_examples=8, **_SETTINGS)
@given(source=kernels(), together=st.booleans())
def test_random_kernels_mean_the_same_everywhere(way, source, together):
    if way.startswith("cuda") and (why := missing("cuda")):
        pytest.skip(f"random kernels are not tested on cuda: {why}")
    hold(way, source, together)


@pytest.mark.emulated
@pytest.mark.parametrize("way", ["cuda", "cuda, checked"])
@settings(max_examples=8, **_SETTINGS)
@given(source=kernels(), together=st.booleans())
def test_random_kernels_on_an_emulated_gpu(way, monkeypatch, source, together):
    if why := missing("emulated"):
        pytest.skip(f"random kernels are not tested on an emulated GPU: {why}")
    emulated.use(monkeypatch)
    hold(way, source, together)
