"""`import taichi` that means Weft, the inner modules programs import from, names that come later."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
import weft.compat
from weft.lang import cli


@pytest.fixture
def installed() -> Iterator[None]:
    weft.compat.install()
    yield
    weft.compat.uninstall()


def taichi(name: str = "taichi") -> Any:
    return importlib.import_module(name)


@pytest.mark.usefixtures("installed")
def test_import_taichi_is_weft() -> None:
    assert taichi() is ti
    assert taichi("taichi.math") is ti.math
    assert taichi("taichi.lang.matrix").Matrix is ti.Matrix
    for name in ("lang.matrix", "types"):
        assert taichi(f"taichi.{name}") is importlib.import_module(f"weft.{name}")
    assert taichi("taichi.types").__spec__.name == "weft.lang.compat.types"


@pytest.mark.usefixtures("installed")
def test_names_without_a_counterpart_raise_errors() -> None:
    with pytest.raises(ImportError, match=r"Weft has no counterpart of taichi\._kernels$"):
        taichi("taichi._kernels")
    with pytest.raises(ImportError, match=r"taichi\.aot yet: compilation ahead of time"):
        taichi("taichi.aot")
    with pytest.raises(AttributeError, match=r"'Mesh' yet: it is part of a feature that is not implemented \(meshes\)"):
        _ = ti.Mesh
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        _ = ti.nonsense


def test_installing_twice_and_undoing() -> None:
    weft.compat.install()
    weft.compat.install()
    assert taichi() is ti
    weft.compat.uninstall()
    assert "taichi" not in sys.modules
    weft.compat.uninstall()


def test_too_late_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "taichi", np)
    with pytest.raises(RuntimeError, match="already imported"):
        weft.compat.install()


def test_inner_modules() -> None:
    from weft.lang.exception import TaichiCompilationError
    from weft.lang.impl import current_cfg, get_runtime, index_nd
    from weft.lang.kernel_impl import func, kernel
    from weft.lang.misc import get_host_arch_list, is_arch_supported
    from weft.lang.util import cook_dtype, has_paddle, in_python_scope, is_taichi_class, to_numpy_type, to_taichi_type
    from weft.types.primitive_types import f64

    ti.init(arch=ti.cpu, default_fp=ti.f64)
    assert get_host_arch_list() == [ti.cpu]
    assert (is_arch_supported(ti.cpu), is_arch_supported(ti.vulkan)) == (True, False)
    assert (current_cfg().arch, get_runtime().default_fp, get_runtime().default_ip) == (ti.cpu, f64, ti.i32)
    assert index_nd(2) == ti.ij
    assert (func, kernel) == (ti.func, ti.kernel)
    assert TaichiCompilationError is ti.TaichiCompilationError
    assert (cook_dtype(float), to_numpy_type(ti.u8), to_taichi_type(np.int16)) == (ti.f64, np.uint8, ti.i16)
    assert (in_python_scope(), has_paddle()) == (True, False)
    assert is_taichi_class(ti.Vector([1, 2]))
    assert not is_taichi_class(1)
    ti.reset()


@pytest.mark.usefixtures("installed")
def test_functions_that_programs_choose_their_arch_by() -> None:
    core = taichi("taichi._lib.core")
    assert taichi("taichi._lib").core is core is ti._lib.core
    assert (core.GGUI_AVAILABLE, core.with_vulkan(), core.with_metal()) == (True, False, False)
    supported = taichi("taichi.lang.misc").is_extension_supported
    assert [supported(ti.cpu, getattr(ti.extension, name)) for name in ("data64", "assertion", "quant")] == [1, 1, 0]
    assert supported(ti.cpu, ti.extension.sparse)
    assert ti.f32.to_string() == "f32"
    assert ti.argpack.ArgPack is ti.ArgPack


@pytest.mark.usefixtures("installed")
def test_lists_of_types() -> None:
    types = taichi("taichi.types.primitive_types")
    assert set(types.all_types) == {*types.real_types, *types.integer_types}
    assert {ti.f16, ti.f32, ti.f64, float} == set(types.real_types)
    assert {ti.i8, ti.i64, ti.u1, ti.u64, int, bool} < set(types.integer_types)
    assert ti.types.primitive_types.type_ids == [id(t) for t in types.all_types]
    assert taichi("taichi.types.utils").is_real(ti.f16)
    assert not taichi("taichi.types.utils").is_signed(ti.u32)


@pytest.mark.usefixtures("installed")
def test_inner_modules_of_tools_and_solvers() -> None:
    assert taichi("taichi.tools.image").imwrite is ti.tools.imwrite
    assert taichi("taichi.tools.np2ply").PLYWriter is ti.tools.PLYWriter
    assert taichi("taichi.linalg.sparse_matrix").SparseMatrix is ti.linalg.SparseMatrix
    assert taichi("taichi.linalg.matrixfree_cg").MatrixFreeCG is ti.linalg.MatrixFreeCG
    assert taichi("taichi._snode.fields_builder").FieldsBuilder is ti.FieldsBuilder
    assert taichi("taichi._logging").set_logging_level is ti.set_logging_level
    assert taichi("taichi.lang._ndrange").ndrange is ti.ndrange


@pytest.mark.parametrize("arch", ["cpu", "python"])
def test_loop_unique_gives_its_value(arch: str) -> None:
    from weft.lang.misc import loop_unique

    ti.init(arch=arch)
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def fill():
        for i in range(8):
            x[loop_unique(7 - i)] = i
            x[loop_unique(7 - i, covers=[x])] += 1
            x[loop_unique(7 - i, x)] += 1

    fill()
    assert x.to_numpy().tolist() == [9, 8, 7, 6, 5, 4, 3, 2]
    ti.reset()


@pytest.mark.usefixtures("installed")
def test_the_figure_that_examples_draw() -> None:
    sign = taichi("taichi.examples.patterns").taichi_logo

    @ti.kernel
    def at(x: float, y: float) -> int:
        return sign(ti.Vector([x, y]))

    ti.init(arch=ti.cpu)
    points = [(0.0, 0.0), (0.5, 0.965), (0.2, 0.5), (0.8, 0.5), (0.5, 0.725), (0.5, 0.85), (0.5, 0.275), (0.5, 0.15)]
    assert [at(*point) for point in points] == [1, 0, 0, 1, 1, 0, 0, 1]
    assert [sign(ti.Vector(point)) for point in points] == [1, 0, 0, 1, 1, 0, 0, 1]
    ti.reset()


PROGRAM = """\
import sys
import taichi as ti
from taichi.math import vec2
ti.init(arch=ti.cpu)
@ti.kernel
def f(x: float) -> float:
    return vec2(x, 2).sum()
