"""Random kernels mean the same compiled for the CPU, as plain Python, and to the evaluator of the IR."""

import linecache
from itertools import count

import numpy as np
from hypothesis import HealthCheck, given, settings

import weft as ti
from tests.generate_source import COUNT, FIELDS, sources
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.pipeline import run_passes
from weft.ir.transforms.lower_tree import lower_tree
from weft.lang.translate import translate_kernel

_numbers = count()


def fields():
    """The fields of a program, filled with values that are often at the edges of their types."""
    made = {}
    random = np.random.default_rng(7)
    for name, (kind, size, _) in FIELDS.items():
        prim = getattr(ti, kind)
        made[name] = ti.Vector.field(size, prim, COUNT) if size else ti.field(prim, COUNT)
        shape = (COUNT, size) if size else (COUNT,)
        if kind[0] == "f":
            values = random.choice([0.0, -0.0, 1.5, -2.25, 0.1, 1e10, -3e-5, 7.0], shape)
        else:
            low = 0 if kind[0] == "u" else -(2 ** (prim.bits - 1))
            edges = [low, 2 ** (prim.bits - (kind[0] == "i")) - 1, 0, 1, 2, 5, 100]
            values = random.choice(np.array(edges, prim.np), shape)
        made[name].from_numpy(np.asarray(values).astype(prim.np))
    return made


def compiled(source, made):
    """The kernel of a text; its lines are where Python looks for them."""
    name = f"<program {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"ti": ti, "COUNT": COUNT, **made}
    exec(compile(source, name, "exec"), space)
    return space["run"]


def on_arch(source, arch, arguments):
    """The fields after a run on that arch."""
    ti.init(arch=arch, fast_math=False)
    made = fields()
    compiled(source, made)(*arguments)
    return {name: x.to_numpy() for name, x in made.items()}


def evaluated(source, arguments):
    """The fields after the evaluator ran the kernel as it comes out of the translator."""
    ti.init(arch="cpu", fast_math=False)
    made = fields()
    kernel = compiled(source, made)
    kernel._start_over(ti.lang.init.program())
    values = [parameter.argument(value) for parameter, value in zip(kernel._parameters, arguments)]
    translation = translate_kernel(kernel.function, values, (), ti.lang.init.program().config)
    chi = lower_tree(translation.tree, ti.lang.init.program().config)
    run_passes(chi, ["infer_types"], ti.lang.init.program().config, level="untyped")
    memory = Memory([tree.buffer() for tree in translation.trees])
    evaluate(chi, list(arguments), memory, ti.lang.init.program().config)
    return {name: x.to_numpy() for name, x in made.items()}


def check(source, arguments):
    """All ways to run a program leave the same in memory."""
    wanted = on_arch(source, "python", arguments)
    for name, found in (("cpu", on_arch(source, "cpu", arguments)), ("evaluator", evaluated(source, arguments))):
        for field, values in wanted.items():
            np.testing.assert_array_equal(found[field], values, f"{field} of {name} and python differ in\n{source}")


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(sources())
def test_random_programs_mean_the_same_everywhere(source):
    try:
        check(source, (5, 0.75))
    finally:
        ti.reset()
