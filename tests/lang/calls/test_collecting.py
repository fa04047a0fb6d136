"""While a kernel is compiled, Python collects no garbage."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import weft as ti
from weft.lang.calls import compile as calls


def test_nothing_is_collected_from_translating_to_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu, offline_cache=False)
    x = ti.field(ti.f32, 8)

    @ti.kernel
    def k() -> None:
        for i in x:
            for j in ti.static(range(40)):
                x[i] += ti.sin(x[i] * j)

    order = list[str]()

    def noting(name: str) -> None:
        before = getattr(calls, name)

        def noted(*arguments: Any, **named: Any) -> Any:
            order.append(name)
            return before(*arguments, **named)

        monkeypatch.setattr(calls, name, noted)

    def collected(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            order.append("collected")

    for name in ("_translate", "load_artifact"):
        noting(name)
    gc.callbacks.append(collected)
    before = gc.get_threshold()
    gc.set_threshold(50)
    try:
        k()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collected)
    begin = order.index("_translate")
    assert order[begin : begin + 2] == ["_translate", "load_artifact"], order
    assert "collected" in order[begin + 2 :]  # afterwards
    assert gc.isenabled()
