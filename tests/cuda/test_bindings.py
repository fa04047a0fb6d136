"""What `Driver` calls, below NVIDIA's package `cuda.bindings`; and that the driver in software has the same methods."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cuda import software_library
from tests.emulated.driver import CALLS, EmulatedDriver
from weft.runtime.cuda_driver import CudaError, Driver

_PACKAGE = find_spec("cuda") is not None and find_spec("cuda.bindings") is not None
needs_the_package = pytest.mark.skipif(
    not _PACKAGE or sys.platform != "linux" or not shutil.which("cc"), reason="no cuda-bindings, or no C compiler"
)


def _problems(folder: Path, *missing: str) -> dict[str, str]:
    command = [sys.executable, software_library.__file__, str(folder), *missing]
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(command, capture_output=True, text=True, env=here, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, str] = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return _problems(tmp_path_factory.mktemp("libcuda"))


@needs_the_package
@pytest.mark.parametrize("case", software_library.CASES)
def test_a_call_is_what_the_header_of_cuda_says(problems: dict[str, str], case: str) -> None:
    assert problems[case] == ""


@needs_the_package
def test_a_driver_that_is_older_than_the_package(tmp_path: Path) -> None:
    problems = _problems(tmp_path, "cuMemPoolTrimTo")
    assert "cuMemPoolTrimTo" in problems["trim_pool"]
    assert "update the driver, or install the version of cuda-bindings that goes with it" in problems["trim_pool"]
    assert [name for name, problem in problems.items() if problem] == ["trim_pool"]


class _Package:
    """`cuda.bindings.driver`, as far as errors go."""

    @staticmethod
    def CUresult(status: int) -> Any:
        raise ValueError(f"{status} is not a valid CUresult")

    @staticmethod
    def cuInit(flags: int) -> tuple[int]:
        return (4711,)


def test_an_error_that_the_package_does_not_know() -> None:
    with pytest.raises(CudaError, match="cuInit: status 4711") as raised:
        Driver(_Package, None).start()
    assert raised.value.status == 4711


def test_every_call_has_a_case() -> None:
    assert {name.partition(",")[0] for name in software_library.CASES} == set(CALLS)


@pytest.mark.parametrize("name", [*CALLS, "address", "error"])
def test_drivers_have_the_same_methods(name: str) -> None:
    def signature(cls: Any) -> inspect.Signature:
        return inspect.signature(getattr(cls, name))

    assert signature(Driver) == signature(EmulatedDriver)
    assert name in vars(EmulatedDriver)


def test_nothing_is_given_back_once_the_process_ends() -> None:
    calls: list[int] = []

    class Package:
        cuEventDestroy = calls.append

    made = Driver(Package, None)  # type: ignore[arg-type]
    made._release("cuEventDestroy", 1)
    made._release("cuEventDestroy", 2, ends=lambda: True)
    assert calls == [1]
