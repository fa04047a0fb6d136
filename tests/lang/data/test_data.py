"""ndarrays, builtins in Python scope, and the program's state."""

import subprocess
import sys

import numpy as np
import pytest

import weft as ti
from weft.ir.errors import CompilationError, TypeMismatch, WeftError
from weft.lang.data.field import FieldIndexError
from weft.lang.data.field_tree import FieldError
from weft.lang.program.init import program
from weft.lang.values.builtins import BUILTINS


@pytest.fixture(autouse=True)
def fresh():
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


def test_ndarrays():
    a = ti.ndarray(ti.f32, (2, 3))
    a[1, 2] = 2.5
    assert (a.shape, a.dtype, a[1, 2], a[0, 0]) == ((2, 3), ti.f32, 2.5, 0.0)
    a.from_numpy(np.ones((2, 3)))
    assert a.to_numpy().sum() == 6
    v = ti.Vector.ndarray(3, float, shape=4)
    v[1] = [1, 2, 3]
    v[1].x = 5
    assert v[1].to_list() == [5, 2, 3]
    assert (v.shape, v.element_shape, v.to_numpy().shape) == ((4,), (3,), (4, 3))
    assert ti.math.vec2.ndarray(3).ir.text == "f32x2"
    m = ti.Matrix.ndarray(2, 3, ti.f64, 4)
    assert (v.n, m.n, m.m, m.element_shape, m.element_type) == (3, 2, 3, (2, 3), ti.types.matrix(2, 3, ti.f64))
    assert (a.element_shape, a.element_type) == ((), ti.f32)
    assert {a.layout, v.layout, m.layout} == {ti.Layout.AOS}
    assert ti.Matrix.ndarray(2, 2, ti.f64, 3).to_numpy().shape == (3, 2, 2)
    for wrong in [(2, 0), (-1, 0), 0]:
        with pytest.raises(FieldIndexError):
            a[wrong]
    with pytest.raises(ValueError, match="but the array has shape"):
        a.from_numpy(np.ones(3))
    ti.reset()
    with pytest.raises(FieldError, match="reset"):
        a[0, 0]


def test_builtins_in_python():
    assert ti.sin(0) == 0
    assert ti.max(1, 2.5, 2) == 2.5
    assert (ti.raw_div(-7, 2), ti.raw_mod(-7, 2)) == (-3, -1)
    assert (ti.round(2.5), ti.round(-2.5), ti.floor(1.5, ti.i32)) == (3, -3, 1)
    assert ti.cast(-1, ti.u8) == 255
    assert ti.cast(1.7, int) == 1
    assert ti.bit_cast(1.0, ti.i32) == 0x3F800000
    assert ti.select(True, 1, 2.5) == 1
    assert ti.bit_shr(ti.i32(-1), 28) == 15
    assert ti.sqrt(ti.i32(2)).dtype == np.float32
    assert 0 <= ti.random() < 1
    assert ti.static(3) == 3
    assert list(ti.ndrange((1, 3), 2)) == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert [index.to_list() for index in ti.grouped(ti.ndrange(1, 2))] == [[0, 0], [0, 1]]
    assert ti.logical_and(1, 0) == 0
    with pytest.raises(CompilationError, match="only in kernels"):
        ti.atomic_add(1, 2)
    with pytest.raises(TypeMismatch):
        ti.bit_cast(ti.f64(1), ti.i32)
    with pytest.raises(TypeMismatch):
        ti.max(1)
    with pytest.raises(CompilationError, match="no"):
        ti.static_assert(False, "no")


def test_every_builtin_has_a_docstring_and_a_name():
    for name, builtin in BUILTINS.items():
        assert builtin.name == name
        assert builtin.__doc__


def test_random_seed_repeats():
    ti.init(random_seed=5)
    first = [ti.random() for _ in range(3)]
    ti.init(random_seed=5)
    assert first == [ti.random() for _ in range(3)]


def test_init_options():
    ti.init(debug=True, default_fp=float, offline_cache=False, cpu_max_num_threads=1, kernel_profiler=True)
    config = program().config
    assert (config.debug, config.boundary_check, config.threads, config.default_fp) == (True, True, 1, ti.f32)
    assert ti.cfg.debug is True
    with pytest.raises(KeyError, match="speed"):
        ti.init(speed=3)
    with pytest.raises(TypeError, match="default_fp must be f16, f32 or f64"):
        ti.init(default_fp=ti.i32)
    with pytest.raises(WeftError, match="arch must be one of"):
        ti.init(arch="abacus")
    with pytest.raises(WeftError, match="not available"):
        ti.init(arch=ti.vulkan, enable_fallback=False)
    with pytest.warns(UserWarning, match="running on cpu"):
        ti.init(arch=ti.vulkan)
    assert program().arch == ti.cpu


def test_environment_has_the_last_word(monkeypatch):
    monkeypatch.setenv("WEFT_ARCH", "python")
    monkeypatch.setenv("WEFT_DEBUG", "1")
    monkeypatch.setenv("WEFT_DEFAULT_FP", "f64")
    ti.init(arch=ti.cpu, debug=False)
    assert (program().arch, program().config.debug, program().config.default_fp) == ("python", True, ti.f64)


def test_first_use_is_an_init():
    ti.reset()
    ti.field(float, shape=2)[0] = 1
    assert program().arch == ti.cpu
    ti.sync()


def test_import_is_light():
    code = "import sys, weft; print([m for m in ('llvmlite', 'torch', 'matplotlib', 'cuda') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_annotations():
    kind = ti.types.ndarray(dtype=ti.math.vec3, ndim=2)
    assert kind.element.text == "f32x3"
    assert ti.types.ndarray().element is None
    assert ti.types.NDArray[ti.f32, 2].ndim == 2
    assert ti.types.is_real(ti.f32)
    assert ti.types.is_signed(int)
    assert not ti.types.is_integral(float)
    assert ti.types.to_ir(bool) is ti.u1
    with pytest.raises(TypeMismatch):
        ti.types.to_ir("f32")


def test_colours():
    assert ti.rgb_to_hex((1, 0.5, 0.0704)) == 16744209
    assert ti.rgb_to_hex([np.array([1.0, 0.0, 7.0]), 0.0, np.array([0.0, 1.0, -1.0])]).tolist() == [
        0xFF0000,
        0x0000FF,
        0xFF0000,
    ]
    assert ti.hex_to_rgb(0xFF8012)[0] == 1.0
