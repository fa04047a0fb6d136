"""Kernels on sparse fields as machine code: on threads of the CPU, and on a GPU in software."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.codegen.chi_runs import EMULATED_TARGETS
from tests.emulated import EmulatedDevice
from tests.ir.test_peel_cells import COLOURED, loop, read
from tests.ir.test_peel_cells import tree as rows_of_cells
from tests.ir.test_sparse_loops import DROP, FILL, LOOPS, mixed
from tests.ir.test_sparse_lowering import agree, kernel_of
from tests.mapping import for_cpu, mapped
from tests.sampling import draws, every, only
from tests.sparse_derivatives import Way, drawn_case
from tests.sparse_programs import Draw, drawn_tree
from tests.sparse_trees import Declared, declare, lower
from weft.codegen.cpu import kernel as cpu
from weft.codegen.nvptx import kernel as nvptx
from weft.codegen.nvptx.target import gpu_target
from weft.ir.artifact import CudaTarget
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError
from weft.ir.evaluate import Memory, evaluate
from weft.ir.ops import Kernel
from weft.ir.target import CUDA
from weft.ir.text import print_ir
from weft.runtime.cpu import CpuDevice

# What no other element reads.
ALONE = read("%i, %j", "own") + (
    "%c = binary gt %own, %4 : u1\n%new = select %c, %j, %own : i32\n%q = field_ptr @x[%i, %j] : *i32\nstore %q, %new\n"
)
Run = Callable[[Kernel, list[Any]], None]
DEFAULT = CompileConfig()


def on_cpu(threads: int, given: CompileConfig = DEFAULT) -> Run:
    config, device = replace(given, threads=threads), CpuDevice(threads=threads)

    def run(kernel: Kernel, trees: list[Any]) -> None:
        kernel, functions = lower(kernel, config)
        code = for_cpu(kernel, config, functions=functions)
        device.load(cpu.compile_kernel(code, config, functions=functions))([tree.ctypes.data for tree in trees], [])
        device.synchronize()

    return run


def on_emulated_gpu(target: CudaTarget, given: CompileConfig = DEFAULT, written: bool = False) -> Run:
    """`written`: tests write the trees between launches."""
    config, device = replace(given, arch="cuda", traits=CUDA), EmulatedDevice()
    loaded = dict[str, Any]()

    def run(kernel: Kernel, trees: list[Any]) -> None:
        text = print_ir(kernel)
        if text not in loaded:
            kernel, functions = lower(kernel, config)
            code = mapped(kernel, config, gpu_target(target), functions)
            loaded[text] = device.load(nvptx.compile_kernel(code, config, device=target, functions=functions))
        for tree in trees if written else ():
            device.memory.lists.forget(tree.ctypes.data)
        loaded[text]([tree.ctypes.data for tree in trees], [])
        device.synchronize()

    return run


def compare_code(made: Declared, bodies: Sequence[str], run: Run) -> None:
    """Run kernels one after another, and compare what they leave with what they mean."""
    meant, stored = Memory.of(made.fields, made.nodes), Memory.of(made.fields, made.nodes)
    trees = [np.concatenate([tree, np.zeros(64, np.uint8)]) for tree in stored.trees]
    stored.trees[:] = [tree[:-64] for tree in trees]
    for body in bodies:
        evaluate(kernel_of(made, body), [], meant, replace(CompileConfig(), fast_math=False))
        run(kernel_of(made, body), trees)
        agree(made, meant, stored)


def random_series(seed: int, count: int) -> tuple[Declared, list[str]]:
    rng = Random(f"code {seed}")
    made = drawn_tree(rng)
    draw = Draw(rng, made)
    return made, [draw.body() for _ in range(count)]


@pytest.mark.parametrize("threads", only([2], [1, 2]))
def test_every_kind_of_node_on_the_cpu(threads: int) -> None:
    compare_code(declare(mixed()), [FILL, LOOPS, DROP], on_cpu(threads))


@pytest.mark.parametrize("seed", range(draws(16)))
def test_random_series_on_the_cpu(seed: int) -> None:
    made, bodies = random_series(seed, 3)
    compare_code(made, bodies, on_cpu(2))


@pytest.mark.emulated
@pytest.mark.parametrize("target", every(2, EMULATED_TARGETS), ids=str)
def test_every_kind_of_node_on_a_gpu_in_software(target: CudaTarget) -> None:
    compare_code(declare(mixed()), [FILL, LOOPS, DROP], on_emulated_gpu(target))


@pytest.mark.emulated
@pytest.mark.parametrize("seed", range(draws(8)))
def test_random_series_on_a_gpu_in_software(seed: int) -> None:
    made, bodies = random_series(100 + seed, 2)
    compare_code(made, [*bodies, *bodies[::-1], bodies[1]], on_emulated_gpu(EMULATED_TARGETS[0]))


def check_derivatives(seed: int, run: Callable[[CompileConfig], Run]) -> None:
    """Both derivatives of the first random kernel from that number on that has them, with optimizations or without."""
    config = replace(CompileConfig(fast_math=False, opt_level=0), advanced_optimization=seed % 20 == 0)
    for number in range(seed, seed + 10):
        try:
            assert drawn_case(number).check(number, [Way(config, run(config))])
            return
        except CompilationError:  # that kernel has none
            continue
    pytest.fail("no kernel has derivatives")


@pytest.mark.parametrize("seed", range(1000, 1000 + 10 * draws(16), 10))
def test_derivatives_of_random_kernels_on_the_cpu(seed: int) -> None:
    check_derivatives(seed, lambda config: on_cpu(2, config))


@pytest.mark.emulated
@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2000, 2000 + 10 * draws(8), 10))
def test_derivatives_of_random_kernels_on_a_gpu_in_software(seed: int) -> None:
    check_derivatives(seed, lambda config: on_emulated_gpu(EMULATED_TARGETS[0], config, written=True))


@pytest.mark.parametrize(("body", "count"), [(COLOURED, 8), (ALONE, 0)])
def test_rows_are_not_stored_by_masks_where_others_read_them(body: str, count: int) -> None:
    """The old values of a row, which a selection stores again, are those that were loaded."""
    config = CompileConfig(threads=1)
    kernel, functions = lower(kernel_of(rows_of_cells(), loop(body)), config)
    text = cpu.emit_kernel(for_cpu(kernel, config, functions=functions), config, frozenset({"avx2"})).text("")
    assert text.count("freeze") == count
