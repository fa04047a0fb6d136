"""The tool that breaks conditions: what it makes, and that a broken module is the one that runs."""

from __future__ import annotations

import ast
import builtins
import sys
import time
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.mutate import forks
from tests.mutate.__main__ import jobs_of
from tests.mutate.equivalent import EQUIVALENT, PROFIT
from tests.mutate.mutants import mutants, watched
from tests.mutate.session import Recorded, first_tests, renumbered
from tests.mutate.swap import Functions
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


def names_of(module: str) -> set[str]:
    assert module in TARGETS
    spec = find_spec(module)
    assert spec is not None
    return {one.name for one in mutants(Path(str(spec.origin)).read_text())}


def test_equivalent_mutants_are_there() -> None:
    for module, rows in EQUIVALENT.items():
        names = names_of(module)
        assert rows.keys() <= names, f"{module}: {sorted(rows.keys() - names)}"


def test_what_only_chooses_is_there_and_has_no_mutants() -> None:
    for module, rows in PROFIT.items():
        names, made = names_of(module), {job.name for job in jobs_of(module)}
        for row in rows:
            those = {name for name in names if name.startswith(row if ":" in row else f"{row}:")}
            assert those, f"{module}: {row}"
            assert not those & made
        assert made


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """SOURCE, loaded from a file."""
    path = tmp_path / "of_mutants.py"
    path.write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("of_mutants")
    del sys.modules["of_mutants"]


def test_a_mutant_is_what_runs(loaded: ModuleType) -> None:
    path, chosen = str(loaded.__file__), loaded.chosen  # as another module has imported it
    functions = Functions({path})
    assert [chosen(True), chosen(False)] == [1, 2]
    *_, always, never = mutants(SOURCE)
    assert functions.swap(path, always.source) == 1
    assert [chosen(True), chosen(False)] == [1, 1]
    assert functions.swap(path, never.source) == 1
    assert [chosen(True), chosen(False)] == [2, 2]
    assert functions.swap(path, SOURCE) == 1
    assert [chosen(True), chosen(False)] == [1, 2]


def test_a_watched_module_says_what_its_conditions_answer(loaded: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = list[tuple[int, bool]]()

    def seen(number: int, value: Any) -> Any:
        answers.append((number, bool(value)))
        return value

    monkeypatch.setattr(builtins, "seen here", seen, raising=False)
    functions, path = Functions({str(loaded.__file__)}), str(loaded.__file__)
    assert functions.swap(path, watched(SOURCE, "seen here")) == 2
    pure, op = SimpleNamespace(pure=True), SimpleNamespace(x=0, y=1)
    assert loaded.chosen(0) == 2
    assert answers == [(6, False)]
    answers.clear()
    assert loaded.legal(pure, 1, [op]) is False
    assert answers == [(0, True), (1, True), (4, True), (3, False), (2, False), (5, False)]


def test_copies_of_the_process_say_how_they_end() -> None:
    def sleep(send: forks.Send) -> None:
        send({"begins": "to sleep"})
        time.sleep(60)

    def turn(send: forks.Send) -> None:
        send({"begins": "to turn"})
        while True:
            pass

    def fail(send: forks.Send) -> None:
        raise ValueError("no")

    def work(send: forks.Send) -> None:
        send({"a": 1})
        send({"b": 2})

    def hoard(send: forks.Send) -> None:
        bytearray(16 << 30)

    works = {"done": work, "asleep": sleep, "busy": turn, "crashed": fail, "hoard": hoard}
    tasks = (forks.Task(name, one, lambda sent: 0.1 if sent else 60.0) for name, one in works.items())
    outcomes = {outcome.about: outcome for outcome in forks.run(tasks, 2)}
    assert {name: outcome.end for name, outcome in outcomes.items()} == {
        "done": "done",
        "asleep": "late",
        "busy": "late",
        "crashed": "crashed",
        "hoard": "crashed",
    }
    assert outcomes["done"].sent == [{"a": 1}, {"b": 2}]
    assert "ValueError: no" in outcomes["crashed"].sent[0]["error"]
    assert "MemoryError" in outcomes["hoard"].sent[0]["error"]


def test_what_was_recorded_follows_the_conditions() -> None:
    test = Recorded("t", 1.0, True, {"m": [0, 3], "n": [1]})
    old, new = {"m": ["a", "b", "c", "d"], "n": ["a", "b"]}, {"m": ["d", "new", "b", "a"], "n": ["a", "b"]}
    assert renumbered(test, old, new).met == {"m": [3, 0], "n": [1]}


def test_the_likely_killers_come_first_and_the_budget_holds() -> None:
    own, other = (Recorded(name, 2.0, True, {}) for name in (f"{TARGETS['weft.ir.alias'][0]}::a", "tests/else.py::b"))
    quick = Recorded("tests/else.py::c", 0.01, True, {})
    killer = Recorded("tests/else.py::d", 3.0, True, {})
    ranked = first_tests([other, own, quick, killer], "weft.ir.alias", Counter({killer.name: 9}), 100)
    assert ranked == [killer, quick, own, other]
    assert first_tests([own, other], "weft.ir.alias", Counter(), 3) == [own]
    assert first_tests([own], "weft.ir.alias", Counter(), 1) == [own]
