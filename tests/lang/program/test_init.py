"""Options of `init` and of the environment, levels of logging."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.program import init, options
from weft.lang.program.init import program
from weft.lang.program.options import OPTIONS, UnknownOption, WrongOption


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(options, "_mentioned", set())
    level, handlers = options.logger.level, list(options.logger.handlers)
    yield
    options.logger.setLevel(level)
    options.logger.handlers[:] = handlers
    ti.reset()


def test_options_reach_the_config() -> None:
    ti.init(arch=ti.x64, default_fp=ti.f64, default_ip=ti.i64, debug=True, random_seed=7, cpu_max_num_threads=1)
    assert (ti.cfg.arch, ti.cfg.default_fp, ti.cfg.default_ip) == ("cpu", ti.f64, ti.i64)
    assert (ti.cfg.debug, ti.cfg.boundary_check, ti.cfg.random_seed, ti.cfg.threads) == (True, True, 7, 1)
    ti.init(check_out_of_bound=True)
    assert (ti.cfg.debug, ti.cfg.boundary_check) == (False, True)
    ti.init(print_ir=True, print_kernel_llvm_ir=True, kernel_profiler=True)
    assert program().dumps == {"all", "llvm"}
    assert program().profiling


def test_options_without_meaning_say_so_once(caplog: pytest.LogCaptureFixture) -> None:
    ti.init(dynamic_index=True, packed=True)
    ti.init(dynamic_index=False, device_memory_GB=2.0)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        "init: dynamic_index, packed: ignored, because it has no effect in Weft",
        "init: device_memory_GB: ignored, because it has no effect in Weft",
    ]


@pytest.mark.parametrize(
    ("keywords", "error", "text"),
    [
        ({"debg": True}, UnknownOption, "init has no option 'debg'; did you mean 'debug'?"),
        ({"debug": "yes"}, TypeError, "init: debug must be True or False, not 'yes'"),
        ({"random_seed": 1.5}, TypeError, "init: random_seed must be a whole number, not 1.5"),
        ({"cpu_max_num_threads": -4}, WrongOption, "init: cpu_max_num_threads must be 0 or more, not -4"),
        ({"threads": True}, WrongOption, "init: threads must be a whole number, not True"),
        ({"compile_threads": -1}, WrongOption, "init: compile_threads must be 0 or more, not -1"),
        ({"num_compile_threads": -1}, WrongOption, "init: num_compile_threads must be 0 or more, not -1"),
        ({"device": -1}, WrongOption, "init: device must be 0 or more, not -1"),
        ({"device": "first"}, WrongOption, "init: device must be a whole number, not 'first'"),
        ({"cuda_stack_limit": -1}, WrongOption, "init: cuda_stack_limit must be 0 or more, not -1"),
        ({"opt_level": 4}, WrongOption, "init: opt_level must be 0, 1, 2 or 3, not 4"),
        ({"opt_level": -1}, WrongOption, "init: opt_level must be 0, 1, 2 or 3, not -1"),
        ({"random_seed": 2**64}, WrongOption, f"init: random_seed must be a number that fits 64 bits, not {2**64}"),
        ({"debug": 2}, WrongOption, "init: debug must be True or False, not 2"),
        ({"fast_math": 1.0}, WrongOption, "init: fast_math must be True or False, not 1.0"),
        ({"log_level": 3}, WrongOption, "init: log_level must be a string, not 3"),
        (
            {"offline_cache_cleaning_policy": "all"},
            WrongOption,
            "init: offline_cache_cleaning_policy must be one of lru, fifo, version, never, not 'all'",
        ),
        (
            {"offline_cache_cleaning_factor": float("nan")},
            WrongOption,
            "init: offline_cache_cleaning_factor must be a number from 0 to 1, not nan",
        ),
        (
            {"offline_cache_max_size_of_files": -1},
            WrongOption,
            "init: offline_cache_max_size_of_files must be 0 or more, not -1",
        ),
        ({"offline_cache_file_path": 3}, WrongOption, "init: offline_cache_file_path must be a string, not 3"),
        ({"enable_fallback": "no"}, WrongOption, "init: enable_fallback must be True or False, not 'no'"),
        ({"require_version": 1.7}, WrongOption, "init: require_version must be a string, not 1.7"),
        ({"cpu_features": 3}, WrongOption, "init: cpu_features must be a string, not 3"),
        (
            {"cpu_features": "avx2"},
            ti.WeftError,
            "cpu_features must be one of native, x86-64-v2, x86-64-v3, x86-64-v4, not 'avx2'",
        ),
        ({"arch": 3}, ti.WeftError, "arch must be one of cpu, cuda, gpu, python, not 3"),
        ({"default_fp": ti.i32}, TypeError, "default_fp must be f16, f32 or f64, not i32"),
        ({"default_ip": "i64"}, TypeError, "default_ip must be an integer type, not 'i64'"),
        (
            {"arch": "cudaa"},
            ti.WeftError,
            "arch must be one of cpu, cuda, gpu, python, not 'cudaa'; did you mean 'cuda'?",
        ),
        (
            {"log_level": "loud"},
            ti.WeftError,
            "a logging level must be one of trace, debug, info, warn, error, critical, not 'loud'",
        ),
    ],
)
def test_wrong_options(keywords: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        ti.init(**keywords)
    assert str(caught.value) == text


@pytest.mark.parametrize("name", OPTIONS)
def test_no_option_takes_a_value_of_another_type(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongOption, match=f"^init: {name} must be "):
        ti.init(**{name: [1]})
    if OPTIONS[name] is not str:
        monkeypatch.setenv(f"WEFT_{name.upper()}", "blue")
        with pytest.raises(
            WrongOption, match=rf"^WEFT_{name.upper()} \(or TI_{name.upper()}\) must be .*, not 'blue'$"
        ):
            ti.init()


def test_numbers_of_numpy_are_numbers() -> None:
    given = {"random_seed": np.int64(7), "debug": np.True_, "offline_cache_cleaning_factor": np.float32(0.5)}
    ti.init(cpu_max_num_threads=np.int32(1), **given)
    assert (ti.cfg.random_seed, ti.cfg.debug, ti.cfg.threads) == (7, True, 1)


def test_a_wrong_number_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TI_CPU_MAX_NUM_THREADS", "-4")
    with pytest.raises(WrongOption, match=r"or TI_CPU_MAX_NUM_THREADS\) must be 0 or more, not -4"):
        ti.init()


def test_an_unknown_option_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        ti.init(nonsense=1)


def test_the_environment_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"TI_DEBUG": "1", "TI_DEFAULT_FP": "f64", "WEFT_FAST_MATH": "off", "TI_FAST_MATH": "1"}.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("TI_ARCH", "python")
    ti.init(arch=ti.cpu, debug=False, default_fp=ti.f32)
    assert (ti.cfg.arch, ti.cfg.debug, ti.cfg.default_fp, ti.cfg.fast_math) == ("python", True, ti.f64, False)
    monkeypatch.setenv("TI_RANDOM_SEED", "many")
    with pytest.raises(TypeError, match="must be a whole number, not 'many'"):
        ti.init()


def test_arches_that_are_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(UserWarning, match=r"arch=vulkan is not available \(Weft has no such backend\); running on cpu"):
        ti.init(arch=ti.vulkan)
    with pytest.raises(ti.WeftError, match="arch=metal is not available"):
        ti.init(arch=ti.metal, enable_fallback=False)
    monkeypatch.setenv("TI_ENABLE_CUDA", "0")
    with pytest.warns(UserWarning, match="the environment variable WEFT_ENABLE_CUDA or TI_ENABLE_CUDA turns it off"):
        ti.init(arch=ti.gpu)
    assert ti.cfg.arch == "cpu"


def test_levels_of_logging() -> None:
    ti.set_logging_level(ti.INFO)
    assert ti.is_logging_effective(ti.WARN)
    assert not ti.is_logging_effective(ti.DEBUG)
    ti.init(verbose=False)
    assert not ti.is_logging_effective(ti.WARN)
    ti.init(log_level=ti.TRACE)
    assert ti.is_logging_effective(ti.TRACE)


def test_what_is_written_where() -> None:
    code = "import weft as ti; ti.init(log_level='info', packed=True); ti.init(log_level='error', timeline=True)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == ""
    assert run.stderr.splitlines() == [
        "[weft] WARNING: init: packed: ignored, because it has no effect in Weft",
        "[weft] INFO: running on arch=cpu",
    ]


def test_print_ir_shows_the_texts(capsys: pytest.CaptureFixture[str]) -> None:
    @ti.kernel
    def three() -> ti.i32:
        return 3

    ti.init(print_preprocessed_ir=True)
    assert three() == 3
    assert "three: tree" in capsys.readouterr().err


def test_followers_hear_of_programs() -> None:
    heard: list[tuple[int, bool]] = []

    def told(one: init.Program, began: bool) -> None:
        heard.append((one.generation, began))

    ti.reset()
    init.follow_programs(told)
    assert heard == []
    try:
        ti.init(arch=ti.cpu)
        first = program().generation
        ti.init(arch=ti.cpu)
        ti.reset()
        assert heard == [(first, True), (first, False), (first + 1, True), (first + 1, False)]
    finally:
        init._followers.remove(told)
