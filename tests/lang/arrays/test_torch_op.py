"""`ti.torch.op`: kernels as operators of PyTorch."""

import importlib.util
import itertools

import pytest

import weft as ti
from weft.ir.errors import WeftError

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed (pip install weft[arrays])", allow_module_level=True)

import torch

NAMES = (f"weft_tests::op{number}" for number in itertools.count())
ND = ti.types.ndarray


@pytest.fixture(autouse=True)
def _program():
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


@pytest.fixture
def saxpy():
    @ti.kernel
    def saxpy(x: ND(), y: ND(), k: ti.f32):
        for I in ti.grouped(x):
            y[I] += k * x[I]

    return saxpy


@pytest.fixture
def square():
    @ti.kernel
    def square(x: ND(), k: ti.f32, y: ND()):
        for i in range(x.shape[0]):
            y[i] = k * x[i] * x[i]

    @ti.kernel
    def square_back(x: ND(), k: ti.f32, grad_y: ND(), grad_x: ND()):
        for i in range(x.shape[0]):
            grad_x[i] = 2 * k * x[i] * grad_y[i]

    return ti.torch.op(square, next(NAMES), out="y", backward=square_back)


def schema(operator):
    return str(operator._opoverload._schema).partition("(")[2]


def compiled(function):
    """`torch.compile` without a C++ compiler: what counts here is that one graph is made of it."""
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend="aot_eager")


def test_the_schema_tells_what_is_written(saxpy):
    assert schema(ti.torch.op(saxpy, next(NAMES))) == "Tensor x, Tensor(a0!) y, float k) -> ()"

    @ti.func
    def put(a, i, value):
        a[i] = ti.cast(value, ti.i32)

    @ti.kernel
    def mixed(a: ND(ndim=2), n: ti.i32, b: ND(dtype=ti.i32), on: ti.u1, v: ti.math.vec3, c: ND(dtype=ti.math.vec3)):
        for i in range(n):
            if on:
                put(b, i, a[i, 0])
            c[i] += v

    made = ti.torch.op(mixed, next(NAMES))
    assert schema(made) == "Tensor a, SymInt n, Tensor(a0!) b, bool on, float[] v, Tensor(a1!) c) -> ()"
    a, b, c = torch.ones(4, 2), torch.zeros(4, dtype=torch.int32), torch.zeros(4, 3)
    made(a, 3, b, True, [1.0, 2.0, 3.0], c)
    assert b.tolist() == [1, 1, 1, 0]
    assert c[2].tolist() == [1, 2, 3]
    torch.library.opcheck(made, (a, 3, b, True, [1.0, 2.0, 3.0], c))


def test_eager_and_compiled_agree(saxpy):
    op = ti.torch.op(saxpy, next(NAMES))

    def program(x, y, k):
        y = y * 2
        op(x + 1, y, k)
        return y.sin()

    x, y = torch.rand(5, 3), torch.rand(5, 3)
    want = torch.sin(y * 2 + 3 * (x + 1))
    assert torch.allclose(program(x, y, 3.0), want, atol=1e-5)
    assert torch.allclose(compiled(program)(x, y, 3.0), want, atol=1e-5)
    op(x.T, y.T, 1.0)  # strided
    torch.library.opcheck(op, (x, y, 2.0))


def test_compiled_code_may_change_an_argument(saxpy):
    op = ti.torch.op(saxpy, next(NAMES))

    def program(x, y):
        op(x, y, 2.0)
        op(y, x, 1.0)

    x, y = torch.ones(4), torch.ones(4)
    compiled(program)(x, y)
    assert (x.tolist(), y.tolist()) == ([4] * 4, [3] * 4)


def test_shapes_that_change(square):
    step = compiled(lambda x: square(x, float(x.shape[0])))
    for n in (3, 4, 7, 11):
        x = torch.rand(n)
        assert torch.allclose(step(x), n * x * x)


def test_gradients(square):
    x = torch.rand(6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: square(x, 3.0), x)
    (want,) = torch.autograd.grad(((3 * (2 * x) ** 2) ** 2).sum(), x)
    (got,) = torch.autograd.grad(compiled(lambda x: (square(x * 2, 3.0) ** 2).sum())(x), x)
    assert torch.allclose(got, want)
    assert torch.allclose(torch.autograd.grad(square(x, 1.0).sum(), x)[0], 2 * x)  # what comes has strides 0
    torch.library.opcheck(square, (x, 3.0))


