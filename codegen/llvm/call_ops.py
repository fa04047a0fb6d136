"""Real calls. A function of a module takes the context, facts of its caller about the thread, and the scalars of its
arguments. An array is passed as its base, extents and strides. The function returns a literal struct.

    define internal {float} @weft_fn_f_0(ptr %ctx, i64 %floor, ptr %draws, i64 %lane, i32 %stream, float %a0)

`%floor` is the address below which the stack must not grow: a recursive function whose frame would reach it fails, as
if by an assertion. Where a local is, and how large the arrays of the frame are, show how far the stack has grown.
After a call of a function that may fail, the caller tests whether it did, so that a failure unwinds at once. `%draws`,
`%lane` and `%stream` number the random numbers. LLVM drops those that nothing uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from weft.codegen.llvm.callees import Callee
from weft.codegen.llvm.function import (
    Emitters,
    EntryValues,
    FunctionWriter,
    RandomState,
    TargetHooks,
    emits,
)
from weft.codegen.llvm.module import ModuleWriter
from weft.codegen.llvm.spelling import identifier, in_register
from weft.ir.core import Op, Value, pointee
from weft.ir.ops import (
    Alloca,
    Arg,
    ArrayBase,
    ArrayExtent,
    ArrayStride,
    Invoke,
    Kernel,
    Returned,
    ScalarArg,
    StackLeft,
    StoreResult,
)
from weft.ir.storage.values import size_of
from weft.ir.tasks import tasks_of
from weft.ir.types import Array, Prim, Tensor, Type, flatten

__all__ = ["frame_bytes", "write_function"]


# ---- the caller's side -----------------------------------------------------------------------------------------------


def _result(types: Sequence[Type]) -> str:
    names = ", ".join(in_register(prim) for prim in types if isinstance(prim, Prim))
    return f"{{{names}}}" if names else "void"


@emits(Arg)
def _arg(f: FunctionWriter, op: Arg) -> str:
    """An array that is passed on: `_invoke` emits its words."""
    return ""


@emits(Invoke)
def _invoke(f: FunctionWriter, op: Invoke) -> str | None:
    callee = f.module.callees[op.function]
    floor = _floor(f) if callee.deep else "0"
    random = f.random
    stream = random.stream or str(op.stream)
    lane = random.lane if random.stream or op.stream else "0"
    known = ["ptr %ctx", f"i64 {floor}", f"ptr {random.draws or 'null'}", f"i64 {lane}", f"i32 {stream}"]
    arguments = [word for value in op.values for word in _words(f, value)]
    call = f"call {_result(op.results)} @weft_fn_{identifier(op.function)}({', '.join([*known, *arguments])})"
    result = f.set(call) if op.results else None
    if result is None:
        f.do(call)
    if callee.fails:
        assert f.target.leave_if_failed is not None
        f.target.leave_if_failed(f)
    return result


def _words(f: FunctionWriter, value: Value) -> list[str]:
    """What an argument is passed as: a scalar itself; an array's base, extents and strides."""
    kind = value.type
    if not isinstance(kind, Array):
        return [f.typed(value)]
    assert isinstance(value, Arg)
    index, axes = value.index, range(kind.ndim)
    words: list[tuple[type[Op], Op]] = [(ArrayBase, ArrayBase(index))]
    words += [(ArrayExtent, ArrayExtent(index, axis)) for axis in axes]
    words += [(ArrayStride, ArrayStride(index, axis)) for axis in axes]
    names = [f.emitters[kind](f, op) for kind, op in words]
    return [f"{'i64' if position else 'ptr'} {name}" for position, name in enumerate(names)]


def _floor(f: FunctionWriter) -> str:
    """Where the stack must end, for the calls of this entry or task."""
    if not f.entry.floor:
        f.entry.floor = "%floor"
        f.slots += f.target.floor
    return f.entry.floor


@emits(Returned)
def _returned(f: FunctionWriter, op: Returned) -> str:
    assert isinstance(op.call, Invoke)
    return f.set(f"extractvalue {_result(op.call.results)} {f.use(op.call)}, {op.part}")


# ---- the function itself ---------------------------------------------------------------------------------------------


