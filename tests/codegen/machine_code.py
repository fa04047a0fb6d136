"""Runs a scalar operator as machine code over arrays: the smallest kernel there is, built by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.mapping import for_cpu
from weft.codegen.cpu.kernel import compile_kernel
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Value
from weft.ir.ops import Address, ArrayBase, Const, Kernel, Load, Store, Task, Yield
from weft.ir.scopes import array_scope
from weft.ir.symbols import Param
from weft.ir.types import Prim, array, i64, pointer
from weft.runtime.cpu import CpuDevice
from weft.runtime.launch import array_argument

DEVICE = CpuDevice(threads=2)


def elementwise(
    inputs: Sequence[Prim], output: Prim, count: int, body: Callable[[Builder, list[Value]], Value], **options: Any
) -> Kernel:
    """out[i] = body(in0[i], in1[i], ...) as lowered CHI."""
    types = [*inputs, output]
    kernel = Kernel("elementwise", tuple(Param(f"a{k}", array(type, 1)) for k, type in enumerate(types)))
    task = Task("range_for")
    kernel.body.append(task)
    bounds = Builder(task.bounds)
    zero, end = (bounds.add(Const(value, type=i64)) for value in (0, count))
    bounds.add(Yield([zero], [end]))
    index = BlockArg(i64, "i")
    task.body = Block([index])
    task.body.owner = task
    b = Builder(task.body)

    def address(k: int) -> Value:
        stride = b.add(Const(types[k].size, type=i64))
        return b.add(Address(b.add(ArrayBase(k)), [index], [stride], 0, array_scope(k), type=pointer(types[k])))

    values: list[Value] = [b.add(Load(address(k))) for k in range(len(inputs))]
    b.add(Store(address(len(inputs)), body(b, values)))
    return kernel


def run(
    inputs: Sequence[Any], output: Prim, body: Callable[[Builder, list[Value]], Value], config: CompileConfig
) -> Any:
    """What the machine makes of `body` on those numpy arrays."""
    result = np.zeros(len(inputs[0]), output.np)
    prims = [next(p for p in _PRIMS if p.np == a.dtype) for a in inputs]
    kernel = for_cpu(elementwise(prims, output, len(result), body), config)
    artifact = compile_kernel(kernel, config)
    DEVICE.load(artifact)([], [array_argument(a, 1) for a in [*inputs, result]])
    return result


def _prims() -> tuple[Prim, ...]:
    from weft.ir.types import FLOATS, INTEGERS

    return INTEGERS + FLOATS


_PRIMS = _prims()
