"""`pytest -p tests.cpu_time`: the processor time of tests, that of their subprocesses included, by file and by test.
Other than the time on the clock it hardly depends on what else the machine does."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator

import pytest

_KEY = "cpu_seconds"
_FILES, _TESTS = 20, 30
_costs: Counter[str] = Counter()


def _spent() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.user_properties.append((_KEY, _spent()))
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    now = _spent()
    before = next(value for name, value in reversed(item.user_properties) if name == _KEY)
    item.user_properties.append((_KEY, now))
    report.user_properties = [("cpu", now - before)]
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """(With xdist, where all reports come together.)"""
    _costs[report.nodeid] += sum(value for name, value in report.user_properties if name == "cpu")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    files, tests = Counter[str](), Counter[str]()
    for name, seconds in _costs.items():
        files[name.split("::")[0]] += seconds
        tests[name.split("[")[0]] += seconds
    terminalreporter.section(f"processor time: {sum(files.values()):.0f} s")
    for costs, count in ((files, _FILES), (tests, _TESTS)):
        for name, seconds in costs.most_common(count):
            terminalreporter.write_line(f"{seconds:8.1f} s  {name}")
        terminalreporter.write_line("")
