"""`@kernel`: makes a Python function a kernel.

A `Kernel` is compiled at its first call, and again for each new combination of compile-time values: the values of
`template()` parameters, the types of array arguments, and the object whose method it is. An *instance* lives as long as
the objects it was compiled for."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakMethod, ref

from weft.ir.errors import CompilationError
from weft.ir.types import Array
from weft.ir.types import exposed as exposed_type
from weft.lang.calls.boxes import Boxes, name_of
from weft.lang.calls.companions import companion_parameters, with_companions
from weft.lang.calls.compile import FieldDropped, Instance, compile_instance, counts_on_nothing, rehearse
from weft.lang.calls.direct import kinds_of, plan_for, write_records
from weft.lang.calls.gradient_warnings import with_advice
from weft.lang.calls.instances import Instances
from weft.lang.calls.matching import check_signature, checked_results, is_method, matched, parameters_of
from weft.lang.calls.parameters import Template
from weft.lang.calls.recipe import ON_COMPILED, Recipe
from weft.lang.data.derived import suffix_of
from weft.lang.errors import ArgumentError, UnknownName, without_compiler
from weft.lang.functions.annotations import annotation_of, evaluate_annotations, result_annotations
from weft.lang.functions.func import check_function
from weft.lang.functions.lost_source import find_lost
from weft.lang.functions.source import source_of
from weft.lang.kernels.bound import BoundKernel
from weft.lang.kernels.callers import Callers, binders_of
from weft.lang.kernels.derivatives import Differentiable
from weft.lang.kernels.draws import launching_gradient
from weft.lang.kernels.interpreted import interpret
from weft.lang.kernels.launch import Launch
from weft.lang.kernels.shown import Shown
from weft.lang.logs.topics import LAUNCH
from weft.lang.measure import launch_log, watching
from weft.lang.program import init as program_state
from weft.lang.translate.entry import Argument
from weft.lang.values.argpack import ArgPackType, unpacked
from weft.runtime.direct import Callable as DirectCallable
from weft.runtime.direct import Signature, native_type
from weft.runtime.errors import Overlapping
from weft.runtime.forks import forkable

if TYPE_CHECKING:
    from concurrent.futures import Future

    from weft.ir.config import CompileConfig


__all__ = ["Kernel", "kernel"]

_MOST_PLANS = 16  # the most plans that are made for one instance, if its plans become invalid repeatedly
_MOST_FOLLOWED = 32

LAUNCH.follow(launch_log.switch)


class Kernel(DirectCallable, Shown, Differentiable):
    """A compiled function that Python calls. `params` are (name, annotation) pairs, without `self`.

    `@kernel` makes objects of a native subclass. Calls with arguments like those of earlier calls go to the machine
    code directly and do not reach this class."""

    is_kernel = True
    class_instance: Any = None
    primal: Kernel | None = None  # of a derivative or a piece: the kernel that it is one of
    restores = False  # of a gradient: who calls it gives it the old values that it needs
    is_torn = False  # whether the gradient of an instance needs values that memory does not have afterwards
    piece: int | None = None  # the number of the piece of the kernel that this is (`ir/pieces.py`)
    given = False  # of a derivative: whether not only tapes run it
    checks = compiles = False  # whether it checks races in any program; whether any arch compiles it (`own.py`)

    def config(self, program: Any) -> CompileConfig:
        """The configuration that it is compiled with."""
        config: CompileConfig = program.config
        return replace(config, check_races=True) if self.checks else config

    def __init__(self, function: Callable[..., Any], mode: str = "", boxed: tuple[str, ...] = ()) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = name_of(function, mode, boxed)
        self.function, self.mode, self._boxed = function, mode, boxed
        self.boxes: Boxes | None = None  # once it is prepared for a program
        self._derivatives: dict[tuple[str, tuple[str, ...], int | None, bool], Kernel] = {}
        self.signature = inspect.signature(function)
        self.has_self = is_method(function)
        self._generation = -1
        self._interpreted = False
        self._instances = Instances(WeakMethod(self._follow))
        self._lock = forkable(RLock())  # held while an instance is made
        self._packs: list[tuple[str, ArgPackType]] = []
        self._has_plans = False
        self._arrays: list[tuple[int, str]] = []  # the hidden arguments, see `calls/companions.py`
        self._following = forkable(RLock())  # held while native code gets new plans
        self._latest: Recipe | None = None
        self._is_native = type(self).__basicsize__ != Kernel.__basicsize__
        check_signature(self)
        self._names: Signature | None = None
        if self._is_native:
            self._names = Signature(
                [(p.name, p.default) for p in self.signature.parameters.values()], inspect.Parameter.empty
            )
            self._names.tell(self)
        self._callers = Callers(self._names)

    # -- what it takes -------------------------------------------------------------------------------------------------

    def fail(self, message: str, kind: type[CompilationError] = CompilationError) -> NoReturn:
        """Raise this error at the line of the kernel's definition."""
        try:
            span = source_of(self.function).header()
        except CompilationError:
            span = None
        raise kind(message, span)

    @property
    def names(self) -> list[str]:
        """The names of the parameters, with `self`."""
        return list(self.signature.parameters)

    @functools.cached_property
    def params(self) -> list[tuple[str, Any]]:
        """(name, annotation) of each parameter, without `self`."""
        names = list(self.signature.parameters)[1 if self.has_self else 0 :]
        return [(name, self._annotation(name)) for name in names]

    def _annotation(self, name: str) -> Any:
        try:
            return annotation_of(self.function, name)
        except UnknownName as error:
            return self.fail(error.message, UnknownName)

    @functools.cached_property
    def results(self) -> tuple[Any, ...]:
        """The annotations of the results."""
        return checked_results(self, result_annotations(self._annotation("return")))

    # -- calling -------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        try:
            if not (watches := watching.watches):
                return self.run(*args, **keywords)
            through = self._through()  # which tells whether there are hidden arguments: `run` finds them
            watch = watches[0] if len(watches) == 1 else watching.all_watch
            return watch(self, self.run if self._arrays else through, args, keywords)
        except CompilationError as error:
            raise without_compiler(with_advice(error, self.__name__))  # noqa: B904 - it is the same exception

    def _through(self) -> Callable[..., Any]:
        """What launches natively where it can, although launches are watched, and takes hidden arguments."""
        if (device := self._program().opened()) is not None and device.times_tasks:
            return self._run_flat if self._arrays else self._run
        return self._callers.through or self._made("call_through", self._run, self._run_flat)

    def _made(self, entry: str, python: Callable[..., Any], flat: Callable[..., Any]) -> Callable[..., Any]:
        """One of the callers. Where native code cannot, it calls `python`, or `flat` if there are hidden arguments."""
        self._program()  # which tells whether there are hidden arguments
        with self._following:
            return self._callers.make(entry, flat if self._arrays else python, bool(self._arrays))

    def _run_flat(self, *flat: Any) -> Any:
        first, count = int(self.has_self), len(self.signature.parameters)
        return self._call(self._program(), flat[0] if first else None, flat[first:count], flat[first:])

    def run(self, *args: Any, **keywords: Any) -> Any:
        """Run a call on the path through Python."""
        if self._arrays and self._has_plans and self.plain(args, keywords) is not None:
            return self._through()(*self._with_hidden(args))
        return self._run(*args, **keywords)

    def _run(self, *args: Any, **keywords: Any) -> Any:
        if self.has_self:
            if not args:
                raise ArgumentError(f"kernel '{self.__name__}' is a method: call it on an instance of its class")
            return self.call_on(args[0], args[1:], keywords)
        return self.call_on(None, args, keywords)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is not None and not self.has_self:
            self.fail(
                f"kernel '{self.__name__}' is a method without 'self': add it, or put @staticmethod above @ti.kernel"
            )
        return self if instance is None else BoundKernel(self, instance)

    def call_on(self, owner: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the kernel, as a method of `owner` unless that is None."""
        program = self._program()
        given = matched(self, owner, args, keywords) if keywords or len(args) != len(self.params) else args
        return self._call(program, owner, given, self._unpacked(given))

    def call_with(self, args: Sequence[Any], hidden: Sequence[Any]) -> Any:
        """Call a kernel without packs with a gradient, a dual or None for each row of `hidden`, not the arrays'."""
        return self._through()(*args, *hidden)

    @property
    def hidden(self) -> list[tuple[int, str]]:
        """The hidden arguments: the position of the array that each belongs to, and what it is."""
        self._program()
        return self._arrays

    def _call(self, program: Any, owner: Any, args: Sequence[Any], flat: Sequence[Any]) -> Any:
        try:
            instance = self._instance(program, owner, flat)
            if instance.facts is None:
                return self._launched(program, instance, owner, args, flat)
            with launching_gradient(self, program, instance, (owner, *args) if self.has_self else args):
                if not instance.warned:
                    instance.warned = True
                    self._follow()
                return self._launched(program, instance, owner, args, flat)
        except FieldDropped:  # another thread dropped the field: the name refers to another field now
            return self._call(self._program(), owner, args, flat)

    def _launched(self, program: Any, instance: Instance, owner: Any, args: Sequence[Any], flat: Sequence[Any]) -> Any:
        if not self._interpreted and instance.plans_made < _MOST_PLANS:
            self._plan(program, instance, owner, args, flat)
        watching.launch_begins()
        if self._interpreted:
            return interpret(self, instance, owner, args, flat)
        try:
            return instance(flat)
        except Overlapping:
            careful = self._careful(program, instance, owner, flat)
        if careful.plans_made < _MOST_PLANS:
            self._plan(program, careful, owner, args, flat)
        return careful(flat)

    def compile(self, *args: Any, **keywords: Any) -> None:
        """Compile the kernel for a call with such arguments, without running it. A later call finds the code.

        Only what selects the code matters: values of `template()` parameters, kinds of arrays, and whether arrays
        overlap. Numbers can have any value. Raises the errors that a call raises. Any thread may call this; other
        kernels compile at the same time."""
        self._prepared(args, keywords)

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Launch:
        """A launch with these arguments, to be made later. It finds the code now, for the present values of names."""
        program = self._program()
        instance, owner, ordered, flat = self._found(args, keywords, with_fields=True)
        if instance.plans_made < _MOST_PLANS:
            self._plan(program, instance, owner, ordered, flat)
        again = functools.partial(self.run, *args, **keywords) if self._interpreted else None
        return Launch(self, program, instance, flat, again, owner)

    def bound(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """As `bind`, but if native code can bind the arguments, the pair of a weak reference to the instance and the
        bytes of the context for a `Replay`."""
        if not self._arrays:
            return self.binder(*args, **keywords)
        if not self._has_plans or self.plain(args, keywords) is None:
            return self.bind(args, keywords)
        return self.binder(*self._with_hidden(args))

    @property
    def binder(self) -> Callable[..., Any]:
        """What binds arguments natively where it can."""
        return self._callers.binder or self._made("bind", *binders_of(self))

    def plain(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Sequence[Any] | None:
        """The arguments without the object of a method, if they are in order and no packs."""
        if keywords or self._packs or len(args) != len(self.signature.parameters):
            return None
        return args[1:] if self.has_self else args

    def _with_hidden(self, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments of a call, with the object of a method, and the hidden arguments behind them."""
        first = int(self.has_self)
        return [*args[:first], *with_companions(self.__name__, self.mode, args[first:], self._arrays)]

    def _prepared(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Instance:
        """The code for a call with such arguments."""
        return self._found(args, keywords, with_fields=False)[0]

    def _found(
        self, args: tuple[Any, ...], keywords: dict[str, Any], with_fields: bool
    ) -> tuple[Instance, Any, Sequence[Any], Sequence[Any]]:
        """The code for a call with such arguments, the object of a method, the other arguments in order, and those
        without packs. `with_fields`: fields may be asked for their addresses, to find arguments that overlap them."""
        owner = None
        if self.has_self:
            if not args:
                raise ArgumentError(f"kernel '{self.__name__}' is a method: compile it for an instance of its class")
            owner, *args = args  # type: ignore[assignment]
        program = self._program()
        ordered = matched(self, owner, tuple(args), keywords)
        flat = self._unpacked(ordered)
        instance = self._instance(program, owner, flat)
        overlap = instance.overlap(flat, with_fields)
        instance = self._careful(program, instance, owner, flat) if overlap else instance
        return instance, owner, ordered, flat

    def compile_async(self, *args: Any, **keywords: Any) -> Future[None]:
        """Compile the kernel on another thread, as `compile` does. Returns a future. Its `result()` waits, and raises
        what `compile` would raise. If the program does not ask for the result, the first call raises the error. A call
        in the meantime waits for the code."""
        here = copy_context()  # listeners of this thread listen to the other thread too
        future: Future[None] = program_state.program().compilers.submit(here.run, self.compile, *args, **keywords)
        return future

    def _program(self) -> Any:
        """The current program. Prepares the kernel for it."""
        program = program_state.program()
        while program.generation != self._generation:
            with program_state.compiling, self._following:
                program = program_state.program()
                self._start_over(program)
        return program

    def _instance(self, program: Any, owner: Any, flat: Sequence[Any]) -> Instance:
        """The instance for such arguments. It is compiled if it does not exist."""
        key: Any = ()
        if self._keyed or owner is not None:
            key = (id(owner), *(p.key(flat[position]) for position, p in self._keyed))
        instance = self._instances.latest(key)
        if instance is None:
            try:
                with program_state.compiling, self._lock:
                    instances = self._instances  # read before the generation
                    if program.generation == self._generation:
                        instance = instances.earlier(key) or self._compile(instances, program, key, owner, flat)
            except CompilationError as error:  # (native code calls this, too)
                raise without_compiler(error)  # noqa: B904 - it is the same exception
            if instance is None:  # a new program has started
                return self._instance(self._program(), owner, flat)
        self._latest = instance.recipe
        return instance

    def _careful(self, program: Any, instance: Instance, owner: Any, flat: Sequence[Any]) -> Instance:
        """The variant of an instance for overlapping arguments. It is compiled if it does not exist."""
        careful = instance.careful
        if careful is None or not careful.alive():
            try:
                with program_state.compiling, self._lock:
                    careful = instance.careful
                    current = program.generation == self._generation
                    if current and (careful is None or not careful.alive()):
                        careful = instance.careful = self._make(program, self._arguments(owner, flat, exposed=True))
            except CompilationError as error:
                raise without_compiler(error)  # noqa: B904 - it is the same exception
            if careful is None or not current:  # a new program has started
                program = self._program()
                return self._careful(program, self._instance(program, owner, flat), owner, flat)
        self._latest = careful.recipe
        return careful

    def _plan(self, program: Any, instance: Instance, owner: Any, args: Sequence[Any], flat: Sequence[Any]) -> None:
        """Make a plan, so that native code makes the next calls with such arguments."""
        if not self._has_plans or instance.program() is not program:  # (another thread has ended that program)
            return
        given = flat if self._arrays else args
        kinds = tuple(kinds_of(given))
        if (known := instance.plans.get(kinds)) is not None and known.good:
            write_records(program, self._parameters, flat)
            return
        if getattr(instance.run, "native", None) is None:
            return
        instance.plans_made += 1
        plan = plan_for(program, instance, self._parameters, owner, given)
        with self._following:
            kept = {k: one for k, one in instance.plans.items() if one.good and k != kinds}
            instance.plans = kept if plan is None else {**kept, kinds: plan}
            self._follow()

    def _follow(self) -> None:
        if not self._is_native:
            return
        with self._following:
            warns = not self.restores and self._instances.will_warn()
            self._callers.follow(self._instances.plans(_MOST_FOLLOWED), self, hidden=bool(self._arrays), warns=warns)

    def _start_over(self, program: Any) -> None:
        """Prepare for a new program. Nothing that was compiled before can be used."""
        if program.generation == self._generation:  # another thread has done this
            return
        self._generation = -1  # until the end of this method, the state belongs to no program
        program.zeros = False if self.given else program.zeros
        self._instances = Instances(WeakMethod(self._follow))
        self._follow()
        compiles = self.compiles or self.mode or self.checks or self.piece is not None
        self._interpreted = program.interprets and not compiles
        self._packs = [(name, pack) for name, pack in self.params if isinstance(pack, ArgPackType)]
        self._has_plans = self._is_native and all(type(pack) is ArgPackType for _, pack in self._packs)
        own = parameters_of(self)
        companions = companion_parameters(own, self.mode, self.function)
        self._arrays = [(position, kind) for position, kind, _ in companions]
        self._parameters = [*own, *(parameter for _, _, parameter in companions)]
        if self._boxed:
            self.boxes = Boxes(self._boxed, own, self.results, self.mode)
            self._parameters += self.boxes.parameters()
            self._has_plans = False
        self._keyed = [(position, p) for position, p in enumerate(self._parameters) if p.keyed]
        self._generation = program.generation  # set last: other threads read it first

    def _unpacked(self, args: Sequence[Any]) -> Sequence[Any]:
        flat = unpacked(self.params, args) if self._packs else args
        if self._arrays:
            flat = with_companions(self.__name__, self.mode, flat, self._arrays)
        return flat if self.boxes is None else [*flat, *self.boxes.arguments(flat, {})]

    def _compile(self, instances: Instances, program: Any, key: Any, owner: Any, args: Sequence[Any]) -> Instance:
        instance = self._make(program, self._arguments(owner, args, exposed=counts_on_nothing(self.config(program))))
        watched = [value for parameter, value in zip(self._parameters, args) if isinstance(parameter, Template)]
        instances.add(key, instance, [owner, *watched] if self.has_self else watched)
        return instance

    def _arguments(self, owner: Any, args: Sequence[Any], exposed: bool) -> list[Argument]:
        """The arguments for the translator. If `exposed`, arrays may overlap."""
        arguments = [parameter.argument(value) for parameter, value in zip(self._parameters, args, strict=True)]
        if exposed:
            arguments = [replace(a, type=exposed_type(a.type)) if isinstance(a.type, Array) else a for a in arguments]
        return [Argument(self.names[0], value=owner), *arguments] if self.has_self else arguments

    def _make(self, program: Any, arguments: Sequence[Argument]) -> Instance:
        make = rehearse if self._interpreted else functools.partial(compile_instance, config=self.config(program))
        try:
            instance = make(program, self.function, arguments, self._parameters, self.results, self.mode, self.piece)
        except RecursionError:
            self.fail(
                f"kernel '{self.__name__}' is nested too deeply to be compiled within Python's recursion limit "
                f"({sys.getrecursionlimit()}): raise the limit with sys.setrecursionlimit, or nest less (each "
                "'elif' and each term of a sum is one more level)"
            )
        instance.program = ref(program)
        instance.recipe = Recipe(program, self.function, arguments, self.results, self.mode, self.piece)
        if (told := ON_COMPILED.get()) is not None:
            told(instance)
        return instance

    def __reduce__(self) -> str:
        return self.function.__qualname__

    def __repr__(self) -> str:
        return f"<kernel {self.function.__qualname__}{self.mode and '.' + suffix_of(self.mode)}>"


def kernel(function: Callable[..., Any]) -> Kernel:
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
    check_function(function, "kernel")
    evaluate_annotations(function, 1)
    find_lost(function, 1)
    make: type[Kernel] = native_type(Kernel, is_method(function))
    return make(function)
