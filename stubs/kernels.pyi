"""Kernels and functions, as type checkers see them: they keep the names and types of their parameters."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from typing_extensions import dataclass_transform

from weft.lang.stages import Stages
from weft.lang.tuning.autotune import Config

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

class BoundKernel(Generic[P, R_co]):
    """A kernel as a method of an object."""

    def __call__(self, *args: P.args, **keywords: P.kwargs) -> R_co: ...
    @property
    def grad(self) -> BoundGradient[P]:
        """As `Kernel.grad`, for this object."""
    def compile(self, *args: P.args, **keywords: P.kwargs) -> None:
        """As `Kernel.compile`, for this object."""
    def compile_async(self, *args: P.args, **keywords: P.kwargs) -> Future[None]:
        """As `Kernel.compile_async`, for this object."""
    def stages(self, *args: P.args, **keywords: P.kwargs) -> Stages:
        """As `Kernel.stages`, for this object."""
    def explore(self, path: str | None = None, *args: Any, **keywords: Any) -> None:
        """As `Kernel.explore`, for this object."""
    @property
    def last(self) -> Stages:
        """As `Kernel.last`."""

class Kernel(Generic[P, R_co]):
    """A compiled function. A call runs it on the device of the program.

    The outermost loops of a kernel run in parallel. It is compiled at its first call, and again for other compile-time
    arguments."""

    __name__: str
    __qualname__: str
    def __call__(self, *args: P.args, **keywords: P.kwargs) -> R_co: ...
    @overload
    def __get__(self, instance: None, owner: Any = None) -> Kernel[P, R_co]: ...
    @overload
    def __get__(self: Kernel[Concatenate[Any, Q], R_co], instance: Any, owner: Any = None) -> BoundKernel[Q, R_co]: ...
    @property
    def grad(self) -> Gradient[P]:
        """The kernel that computes the gradients of what this one reads from the gradients of what it writes. It takes
        the same arguments."""
    def compile(self, *args: P.args, **keywords: P.kwargs) -> None:
        """Compile the kernel for a call with such arguments, without running it. A later call finds the code."""
    def compile_async(self, *args: P.args, **keywords: P.kwargs) -> Future[None]:
        """Compile the kernel on another thread, as `compile` does. Returns a future."""
    def stages(self, *args: P.args, **keywords: P.kwargs) -> Stages:
        """The stages of compiling the kernel for a call with such arguments. It does not run."""
    @property
    def last(self) -> Stages:
        """The stages of the instance that was compiled or looked up last."""
    def explore(self, path: str | None = None, *args: Any, **keywords: Any) -> None:
        """Write an HTML page that shows what each line of the kernel is compiled to. Without a path, a notebook shows
        it."""

class Gradient(Kernel[P, None]):
    """The gradient of a kernel."""

    @property
    def assign(self) -> Kernel[P, None]:
        """The kernel that sets the gradients of the fields that the kernel reads and does not write. `kernel.grad` adds
        to them. Raises CompilationError at the call if an array has a gradient."""

class BoundGradient(BoundKernel[P, None]):
    """The gradient of a method of an object."""

    @property
    def assign(self) -> BoundKernel[P, None]:
        """As `Gradient.assign`, for this object."""

def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Make `function` a kernel: it is compiled, and its outermost loops run in parallel.

    Parameters need annotations: a primitive, vector, matrix or struct type (passed by value), `ti.Array[ti.f32, 2]` or
    `ti.types.ndarray()` (an array, not copied), `ti.Template` or `ti.template()` (a compile-time constant). `-> type`
    annotates the result. Raises CompilationError if `function` cannot be a kernel. A call with arguments that do not
    fit raises ArgumentError.

    Example:
        x = ti.field(ti.f32, 1000)

        @ti.kernel
        def fill(step: ti.f32) -> ti.f32:
            total = 0.0
            for i in x:
                x[i] = i * step
                total += x[i]
            return total

        fill(0.5)  # 249750.0
        fill("a")  # raises ArgumentError
    """

