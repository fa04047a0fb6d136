"""Random programs over the whole language leave, return and print what the evaluator says: compiled for each arch, as
plain Python, and with passes switched off."""

import pytest

from tests import emulated
from tests.fuzz.configurations import drawn
from tests.fuzz.execute import blame, execute
from tests.fuzz.program import draw
from tests.fuzz.table import goals_of
from tests.lang.behaviour.conftest import missing


def hold(arch, number):
    """The program of that number does what the evaluator says."""
    name = f"tests-{number}"
    program = draw(name, goals_of(number))
    configuration = drawn(name, arch, program.safe, verify=number % 2 == 0)
    outcome = execute(program, configuration)
    assert not outcome.bad, f"{configuration}\n{program.code}\n{outcome.status}: {outcome.detail}"


@pytest.mark.parametrize("number", range(16))
def test_random_programs(number):
    hold("cpu", number)


@pytest.mark.parametrize("number", range(50, 58))
def test_passes_keep_what_random_programs_mean(number):
    name = f"tests-{number}"
    program = draw(name, goals_of(number))
    assert blame(program, drawn(name, "cpu", program.safe, verify=True)) == "", program.code


@pytest.mark.parametrize("number", range(100, 108))
def test_random_programs_as_python(number):
    hold("python", number)


@pytest.mark.parametrize("number", range(200, 208))
def test_random_programs_on_a_gpu(number):
    if why := missing("cuda"):
        pytest.skip(f"random programs are not tested on cuda: {why}")
    hold("cuda", number)


@pytest.mark.emulated
@pytest.mark.parametrize("number", range(200, 206))
def test_random_programs_on_an_emulated_gpu(monkeypatch, number):
    if why := missing("emulated"):
        pytest.skip(f"random programs are not tested on an emulated GPU: {why}")
    emulated.use(monkeypatch)
    hold("cuda", number)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("tens", range(40))
def test_many_random_programs(tens):
    for number in range(1000 + 10 * tens, 1010 + 10 * tens):
        hold("cpu", number)
