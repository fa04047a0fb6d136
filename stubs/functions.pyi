# pyright: reportOverlappingOverload=false
"""What controls loops, memory and compilation in a kernel, as type checkers see it: atomics, `ti.static`,
`ti.loop_config`, the cells of sparse nodes."""

from collections.abc import Iterator
from typing import Any, TypeVar, overload

from weft.lang.data.snode_api import SNode
from weft.stubs.elementwise import Value, Whole
from weft.stubs.loops import ndrange as ndrange
from weft.stubs.matrices import Tensor, Vector

T = TypeVar("T")

def atomic_add(target: Value, value: float | Tensor[float]) -> Value:
    """Adds a value to an element of a field or array, or to a variable that iterations share, as one operation: no
    update of another thread is lost. Returns the old value. `x[i] += v` does the same. `value` becomes the type of the
    target, and a vector or matrix is added element by element, each in an operation of its own. Raises CompilationError
    in Python scope.

    Example:
        slots = ti.field(ti.i32, ())
        found = ti.field(ti.i32, 100)

        @ti.kernel
        def collect(n: ti.i32):
            for i in range(n):
                if i % 7 == 0:
                    found[ti.atomic_add(slots[None], 1)] = i

        collect(50)
        slots[None], sorted(found.to_numpy()[:8].tolist())  # (8, [0, 7, 14, 21, 28, 35, 42, 49])
    """

def atomic_sub(target: Value, value: float | Tensor[float]) -> Value:
    """Subtracts a value as one operation, as `ti.atomic_add` adds one. Returns the old value. `x[i] -= v` does the
    same.

    Example:
        stock = ti.field(ti.i32, ())
        stock[None] = 100

        @ti.kernel
        def sell():
            for i in range(30):
                ti.atomic_sub(stock[None], 2)

        sell()
        stock[None]  # 40
    """

def atomic_mul(target: Value, value: float | Tensor[float]) -> Value:
    """Multiplies by a value as one operation, as `ti.atomic_add` adds one. Returns the old value. `x[i] *= v` does the
    same.

    Example:
        product = ti.field(ti.i32, ())
        product[None] = 1

        @ti.kernel
        def factorial(n: ti.i32):
            for i in range(1, n + 1):
                ti.atomic_mul(product[None], i)

        factorial(10)
        product[None]  # 3628800
    """

def atomic_min(target: Value, value: float | Tensor[float]) -> Value:
    """Stores the smaller of the element and a value, as one operation. NaN is ignored if there is a number. Returns the
    old value.

    Example:
        x = ti.field(ti.f32, 1000)
        x.from_numpy(np.arange(1000) - 600.0)
        least = ti.field(ti.f32, ())

        @ti.kernel
        def find():
            for i in x:
                ti.atomic_min(least[None], x[i])

        find()
        least[None]  # -600.0
    """

def atomic_max(target: Value, value: float | Tensor[float]) -> Value:
    """Stores the larger of the element and a value, as one operation. NaN is ignored if there is a number. Returns the
    old value.

    Example:
        x = ti.field(ti.i32, 100)
        x.from_numpy(np.arange(100) % 37)

        @ti.kernel
        def largest() -> ti.i32:
            found = 0
            for i in x:
                ti.atomic_max(found, x[i])
            return found

        largest()  # 36
    """

def atomic_and(target: Whole, value: int | Tensor[int]) -> Whole:
    """Stores the bits that the element and a value have in common, as one operation. Both are integers. Returns the old
    value. `x[i] &= v` does the same.

    Example:
        mask = ti.field(ti.i32, ())
        mask[None] = 0b1111

        @ti.kernel
        def clear_bits():
            for i in range(2):
                ti.atomic_and(mask[None], ~(1 << i))

        clear_bits()
        bin(mask[None])  # '0b1100'
    """

def atomic_or(target: Whole, value: int | Tensor[int]) -> Whole:
    """Stores the bits that the element or a value has, as one operation. Both are integers. Returns the old value.
    `x[i] |= v` does the same.

    Example:
        seen = ti.field(ti.i32, ())

        @ti.kernel
        def mark():
            for i in range(4):
                ti.atomic_or(seen[None], 1 << (2 * i))

        mark()
        bin(seen[None])  # '0b1010101'
    """

def atomic_xor(target: Whole, value: int | Tensor[int]) -> Whole:
    """Stores the bits that only one of the element and a value has, as one operation. Both are integers. Returns the
    old value. `x[i] ^= v` does the same.

    Example:
        parity = ti.field(ti.i32, ())

        @ti.kernel
        def flip(n: ti.i32):
            for i in range(n):
                ti.atomic_xor(parity[None], 1)

        flip(5)
        parity[None]  # 1
    """

