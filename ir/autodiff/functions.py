"""Derivatives of real functions: functions that are compiled beside the derivative of the kernel that calls them.

    %r = invoke function=f, [%x] : f64

    forward mode    %s = invoke function=f.jvp, [%x, %dx] : {_0: f64, _1: f64}        the result and its dual
    reverse mode    %g = invoke function=f.vjp, [%x, %dr] : {_0: f64}                 the adjoint of each argument

`f.jvp` takes the dual of each argument of floats after all arguments, and gives the dual of each result of floats
after all results. `f.vjp` takes the adjoint of each result of floats, computes `f` again, and gives the adjoint of each
argument of floats. A function that calls itself has a derivative that calls itself. `f.vjp.jvp` is forward mode of
`f.vjp`.

Reverse mode takes functions of their arguments only, which use no memory of the program and draw no random numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.ir import ops
from weft.ir.autodiff.adjoints import Frame, filled
from weft.ir.autodiff.companions import carries
from weft.ir.core import Builder, Value
from weft.ir.symbols import COMPANIONS, Param
from weft.ir.types import VOID, Array, Struct, Type, pointer, struct

__all__ = ["Form", "derived", "form_of", "name_in", "params_in", "parts_of", "together"]


def name_in(function: str, mode: str) -> str:
    """The name of the derivative of a function."""
    return f"{function}.{mode}"


def derived(name: str) -> tuple[str, str]:
    """The function and the mode of a name that `name_in` made."""
    function, _, mode = name.partition(".")
    return function, mode


def params_in(params: Sequence[Param], results: Sequence[Type], mode: str) -> tuple[Param, ...]:
    """The parameters of the derivative of a function in a mode of MODES."""
    found = list(params)
    for one in mode.split("."):
        if one == "vjp":
            found += [Param(f"return.{k}.grad", type) for k, type in enumerate(results) if carries(type)]
        else:
            kind = COMPANIONS[one]
            found += [Param(f"{param.name}.{kind}", param.type, kind) for param in found if carries(param.type)]
    return tuple(found)


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
    `seeds`: the local of each result of floats, and the parameter with its adjoint."""

    arguments: list[Value]
    seeds: dict[Value, int]

    def seed(self, frame: Frame, local: Value, kernel: ops.Kernel) -> None:
        """Give the adjoint of a result its first value."""
        if local in self.seeds:
            index = self.seeds[local]
            place = frame.places[local]
            frame.zero.discard(place)
            frame.build.add(ops.Store(place, frame.build.add(ops.Arg(index, type=kernel.params[index].type))))

    def finish(self, frame: Frame, kernel: ops.Kernel) -> None:
        """Return the adjoints of the arguments."""
        found = list[Value]()
        for local in self.arguments:
            place, type = frame.places.get(local), _pointee(local)
            found.append(filled(frame.build, type) if place is None else frame.build.add(ops.Load(place)))
        frame.build.add(ops.Return(found))
        kernel.results = tuple(_pointee(local) for local in self.arguments)


def _pointee(local: Any) -> Type:
    elem: Type = local.type.elem
    return elem


def form_of(kernel: ops.Kernel) -> Form | None:
    """Let a function load its arguments from locals, and store its results to locals. None: it is no function."""
    if not kernel.called:
        return None
    own = sum(not param.hidden for param in kernel.params) - sum(map(carries, kernel.results))
    build = Builder(kernel.body, kernel.body.first, kernel.span)
    results = [build.add(ops.Alloca(type=pointer(type), name="result")) for type in kernel.results]
    locals: dict[int, Value] = {}
    args = kernel.all_of(ops.Arg)
    for index, param in enumerate(kernel.params[:own]):
        if carries(param.type) and not isinstance(param.type, Array):
            local = locals[index] = build.add(ops.Alloca(type=pointer(param.type), name=param.name))
            build.add(ops.Store(local, build.add(ops.Arg(index, type=param.type))))
    for arg in args:
        if arg.index in locals:
            arg.replace(Builder.at(arg).add(ops.Load(locals[arg.index], name=arg.name)))
    for end in kernel.all_of(ops.Return):
        at = Builder.at(end)
        for local, value in zip(results, end.values, strict=True):
            at.add(ops.Store(local, value))
        end.set_operands([], (0,))
    floats = [local for local in results if carries(_pointee(local))]
    kernel.results = ()
    return Form([*locals.values()], {local: own + k for k, local in enumerate(floats)})
