"""An op, a pass and a derivative rule are added to a copy of Weft, in at most three files each, as docs/contributing.md
says, and they work. (`lang/program/test_backends.py` adds a target.)"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("ir", "codegen", "runtime", "lang")

# What is written to the end of a file.
OP = {
    "ir/ops.py": '''

class Midpoint(Op, name="midpoint", pure=True, lanes="operands", levels="lowered"):
    """Half of the sum of two floats."""

    a: Value = operand()
    b: Value = operand()

    def result_type(self) -> Type:
        return self.a.type
''',
    "ir/evaluate_values.py": """

@runs(ops.Midpoint)
def _midpoint(machine: Machine, op: ops.Midpoint) -> Run:
    a, b = machine.slot(op.a), machine.slot(op.b)
    return lambda env: (env[a] + env[b]) * type(env[a])(0.5)
""",
    "codegen/llvm/scalar_ops.py": """

from weft.ir.ops import Midpoint


@emits(Midpoint)
def _midpoint(f: FunctionWriter, op: Midpoint) -> str:
    total = f.set(f"fadd {f.typed(op.a)}, {f.use(op.b)}")
    return f.set(f"fmul {f.spell(op.type)} {total}, {f.literal(0.5, element(op.type))}")
""",
}

# A pass that makes the op, in a file of its own; its place in the pipeline.
PASS = '''"""Half of a sum becomes one op.

    %s = binary add %a, %b          %m = midpoint %a, %b
    %m = binary mul %s, 0.5    ->

Not where the sum has another user.
"""

from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Op
from weft.ir.ops import Binary, Const, Midpoint
from weft.ir.passes import pass_


@pass_("find_midpoints")
def find_midpoints(root: Op, config: CompileConfig) -> bool:
    changed = False
    for op in root.all_of(Binary):
        total, half = op.operands
        sums = isinstance(total, Binary) and total.kind == "add" and list(total.users) == [op]
        if op.kind == "mul" and sums and isinstance(half, Const) and half.value == 0.5:
            op.replace(Builder.at(op).add(Midpoint(total.lhs, total.rhs)))
            total.erase()
            changed = True
    return changed
'''
PLACE = ('    "lift_sums",\n', '    "lift_sums",\n    "find_midpoints",\n')

PROGRAM = """
import numpy as np
import weft as ti

ti.init(arch=ti.cpu, fast_math=False, offline_cache=False)
x, y, z = (ti.field(ti.f32, 100) for _ in range(3))


@ti.kernel
def halve():
    for i in x:
        z[i] = (x[i] + y[i]) * 0.5


@ti.kernel
def keep():
    for i in x:
        s = x[i] + y[i]
        x[i] = s
        z[i] = s * 0.5


rng = np.random.default_rng(1)
a, b = (rng.random(100, dtype=np.float32) for _ in range(2))
for kernel, found in ((halve, True), (keep, False)):
    x.from_numpy(a)
    y.from_numpy(b)
    kernel()
    assert (z.to_numpy() == (a + b) * np.float32(0.5)).all()
    text = str(kernel.stages().lowered)
    assert ("midpoint" in text) == found, text
print("ok")
"""


# A derivative rule: `round` lets a gradient pass, as networks with few bits need it. The row names the rule.
RULE = {
    "ir/scalar.py": ('"llvm.round", derivative="step"', '"llvm.round", derivative="straight"'),
    "ir/autodiff/rules.py": ('    "step": _rule(', '    "straight": _rule(1.0),\n    "step": _rule('),
}
GRADIENT = """
import numpy as np
import weft as ti

ti.init(arch=ti.cpu, offline_cache=False)
x = ti.field(ti.f32, 8, needs_grad=True)
loss = ti.field(ti.f32, (), needs_grad=True)


@ti.kernel
def total():
    for i in x:
        loss[None] += ti.round(x[i]) * 3.0 + ti.floor(x[i])


x.from_numpy(np.linspace(-2.1, 3.3, 8, dtype=np.float32))
loss.grad[None] = 1.0
total.grad()
print(x.grad.to_numpy().tolist() == [3.0] * 8)
"""


def copied(folder: Path) -> Path:
    """A copy of Weft in the folder."""
    copy = folder / "weft"
    for part in PARTS:
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "__init__.py", copy)
    return copy


def replaced(file: Path, before: str, after: str) -> None:
    """Replace a text that is in the file once."""
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1
    file.write_text(text.replace(before, after), encoding="utf-8")


def printed(folder: Path, text: str, **environment: str) -> str:
    """What a program prints that uses the copy."""
    program = folder / "program.py"
    program.write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(folder), *(entry for entry in sys.path if entry.endswith("-packages"))])
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    run = subprocess.run([sys.executable, program], env=variables, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_an_op_and_a_pass_are_added(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    assert len(OP) <= 3
    for name, text in OP.items():
        file = copy / name
        file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")
    (copy / "ir" / "transforms" / "find_midpoints.py").write_text(PASS, encoding="utf-8")
    replaced(copy / "ir" / "pipeline.py", *PLACE)
    assert printed(tmp_path, PROGRAM, WEFT_VERIFY="results") == "ok\n"


def test_a_derivative_rule_is_added(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    assert len(RULE) <= 3
    for name, (before, after) in RULE.items():
        replaced(copy / name, before, after)
    assert printed(tmp_path, GRADIENT) == "True\n"