@overload
def static(x: T) -> T: ...
@overload
def static(x: Any, *more: Any) -> tuple[Any, ...]:
    """Returns its argument, evaluated at compile time: loops over it are unrolled, and only the branch of an `if` that
    is taken is compiled. Several arguments give a tuple. Raises CompilationError if the argument is not known at
    compile time.

    Example:
        smooth = True

        @ti.kernel
        def blend(t: ti.f32) -> ti.f32:
            total = 0.0
            for k in ti.static(range(3)):  # three copies of the body, each with its own k
                total += t**k
            if ti.static(smooth):
                total = total / 3
            return total

        blend(1.0)  # 1.0
    """

def grouped(over: Any) -> Iterator[Vector[int]]:
    """Makes a loop over an ndrange, a field, a node or an array whose index is one vector of i32, so that the loop
    works for any number of axes. In Python, it iterates over the vectors. Raises TypeMismatch for anything else.

    Example:
        x = ti.field(ti.i32, (2, 3))

        @ti.kernel
        def number():
            for I in ti.grouped(x):
                x[I] = 10 * I[0] + I.sum()

        number()
        x.to_numpy().tolist()  # [[0, 1, 2], [11, 12, 13]]
        [list(I) for I in ti.grouped(ti.ndrange(2, (5, 6)))]  # [[0, 5], [1, 5]]
    """

def loop_config(
    *,
    block_dim: int | None = None,
    serialize: bool | None = None,
    parallelize: int | None = None,
    simd: int | None = None,
    name: str | None = None,
    block_dim_adaptive: bool | None = None,
    bit_vectorize: bool | None = None,
) -> None:
    """Settings of the loop that follows in the kernel. A number of 0 and None let the compiler choose. `serialize=True`
    runs the loop in order, and allows `break`. `parallelize` is the largest number of threads of the CPU. `block_dim`
    is the number of threads of a block on a GPU. `simd` is the number of lanes of a vectorized loop on the CPU. `name`,
    `block_dim_adaptive` and `bit_vectorize` are accepted for Taichi's programs, and have no effect. Raises
    CompilationError for negative numbers, and in Python scope.

    Example:
        @ti.kernel
        def first_square_above(n: ti.i32) -> ti.i32:
            found = -1
            ti.loop_config(serialize=True)
            for i in range(n):
                if i * i > n:
                    found = i * i
                    break
            return found

        first_square_above(50)  # 64
    """

def static_print(*values: Any) -> None:
    """Prints at compile time, once for each compiled version of the kernel: values that are known then, and the types
    of others.

    Example:
        @ti.kernel
        def twice(x: ti.f32) -> ti.f32:
            ti.static_print("compiling for", x)
            return 2 * x

        twice(1.5)  # 3.0
    """

def static_assert(condition: Any, message: Any = None) -> None:
    """Raises CompilationError at compile time, with the message, unless the condition is true. The condition must be
    known at compile time.

    Example:
        @ti.kernel
        def mean(x: ti.template()) -> ti.f32:
            ti.static_assert(len(x.shape) == 1, "x must have one axis")
            total = 0.0
            for i in x:
                total += x[i]
            return total / x.shape[0]

        x = ti.field(ti.f32, 4)
        x.fill(2)
        mean(x)  # 2.0
    """

def zero(x: T) -> T:
    """0 of the type (and shape) of x: a number, a vector or a matrix. Raises TypeMismatch for anything else.

    Example:
        ti.zero(3.5)  # 0.0
        ti.zero(ti.Vector([1, 2]))  # [0 0]
    """

def one(x: T) -> T:
    """1 of the type (and shape) of x: a number, a vector or a matrix. Raises TypeMismatch for anything else.

    Example:
        ti.one(7)  # 1
        ti.one(ti.Vector([0.5, 2.0]))  # [1. 1.]
    """

def stop_grad(x: T) -> T:
    """x, without a derivative: a number, a vector or a matrix. For a field, its elements carry no derivative in the
    rest of the block. It has an effect only where derivatives are computed.

    Example:
        x = ti.field(ti.f64, ())
        loss = ti.field(ti.f64, ())
        x[None] = 3.0

        @ti.kernel
        def product():
            loss[None] = x[None] * ti.stop_grad(x[None])

        product()
        ti.ad.grad(product, x, loss)()  # 3.0
    """

