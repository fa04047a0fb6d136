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
    def grad(self) -> BoundKernel[P, None]:
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
    def grad(self) -> Kernel[P, None]:
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

def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Make `function` a kernel: it is compiled, and its outermost loops run in parallel.

    Parameters need annotations: a primitive, vector, matrix or struct type (passed by value), `ti.Array[ti.f32, 2]`
    (an array, not copied), or `ti.Template` or `ti.Field[ti.f32]` (a compile-time constant). `-> type` annotates the
    result. Raises CompilationError if `function` cannot be a kernel. A call with arguments that do not fit raises
    ArgumentError."""

def func(function: F, is_real_function: bool = False) -> F:
    """Make `function` callable from kernels. Arguments are passed by value, those of `ti.Template` parameters by
    reference."""

def real_func(function: F) -> F:
    """Make `function` callable from kernels without inlining it. It is compiled once and may call itself. Its
    parameters and its result need annotations, and are passed by value."""

def pyfunc(function: F) -> F:
    """Make `function` callable in kernels and in Python."""

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
    fail, and ArgumentError for a value that a configuration cannot set."""

def warm(*calls: Any) -> None:
    """Compile several kernels in parallel, before their first use: `ti.warm(step, (draw, image), (solver.solve, 0.1))`.

    Each of `calls` is a kernel without parameters, or a tuple of a kernel and arguments as in `Kernel.compile`. Returns
    when all of them are compiled. Raises the first error in the order of `calls`."""

def data_oriented(cls: C) -> C:
    """Mark a class whose methods are kernels and `@func`s. In them, `self` is a compile-time constant."""

@dataclass_transform()
def dataclass(cls: C) -> C:
    """Make a struct type of a class. Its annotations become the members, its functions the methods.

    Raises CompilationError for what structs do not support: default values, and inherited members or methods."""

def progress(total: float) -> None:
    """Count a part of the work of a launch, in a kernel. `total` is the number of calls of one launch."""

class Struct:
    """`Struct({"a": 1, "v": vec3(0)})` or `Struct(a=1, v=vec3(0))`: a value with these members.

    Members are read and assigned as attributes. An assigned value is cast to the type of the member."""

    def __init__(self, *args: Any, **members: Any) -> None: ...
    @property
    def keys(self) -> list[str]:
        """The names of the members."""
    @property
    def items(self) -> Any:
        """The names and values of the members."""
    def to_dict(self, include_methods: bool = False) -> dict[str, Any]:
        """The members as a dict, of Python's numbers and lists."""
    def copy(self) -> Struct:
        """A copy with its own members."""
    def __getitem__(self, name: str) -> Any: ...
    def __setitem__(self, name: str, value: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    @staticmethod
    def field(members: Any, methods: Any = None, shape: Any = None, **keywords: Any) -> Any:
        """Make a field of structs with these members. The keywords are those of `ti.field`."""
