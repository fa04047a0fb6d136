"""The tool that breaks conditions: what it makes, and that a broken module is the one that runs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.mutate.__main__ import jobs_of
from tests.mutate.equivalent import EQUIVALENT
from tests.mutate.mutants import mutants
from tests.mutate.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """\
def legal(a, b, ops) -> bool:
    if not a.pure or (b > 0
                      and all(op.x for op in ops if op.y)):
        return False
    return a is b


def chosen(a):
    return 1 if a else 2
"""


def test_conditions_are_leaves() -> None:
    names = [one.name for one in mutants(SOURCE)][::2]
    assert names == [
        "legal: a.pure -> True",
        "legal: b > 0 -> True",
        "legal: all((op.x for op in ops if op.y)) -> True",
        "legal: op.x -> True",
        "legal: op.y -> True",
        "legal: a is b -> True",
        "chosen: a -> True",
    ]


def test_each_mutant_differs_in_one_condition() -> None:
    original = ast.dump(ast.parse(SOURCE))
    dumps = [ast.dump(ast.parse(one.source)) for one in mutants(SOURCE)]
    assert len({original, *dumps}) == len(dumps) + 1
    for one in mutants(SOURCE):
        assert len(one.source.splitlines()) == len(SOURCE.splitlines())


@pytest.mark.parametrize("module", TARGETS)
def test_targets_are_there(module: str) -> None:
    assert find_spec(module) is not None
    for tests in TARGETS[module]:
        assert (ROOT / tests).exists(), tests


def test_equivalent_mutants_are_there() -> None:
    for module, rows in EQUIVALENT.items():
        spec = find_spec(module)
        assert spec is not None
        names = {one.name for one in mutants(Path(str(spec.origin)).read_text())}
        assert rows.keys() <= names, f"{module}: {sorted(rows.keys() - names)}"


def test_a_mutant_is_what_runs() -> None:
    (job,) = [job for job in jobs_of("weft.ir.alias") if job.name == "same_address: p is q -> True"]
    code = "import tests.mutate.plugin; from weft.ir.alias import same_address as s; print(s(1, 2))"
    for given, expected in ((f"{job.module}:{job.number}", "True"), ("", "")):
        environment = os.environ | {"WEFT_MUTANT": given}
        done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True)
        assert done.stdout.strip() == expected, done.stderr