def assume_in_range(x: T, base: float, low: float, high: float) -> T:
    """Returns x; promises the compiler that it is in [base + low, base + high). Taichi's programs use it for speed.
    Weft does not need it.

    Example:
        @ti.kernel
        def neighbour(i: ti.i32) -> ti.i32:
            return ti.assume_in_range(i - 1, i, -1, 2)

        neighbour(5)  # 4
    """

def block_local(*fields: Any) -> None:
    """A hint to keep fields in fast memory in the next loop. It changes no result. Weft chooses by itself, and ignores
    it.

    Example:
        x = ti.field(ti.f32, 16)

        @ti.kernel
        def fill():
            ti.block_local(x)
            for i in x:
                x[i] = i

        fill()
        x[15]  # 15.0
    """

def cache_read_only(*fields: Any) -> None:
    """A hint that fields are only read in the next loop. It changes no result. Weft finds out by itself, and ignores
    it.

    Example:
        x, y = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
        x.fill(3)

        @ti.kernel
        def twice():
            ti.cache_read_only(x)
            for i in y:
                y[i] = 2 * x[i]

        twice()
        y.to_numpy()  # array([6., 6., 6., 6.], dtype=float32)
    """

def activate(node: SNode, indices: Any) -> None:
    """Activates a cell of a sparse node, and the cells above it. `indices` is the index of the cell among those of its
    node: a number, a list or a vector of integers. Raises CompilationError in Python scope.

    Example:
        x = ti.field(ti.f32)
        blocks = ti.root.pointer(ti.i, 8)
        blocks.dense(ti.i, 4).place(x)

        @ti.kernel
        def open_block(b: ti.i32):
            ti.activate(blocks, b)

        open_block(3)
        x.active()[0].ravel()  # array([12, 13, 14, 15])
    """

def deactivate(node: SNode, indices: Any) -> None:
    """Deactivates a cell of a sparse node; of a dynamic node, a list. It reads 0 then. Raises CompilationError in
    Python scope.

    Example:
        x = ti.field(ti.f32)
        blocks = ti.root.pointer(ti.i, 8)
        blocks.dense(ti.i, 4).place(x)
        x[5] = 2.0

        @ti.kernel
        def close_block(b: ti.i32):
            ti.deactivate(blocks, b)

        close_block(1)
        x[5], len(x.active()[0])  # (0.0, 0)
    """

def is_active(node: SNode, indices: Any) -> int:
    """Whether a cell of a sparse node is active, or an element of a list exists: 1 or 0. Raises CompilationError in
    Python scope.

    Example:
        x = ti.field(ti.f32)
        blocks = ti.root.pointer(ti.i, 8)
        blocks.dense(ti.i, 4).place(x)
        x[5] = 2.0

        @ti.kernel
        def count() -> ti.i32:
            active = 0
            for b in range(8):
                active += ti.is_active(blocks, b)
            return active

        count()  # 1
    """

def length(node: SNode, indices: Any = None) -> int:
    """The length of a list, which is a cell of a dynamic node. Raises CompilationError in Python scope.

    Example:
        x = ti.field(ti.i32)
        lists = ti.root.dense(ti.i, 3)
        items = lists.dynamic(ti.j, 64)
        items.place(x)

        @ti.kernel
        def fill_lists():
            for i in range(3):
                for j in range(10 * i):
                    ti.append(items, i, j)

        @ti.kernel
        def total() -> ti.i32:
            return ti.length(items, 0) + ti.length(items, 1) + ti.length(items, 2)

        fill_lists()
        total()  # 30
    """

def append(node: SNode, indices: Any, val: Any) -> int:
    """Makes a list, which is a cell of a dynamic node, longer by one element with the value `val`; returns the index of
    the element. Several threads may append to one list; the order is not defined then. Raises CompilationError in
    Python scope.

    Example:
        x = ti.field(ti.i32)
        list_of_x = ti.root.dynamic(ti.i, 1000)
        list_of_x.place(x)

        @ti.kernel
        def collect():
            for i in range(100):
                if i % 10 == 3:
                    ti.append(list_of_x, [], i)

        collect()
        sorted(x.active()[1].tolist())  # [3, 13, 23, 33, 43, 53, 63, 73, 83, 93]
    """

def no_activate(*nodes: SNode) -> None:
    """In the next loop, writes below these nodes change only what is active. Raises CompilationError in Python scope.

    Example:
        x = ti.field(ti.f32)
        blocks = ti.root.pointer(ti.i, 8)
        blocks.dense(ti.i, 4).place(x)
        x[5] = 2.0

        @ti.kernel
        def add_one():
            ti.no_activate(blocks)
            for i in range(32):
                x[i] += 1

        add_one()
        x[5], x[20]  # (3.0, 0.0)
    """
