"""Random programs mean the same compiled for each arch, as plain Python, and to the evaluator of the IR."""

import linecache
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import weft as ti
from tests import emulated
from tests.generate_functions import sources
from tests.generate_source import COUNT, FIELDS
from tests.lang.behaviour.conftest import missing
from tests.sampling import draws
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
    for name, (kind, size, part) in FIELDS.items():
        prim = getattr(ti, kind)
        made[name] = ti.Vector.field(size, prim, COUNT) if size else ti.field(prim, COUNT)
        values = edges(random, prim, (COUNT, size) if size else (COUNT,))
        made[name].from_numpy(np.abs(np.floor(values % 8)) if part == "quarters" else values)
    return made


def edges(random, prim, shape):
    """Values of a type, many of them as large or small as they get."""
    if prim.is_float:
        values = random.choice([0.0, -0.0, 1.5, -2.25, 0.1, 1e10, -3e-5, 7.0], shape)
    else:
        low = -(2 ** (prim.bits - 1)) if prim.is_signed else 0
        values = random.choice(np.array([low, 2 ** (prim.bits - prim.is_signed) - 1, 0, 1, 2, 5, 100], prim.np), shape)
    return np.asarray(values).astype(prim.np)


def structs(kind):
    """A field of structs, and what lies in it as arrays."""
    made, random = kind.field(shape=COUNT), np.random.default_rng(8)
    for name, prim, shape in (("k", ti.i32, ()), ("f", ti.f32, ()), ("v", ti.f32, (3,))):
        made.get_member_field(name).from_numpy(edges(random, prim, (COUNT, *shape)))
    return made


def arrays():
    """The arrays that a program is called with."""
    random = np.random.default_rng(9)
    return [edges(random, ti.f32, (COUNT, 2)), edges(random, ti.i32, (COUNT,))]


def compiled(source, made):
    """The kernel of a text; its lines are where Python looks for them."""
    name = f"<program {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"ti": ti, "COUNT": COUNT, **made}
    head, _, rest = source.partition("\n")
    exec(head, space)
    made["os"] = space["os"] = structs(space["S"])
    exec(compile("\n" + rest, name, "exec"), space)
    return space["run"]


def contents(made, given):
    """All that a program has left: fields and arrays."""
    found = {name: x.to_numpy() for name, x in made.items() if name != "os"}
    found |= {f"os.{name}": values for name, values in made["os"].to_numpy().items()}
    return found | {"xs": given[0], "ks": given[1]}


def on_arch(source, arch, arguments, **options):
    """What is left after a run on that arch."""
    ti.init(arch=arch, fast_math=False, **options)
    made, given = fields(), arrays()
    compiled(source, made)(*arguments, *given)
    return contents(made, given)


def evaluated(source, arguments):
    """What is left after the evaluator ran the program as it comes out of the translator."""
    ti.init(arch="cpu", fast_math=False)
    made, given = fields(), arrays()
    kernel, program = compiled(source, made), ti.lang.init.program()
    kernel._start_over(program)
    arguments = [*arguments, *given]
    values = [parameter.argument(value) for parameter, value in zip(kernel._parameters, arguments)]
    translation = translate_kernel(kernel.function, values, (), program.config)
    lowered = [lower_tree(root, program.config) for root in (translation.tree, *translation.tree.functions)]
    for chi in lowered:
        run_passes(chi, ["infer_types"], program.config, level="untyped")
    memory = Memory([tree.buffer() for tree in translation.trees])
    evaluate(lowered[0], arguments, memory, program.config, functions=lowered[1:])
    return contents(made, given)


_CHECKED = {"check_out_of_bound": True, "verify": True, "opt_level": 1}
_WAYS = {
    "cpu": lambda source, arguments: on_arch(source, "cpu", arguments),
    "cpu, checked": lambda source, arguments: on_arch(source, "cpu", arguments, **_CHECKED),
    "the evaluator": evaluated,
    "cuda": lambda source, arguments: on_arch(source, "cuda", arguments),
    "cuda, checked": lambda source, arguments: on_arch(source, "cuda", arguments, **_CHECKED),
}
_SETTINGS = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


def hold(way, source):
    """What the program leaves is what it leaves in plain Python."""
    arguments = (5, 0.75)
    try:
        wanted, found = on_arch(source, "python", arguments), _WAYS[way](source, arguments)
        for field, values in wanted.items():
            np.testing.assert_array_equal(found[field], values, f"{field} of {way} and python differ in\n{source}")
    finally:
        ti.reset()


@pytest.mark.parametrize("way", _WAYS)
@settings(max_examples=draws(40), **_SETTINGS)
@given(source=sources())
def test_random_programs_mean_the_same_everywhere(way, source):
    if way.startswith("cuda") and (why := missing("cuda")):
        pytest.skip(f"random programs are not tested on cuda: {why}")
    hold(way, source)


@pytest.mark.emulated
@pytest.mark.parametrize("way", ["cuda", "cuda, checked"])
@settings(max_examples=15, **_SETTINGS)
@given(source=sources())
def test_random_programs_on_an_emulated_gpu(way, monkeypatch, source):
    if why := missing("emulated"):
        pytest.skip(f"random programs are not tested on an emulated GPU: {why}")
    emulated.use(monkeypatch)
    hold(way, source)
