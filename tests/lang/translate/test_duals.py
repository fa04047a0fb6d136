"""Forward mode of kernels that are written in Python: their CHI with a dual for each field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.ir.test_forward_mode import run, with_duals
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.text import print_ir
from weft.ir.transforms.lower_tree import lower_tree

CONFIG = CompileConfig(fast_math=False, default_fp=ti.f64, verify=True)


def chi(kernel: Any) -> Kernel:
    tree = kernel._prepared((), {}).recipe.translate().tree
    return run_passes(lower_tree(tree, CONFIG), ("infer_types",), CONFIG, level="untyped")


def test_a_kernel_with_structs_matrices_and_an_iteration() -> None:
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    x, y, loss = ti.field(ti.f64, 4), ti.field(ti.f64, 4), ti.field(ti.f64, ())
    particle = ti.types.struct(q=ti.f64, w=ti.types.vector(2, ti.f64))

    @ti.func
    def root(a):  # Newton's iteration
        r, steps = a, 0
        while True:
            better = r - (r * r - a) / (2 * r)
            if abs(better - r) < 1e-14 or steps > 50:
                break
            r = better
            steps += 1
        return r

    @ti.kernel
    def compute() -> ti.f64:
        best = 0.0
        for i in x:
            p = particle(q=x[i], w=ti.Vector([x[i], y[i]]))
            if i == 2:
                continue
            p.w[0] *= root(p.q)
            m = ti.Matrix([[p.q, 1.0], [0.5, y[i]]])
            loss[None] += (m @ p.w).norm() + m.determinant() + m.inverse()[0, 1]
            y[i] = ti.max(x[i], 0.2) ** 3
            best += y[i] * p.w[1]
        s = 0.0
        ti.loop_config(serialize=True)
        for j in range(4):
            s += ti.sin(y[j])
            if j > 2:
                break
        return s + best

    made = chi(compute)
    plain = parse(print_ir(made))
    dual = run_passes(with_duals(made), ("differentiate",), CONFIG)
    random, memory = np.random.default_rng(1), Memory.of(plain.fields)
    base = {s.name: random.uniform(0.5, 1.5, memory.read(s).shape) for s in plain.fields}
    along = {name: random.uniform(-1, 1, value.shape) for name, value in base.items()}
    step = 1e-5
    ahead, behind = (run(plain, {n: base[n] + h * along[n] for n in base}, CONFIG) for h in (step, -step))
    fields, results = run(dual, base | {f"{name}.dual": value for name, value in along.items()}, CONFIG)
    for name in base:
        difference = (ahead[0][name] - behind[0][name]) / (2 * step)
        np.testing.assert_allclose(fields[f"{name}.dual"], difference, rtol=1e-7, atol=1e-7)
    assert results[1] == pytest.approx((ahead[1][0] - behind[1][0]) / (2 * step), rel=1e-7)


def test_a_refusal_shows_the_line() -> None:
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    x = ti.field(ti.f64, 4, needs_dual=True)

    @ti.kernel
    def scaled():
        for i in x:
            x[i] += 2.0 * x.dual[i]

    y = ti.field(ti.f64, (), needs_dual=True)
    with pytest.raises(CompilationError) as caught, ti.ad.FwdMode(loss=y, param=x, seed=[1.0] * 4):
        scaled()
    text = str(caught.value)
    assert "in scaled\n    x[i] += 2.0 * x.dual[i]\n                  ^^^^^^^^^" in text
    assert "test_duals.py" in text
