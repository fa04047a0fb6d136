"""The stubs say what is there: each name, each member, the documentation that an editor shows."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.lang.library import mathlib
from weft.lang.names import MODULES, NAMES
from weft.lang.values.builtins import Builtin, PyFunc

ROOT = Path(__file__).resolve().parents[2]
STUBS = sorted((ROOT / "stubs").glob("*.pyi"))


def _names(tree: ast.AST) -> dict[str, ast.stmt]:
    """The public names that a stub defines, each with its last definition."""
    found: dict[str, ast.stmt] = {}
    for node in _statements(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name: node for alias in node.names if alias.asname == alias.name}  # what is exported
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            is_variable = isinstance(node.value, ast.Call)  # a type variable
            found |= {target.id: node} if isinstance(target, ast.Name) and not is_variable else {}
    return {name: node for name, node in found.items() if not name.startswith("_")}


def _statements(tree: Any) -> Iterator[ast.stmt]:
    for node in tree.body:
        if isinstance(node, ast.If):
            yield from (*_statements(node), *node.orelse)
        else:
            yield node


def _stub(name: str) -> dict[str, ast.stmt]:
    return _names(ast.parse((ROOT / name).read_text()))


def test_all_names_have_types() -> None:
    stub = _stub("__init__.pyi")
    untyped = {*weft.__all__, *NAMES, *MODULES} - {*stub, "__version__"}
    assert not untyped, f"__init__.pyi does not have {sorted(untyped)}"
    missing = {name for name in stub if not hasattr(weft, name)}
    assert not missing, f"__init__.pyi has names that Weft does not have: {sorted(missing)}"


@pytest.mark.parametrize("name", ["linalg", "math", "types"])
def test_modules(name: str) -> None:
    names, module = set(_stub(f"stubs/{name}.pyi")), getattr(weft, name)
    wanted = set(getattr(module, "__all__", ())) - {"primitive", "to_ir"}  # the compiler's
    assert wanted <= names, sorted(wanted - names)
    assert all(hasattr(module, name) for name in names)


def test_modules_in_folders_of_their_own() -> None:
    """`import weft` gives these names to other modules, so that no program runs the files that checkers read."""
    for folder in (ROOT / "stubs" / "modules").iterdir():
        module = sys.modules[f"weft.{folder.name}"]
        assert "modules" not in getattr(module, "__file__", "")
        stub = folder / "__init__.pyi"
        assert f"stubs.{folder.name} import *" in stub.read_text() if stub.exists() else folder.name == "compat"


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.name)
def test_an_editor_has_something_to_show(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree)
    for name, node in _names(tree).items():
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert ast.get_docstring(node), f"{path.name}: {name} has no docstring"
            _check_members(path, node)


def _check_members(path: Path, node: Any) -> None:
    if isinstance(node, ast.ClassDef) and not any("Protocol" in ast.unparse(base) for base in node.bases):
        members = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
        bare = [name for name, one in members.items() if not name.startswith("_") and not ast.get_docstring(one)]
        assert not bare, f"{path.name}: {node.name}.{bare} without docstrings"


def test_documentation_of_functions() -> None:
    """The functions of the language have that of the stubs; one that is written in the language begins with its own."""
    checked = 0
    for path in STUBS:
        module = mathlib if path.name == "math.pyi" else weft
        for name, node in _stub(f"stubs/{path.name}").items():
            real = getattr(module, name, None)
            if isinstance(node, ast.FunctionDef) and isinstance(real, Builtin | PyFunc):
                shown = ast.get_docstring(node)
                assert shown == real.__doc__, f"{path.name}: {name}"
                own = real.function.__doc__ if isinstance(real, PyFunc) else ""
                assert " ".join(shown.split()).startswith(" ".join((own or "").split())), f"{path.name}: {name}"
                checked += 1
    assert checked > 100


def test_signatures_of_functions() -> None:
    """They are those of all overloads."""
    shown = {name: str(inspect.signature(getattr(weft, name))) for name in ("max", "floor", "static", "random", "svd")}
    assert shown.pop("svd").startswith("(A: 'Any', dt")
    wanted = {"max": "(a, b, *more)", "floor": "(x, dtype=None)", "static": "(x, *more)", "random": "(dtype=None)"}
    assert shown == wanted


def test_parameters_of_functions() -> None:
    """They have the names that they have in the program."""
    for path in STUBS:
        for name, node in _stub(f"stubs/{path.name}").items():
            module = weft.types if path.name == "types.pyi" else weft.math if path.name == "math.pyi" else weft
            real = getattr(module, name, None)
            if isinstance(node, ast.FunctionDef) and inspect.isfunction(getattr(real, "function", real)):
                own = inspect.signature(getattr(real, "function", real)).parameters
                given = [arg.arg for arg in node.args.args]
                assert given == list(own)[: len(given)], f"{path.name}: {name}"


@weft.kernel
def _kernel(x: weft.f32) -> weft.f32:
    return x


@weft.data_oriented
class _Owner:
    @weft.kernel
    def work(self, x: weft.f32) -> weft.f32:
        return x


@weft.dataclass
class _Pair:
    a: weft.f32
    b: weft.vec2


def _objects() -> dict[str, Any]:
    weft.init(arch=weft.cpu)
    _kernel(1.0)
    numbers, vectors = weft.field(float, 3, needs_grad=True), weft.Vector.field(2, float, 3)
    owner = _Owner()
    owner.work(1.0)
    return {
        "Vector": weft.Vector([1, 2, 3, 4]),
        "Matrix": weft.Matrix([[1, 2], [3, 4]]),
        "Field": numbers,
        "ScalarField": numbers,
        "MatrixField": vectors,
        "StructField": _Pair.field(3),
        "Ndarray": weft.ndarray(float, 3),
        "ScalarNdarray": weft.ndarray(float, 3),
        "VectorNdarray": weft.Vector.ndarray(2, float, 3),
        "MatrixNdarray": weft.Matrix.ndarray(2, 2, float, 3),
        "Kernel": _kernel,
        "BoundKernel": owner.work,
        "Gradient": _kernel.grad,
        "BoundGradient": owner.work.grad,
        "Struct": weft.Struct(a=1),
        "ndrange": weft.ndrange(2),
    }


def test_members() -> None:
    """An object has the members that the stubs declare for its class, and for the bases that only the stubs have."""
    objects = _objects()
    classes = {name: node for path in STUBS for name, node in _stub(f"stubs/{path.name}").items()}
    fields = ast.parse((ROOT / "stubs" / "fields.pyi").read_text())
    common = next(node for node in fields.body if isinstance(node, ast.ClassDef) and node.name == "_Elements")
    checked = 0
    for name, one in objects.items():
        node = classes[name]
        assert isinstance(node, ast.ClassDef)
        bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
        also = [classes["Tensor"]] if "Tensor" in bases else [common] if name in ("ScalarField", "MatrixField") else []
        for member in (m for declared in (node, *also) for m in getattr(declared, "body", ())):
            wanted = getattr(member, "name", None) or getattr(getattr(member, "target", None), "id", None)
            if wanted and wanted not in ("__getattr__", "__iter__", "__setattr__", "__float__", "__int__"):
                assert hasattr(one, wanted), f"{name}.{wanted}"
                checked += 1
    assert checked > 250