def func(function: F, is_real_function: bool = False) -> F:
    """Make `function` callable from kernels. Arguments are passed by value, those of `template()` parameters by
    reference. It is inlined where it is called. Annotations are optional. Raises CompilationError when Python calls it:
    a `@ti.pyfunc` can be called there.

    Example:
        @ti.func
        def bump(r, width: ti.f32):
            return ti.exp(-r * r / width)

        @ti.kernel
        def at(r: ti.f32) -> ti.f32:
            return bump(r, 2.0)

        at(1.0)  # 0.606531
    """

def real_func(function: F) -> F:
    """Make `function` callable from kernels without inlining it. It is compiled once and may call itself. Its
    parameters and its result need annotations, and are passed by value. Raises CompilationError where a kernel calls
    it, if annotations are missing.

    Example:
        @ti.real_func
        def gcd(a: ti.i32, b: ti.i32) -> ti.i32:
            if b == 0:
                return a
            return gcd(b, a % b)

        @ti.kernel
        def compute(a: ti.i32, b: ti.i32) -> ti.i32:
            return gcd(a, b)

        compute(48, 180)  # 12
    """

def pyfunc(function: F) -> F:
    """Make `function` callable in kernels, which inline it, and in Python. Raises CompilationError for anything that is
    not written with `def`.

    Example:
        @ti.pyfunc
        def lerp(a, b, t):
            return a + (b - a) * t

        @ti.kernel
        def middle(a: ti.f32, b: ti.f32) -> ti.f32:
            return lerp(a, b, 0.5)

        middle(2.0, 4.0), lerp(2.0, 4.0, 0.5)  # (3.0, 3.0)
    """

class Autotuned(Generic[R_co]):
    """A kernel that runs with the fastest of several configurations."""

    def __call__(self, *args: Any, **keywords: Any) -> R_co: ...
    @overload
    def __get__(self, instance: None, owner: Any = None) -> Autotuned[R_co]: ...
    @overload
    def __get__(self, instance: Any, owner: Any = None) -> Callable[..., R_co]: ...
    configs: Sequence[Config]
    @property
    def choices(self) -> dict[tuple[Any, ...], Config]:
        """The choices in this program, by the facts about the arguments."""
    def tune(self, *args: Any, **keywords: Any) -> Config:
        """Return the configuration for such a call, and choose it now if necessary. The contents of the arguments do
        not change."""

def autotune(
    configs: Sequence[Config],
    key: Sequence[str] = (),
    restore: Sequence[Any] = (),
    reset_to_zero: Sequence[Any] = (),
    warmup: float = 5,
    rep: float = 30,
) -> Callable[[Kernel[..., R]], Autotuned[R]]:
    """Decorate a kernel (above `@ti.kernel`) so that calls use the fastest of `configs`.

    Each configuration is timed in the first call with new values of the parameters named in `key` (of arrays and
    fields: new shapes), or with arrays of other types: `warmup` milliseconds unmeasured and `rep` milliseconds
    measured. Afterwards all memory that the kernel can write to is restored, and the call itself is made. If a run
    depends on the results of the run before, name parameters, fields or ndarrays in `restore` to restore them before
    each run, or in `reset_to_zero` to fill them with 0.

    A configuration that fails is left out, with a warning of the logger "weft.autotune". Raises AutotuneError if all
    fail, and ArgumentError for a value that a configuration cannot set.

    Example:
        x = ti.field(ti.f32, 10000)

        @ti.autotune([ti.Config(simd=1), ti.Config(simd=8)], warmup=1, rep=2)
        @ti.kernel
        def fill(step: ti.f32):
            for i in x:
                x[i] = i * step

        fill(0.5)  # measures both, then runs
        x[10]  # 5.0
    """

def warm(*calls: Any) -> None:
    """Compile several kernels in parallel, before their first use: `ti.warm(step, (draw, image), (solver.solve, 0.1))`.

    Each of `calls` is a kernel without parameters, or a tuple of a kernel and arguments as in `Kernel.compile`. Returns
    when all of them are compiled. Raises the first error in the order of `calls`.

    Example:
        x = ti.field(ti.f32, 100)

        @ti.kernel
        def clear():
            for i in x:
                x[i] = 0

        @ti.kernel
        def add(amount: ti.f32):
            for i in x:
                x[i] += amount

        ti.warm(clear, (add, 1.0))
        add(2.5)  # does not compile
        x[0]  # 2.5
    """

