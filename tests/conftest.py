"""Golden files: whole outputs kept beside the tests, compared as text, renewed by `pytest --update`. Kernels are
compiled in each test, unless it is one of the disk cache or asks for `kept_kernels`; where they are compiled for a
GPU, NVIDIA's assembler reads the code."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.assembling import MISSING, Assembler, ptxas, watch

ASSEMBLER = Assembler()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write golden files anew instead of comparing with them")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["WEFT_OFFLINE_CACHE"] = "0"
    if config.getoption("--update") and os.environ.get("CI"):
        raise pytest.UsageError("--update is for people: in CI a golden file that differs is a failure")
    watch(ASSEMBLER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test that made PTX that cannot be assembled fails."""
    try:
        result = yield
    finally:
        refusals = ASSEMBLER.refusals()
    if refusals:
        pytest.fail("\n".join(refusals), pytrace=False)
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if ptxas() is None:
        terminalreporter.write_line(MISSING, yellow=True)


@pytest.fixture(scope="session")
def _kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "kernels"


@pytest.fixture
def kept_kernels(_kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what kernels compute, where many compile the same: each is compiled once in a run of the tests, on
    whichever of its workers."""
    monkeypatch.setenv("WEFT_OFFLINE_CACHE", "1")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(_kept))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)`: `text` must be what the file `golden/name`, beside the test, holds."""
    folder = Path(request.path).parent / "golden"
    update = bool(request.config.getoption("--update"))

    def compare(name: str, text: str) -> None:
        path = folder / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        if not path.exists():
            pytest.fail(f"there is no {path}; `pytest --update` writes it", pytrace=False)
        assert text == path.read_text(encoding="utf-8"), f"{path} holds something else; `pytest --update` renews it"

    return compare
