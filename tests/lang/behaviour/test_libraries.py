"""Arrays of other libraries as arguments, and fields and ndarrays as arrays of theirs."""

import array
import gc
import subprocess
import sys

import numpy as np
import pytest

from weft.ir.errors import WeftError


@pytest.fixture
def double(ti):
    @ti.kernel
    def double(a: ti.types.ndarray()):
        for I in ti.grouped(a):
            a[I] = a[I] * 2

    return double


@pytest.fixture
def total(ti):
    @ti.kernel
    def total(a: ti.types.ndarray()) -> ti.f64:
        s = ti.f64(0)
        for I in ti.grouped(a):
            s += a[I]
        return s

    return total


class Producer:
    """Only DLPack; `old` without versions."""

    def __init__(self, of, old=False):
        self.of, self.old = of, old

    def __dlpack__(self, stream=None, **keywords):
        if self.old and keywords:
            raise TypeError("an unexpected keyword argument")
        return self.of.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.of.__dlpack_device__()


VERSIONED = int(np.__version__.split(".")[0]) >= 2


@pytest.mark.skipif(not VERSIONED, reason="this numpy makes DLPack capsules without a version")
def test_dlpack_arguments(ti, double, total):
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)
    double(Producer(whole.T[::-1, 1:]))
    want = np.arange(12, dtype=np.float32).reshape(3, 4)
    want.T[::-1, 1:] *= 2
    assert whole.tolist() == want.tolist()
    for dtype in (np.int8, np.uint16, np.int64, np.float64, np.bool_):
        a = np.ones(3, dtype)
        double(Producer(a))
        assert a.tolist() == (np.ones(3, dtype) * 2).astype(dtype).tolist()


def test_dlpack_that_is_read_only(ti, double, total):
    a = np.arange(4, dtype=np.float32)
    assert total(Producer(a, old=True)) == 6
    with pytest.raises(WeftError, match="read-only"):  # an old capsule cannot say that it may be written to
        double(Producer(a, old=True))
    if VERSIONED:
        a.flags.writeable = False
        assert total(Producer(a)) == 6
        with pytest.raises(WeftError, match="read-only"):
            double(Producer(a))


def test_dlpack_that_is_refused(ti, double):
    with pytest.raises(WeftError, match=r"argument 'a'.*complex \(128 bits\)"):
        double(Producer(np.ones(3, complex)))

    class Elsewhere:
        def __dlpack__(self, **_):
            raise AssertionError

        def __dlpack_device__(self):
            return (2, 0)

    if ti.cfg.arch != "cuda":
        with pytest.raises(WeftError, match=r"argument 'a'.*GPU memory.*arch=ti\.cuda"):
            double(Elsewhere())


def test_a_capsule_gives_its_memory_back(ti, total):
    gone = []

    class Owner(np.ndarray):
        def __del__(self):
            gone.append(1)

    a = np.arange(4, dtype=np.float32).view(Owner)
    assert total(Producer(a.view(np.ndarray))) == 6
    count = len(gone)
    del a
    gc.collect()
    assert len(gone) > count


def test_buffers_and_kin(ti, double, total):
    numbers = array.array("f", [1, 2, 3])
    double(numbers)
    assert list(numbers) == [2, 4, 6]
    double(memoryview(numbers))
    assert list(numbers) == [4, 8, 12]
    assert total(b"\x01\x02") == 3
    masked = np.ma.masked_array([1.0, 2.0], [0, 1])
    with pytest.raises(WeftError, match=r"argument 'a'.*mask"):
        double(masked)
    for value in ([1, 2], (1,), 3, np.float32(3), "a", None, {}):
        with pytest.raises(WeftError, match="argument 'a' must be an array, got"):
            double(value)
    for dtype in ("S3", "O", "M8[s]", "c8", [("x", "f4")], ">f4"):
        with pytest.raises(
            WeftError, match=r"argument 'a' must be an array (of numbers|in the machine's byte order), got"
        ):
            double(np.zeros(3, dtype))


def test_no_axes_and_no_elements(ti, total):
    @ti.kernel
    def bump(a: ti.types.ndarray()):
        a[None] += 2

    a, n = np.array(1.5), ti.ndarray(ti.i32, ())
    bump(a)
    bump(n)
    assert (a.item(), n[None]) == (3.5, 2)
    for shape in ((0,), (0, 3), (3, 0)):
        assert total(np.zeros(shape)) == 0


# ---- lending ---------------------------------------------------------------------------------------------------------


def lenders(ti):
    x = ti.field(ti.f32, (3, 4))
    y = ti.Vector.field(2, ti.f32, (3, 2), layout=ti.Layout.SOA)
    n = ti.ndarray(ti.f32, (3, 4))
    m = ti.Matrix.ndarray(2, 2, ti.f32, 3)
    return {"field": x, "vectors": y, "ndarray": n, "matrices": m}


@pytest.mark.parametrize("which", ["field", "vectors", "ndarray", "matrices"])
def test_numpy_sees_the_memory(ti, which):
    x = lenders(ti)[which]
    x.fill(1)
    if ti.cfg.arch == "cuda":
        assert np.asarray(x).tolist() == x.to_numpy().tolist()
        with pytest.raises(ValueError, match="copy"):
            np.asarray(x, copy=False)
        return
    for view in (np.asarray(x), np.from_dlpack(x)):
        assert view.tolist() == x.to_numpy().tolist()
        if view.flags.writeable:
            view[...] += 1
            assert x.to_numpy().tolist() == view.tolist()
    copied = np.array(x)
    copied += 1
    assert copied.tolist() != x.to_numpy().tolist()
    assert np.asarray(x, np.float64).dtype == np.float64


