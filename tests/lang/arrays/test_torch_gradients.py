"""Gradients through PyTorch: operators with the gradients of their kernels, and tensors under a tape."""

import importlib.util
import itertools

import numpy as np
import pytest

import weft as ti
from weft.ir.errors import CompilationError, WeftError

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed (pip install weft[arrays])", allow_module_level=True)

import torch
from torch.autograd import gradcheck, gradgradcheck

NAMES = (f"weft_tests::gradient{number}" for number in itertools.count())
ND = ti.types.ndarray


@pytest.fixture(autouse=True)
def _program():
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    yield
    ti.reset()


def numbers(*shape):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.rand(*shape, dtype=torch.float64, generator=generator).add_(0.3).requires_grad_()


def check(op, *tensors):
    """First and second gradients agree with differences."""
    assert gradcheck(op, tensors)
    assert gradgradcheck(op, tensors)


def test_functions_of_elements():
    @ti.kernel
    def wave(x: ND(ndim=1), k: ti.f64, y: ND(ndim=1)):
        for i in x:
            y[i] = ti.sin(k * x[i]) * ti.exp(x[i]) / (1 + x[i] * x[i])

    op = ti.torch.op(wave, next(NAMES), out="y")
    check(lambda x: op(x, 1.7), numbers(5))
    x = numbers(3)
    op(x, 0.0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_products_of_matrices_with_two_results():
    @ti.kernel
    def product(a: ND(ndim=2), b: ND(ndim=2), c: ND(ndim=2), rows: ND(ndim=1)):
        for i, j in c:
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
        for i in rows:
            rows[i] = ti.exp(a[i, 0]) * b[0, 0]

    def made(a, b):
        return a.new_zeros(a.shape[0], b.shape[1])

    op = ti.torch.op(product, next(NAMES), out={"c": made, "rows": lambda a, b: a.new_zeros(a.shape[0])})
    a, b = numbers(3, 4), numbers(4, 2)
    check(op, a, b)
    check(lambda a: op(a, b.detach())[0], a)
    check(lambda b: op(a.detach().t().contiguous().t(), b)[1], b)  # a transposed tensor


def test_loops_and_branches_and_scatters():
    @ti.kernel
    def newton(x: ND(ndim=1), y: ND(ndim=1), total: ND(ndim=1)):
        for i in x:
            r = 1.0
            while ti.abs(r * r - x[i]) > 1e-14:
                r = 0.5 * (r + x[i] / r)
            y[i] = r
            if x[i] > 0.7:
                y[i] = r * x[i]
            total[0] += r * r * r

    op = ti.torch.op(newton, next(NAMES), out={"y": torch.zeros_like, "total": lambda x: x.new_zeros(1)})
    check(op, numbers(6))


def test_results_that_a_kernel_reads_and_overwrites():
    """The gradient gets the values that the results had when they were read."""

    @ti.kernel
    def chain(x: ND(ndim=1), y: ND(ndim=1), z: ND(ndim=1)):
        for i in x:
            y[i] = x[i] * x[i]
        for i in x:
            z[i] = y[i] * y[i] * x[i]

    @ti.kernel
    def grown(x: ND(ndim=1), y: ND(ndim=1)):
        for i in x:
            y[i] = (y[i] + 2.0) * y[i] * x[i] * x[i]

    check(ti.torch.op(chain, next(NAMES), out=("y", "z")), numbers(4))
    check(ti.torch.op(grown, next(NAMES), out={"y": lambda x: torch.full_like(x, 3.0)}), numbers(4))


def test_vectors_and_integers():
    @ti.kernel
    def gather(x: ND(dtype=ti.math.vec2, ndim=1), which: ND(dtype=ti.i32, ndim=1), v: ti.math.vec2, y: ND(ndim=1)):
        for i in which:
            y[i] = x[which[i]].dot(x[which[i]]) * x[which[i]][0] + v[1] * x[which[i]][1]

    def made(which, **_):
        return torch.zeros(which.shape[0], dtype=torch.float64)

    op = ti.torch.op(gather, next(NAMES), out={"y": made})
    which = torch.tensor([0, 2, 2, 1], dtype=torch.int32)
    check(lambda x: op(x, which, [1.0, 2.0]), numbers(3, 2))

    @ti.kernel
    def count(x: ND(dtype=ti.f64, ndim=1), n: ND(dtype=ti.i32, ndim=1), y: ND(dtype=ti.f64, ndim=1)):
        for i in x:
            n[i] = ti.cast(x[i] * 4, ti.i32)
            y[i] = x[i] * x[i] * n[i]

    op = ti.torch.op(
        count, next(NAMES), out={"n": lambda x: torch.zeros(x.shape, dtype=torch.int32), "y": torch.zeros_like}
    )
    x = torch.tensor([0.6, 0.8], dtype=torch.float64, requires_grad=True)
    n, y = op(x)
    assert not n.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([2 * 0.6 * 2, 2 * 0.8 * 3])


def test_compiled_code():
    @ti.kernel
    def cube(x: ND(dtype=ti.f32, ndim=1), y: ND(dtype=ti.f32, ndim=1)):
        for i in x:
            y[i] = x[i] * x[i] * x[i]

    op = ti.torch.op(cube, next(NAMES), out="y")
    torch._dynamo.reset()
    function = torch.compile(lambda x: (op(x) * 2).sum(), fullgraph=True, backend="aot_eager")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    function(x).backward()
    assert x.grad.tolist() == [6.0, 24.0]
    torch.library.opcheck(op, (x,))


def test_what_has_no_gradient():
    @ti.kernel
    def noisy(x: ND(dtype=ti.f64, ndim=1), y: ND(dtype=ti.f64, ndim=1)):
        for i in x:
            y[i] = x[i] * ti.random(ti.f64)

    @ti.kernel
    def shifted(x: ND(dtype=ti.f64, ndim=1), y: ND(dtype=ti.f64, ndim=1)):
        for i in x:
            y[i] = x[i]
            ti.atomic_mul(y[0], x[i])

    x = numbers(4)
    with pytest.raises(WeftError, match="draws random numbers"):
        ti.torch.op(noisy, next(NAMES), out="y")(x).sum().backward()
    with pytest.raises(CompilationError, match="atomic mul"):
        ti.torch.op(shifted, next(NAMES), out="y")(x).sum().backward()


def test_tensors_under_a_tape():
    """A tensor that requires a gradient gets one, and a tensor can be the loss."""

    @ti.kernel
    def energy(x: ND(dtype=ti.f64, ndim=1), loss: ND(dtype=ti.f64, ndim=1)):
        for i in x:
            loss[0] += x[i] * x[i] * (i + 1)

    @ti.kernel
    def double(x: ND(dtype=ti.f64, ndim=1)):
        for i in x:
            x[i] *= 2.0

    x, loss = numbers(3), torch.zeros(1, dtype=torch.float64, requires_grad=True)
    start = x.detach().clone()
    with ti.ad.Tape(loss):
        energy(x, loss)
        double(x)
        energy(x, loss)
    weights = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(x.grad, 2 * 5 * start * weights)
    np.testing.assert_allclose(loss.detach(), [(5 * start.numpy() ** 2 * weights).sum()])
    energy.grad(x, loss)  # adds to it: the gradient of the loss is 1
    np.testing.assert_allclose(x.grad, 2 * 7 * start * weights)
    constant = torch.ones(3, dtype=torch.float64)
    with ti.ad.Tape(loss):
        energy(constant, loss)
    assert constant.grad is None
    with pytest.raises(WeftError, match="requires_grad"):
        ti.ad.Tape(torch.zeros(1))
