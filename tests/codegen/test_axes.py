"""`choose_axes`: neighbouring threads run along the axis along which the task writes."""

from __future__ import annotations

import pytest

from tests.mapping import for_gpu
from weft.ir.config import CompileConfig
from weft.ir.ops import Yield
from weft.ir.parse import parse
from weft.ir.target import CUDA
from weft.ir.tasks import tasks_of

KERNEL = """\
kernel @k() -> () {{
  task range_for bounds {{
    %low = const 1 : i64
    %zero = const 0 : i64
    %few = const 10 : i64
    %many = const 99 : i64
    yield begins=[{begins}], ends=[{ends}]
  }} prologue {{
    %base = tree_base tree=0 : *i64
    %four = const 4 : i64
    %row = const 1024 : i64
    %x = const 0.5 : f32
  }} body ({args}) {{
    %p = address %base, indices=[{indices}], strides=[%row, %four], offset=0, scope="field:y" : *f32
    store %p, %x
    {more}
  }}
}}
"""
TWO = {"begins": "%low, %zero", "ends": "%few, %many", "args": "%i: i64, %j: i64", "more": ""}
OTHER = '%q = address %base, indices=[%i, %j], strides=[%row, %four], offset=0, scope="field:z" : *f32\nstore %q, %x'


@pytest.mark.parametrize(
    ("parts", "order"),
    [
        ({"indices": "%i, %j"}, ["i", "j"]),
        ({"indices": "%j, %i"}, ["j", "i"]),
        ({"indices": "%j, %i", "more": OTHER}, ["i", "j"]),
        ({"indices": "%j, %i", "more": "%pad = shared_base number=0, bytes=64 : *i64"}, ["i", "j"]),
        ({"indices": "%zero2, %i", "args": "%i: i64", "begins": "%low", "ends": "%few"}, ["i"]),
        ({"indices": "%i, %zero2", "args": "%i: i64", "begins": "%low", "ends": "%few"}, ["i"]),
    ],
)
def test_axes(parts: dict[str, str], order: list[str]) -> None:
    text = KERNEL.format(**{**TWO, **parts}).replace("%x = const", "%zero2 = const 0 : i64\n    %x = const")
    (task,) = tasks_of(for_gpu(parse(text), CompileConfig(arch="cuda", traits=CUDA)))
    limits = task.bounds.last
    assert isinstance(limits, Yield)
    assert [arg.name for arg in task.body.args] == order
    ends = {"i": ("low", "few"), "j": ("zero", "many")}
    assert [(a.name, b.name) for a, b in zip(limits.begins, limits.ends, strict=True)] == [ends[one] for one in order]
