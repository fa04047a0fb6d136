"""Modules that were compiled before in this process (`codegen/llvm/kept_objects.py`)."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

from weft.codegen.llvm import machine
from weft.codegen.llvm.kept_objects import KeptObjects


def test_the_same_is_made_once_and_all_that_it_depends_on_counts() -> None:
    kept, made = KeptObjects(), list[str]()

    def get(name: str, *depends: object) -> bytes:
        def make() -> bytes:
            made.append(name)
            return name.encode()

        return kept(make, *depends)

    assert [get("a", 3, "native", "x"), get("b", 3, "native", "x")] == [b"a", b"a"]
    others = [(1, "native", "x"), (3, "v3", "x"), (3, "native", "y"), (3, "native", "x", ""), ("3", "native x")]
    assert [get(str(k), *depends) for k, depends in enumerate(others)] == [b"0", b"1", b"2", b"3", b"4"]
    assert made == ["a", "0", "1", "2", "3", "4"]
    kept.clear()
    assert get("c", 3, "native", "x") == b"c"


def test_what_was_asked_for_last_is_kept() -> None:
    kept, made = KeptObjects(limit=10), list[int]()

    def get(number: int) -> bytes:
        return kept(lambda: made.append(number) or bytes(4), number)  # type: ignore[func-returns-value]

    for number in (1, 2, 1, 3, 1, 2):
        assert get(number) == bytes(4)
    assert made == [1, 2, 3, 2]
    assert kept(lambda: bytes(11), "large") == bytes(11)
    get(1)
    assert made == [1, 2, 3, 2, 1]


def test_any_number_of_threads_use_it() -> None:
    kept, numbers = KeptObjects(limit=400), random.Random(0).choices(range(40), k=4000)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: kept(lambda: bytes([number]) * 20, number), numbers))
    assert found == [bytes([number]) * 20 for number in numbers]


def test_modules_are_compiled_once(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(machine, "_KEPT", KeptObjects())
    machine.host_cpu()
    text, stages = "define i32 @f() { ret i32 1 }", list[str]()
    first = machine.compile_object(text, 1, stages.append)
    assert stages == ["optimize", "codegen"]
    assert machine.compile_object(text, 1, stages.append) is first
    assert machine.compile_object(text.replace("1 }", "2 }"), 1, stages.append) != first
    assert stages == ["optimize", "codegen"] * 2


def test_how_a_module_is_compiled_counts(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    def anew(text: str, level: int, note: object, cpu_features: str) -> bytes:
        made.append((level, cpu_features))
        return str(made[-1]).encode()

    made = list[tuple[int, str]]()
    monkeypatch.setattr(machine, "_KEPT", KeptObjects())
    monkeypatch.setattr(machine, "compile_anew", anew)
    text, ways = "define i32 @f() { ret i32 1 }", [(1, "native"), (3, "native"), (3, "x86-64-v3")]
    for _ in range(2):
        found = [machine.compile_object(text, level, cpu_features=features) for level, features in ways]
        assert found == [str(way).encode() for way in ways]
    assert made == ways
    plain = machine.emit_object(text, 1)
    assert plain not in found
    assert machine.emit_object(text, 1) is plain
