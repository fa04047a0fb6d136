"""Hidden fields: kernels declare them, launches are given their memory, and it goes when that of the field does."""

from __future__ import annotations

import numpy as np
import pytest

import weft as ti
from weft.ir.parse import parse
from weft.ir.text import print_ir
from weft.lang.checks.races import Checked
from weft.lang.data.marks import Marking
from weft.lang.program.init import program
from weft.runtime.errors import DataRace, UninitialisedRead

pytestmark = pytest.mark.unverified


def reads_back(text: str) -> bool:
    """Whether the text of a kernel is that of what it is parsed to, but for the numbers of values."""
    again = print_ir(parse(text))
    return print_ir(parse(again)) == again and [line.split("=")[-1] for line in again.splitlines()[:4]] == [
        line.split("=")[-1] for line in text.splitlines()[:4]
    ]


def test_a_kernel_declares_the_marks_of_its_fields() -> None:
    ti.init(arch=ti.cpu, check_uninitialised=True)
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def step(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):  # type: ignore[valid-type]
        for i in x:
            x[i] += a[i]

    x.fill(1)
    step(np.ones(4, np.float32))
    text = str(step.last.chi)
    head = text.splitlines()
    assert head[0] == "kernel @step(a: [f32; 1 exposed], a.marks: [f32; 1 strided exposed] hidden=marks) -> () {"
    assert [line.split()[1] for line in head if line.startswith("  field")] == ["@x:", "@x.marks:"]
    assert "shadows=((marks, x.marks, 1))" in head[1]
    assert head[2].endswith("hidden=marks")
    assert "kind=uninitialised" in text
    assert reads_back(text)
    assert "field:x.marks" in str(step.last.lowered)


def test_a_kernel_declares_the_shadow_of_races() -> None:
    ti.init(arch=ti.cpu, check_races=True)
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def step():
        for i in x:
            x[i] += 1

    step()
    text = str(step.last.chi)
    assert "field @shadow: i64[1099511627776] tree=1" in text
    assert "hidden=races" in text
    assert "touch_atomic" in text
    assert reads_back(text)
    assert {function.symbol for function in step.last.functions} == {"touch_read", "touch_write", "touch_atomic"}
    assert step.last.asm


def test_no_check_no_hidden_field() -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def step():
        for i in x:
            x[i] += 1

    step()
    assert "hidden" not in str(step.last.chi)
    assert "shadows" not in str(step.last.chi)
    assert x.describe().tree.shadow("marks") is None


def test_kernels_without_arrays_are_launched_as_others_are() -> None:
    """Their marks are trees among the others: native code launches them, and nothing stands between."""
    ti.init(arch=ti.cpu, check_uninitialised=True)
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def read(k: ti.i32) -> ti.f32:
        return x[k]

    x[1] = 5
    for _ in range(4):
        assert read(1) == 5
        with pytest.raises(UninitialisedRead):
            read(2)
    ((instance,),) = read._instances._of.values()
    assert not isinstance(instance.run, Marking | Checked)
    assert instance.plans
    assert len(instance.trees) == 2


def test_marks_go_with_the_memory_that_they_tell_of() -> None:
    ti.init(arch=ti.cpu, check_uninitialised=True)
    x = ti.field(ti.f32, 4)
    tree = x.describe().tree
    x.fill(1)
    marks = tree.shadow("marks")
    assert marks.buffer().view(np.float32).tolist()[:4] == [1, 1, 1, 1]
    tree.destroy()
    assert marks._buffer is None
    y = ti.field(ti.f32, 4)
    with pytest.raises(UninitialisedRead):
        y[0]


def test_arrays_over_the_memory_of_a_field_have_its_marks() -> None:
    ti.init(arch=ti.cpu, check_uninitialised=True)
    x = ti.field(ti.f32, 4)
    x[1] = 3

    @ti.kernel
    def read(a: ti.types.ndarray(dtype=ti.f32, ndim=1), k: ti.i32) -> ti.f32:  # type: ignore[valid-type]
        return a[k]

    view = x.describe().tree.buffer().view(np.float32)[:4]
    assert read(view, 1) == 3
    with pytest.raises(UninitialisedRead):
        read(view, 2)


def test_the_shadow_of_races_grows_under_kernels_that_have_run() -> None:
    ti.init(arch=ti.cpu, check_races=True)
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def small():
        for i in range(3):
            x[i] = x[i + 1]

    @ti.kernel
    def large(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):  # type: ignore[valid-type]
        for i in a:
            a[i] += 1

    with pytest.raises(DataRace):
        small()
    before = len(program().shadow.buffer())
    for size in (10, 10_000, 100_000):
        large(np.zeros(size, np.float32))
        with pytest.raises(DataRace) as race:
            small()
        assert "x[1]" in str(race.value)
    assert len(program().shadow.buffer()) > before
