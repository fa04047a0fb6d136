"""No two modules import one another, at any distance, wherever the imports stand; and no import goes up.

import-linter holds the layers, in `pyproject.toml`. It does not see modules that are imported by name as the program
runs (`import_module("weft.x")`), and it asks for circles between layers only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("ir", "codegen", "runtime", "lang")
BY_NAME = frozenset(("import_module",))  # functions whose first argument is a module's name

Graph = dict[str, dict[str, int]]  # module: {a module that it imports: a line where it does}


def modules(root: Path = ROOT) -> dict[str, Path]:
    """The file of each module."""
    found: dict[str, Path] = {}
    for path in (path for floor in FLOORS for path in sorted((root / floor).rglob("*.py"))):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(("weft", *(parts[:-1] if parts[-1] == "__init__" else parts)))] = path
    return found


def imported(text: str) -> Iterator[tuple[str, int]]:
    """All that a file may import, anywhere in it: in functions and for type checkers too; with lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            yield str(node.module), node.lineno  # the package too, of which a module is imported
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in BY_NAME:
                yield str(node.args[0].value), node.lineno


@cache
def graph(root: Path = ROOT) -> Graph:
    """Who imports whom."""
    files = modules(root)
    made: Graph = {}
    for module, path in files.items():
        found = made[module] = {}
        for name, line in imported(path.read_text(encoding="utf-8")):
            known = name if name in files else name.rpartition(".")[0]  # else it is something in that module
            if known in files and known != module:
                found.setdefault(known, line)
    return made


def circle(imports: Graph) -> list[str]:
    """Modules each of which imports the next, and the last one the first; none where there is no circle."""
    done: set[str] = set()
    for start in imports:
        path, open_ = [start], [iter(imports[start])]
        while path:
            module = next(open_[-1], None)
            if module is None:
                done.add(path.pop())
                open_.pop()
            elif module in path:
                return path[path.index(module) :]
            elif module not in done:
                path.append(module)
                open_.append(iter(imports[module]))
    return []


@pytest.mark.parametrize("floor", FLOORS)
def test_no_circles(floor: str) -> None:
    inside = {module: found for module, found in graph().items() if module.startswith(f"weft.{floor}.")}
    found = circle({module: {m: n for m, n in found.items() if m in inside} for module, found in inside.items()})
    pairs = zip(found, [*found[1:], *found[:1]])
    assert not found, "; ".join(f"{a}:{inside[a][b]} imports {b}" for a, b in pairs)


def layers() -> list[list[str]]:
    """The rooms of lang as `pyproject.toml` has them, the top ones first."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contract = text.split('name = "rooms of lang"', 1)[1].split("layers = [", 1)[1].split("]", 1)[0]
    return [line.strip().strip('",').split(" | ") for line in contract.splitlines() if line.strip()]


def test_no_import_goes_up() -> None:
    """That of a module by its name neither. A room that stands beside another one does not import it."""
    level = {f"weft.lang.{room}": number for number, rooms in enumerate(layers()) for room in rooms}
    climbing: list[str] = []
    for module, found in graph().items():
        for other, line in found.items():
            a, b = (".".join(name.split(".")[:3]) for name in (module, other))
            if a in level and b in level and a != b and level[b] <= level[a]:
                climbing.append(f"{module}:{line} imports {other}")
    assert not climbing, "\n".join(climbing)


def test_circles_are_found(tmp_path: Path) -> None:
    """Those that the import in a function hides, that of a type checker, and that of a module by its name."""
    ways = (
        "from weft.lang.a import x",
        "def f():\n    from weft.lang import a",
        "if TYPE_CHECKING:\n    import weft.lang.a",
        "def f():\n    importlib.import_module('weft.lang.a').x()",
    )
    (tmp_path / "lang").mkdir()
    (tmp_path / "lang" / "__init__.py").write_text("")
    (tmp_path / "lang" / "a.py").write_text("from weft.lang.b import y\n")
    for way in (*ways, ""):
        (tmp_path / "lang" / "b.py").write_text(way)
        graph.cache_clear()
        assert circle(graph(tmp_path)) == (["weft.lang.a", "weft.lang.b"] if way else [])
    graph.cache_clear()