def data_oriented(cls: C) -> C:
    """Mark a class whose methods are kernels and `@func`s. In them, `self` is a compile-time constant. A kernel is
    compiled for each object. Attributes that are numbers become constants; fields are shared by reference.

    Example:
        @ti.data_oriented
        class Counter:
            def __init__(self, n: int) -> None:
                self.counts = ti.field(ti.i32, n)

            @ti.kernel
            def add(self, amount: ti.i32):
                for i in self.counts:
                    self.counts[i] += amount

        counter = Counter(3)
        counter.add(5)
        counter.counts.to_numpy().tolist()  # [5, 5, 5]
    """

@dataclass_transform()
def dataclass(cls: C) -> C:
    """Make a struct type of a class. Its annotations become the members, its functions the methods, usually
    with `@ti.func`.

    Raises CompilationError for what structs do not support: default values, and inherited members or methods.

    Example:
        @ti.dataclass
        class Ball:
            pos: ti.math.vec2
            radius: ti.f32

            @ti.func
            def area(self):
                return ti.math.pi * self.radius**2

        @ti.kernel
        def area_of(radius: ti.f32) -> ti.f32:
            return Ball(radius=radius).area()

        area_of(2.0)  # 12.566371
        Ball(pos=[1, 2], radius=3)  # {'pos': [1.0, 2.0], 'radius': 3.0}
    """

def progress(total: float) -> None:
    """Count a part of the work of a launch, in a kernel. `total` is the number of calls of one launch. If the launch
    takes more than a second, a terminal or a notebook shows a progress bar with the time that is left.

    Counting is a sum, which costs next to nothing and keeps loops vectorized. Threads report it when they have finished
    a chunk of the loop, so the bar moves in steps. On a GPU, nothing is counted and there is no bar. Outside of
    kernels, use `tqdm`.

    Example:
        x = ti.field(ti.f32, 1000)

        @ti.kernel
        def work(n: ti.i32):
            for i in range(n):
                x[i] = ti.sqrt(i)
                ti.progress(n)

        work(1000)
        x[100]  # 10.0
    """

class Struct:
    """`Struct({"a": 1, "v": vec3(0)})` or `Struct(a=1, v=vec3(0))`: a value with these members.

    Members are read and assigned as attributes. An assigned value is cast to the type of the member. A struct behaves
    as it does in kernels. `ti.dataclass` and `ti.types.struct` make types of structs.

    Example:
        s = ti.Struct(mass=2.0, pos=ti.math.vec2(1, 2))
        s.mass += 1
        other = s.copy()
        other.pos = [0, 0]
        s.keys, s["mass"], s.to_dict(), other.pos  # (['mass', 'pos'], 3.0, {'mass': 3.0, 'pos': [1.0, 2.0]}, [0. 0.])
        ti.Struct.field({"a": ti.f32, "b": ti.i32}, shape=3).keys  # ['a', 'b']
    """

    def __init__(self, *args: Any, **members: Any) -> None: ...
    @property
    def keys(self) -> list[str]:
        """The names of the members, a list of strings in the order of the type."""
    @property
    def items(self) -> Any:
        """The pairs (name, value) of the members, in the order of the type."""
    def to_dict(self, include_methods: bool = False) -> dict[str, Any]:
        """The members as a dict, of Python's numbers and lists."""
    def copy(self) -> Struct:
        """A copy with members of its own: an assignment to one does not change the other."""
    def __getitem__(self, name: str) -> Any: ...
    def __setitem__(self, name: str, value: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    @staticmethod
    def field(members: Any, methods: Any = None, shape: Any = None, **keywords: Any) -> Any:
        """Make a field of structs with these members. The keywords are those of `ti.field`."""
