"""Golden files: whole outputs kept beside the tests, compared as text, renewed by `pytest --update`. Kernels are
compiled in each test, unless it is one of the disk cache or asks for `kept_kernels`; where they are compiled for a
GPU, NVIDIA's assembler reads the code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import sampling
from tests.assembling import MISSING, Assembler, ptxas, watch
from tests.codegen.linking import UNLINKED, zig
from weft.lang.logs.levels import logger

ASSEMBLER, REFUSALS = Assembler(), list[str]()
_TAKEN = "weft/assembled"  # in the cache of pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write golden files anew instead of comparing with them")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["WEFT_OFFLINE_CACHE"] = "0"
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes three quarters of a GPU's memory else
    ASSEMBLER.level = 0 if sampling.leave_out(config.getoption("markexpr")) else 3
    if config.getoption("--update") and os.environ.get("CI"):
        raise pytest.UsageError("--update is for people: in CI a golden file that differs is a failure")
    ASSEMBLER.taken.update(config.cache.get(_TAKEN, []) if hasattr(config, "cache") else [])
    watch(ASSEMBLER)
    _keep_bytecode(config)


def _keep_bytecode(config: pytest.Config) -> None:
    """Where Python shall write no bytecode beside the sources, each process that a test starts would compile all of
    Weft anew, for a second: these keep it in the cache of pytest."""
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and hasattr(config, "cache"):
        os.environ["PYTHONPYCACHEPREFIX"] = str(config.cache.mkdir("bytecode"))


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    sampling.thin(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    ASSEMBLER.maker = item.nodeid
    if item.get_closest_marker("unverified") and os.environ.get("WEFT_VERIFY") == "results":
        pytest.skip("WEFT_VERIFY=results changes what it looks at, or compares none of its launches")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A session fails in which PTX was made that cannot be assembled."""
    REFUSALS.extend(ASSEMBLER.refusals())
    if hasattr(session.config, "cache"):
        known = session.config.cache.get(_TAKEN, [])  # each process of a parallel run adds its own
        session.config.cache.set(_TAKEN, sorted(ASSEMBLER.taken.union(known)))
    if REFUSALS and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for refusal in REFUSALS:
        terminalreporter.write_line(refusal, red=True)
    if ptxas() is None:
        terminalreporter.write_line(MISSING, yellow=True)
    if zig() is None:
        terminalreporter.write_line(UNLINKED, yellow=True)


@pytest.fixture(autouse=True)
def _level_of_the_log() -> Iterator[None]:
    """`ti.init(log_level=...)` holds for the process: the next test gets the level that this one found."""
    level = logger.level
    yield
    logger.setLevel(level)


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
