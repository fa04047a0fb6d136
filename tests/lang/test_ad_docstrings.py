"""The examples in the docstrings of `ti.ad` run, and give what their comments say."""

import ast
import inspect
import re
import textwrap

import numpy as np
import pytest

import weft as ti

NAMES = ("grad", "value_and_grad", "vjp", "jvp", "hvp", "jacobian", "custom", "derivative", "steps", "solve")


def example(name):
    """The indented lines of a docstring."""
    text = inspect.cleandoc(getattr(ti.ad, name).__doc__)
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", text + "\n", re.MULTILINE)
    return textwrap.dedent(max(blocks, key=len)).strip("\n") + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_example(name, tmp_path):
    ti.init(arch=ti.cpu)
    text = example(name)
    file = tmp_path / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    names, checked = {"ti": ti, "np": np, "__name__": name}, 0
    lines = text.splitlines()
    for node in ast.parse(text).body:
        comment = re.search(r" {2,}# (.*)$", lines[node.end_lineno - 1])
        if isinstance(node, ast.Expr) and comment:
            value = eval(compile(ast.Expression(node.value), str(file), "eval"), names)
            assert re.sub(r"\s+", " ", repr(value)) == re.sub(r"\s+", " ", comment[1])
            checked += 1
        else:
            exec(compile(ast.Module([node], []), str(file), "exec"), names)
    assert checked
