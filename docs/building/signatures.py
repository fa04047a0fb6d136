"""The parameters of public functions with their types and defaults: those of the stubs that type checkers read, and
those of the function itself where it has no stub."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_STUBS = "weft.stubs"

# What a reader calls the names in the stubs. A type variable stands for each of its types.
_WORDS = {
    "Real": "number, vector or matrix",
    "Whole": "integer, or vector or matrix of integers",
    "Value": "number, vector or matrix",
    "Number": "number",
    "Shape": "int or tuple of int",
    "Shape | None": "int or tuple of int, or None",
    "type[Number]": "type",
    "type[Several]": "type",
    "type[E]": "type",
    "type[T]": "type",
    "type[T_co]": "type",
    "Callable[P, R]": "function",
    "Callable[..., Any]": "function",
    "Callable[[], Any]": "function",
    "Axis": "int | tuple[int, ...] | None",
    "_Elements[Any]": "field or ndarray",
    "NumpyArray[Any]": "numpy array",
    "Matrix[float]": "matrix",
    "Vector[float]": "vector",
    "float | Tensor[float]": "number, vector or matrix",
    "int | Tensor[int]": "integer, or vector or matrix of integers",
    "int | Whole": "integer, or vector or matrix of integers",
    "float | Vector[float]": "number or vector",
    "Vector[int] | Sequence[int]": "index: int, vector or list",
}
_VARIABLES = {"T", "T_co", "E", "S", "R", "C", "F", "P", "Any", "Number", "Several", "function", "type"}


_MAKERS = ("field", "ndarray")  # methods of these names pass their `**keywords` on to the functions of these names


def _is_annotation(kind: str) -> bool:
    """Whether a type is written as an annotation, and not in words."""
    try:
        return bool(kind) and not isinstance(ast.parse(kind, mode="eval").body, ast.BoolOp | ast.Tuple)
    except SyntaxError:
        return False


@dataclass(frozen=True)
class Parameter:
    """A parameter. `star` is "", "*" or "**"; `default` is the text of the default, "" without one."""

    name: str
    kind: str
    default: str
    star: str = ""
    only_named: bool = False
    only_placed: bool = False

    def __str__(self) -> str:
        annotation = f": {self.kind}" if _is_annotation(self.kind) else ""
        equals = " = " if annotation else "="
        return f"{self.star}{self.name}{annotation}" + (f"{equals}{self.default}" if self.default else "")


def parameters(name: str, one: Any) -> list[Parameter]:
    """The parameters of `ti.<name>`, which is `one`; of a class those of a call, without `self` and `cls`."""
    found = _definitions(name) or _definitions(f"{name}.__init__")
    runtime = _of_runtime(one)
    shown = _of_stubs(found, runtime) if found else runtime
    maker = name.rpartition(".")[2]
    if maker in _MAKERS and "." in name and shown and shown[-1].star == "**":
        taken = {parameter.name for parameter in shown}
        shown[-1:] = [one for one in parameters(maker, None) if one.name not in {"dtype", *taken}]
    return shown


def _of_stubs(found: list[ast.FunctionDef], runtime: list[Parameter]) -> list[Parameter]:
    most = max(found, key=lambda node: len(_arguments(node)))
    defaults = {parameter.name: parameter.default for parameter in runtime}
    return [_of_stub(most, place, found, defaults) for place in range(len(_arguments(most)))]


def result(name: str, one: Any) -> str:
    """The type that `ti.<name>` returns, as an annotation; "" if it depends on the types of the arguments."""
    found = _definitions(name)
    given = [ast.unparse(node.returns) for node in found if node.returns is not None]
    if not found and not isinstance(one, type):
        given = [str(getattr(one, "__annotations__", {}).get("return", ""))]
    kinds = [*dict.fromkeys(_words(kind) for kind in given)]
    plain = all(_is_annotation(kind) and not _names(kind) & _VARIABLES for kind in kinds)
    return " | ".join(kinds) if plain else ""


def _names(kind: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(kind)) if isinstance(node, ast.Name)}


def signature(shown: Iterable[Parameter]) -> str:
    """The parameters in brackets, as a `def` has them."""
    parts: list[str] = []
    before: Parameter | None = None
    for one in shown:
        if before is not None and before.only_placed and not one.only_placed:
            parts.append("/")
        if one.only_named and not one.star and not (before is not None and (before.only_named or before.star)):
            parts.append("*")
        parts.append(str(one))
        before = one
    if before is not None and before.only_placed:
        parts.append("/")
    return f"({', '.join(parts)})"


# ---- from a stub


def _arguments(node: ast.FunctionDef) -> list[tuple[ast.arg, ast.expr | None, str, bool, bool]]:
    """(argument, default, star, only named, only placed) for each parameter but `self` and `cls`."""
    args = node.args
    placed = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(placed) - len(args.defaults)) + [*args.defaults]
    rows = [(one, default, "", False, one in args.posonlyargs) for one, default in zip(placed, defaults)]
    if args.vararg:
        rows.append((args.vararg, None, "*", False, False))
    rows += [(one, default, "", True, False) for one, default in zip(args.kwonlyargs, args.kw_defaults)]
    if args.kwarg:
        rows.append((args.kwarg, None, "**", True, False))
    return [row for row in rows if row[0].arg not in ("self", "cls")]


def _of_stub(
    node: ast.FunctionDef, place: int, overloads: list[ast.FunctionDef], defaults: dict[str, str]
) -> Parameter:
    argument, default, star, named, placed = _arguments(node)[place]
    kinds = [
        _words(ast.unparse(other.annotation))
        for overload in overloads
        for other, *_ in _arguments(overload)
        if other.arg == argument.arg and other.annotation is not None
    ]
    text = "" if default is None else ast.unparse(default)
    text = defaults.get(argument.arg, text) if text in ("", "...") else text
    return Parameter(argument.arg, _joined(kinds), text, star, named, placed)


def _words(annotation: str) -> str:
    if annotation in _WORDS:
        return _WORDS[annotation]
    return "" if annotation in _VARIABLES else annotation


def _joined(kinds: list[str]) -> str:
    """The types of a parameter in several overloads, as one."""
    known = [*dict.fromkeys(kind for kind in kinds if kind)]
    if len(known) < 2:
        return "".join(known)
    atoms = {atom.strip() for kind in known for atom in re.split(r" or |[|,]", kind)}
    shapes = {atom.partition("[")[0] for atom in atoms} & {"Vector", "Matrix", "Tensor", "vector", "matrix"}
    if shapes & {"Vector", "Tensor", "vector"}:
        return "number, vector or matrix" if shapes != {"Vector"} else "number or vector"
    return " or ".join(known)


@cache
def _module(path: Path) -> dict[str, list[ast.stmt]]:
    """The statements of a stub by the name that each defines."""
    found: dict[str, list[ast.stmt]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [getattr(node, "name", "")]
        if isinstance(node, ast.ImportFrom):
            names = [alias.asname or alias.name for alias in node.names]
        for name in names:
            found.setdefault(name, []).append(node)
    return found


def _definitions(name: str) -> list[ast.FunctionDef]:
    """The overloads of a function or method in the stubs; none if the stubs do not have it."""
    return _look_up(ROOT / "__init__.pyi", name.split("."))


def _look_up(path: Path, parts: list[str]) -> list[ast.FunctionDef]:
    name, *rest = parts
    found: list[ast.FunctionDef] = []
    for node in _module(path).get(name, []):
        if isinstance(node, ast.ImportFrom):
            found += _follow(node, name, rest)
        elif isinstance(node, ast.ClassDef) and rest:
            found += _members(path, node, rest[0])
        elif isinstance(node, ast.FunctionDef) and not rest:
            found.append(node)
    return found


def _follow(node: ast.ImportFrom, name: str, rest: list[str]) -> list[ast.FunctionDef]:
    """Look a name up in the stub that it is imported from."""
    module = node.module or ""
    if not module.startswith(_STUBS):
        return []
    original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
    folder = ROOT.joinpath("stubs", *module.removeprefix(_STUBS).split(".")[1:])
    inner = folder / f"{original}.pyi"
    if inner.is_file():
        return _look_up(inner, rest) if rest else []
    return _look_up(folder.with_suffix(".pyi"), [original, *rest])


def _members(path: Path, node: ast.ClassDef, name: str) -> list[ast.FunctionDef]:
    own = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == name]
    for base in node.bases if not own else []:
        plain = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(plain, ast.Name):
            own = own or _look_up(path, [plain.id, name])
    return own


# ---- from the function


def _of_runtime(one: Any) -> list[Parameter]:
    called = one.__func__ if isinstance(one, (staticmethod, classmethod)) else one
    try:
        found = inspect.signature(called)
    except (TypeError, ValueError):
        return []
    return [_of_parameter(part) for part in found.parameters.values() if part.name not in ("self", "cls")]


_STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def _of_parameter(part: inspect.Parameter) -> Parameter:
    none = inspect.Parameter.empty
    kind = part.annotation if isinstance(part.annotation, str) else getattr(part.annotation, "__name__", "")
    default = "" if part.default is none else _spelled(part.default)
    named = part.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    placed = part.kind is inspect.Parameter.POSITIONAL_ONLY
    star = _STARS.get(part.kind, "")
    return Parameter(part.name, "" if part.annotation is none else _words(kind), default, star, named, placed)


def _spelled(value: Any) -> str:
    """The text of a default, without addresses of objects."""
    makers: dict[type, Callable[[Any], str]] = {type: lambda made: str(made.__name__), float: lambda made: f"{made:g}"}
    text = makers.get(type(value), repr)(value)
    return "..." if " object at " in text or text == "<factory>" else text
