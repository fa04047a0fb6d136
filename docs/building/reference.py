"""The API reference: signatures with types, and a table of parameters below each description.

`signatures.py` says what the parameters are, and `meanings.py` what they mean.
"""

from __future__ import annotations

from typing import Any

from building.meanings import documentation, kind_and_meaning
from building.signatures import Parameter, parameters, result, signature

# Classes that programs do not call: they get objects from elsewhere. Pages show no parameters for them.
MADE_ELSEWHERE = {
    *("Array", "Array1", "Array2", "Array3", "Array4", "types.NDArray", "types.CompoundType", "types.Template"),
    *("Field", "ScalarField", "MatrixField", "StructField", "FieldTree", "SNode", "Layout", "extension"),
    *("ad.Check", "ad.Custom", "graph.ArgKind", "graph.Graph", "graph.Sequential", "testing.Mark"),
    *("ui.Canvas", "ui.Gui", "ui.ProjectionMode", "types.NdarrayType", "ArgPack", "ArgPackType"),
    "weft.lang.kernels.kernel.Kernel",
}
_HEAD = ("parameter", "type", "default", "meaning")


def is_called(name: str, one: Any) -> bool:
    """Whether programs call it: functions, methods, and classes that programs make objects of."""
    known_class = isinstance(one, type) and (name in MADE_ELSEWHERE or issubclass(one, Exception))
    return callable(one) and not isinstance(one, property) and not known_class


def rows(name: str, one: Any, owner: Any = None) -> list[tuple[str, str, str, str]]:
    """The rows of the table of `ti.<name>`: parameter, type, default, meaning. `owner` is the class of a method."""
    found = []
    for parameter in parameters(name, one):
        kind, meaning = kind_and_meaning(name, parameter.name, documentation(one), documentation(owner))
        found.append((f"{parameter.star}{parameter.name}", _kind(parameter, kind), parameter.default, meaning))
    return found


def _kind(parameter: Parameter, given: str) -> str:
    """The type: that of the table, or else that of the signature."""
    return given or parameter.kind or ("any" if parameter.star else "")


def table(shown: list[tuple[str, str, str, str]]) -> list[str]:
    """The rows as a table in reStructuredText. A single operand that needs no explanation gives none."""
    if not shown or (len(shown) == 1 and shown[0][3] == "the operand"):
        return []
    lines = ["", ".. list-table::", "   :header-rows: 1", "   :widths: auto", "   :class: parameters", ""]
    for row in (_HEAD, *((f"``{name}``", kind, _code(default), text) for name, kind, default, text in shown)):
        lines += [f"   {'* ' if place == 0 else '  '}- {cell}" for place, cell in enumerate(row)]
    return [*lines, ""]


def _code(text: str) -> str:
    return f"``{text}``" if text else ""


def add_table(_app: Any, what: str, name: str, one: Any, _options: Any, lines: list[str]) -> None:
    """Put the table of parameters before the example, or at the end."""
    short = name.removeprefix("ti.")
    if not is_called(short, one) or what not in ("function", "method", "class"):
        return
    place = next((k for k, line in enumerate(lines) if line.strip() == ".. rubric:: Example"), len(lines))
    lines[place:place] = table(rows(short, one, _owner(name)))


def _owner(name: str) -> Any:
    """The class of a method, by the name of the method."""
    import weft

    found: Any = weft
    for part in name.removeprefix("ti.").removeprefix("weft.").split(".")[:-1]:
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


def show_types(
    _app: Any, what: str, name: str, one: Any, _options: Any, parameters_before: str | None, _result: str | None
) -> tuple[str, str | None] | None:
    """The signature with types; none for classes that programs do not call."""
    short = name.removeprefix("ti.")
    if parameters_before is None or what not in ("function", "method", "class", "exception"):
        return None
    if what == "exception" or not is_called(short, one):
        return "", None
    return signature(parameters(short, one)), result(short, one) or None


def setup(app: Any) -> None:
    """Sphinx calls this, after `conf.py` has connected what marks the examples."""
    app.connect("autodoc-process-docstring", add_table, priority=900)
    app.connect("autodoc-process-signature", show_types)
