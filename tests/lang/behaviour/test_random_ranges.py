"""Random nests of loops over ranges, many at the ends of their types, do what they do in plain Python: on every arch,
with and without lanes, and to the evaluator."""

import linecache
from itertools import count

import numpy as np
from hypothesis import HealthCheck, given, settings

import weft
from tests.generate_ranges import CELLS, nests
from tests.sampling import draws
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.pipeline import run_passes
from weft.ir.transforms.lower_tree import lower_tree
from weft.lang.translate.entry import translate_kernel

_numbers = count()
_SETTINGS = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


def compiled(nest):
    """The kernel; its lines are where Python looks for them."""
    name, source = f"<ranges {next(_numbers)}>", nest.kernel
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"ti": weft}
    exec(compile(source, name, "exec"), space)
    return space["run"]


@settings(max_examples=draws(50), **_SETTINGS)
@given(nest=nests())
def test_random_ranges(ti, nest):
    out = np.zeros(CELLS, np.int64)
    compiled(nest)(*nest.arguments, out)
    assert out.tolist() == nest.result(), nest.kernel


@settings(max_examples=15, **_SETTINGS)
@given(nest=nests())
def test_random_ranges_in_debug(ti, nest):
    ti.init(arch=ti.cfg.arch, debug=True)
    out = np.zeros(CELLS, np.int64)
    compiled(nest)(*nest.arguments, out)
    assert out.tolist() == nest.result(), nest.kernel


@settings(max_examples=draws(80), **_SETTINGS)
@given(nest=nests())
def test_random_ranges_in_the_evaluator(nest):
    weft.init(arch="cpu")
    kernel, program, out = compiled(nest), weft.lang.program.init.program(), np.zeros(CELLS, np.int64)
    kernel._start_over(program)
    given = [*nest.arguments, out]
    arguments = [parameter.argument(value) for parameter, value in zip(kernel._parameters, given)]
    chi = lower_tree(translate_kernel(kernel.function, arguments, (), program.config).tree, program.config)
    run_passes(chi, ["infer_types"], program.config, level="untyped")
    evaluate(chi, given, Memory([]), program.config)
    assert out.tolist() == nest.result(), nest.kernel
    weft.reset()