def test_several_results_and_their_gradients():
    @ti.kernel
    def polar(x: ND(ndim=1), y: ND(ndim=1), r: ND(ndim=1), squares: ND(ndim=1)):
        for i in x:
            r[i] = ti.sqrt(x[i] * x[i] + y[i] * y[i])
            squares[0] += x[i] * x[i]

    @ti.kernel
    def polar_back(
        grad_r: ND(ndim=1), r: ND(ndim=1), x: ND(ndim=1), y: ND(ndim=1), grad_squares: ND(ndim=1), grad_x: ND(ndim=1),
        grad_y: ND(ndim=1),
    ):  # fmt: skip
        for i in x:
            grad_x[i] = grad_r[i] * x[i] / r[i] + grad_squares[0] * 2 * x[i]
            grad_y[i] = grad_r[i] * y[i] / r[i]

    out = {"r": lambda x, y: torch.empty_like(x), "squares": lambda x, **_: x.new_zeros(1)}
    op = ti.torch.op(polar, next(NAMES), out=out, backward=polar_back)
    x, y = (torch.rand(5, dtype=torch.float64, requires_grad=True) for _ in "xy")
    r, squares = op(x, y)
    assert torch.allclose(r, torch.hypot(x, y))
    assert torch.allclose(squares, (x * x).sum())
    assert torch.autograd.gradcheck(op, (x, y))
    assert torch.autograd.gradcheck(lambda x, y: op(x, y)[0], (x, y))
    torch.library.opcheck(op, (x, y))


def test_usual_names(saxpy):
    op = ti.torch.op(saxpy)
    name = op._qualname
    assert name.startswith("weft::")
    assert name.endswith("saxpy")
    namespace, _, own = name.partition("::")
    x, y = torch.ones(2), torch.ones(2)
    getattr(getattr(torch.ops, namespace), own)(x, y, 1.0)
    assert y.tolist() == [2, 2]


def test_a_kernel_over_fields():
    table = ti.field(ti.f32, 4)
    table.fill(3)

    @ti.kernel
    def look_up(x: ND(dtype=ti.i32, ndim=1), y: ND(dtype=ti.f32, ndim=1)):
        for i in x:
            y[i] = table[x[i]]

    op = ti.torch.op(look_up, next(NAMES), out={"y": lambda x: torch.zeros(x.shape)})
    assert compiled(lambda x: op(x) + 1)(torch.tensor([1, 2], dtype=torch.int32)).tolist() == [4, 4]


def test_mistakes(saxpy):
    @ti.kernel
    def counts(x: ND()) -> ti.i32:
        return x.shape[0]

    @ti.kernel
    def fixed(x: ND(), n: ti.template()):
        for i in x:
            x[i] += n

    @ti.kernel
    def turned(x: ND(), m: ti.math.mat2):
        for i in x:
            x[i] += m[0, 0]

    @ti.kernel
    def unclear(x: ND(dtype=ti.f32), y: ND(dtype=ti.f32)):
        for I in ti.grouped(x):
            y[I, I] = x[I] + nothing  # noqa: F821

    @ti.kernel
    def back(x: ND(ndim=1), grad_y: ND(ndim=1), grad_x: ND(ndim=1)):
        for i in x:
            x[i] = grad_y[i]
            grad_x[i] = 1

    @ti.kernel
    def stranger(z: ND(ndim=1), grad_x: ND(ndim=1)):
        for i in z:
            grad_x[i] = z[i]

    @ti.kernel
    def copy(x: ND(ndim=1), y: ND(ndim=1)):
        for i in x:
            y[i] = x[i]

    op = ti.torch.op
    for run, message in (
        (lambda: op(lambda x: x), "ti.torch.op takes a kernel"),
        (lambda: op(counts), "kernel 'counts' returns a value"),
        (lambda: op(fixed), "parameter 'n' is .*parameters of an operator must be arrays, numbers or vectors"),
        (lambda: op(turned), "parameter 'm' is"),
        (lambda: op(unclear), "give their ndim and dtype"),
        (lambda: op(saxpy, out="z"), "out= names 'z', which is not an array of .*; its arrays are x, y$"),
        (lambda: op(saxpy, out="k"), "out= names 'k', which is not an array"),
        (lambda: op(saxpy, out="x"), "out= names 'x', but .* does not write to it"),
        (lambda: op(saxpy, next(NAMES), backward=back), "cannot have a backward kernel: it changes 'y'"),
        (lambda: op(copy, next(NAMES), out="y", backward=back), "'back' writes to 'x', which is not a gradient"),
        (
            lambda: op(copy, next(NAMES), out="y", backward=stranger),
            "'stranger' cannot have the parameter 'z'; the parameters that it may have are grad_x, ",
        ),
        (lambda: op(copy, next(NAMES), out="y", backward=3), "backward= must be a kernel, not 3"),
    ):
        with pytest.raises(WeftError, match=message):
            run()
    made = op(saxpy, next(NAMES))
    with pytest.raises(WeftError, match=r"argument 'y'.*bfloat16"):
        made(torch.ones(2), torch.ones(2, dtype=torch.bfloat16), 1.0)
