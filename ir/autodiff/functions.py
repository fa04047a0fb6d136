"""Derivatives of real functions: functions that are compiled beside the derivative of the kernel that calls them.

    %r = invoke function=f, [%x] : f64

    forward mode    %s = invoke function=f.jvp, [%x, %dx] : {_0: f64, _1: f64}        the result and its dual
    reverse mode    %g = invoke function=f.vjp, [%x, %dr] : {_0: f64}                 the adjoint of each argument

`f.jvp` takes the dual of each argument of floats after all arguments, and gives the dual of each result of floats
after all results. `f.vjp` takes the adjoint of each result of floats, computes `f` again, and gives the adjoint of each
argument of floats. A function that calls itself has a derivative that calls itself. `f.vjp.jvp` is forward mode of
`f.vjp`.

An array that has a companion where the function is called is passed with it. The name of the derivative has the numbers
of these arguments: `f.vjp_0_2` takes the gradients of the arguments 0 and 2 behind all others. `f.vjp_value` gives the
results of `f`, and then the adjoints (`joint.py`).

Reverse mode takes functions that draw no random numbers, and that do not use values of memory that they write: they
store results, or add to sums. (Others are inlined, see `lower_tree_inlining.py`, unless they call themselves.) `f.vjp`
adds to the gradients of what `f` reads, and takes those of what it writes. It writes no values: where it needs the
value of a call, it calls `f.rerun`, which computes that and does nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from weft.ir import ops
from weft.ir.autodiff.adjoints import Frame, filled
from weft.ir.autodiff.companions import Companions, carries
from weft.ir.core import Builder, Value
from weft.ir.symbols import COMPANIONS, RERUN, Param, is_reverse
from weft.ir.types import VOID, Array, Struct, Type, pointer, struct

__all__ = [
    "Form",
    "arrays_in",
    "called_again",
    "derived",
    "form_of",
    "mode_in",
    "name_in",
    "params_in",
    "parts_of",
    "together",
    "writes_companions",
]


_VALUE = "value"  # in the name of a derivative that gives the results of the function, too


def name_in(op: ops.Invoke, companions: Companions, joint: bool = False) -> str:
    """The name of the derivative of a called function, in the mode of its caller. `joint`: of the one that gives the
    results of the function, too."""
    numbers = [str(number) for number, _ in arrays_in(op, companions)]
    return "_".join((f"{op.function}.{companions.mode}", *([_VALUE] if joint else []), *numbers))


def called_again(op: ops.Invoke, values: Sequence[Value]) -> ops.Invoke:
    """A call for its value only, with these arguments."""
    name = f"{op.function}.{RERUN}" if op.written else op.function
    return ops.Invoke(name, list(values), op.only_read, op.only_read, stream=op.stream, type=op.type, span=op.span)


def writes_companions(op: Value, companions: Companions) -> bool:
    """Whether an op is a call of a function that may write memory with a companion."""
    return isinstance(op, ops.Invoke) and bool(companions.beside(op.written))


def arrays_in(op: ops.Invoke, companions: Companions) -> list[tuple[int, int]]:
    """The arguments of a call that are arrays with a companion: the number of each, and that of the parameter of the
    caller which is the companion."""
    arrays = [(k, value.index) for k, value in enumerate(op.values) if _is_array(value)]
    return [(number, companions.params[index]) for number, index in arrays if index in companions.params]


def _is_array(value: Value) -> TypeGuard[ops.Arg]:
    return isinstance(value, ops.Arg) and isinstance(value.type, Array)


def derived(name: str) -> tuple[str, str]:
    """The function and the derivative of a name that `name_in` made, the latter as `params_in` takes it."""
    function, _, derivative = name.partition(".")
    return function, derivative


def mode_in(derivative: str) -> str:
    """The mode of MODES of a derivative."""
    return ".".join(one.split("_")[0] for one in derivative.split("."))


def params_in(params: Sequence[Param], results: Sequence[Type], derivative: str) -> tuple[Param, ...]:
    """The parameters of the derivative of a function."""
    found, given = list(params), list(results)
    for one in derivative.split("."):
        mode, *rest = one.split("_")
        if mode == RERUN:
            continue
        kind, arrays = COMPANIONS[mode], {found[int(number)] for number in rest if number != _VALUE}
        if is_reverse(mode):
            paired = [param for param in found if param in arrays]
            floats = [param.type for param in found if _is_given(param)]
            found += [Param(_seed(k, kind), type) for k, type in enumerate(given) if carries(type)]
            given = [*given, *floats] if _VALUE in rest else floats
        else:
            paired = [param for param in found if carries(param.type) or param in arrays]
            given += [type for type in given if carries(type)]
        found += [Param(f"{param.name}.{kind}", param.type, kind) for param in paired]
    return tuple(found)


def _seed(result: int, kind: str) -> str:
    """The name of the parameter with the adjoint of a result."""
    return f"return.{result}.{kind}"


def _is_given(param: Param) -> bool:
    """Whether it is a value of floats, which gets an adjoint."""
    return carries(param.type) and not isinstance(param.type, Array)


def parts_of(type: Type) -> tuple[Type, ...]:
    """The types of the results of a function whose call has that type: a call of several gives a struct of them."""
    if type is VOID:
        return ()
    if isinstance(type, Struct) and all(name == f"_{k}" for k, (name, _) in enumerate(type.members)):
        return tuple(member for _, member in type.members)
    return (type,)


def together(types: Sequence[Type]) -> Type:
    """The type of a call that gives results of these types, as a struct."""
    return struct(tuple((f"_{k}", type) for k, type in enumerate(types))) if types else VOID


@dataclass
class Form:
    """A function in the form that reverse mode reads. `arguments`: the local that holds each argument of floats.
    `seeds`: the local of each result of floats, and the parameter with its adjoint. `results`: the local of each result
    that the derivative gives, too. `given`: their values, once the forward sweep has computed them."""

    arguments: list[Value]
    seeds: dict[Value, int]
    results: list[Value]
    given: list[Value] = field(default_factory=list[Value])

    def seed(self, frame: Frame, local: Value, kernel: ops.Kernel) -> None:
        """Give the adjoint of a result its first value."""
        if local in self.seeds:
            index = self.seeds[local]
            place = frame.places[local]
            frame.zero.discard(place)
            frame.build.add(ops.Store(place, frame.build.add(ops.Arg(index, type=kernel.params[index].type))))

    def know(self, frame: Frame) -> None:
        """After the forward sweep: load the results."""
        self.given = [frame.build.add(ops.Load(frame.value(local))) for local in self.results]

    def finish(self, frame: Frame, kernel: ops.Kernel) -> None:
        """Return the results that are given, and the adjoints of the arguments."""
        found = [*self.given]
        for local in self.arguments:
            place, type = frame.places.get(local), _pointee(local)
            found.append(filled(frame.build, type) if place is None else frame.build.add(ops.Load(place)))
        frame.build.add(ops.Return(found))
        kernel.results = tuple(_pointee(local) for local in (*self.results, *self.arguments))


def _pointee(local: Any) -> Type:
    elem: Type = local.type.elem
    return elem


def form_of(kernel: ops.Kernel) -> Form | None:
    """Let a function load its arguments from locals, and store its results to locals. None: it is no function."""
    if not kernel.called:
        return None
    names = {param.name: number for number, param in enumerate(kernel.params)}
    seeds = [names.get(_seed(k, COMPANIONS[kernel.mode])) for k in range(len(kernel.results))]
    own = min((number for number in seeds if number is not None), default=_count_before(kernel))
    build = Builder(kernel.body, kernel.body.first, kernel.span)
    results: list[Value] = [build.add(ops.Alloca(type=pointer(type), name="result")) for type in kernel.results]
    locals: dict[int, Value] = {}
    args = kernel.all_of(ops.Arg)
    for index, param in enumerate(kernel.params[:own]):
        if _is_given(param):
            local = locals[index] = build.add(ops.Alloca(type=pointer(param.type), name=param.name))
            build.add(ops.Store(local, build.add(ops.Arg(index, type=param.type))))
    for arg in args:
        if arg.index in locals:
            arg.replace(Builder.at(arg).add(ops.Load(locals[arg.index], name=arg.name)))
    for end in kernel.all_of(ops.Return):
        at = Builder.at(end)
        for result, value in zip(results, end.values, strict=True):
            at.add(ops.Store(result, value))
        end.set_operands([], (0,))
    kernel.results = ()
    given = {one: number for one, number in zip(results, seeds, strict=True) if number is not None}
    return Form([*locals.values()], given, results if _is_joint(kernel) else [])


def _count_before(kernel: ops.Kernel) -> int:
    """How many parameters a function had before the derivative that it becomes, if that has no adjoints of results."""
    modes = mode_in(derived(kernel.symbol)[1]).split(".")
    added = {COMPANIONS[mode] for mode in modes[modes.index(kernel.mode) :]}
    return next((k for k, param in enumerate(kernel.params) if param.hidden in added), len(kernel.params))


def _is_joint(kernel: ops.Kernel) -> bool:
    """Whether the derivative that a function becomes gives its results, too."""
    parts = [part.split("_") for part in derived(kernel.symbol)[1].split(".")]
    return any(mode == kernel.mode and _VALUE in rest for mode, *rest in parts)