print(__name__, f(float(sys.argv[1])))
"""


def test_the_command_runs_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run = subprocess.run(
        [sys.executable, "-m", "weft.lang.cli", "run", str(program), "1.5"], capture_output=True, text=True, check=True
    )
    assert run.stdout == "__main__ 3.5\n"
    assert cli.main(["run", str(tmp_path / "none.py")]) == 2
    assert "there is no file" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "debug"])
def test_the_command_misses_the_program_alone(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([command])
    assert capsys.readouterr().err.endswith("the following arguments are required: PROGRAM\n")


def test_a_program_fails_as_under_python(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("vec2(x, 2)", "vec2(x, y)"))
    run = subprocess.run(
        [sys.executable, "-m", "weft.lang.cli", "run", str(program), "1.5"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    told = run.stderr.splitlines()
    assert told[:2] == ["Traceback (most recent call last):", f'  File "{program}", line 8, in <module>']
    assert told[-3].strip() == "return vec2(x, y).sum()"
    program.write_text("def broken(:")
    run = subprocess.run(
        [sys.executable, "-m", "weft.lang.cli", "run", str(program)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert run.stderr.rstrip().splitlines()[-1].startswith("SyntaxError")


def test_the_command_shows_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    assert "vector math" in capsys.readouterr().out


def test_inner_names_are_mapped_or_raise_an_error() -> None:
    from weft.lang import impl, misc, util

    assert (impl.inside_kernel(), impl.ti_int(2.5), misc.loop_config, impl.root) == (False, 2, ti.loop_config, ti.root)
    with pytest.warns(DeprecationWarning, match="old") as record:
        util.warning("old", DeprecationWarning)
    assert record[0].filename == __file__
    for module, name, why in (
        (misc, "mesh_local", r"yet: it is part of a feature that is not implemented \(meshes\)"),
        (impl, "expr_init", "part of Taichi's compiler, and Weft has its own compiler"),
        (util, "nonsense", "has no attribute 'nonsense'$"),
    ):
        with pytest.raises(AttributeError, match=why):
            getattr(module, name)


def test_loop_config_belongs_to_a_loop() -> None:
    with pytest.raises(ti.CompilationError, match="directly before the loop"):
        ti.loop_config(block_dim=64)