def frame_bytes(inside: Iterable[Op]) -> int:
    """The bytes of the arrays in the frame of a function, or of an entry. The compiler decides in which order they lie,
    and puts other locals in registers, as far as it can."""
    held = (pointee(op) for op in inside if isinstance(op, Alloca))
    return sum(size_of(type) for type in held if isinstance(type, Tensor))


class _Parameters:
    """The registers of a function's parameters, and the ops that read them."""

    def __init__(self, kernel: Kernel) -> None:
        self.spelled: list[str] = []
        self.starts: list[int] = []
        self.axes: list[int] = []
        for param in kernel.params:
            self.starts.append(len(self.spelled))
            array = isinstance(param.type, Array)
            self.axes.append(param.type.ndim if isinstance(param.type, Array) else 0)
            types = ["ptr", *["i64"] * (2 * self.axes[-1])] if array else map(in_register, flatten(param.type))
            self.spelled += [f"{type} %a{len(self.spelled) + k}" for k, type in enumerate(types)]

    def emitters(self) -> dict[type[Op], Callable[[Any, Any], str]]:
        """How to write the ops that read parameters."""
        starts, axes = self.starts, self.axes
        return {
            ScalarArg: lambda _, op: f"%a{starts[op.index] + op.part}",
            ArrayBase: lambda _, op: f"%a{starts[op.index]}",
            ArrayExtent: lambda _, op: f"%a{starts[op.index] + 1 + op.axis}",
            ArrayStride: lambda _, op: f"%a{starts[op.index] + 1 + axes[op.index] + op.axis}",
        }


def write_function(
    module: ModuleWriter, target: TargetHooks, callee: Callee, writer: type[FunctionWriter], emitters: Emitters
) -> None:
    """The LLVM function of a lowered kernel that others call; `writer` and `emitters` are those of the target."""
    kernel = callee.kernel
    results = [prim for type in kernel.results for prim in flatten(type)]
    parameters = _Parameters(kernel)

    def store_result(f: FunctionWriter, op: StoreResult) -> None:
        f.do(f"store {f.typed(op.value)}, ptr {slots[op.part]}")

    own = {**emitters, **parameters.emitters(), StoreResult: store_result}
    f = writer(
        module,
        target,
        emitters=own,
        random=RandomState(draws="%draws", lane="%lane", stream="%stream"),
        entry=EntryValues("%floor", frame_bytes(kernel.walk())),
    )
    slots = [f.stack(in_register(prim)) for prim in results]
    for slot, prim in zip(slots, results, strict=True):
        f.do(f"store {in_register(prim)} zeroinitializer, ptr {slot}")
    for task in tasks_of(kernel):
        f.memory.joined = frozenset(task.schedule.joined)
        f.block(task.body)
    known = ["ptr %ctx", "i64 %floor", "ptr %draws", "i64 %lane", "i32 %stream"]
    name, takes = identifier(kernel.symbol), ", ".join([*known, *parameters.spelled])
    signature = f"define internal {_result(results)} @weft_fn_{name}({takes})"
    body = f.text(f"{signature} {target.attributes}").removesuffix("  ret void\n}\n")
    module.functions.append(body + _return(slots, results))


@emits(StackLeft)
def _stack_left(f: FunctionWriter, op: StackLeft) -> str:
    """Whether the frame is above the floor: the address of a local, and the arrays that may be below it, show that."""
    here = f.set(f"ptrtoint ptr {f.stack('i64')} to i64")
    least = f.set(f"add i64 %floor, {f.entry.frame}") if f.entry.frame else "%floor"
    return f.set(f"icmp ugt i64 {here}, {least}")


def _return(slots: list[str], results: list[Prim]) -> str:
    whole, lines, before = _result(results), list[str](), "undef"
    for part, (slot, prim) in enumerate(zip(slots, results, strict=True)):
        lines.append(f"  %r{part} = load {in_register(prim)}, ptr {slot}")
        lines.append(f"  %w{part} = insertvalue {whole} {before}, {in_register(prim)} %r{part}, {part}")
        before = f"%w{part}"
    lines.append(f"  ret {whole} {before}" if results else "  ret void")
    return "\n".join([*lines, "}\n"])
