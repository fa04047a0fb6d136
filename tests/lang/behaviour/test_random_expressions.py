"""Random expressions over all types of numbers mean what the written rules say, on every arch and to the evaluator."""

import linecache
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import weft
from tests.generate_expressions import NUMBERS, columns, expressions, meaning, numpy_type, program
from tests.sampling import draws
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.pipeline import run_passes
from weft.ir.transforms.lower_tree import lower_tree
from weft.lang.translate.entry import translate_kernel

pytestmark = pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")  # values are cut short on purpose

_numbers = count()


def compiled(ti, source):
    """The kernel of a text; its lines are where Python looks for them."""
    name = f"<expressions {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"ti": ti}
    exec(compile(source, name, "exec"), space)
    return space["run"]


def check(run, trees, data):
    """`run` gives on every row what the rules say."""
    outputs = [np.zeros(len(data["i8"]), np.int32 if tree.type == "u1" else numpy_type(tree.type)) for tree in trees]
    run(*(data[name] for name in NUMBERS), *outputs)
    rows = [{name: data[name][k] if name[0] == "f" else int(data[name][k]) for name in NUMBERS}
            for k in range(len(data["i8"]))]  # fmt: skip
    for tree, found in zip(trees, outputs):
        wanted = np.array([meaning(tree, row) for row in rows], found.dtype)
        if found.dtype.kind == "f":
            nan = np.isnan(wanted)
            same = (found.view(f"u{found.itemsize}") == wanted.view(f"u{found.itemsize}")) | (nan & np.isnan(found))
        else:
            same = found == wanted
        for k in np.flatnonzero(~same):
            used = {name: rows[k][name] for name in NUMBERS if f"{name}s[" in str(tree)}
            raise AssertionError(f"{tree} : {tree.type}\nis {found[k]!r}, must be {wanted[k]!r}, of {used}")


@settings(max_examples=draws(60), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(expressions())
def test_random_expressions(ti, trees):
    ti.init(arch=ti.cfg.arch, fast_math=False)
    check(compiled(ti, program(trees)), trees, columns(len(str(trees[0]))))


@settings(max_examples=draws(30), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(expressions(count=2, depth=2))
def test_random_expressions_in_the_evaluator(trees):
    ti = weft
    ti.init(arch="cpu", fast_math=False)
    config = ti.lang.program.init.program().config

    def run(*arrays):
        kernel = compiled(ti, program(trees))
        kernel._start_over(ti.lang.program.init.program())
        arguments = [parameter.argument(array) for parameter, array in zip(kernel._parameters, arrays)]
        chi = lower_tree(translate_kernel(kernel.function, arguments, (), config).tree, config)
        run_passes(chi, ["infer_types"], config, level="untyped")
        evaluate(chi, list(arrays), Memory([]), config)

    check(run, trees, columns(3))
    ti.reset()
