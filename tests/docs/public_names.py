"""The public names of Weft, and where the pages of the API reference document them.

A public name is one that `__init__.pyi` exports, or a public name of such a module. Functions and classes are
documented by directives of autodoc (`.. autofunction:: ti.field`), with the text of their docstrings. Constants are in
the prose."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy

import weft

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
_DIRECTIVE = re.compile(r"^\.\. auto(?:function|class|exception):: ([\w.]+)(?:\(.*\))?((?:\n +:.*)*)", re.MULTILINE)
_TYPED = ("linalg", "math", "types", "ui")  # their stubs say which of their names are public


@dataclass(frozen=True)
class Entry:
    """A name that a page documents, with the members that it lists. `ti.` is left out of the name."""

    name: str
    page: Path
    members: tuple[str, ...]

    @property
    def object(self) -> Any:
        """What the name stands for."""
        return find(self.name)

    @property
    def is_public(self) -> bool:
        """Whether programs call it by this name. (They get a `Kernel` from `ti.kernel`.)"""
        return not self.name.startswith("weft.")


def find(name: str) -> Any:
    """What `ti.<name>` is, or `weft.lang...`."""
    found: Any = weft
    for part in name.removeprefix("weft.").split("."):
        found = getattr(found, part)
    return found


def entries() -> list[Entry]:
    """What the pages document, in their order."""
    found = []
    for page in PAGES:
        for match in _DIRECTIVE.finditer(page.read_text(encoding="utf-8")):
            members = re.search(r":members: (.*)", match[2])
            listed = tuple(re.split(r", *", members[1])) if members else ()
            found.append(Entry(match[1].removeprefix("ti."), page, listed))
    return found


def public() -> dict[str, Any]:
    """Each public name and what it is, without modules."""
    names: dict[str, Any] = {}
    for name in _exported(ROOT / "__init__.pyi"):
        _collect(name, names)
    return names


def _collect(name: str, names: dict[str, Any]) -> None:
    one = find(name)
    if not isinstance(one, ModuleType):
        names[name] = one
        return
    stub = ROOT / "stubs" / f"{name}.pyi"
    inner = _exported(stub) if name in _TYPED else one.__all__
    for member in inner:
        _collect(f"{name}.{member}", names)


def _exported(stub: Path) -> list[str]:
    found = []
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            found += [alias.name for alias in node.names if alias.asname == alias.name]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            found += [target.id] if isinstance(target, ast.Name) and not _is_variable(node) else []
    return [name for name in dict.fromkeys(found) if not name.startswith("_")]


def _is_variable(node: ast.AnnAssign | ast.Assign) -> bool:
    return isinstance(node.value, ast.Call)  # of a type


def example(one: Any) -> str:
    """The program in the docstring: the indented lines below `Example:`. Empty if there is none."""
    text = inspect.cleandoc(one.__doc__ or "")
    found = re.search(r"^Example:\n((?:(?: {4}.*)?\n)+)", text + "\n", re.MULTILINE)
    return textwrap.dedent(found[1]).strip("\n") + "\n" if found else ""


def is_constant(one: Any) -> bool:
    """Whether it is a value: it has no docstring of its own."""
    return (
        not callable(one) or type(one).__module__.startswith("weft.lang.values.types") or not hasattr(one, "__name__")
    )


def run_example(text: str, file: Path, read: Any) -> int:
    """Run a program, as the file it is written to, and compare what its comments say: the value of an expression, what
    it prints, or the error that it `raises`. `read` gives what was printed since it was last asked. Returns how many
    values it has compared."""
    file.write_text(text, encoding="utf-8")
    names: dict[str, Any] = {"ti": weft, "np": numpy, "__name__": "__main__"}
    lines, checked = text.splitlines(), 0
    for node in ast.parse(text).body:
        last = lines[(node.end_lineno or node.lineno) - 1]
        comment = re.search(r" {2,}# (.*)$", last)
        if not isinstance(node, ast.Expr | ast.Assign) or not comment:
            exec(compile(ast.Module([node], []), str(file), "exec"), names)
            continue
        shown = _shown(node, file, names, read)
        if isinstance(node, ast.Expr):
            if shown == "" and re.match("[a-z]", comment[1]):
                continue  # a remark
            assert agree(shown, comment[1]), f"{last.strip()} is {shown}"
            checked += 1
        elif comment[1].startswith("raises "):
            assert shown == comment[1], last
            checked += 1
    return checked


def _shown(node: ast.Expr | ast.Assign, file: Path, names: dict[str, Any], read: Any) -> str:
    read()
    try:
        if isinstance(node, ast.Assign):
            exec(compile(ast.Module([node], []), str(file), "exec"), names)
            return ""
        value = eval(compile(ast.Expression(node.value), str(file), "eval"), names)
    except Exception as error:
        return f"raises {type(error).__name__}"
    if value is None:
        return str(read())
    return str(value) if isinstance(value, numpy.generic) else repr(value)


def agree(shown: str, written: str) -> bool:
    """Whether a value is what the comment says; numbers with four decimals or more are rounded to as many."""
    numbers, texts = _split(shown), _split(written)
    return len(numbers) == len(texts) and all(map(_agree, numbers, texts))


def _split(text: str) -> list[str]:
    return re.split(r"(-?\d+\.\d+(?:e[-+]?\d+)?)", re.sub(r"\s+", " ", text).strip().replace("[ ", "["))


def _agree(shown: str, written: str) -> bool:
    decimals = re.fullmatch(r"-?\d+\.(\d{4,})", written)
    if decimals and re.fullmatch(r"-?\d+\.\d+(e-\d+)?", shown):
        return bool(abs(float(shown) - float(written)) < 0.6 * 10.0 ** -len(decimals[1]))
    return shown == written
