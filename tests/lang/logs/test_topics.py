"""`WEFT_LOG` and `weft.set_logs`: what Weft tells of its work, and that silence costs nothing."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from weft.lang.errors import WeftError
from weft.lang.logs.topics import TOPICS


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("WEFT_OFFLINE_CACHE", raising=False)
    monkeypatch.setattr(
        "weft.lang.program.store.version_stamp", lambda _: "of this test"
    )  # whoever edits files meanwhile
    yield
    ti.set_logs()


def messages(caplog: pytest.LogCaptureFixture, topic: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == f"weft.{topic}"]


def made() -> Any:
    x = ti.field(ti.f32, 16)

    @ti.kernel
    def fill(a: ti.f32):
        for i in x:
            x[i] = a

    return fill


def nothing_at_all() -> Any:
    ti.init(arch=ti.cpu, offline_cache=False)

    @ti.kernel
    def nothing():
        pass

    return nothing


def test_each_topic_tells_its_own(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    ti.init(arch=ti.cpu, offline_cache_file_path=str(tmp_path))
    ti.set_logs("all", launch="debug")
    fill = made()
    fill(2.0)
    assert any("fill: translated" in text for text in messages(caplog, "translate"))
    assert any("fill: lower_access changed it" in text for text in messages(caplog, "passes"))
    assert any("task 0, range_for, line" in text and "writes x" in text for text in messages(caplog, "offload"))
    assert any(text.startswith("fill: optimize, ") for text in messages(caplog, "codegen"))
    assert messages(caplog, "cache") == ["fill: not found, compiled"]
    assert messages(caplog, "launch")[0] == "fill(2.0)"
    assert messages(caplog, "launch")[1].startswith("fill: ")
    assert any("64 bytes" in text for text in messages(caplog, "memory"))


def test_the_cache_tells_what_it_found(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    for _ in range(2):
        ti.init(arch=ti.cpu, offline_cache_file_path=str(tmp_path))
        ti.set_logs("cache")
        made()(1.0)
    assert messages(caplog, "cache") == ["fill: not found, compiled", "fill: found"]


def test_launches_that_native_code_took_over_are_told_of_too(caplog: pytest.LogCaptureFixture) -> None:
    ti.init(arch=ti.cpu)
    fill = made()
    fill(1.0)
    fill(2.0)
    ti.set_logs("launch")
    fill(3.0)
    fill(4.0)
    assert len(messages(caplog, "launch")) == 2
    ti.set_logs()
    fill(5.0)
    fill(6.0)
    assert len(messages(caplog, "launch")) == 2


def test_compiling_is_no_part_of_a_launch(caplog: pytest.LogCaptureFixture) -> None:
    nothing = nothing_at_all()
    ti.set_logs("launch")
    began = time.perf_counter()
    nothing()
    took = 1e6 * (time.perf_counter() - began)
    (told,) = messages(caplog, "launch")
    assert float(told.split()[1]) < took / 5


def test_launches_go_native_again_afterwards() -> None:
    ti.init(arch=ti.cpu)
    fill = made()
    fill(1.0)
    ti.set_logs("launch")
    fill(1.0)
    ti.set_logs()
    fill(1.0)
    if fill._is_native:
        assert [plan.good for plan in fill._callers.plans] == [True]


def test_levels_choose_details(caplog: pytest.LogCaptureFixture) -> None:
    ti.init(arch=ti.cpu, offline_cache=False)
    ti.set_logs(passes="warn")
    made()(1.0)
    assert not messages(caplog, "passes")
    ti.set_logs(passes="debug")
    made()(1.0)
    assert any("found nothing" in text for text in messages(caplog, "passes"))


def test_unknown_names_list_the_known() -> None:
    with pytest.raises(WeftError, match=r"there is no log 'cash'; the logs are translate, passes, .*, and 'all'"):
        ti.set_logs("cash")
    with pytest.raises(WeftError, match=r"a logging level must be one of trace, debug, .*, not 'loud'"):
        ti.set_logs(cache="loud")
    assert not any(topic.on for topic in TOPICS.values())


def test_the_environment_asks(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import weft as ti\nti.init(arch=ti.cpu)\nx = ti.field(ti.f32, 4)\nx[0] = 1.0\n")
    run = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "WEFT_LOG": "memory,launch:debug"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr.startswith("[weft.memory] INFO: ")
    wrong = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "WEFT_LOG": "noise"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "there is no log 'noise'" in wrong.stderr


def test_silent_topics_leave_the_level_to_others() -> None:
    ti.set_logs("cache")
    ti.set_logs()
    assert logging.getLogger("weft.cache").level == logging.NOTSET