def test_lent_memory_stays(ti):
    if ti.cfg.arch == "cuda":
        pytest.skip("numpy gets copies there")
    arch = ti.cfg.arch
    for x in lenders(ti).values():
        x.fill(7)
        view, other = np.asarray(x), np.from_dlpack(x)
        del x
        gc.collect()
        assert (view == 7).all()
        assert (other == 7).all()
    kept = [(np.asarray(x), x) for x in lenders(ti).values()]
    ti.init(arch=arch)
    for view, x in kept:
        assert not view.any()
        with pytest.raises(RuntimeError, match="no longer exists"):
            np.asarray(x)


def test_a_nested_field_is_copied(ti):
    x = ti.field(ti.i32)
    ti.root.dense(ti.ij, (2, 2)).dense(ti.ij, (2, 2)).place(x)
    x[3, 1] = 5
    copied = np.asarray(x)
    assert copied[3, 1] == 5
    copied[3, 1] = 6
    assert x[3, 1] == 5
    assert not hasattr(x, "__array_interface__")
    with pytest.raises(BufferError, match="nested blocks"):
        x.__dlpack__()


def test_fields_as_arguments(ti, double):
    x = ti.field(ti.f32, (3, 4))
    x.fill(2)
    double(x)
    assert x.to_numpy().tolist() == [[4] * 4] * 3


# ---- PyTorch and JAX -------------------------------------------------------------------------------------------------


def test_tensors(ti, torch, double, total):
    floats, whole = (
        ("float32", "float64", "float16"),
        [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)],
    )
    for dtype in (getattr(torch, name) for name in (*floats, *whole)):
        t = torch.ones(3, 4, dtype=dtype)
        double(t)
        assert t.tolist() == [[2] * 4] * 3
    t = torch.arange(12.0).reshape(3, 4)
    double(t.T[::2])
    assert t.tolist() == [[0, 1, 4, 3], [8, 5, 12, 7], [16, 9, 20, 11]]
    parameter = torch.nn.Parameter(torch.ones(3))
    double(parameter)
    assert parameter.tolist() == [2, 2, 2]
    assert total(torch.ones(1).expand(5)) == 5
    scalar = torch.tensor(3.0)
    double(scalar) if ti.cfg.arch != "python" else None
    double(torch.zeros(0, 3))


def test_tensors_that_are_refused(ti, torch, double):
    for t, why in (
        (torch.ones(3, dtype=torch.bfloat16), r"bfloat16.*tensor\.float\(\)"),
        (torch.ones(3, dtype=torch.complex64), "complex64"),
        (torch.eye(3).to_sparse(), "to_dense"),
        (torch.ones(3, device="meta"), "meta"),
    ):
        with pytest.raises(WeftError, match=f"argument 'a'.*{why}"):
            double(t)


def test_fields_as_tensors(ti, torch):
    if ti.cfg.arch == "cuda":
        pytest.skip("see tests/cuda/test_libraries.py")
    for x in lenders(ti).values():
        x.fill(1)
        t = torch.from_dlpack(x)
        t += 1
        assert (x.to_numpy() == 2).all()
        assert torch.as_tensor(x).tolist() == x.to_numpy().tolist()
        del x
        gc.collect()
        assert t.sum() == 2 * t.numel()


def test_to_and_from_torch(ti, torch):
    for x in lenders(ti).values():
        shape = x.to_numpy().shape
        t = torch.arange(float(np.prod(shape))).reshape(shape)
        x.from_torch(t.requires_grad_())
        assert x.to_torch().tolist() == t.tolist()
        x.to_torch().add_(1)
        assert x.to_torch(device="cpu").tolist() == t.tolist()
        x.from_torch(t.to(torch.int32))
        with pytest.raises(ValueError, match=r"\(1, 1, 1\)"):
            x.from_torch(torch.zeros(1, 1, 1))
        with pytest.raises(WeftError, match=r"bfloat16.*tensor\.float\(\)"):
            x.from_torch(t.detach().to(torch.bfloat16))
    v = ti.Vector.field(3, ti.f32, 4)
    assert tuple(v.to_torch(keep_dims=True).shape) == (4, 3, 1)
    s = ti.types.struct(a=ti.i32, v=ti.math.vec2).field(shape=3)
    s.from_torch({"a": torch.arange(3), "v": torch.ones(3, 2)})
    assert s.to_torch()["a"].tolist() == [0, 1, 2]


def test_jax_arrays(ti, jnp, total, double):
    a = jnp.arange(4.0)
    assert total(a) == 6
    with pytest.raises(WeftError, match="read-only"):
        double(a)
    if ti.cfg.arch != "cuda":
        x = ti.field(ti.f32, 3)
        x.fill(2)
        assert jnp.from_dlpack(x).tolist() == [2, 2, 2]


def test_tensors_that_outlive_the_interpreter(ti, torch):
    """The end of a process, in any order, is quiet."""
    program = "import torch, weft as ti; ti.init(); x = ti.field(ti.f32, 4); x.fill(1); t = torch.from_dlpack(x); del x"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
