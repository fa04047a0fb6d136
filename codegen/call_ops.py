"""Real calls: each function of a module takes the context and the scalars of its arguments, and gives a literal struct.

define internal {float, i32} @weft_fn_f_0(ptr %ctx, float %a0, i32 %a1)
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.function import EMITTERS, FunctionWriter, emits
from weft.codegen.module import ModuleWriter
from weft.codegen.spelling import in_register
from weft.ir.ops import Invoke, Kernel, Load, Returned, ScalarArg, StoreResult, Task
from weft.ir.types import Prim, Type, flatten

__all__ = ["write_function"]


def _result(types: Sequence[Type]) -> str:
    names = ", ".join(in_register(prim) for prim in types if isinstance(prim, Prim))
    return f"{{{names}}}" if names else "void"


@emits(Invoke)
def _invoke(f: FunctionWriter, op: Invoke) -> str | None:
    arguments = ", ".join(["ptr %ctx", *map(f.typed, op.values)])
    call = f"call {_result(op.results)} @weft_fn_{op.function}({arguments})"
    if op.results:
        return f.set(call)
    f.do(call)
    return None


@emits(Returned)
def _returned(f: FunctionWriter, op: Returned) -> str:
    assert isinstance(op.call, Invoke)
    return f.set(f"extractvalue {_result(op.call.results)} {f.use(op.call)}, {op.part}")


def write_function(module: ModuleWriter, kernel: Kernel) -> None:
    """The LLVM function of a lowered kernel that others call. (No other code may read its fields meanwhile, but its
    callers write them between calls: no load of it is invariant.)"""
    results = [prim for type in kernel.results for prim in flatten(type)]
    starts, arguments = list[int](), list[str]()
    for param in kernel.params:
        starts.append(len(arguments))
        arguments += [f"{in_register(prim)} %a{len(arguments) + k}" for k, prim in enumerate(flatten(param.type))]

    def argument(_: FunctionWriter, op: ScalarArg) -> str:
        return f"%a{starts[op.index] + op.part}"

    def store_result(f: FunctionWriter, op: StoreResult) -> None:
        f.do(f"store {f.typed(op.value)}, ptr {slots[op.part]}")

    f = FunctionWriter(module, emitters={**EMITTERS, ScalarArg: argument, StoreResult: store_result})
    slots = [f.stack(in_register(prim)) for prim in results]
    for slot, prim in zip(slots, results, strict=True):
        f.do(f"store {in_register(prim)} zeroinitializer, ptr {slot}")
    for task in kernel.body:
        assert isinstance(task, Task)
        for op in task.walk():
            if isinstance(op, Load):
                op.invariant = False
        f.block(task.body)
    signature = f"define internal {_result(results)} @weft_fn_{kernel.symbol}({', '.join(['ptr %ctx', *arguments])})"
    body = f.text(f"{signature} {module.attributes}").removesuffix("  ret void\n}\n")
    module.functions.append(body + _return(slots, results))


def _return(slots: list[str], results: list[Prim]) -> str:
    whole, lines, before = _result(results), list[str](), "undef"
    for part, (slot, prim) in enumerate(zip(slots, results, strict=True)):
        lines.append(f"  %r{part} = load {in_register(prim)}, ptr {slot}")
        lines.append(f"  %w{part} = insertvalue {whole} {before}, {in_register(prim)} %r{part}, {part}")
        before = f"%w{part}"
    lines.append(f"  ret {whole} {before}" if results else "  ret void")
    return "\n".join([*lines, "}\n"])
