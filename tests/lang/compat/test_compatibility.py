"""`docs/compatibility.md`: every documented name of Taichi 1.7.4, and whether it is here.

`taichi_names.txt` lists the names. One that resolves is a "yes" or, with a reason below, a "differs"; one that does
not is "later", with what it waits for. `pytest --update` writes the page.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from weft.lang.compat.later import later
from weft.lang.program.options import OPTIONS, inert

NAMES = (Path(__file__).parent / "taichi_names.txt").read_text(encoding="utf-8").split()
PAGE = Path(__file__).parents[3] / "docs" / "compatibility.md"

INTRODUCTION = """\
# Which of Taichi's names are here

Taichi 1.7.4 documents {total} names: **{yes} are here and mean the same, {differs} differ, {later} are missing.** A
program that uses only the first runs with `import weft as ti`. `weft run program.py`, or `weft.compat.install()` before
the first `import taichi`, runs it without a change. [Differences](differences.md) describes what differs in behaviour.

In the tables, *yes* means that the name is here and means the same, *differs* that the remark applies, and *later* that
Weft does not have the name yet. `tests/lang/compat/test_compatibility.py` generates this page and checks it: a name
counts as here if it can be looked up. `pytest tests/lang/compat/test_compatibility.py --update` writes the page.
"""

# Names that exist only to say that they come later.
REFUSED = {
    "SNode.quant_array": "quantized types",
    "FieldsBuilder.quant_array": "quantized types",
}

_BACKEND = "no such backend: the program runs on cpu, with a warning"
_HINT = "a hint: accepted, changes nothing"
_PADDLE = "not for Paddle: go through `to_numpy` and `from_numpy`"
DIFFERS: dict[str, str] = {
    **dict.fromkeys(("amdgpu", "dx11", "dx12", "gles", "metal", "opengl", "vulkan"), _BACKEND),
    **dict.fromkeys(("arm64", "x64", "x86_64"), "the same as `cpu`: the processor at hand"),
    **dict.fromkeys(("assume_in_range", "block_local", "cache_read_only"), _HINT),
    **{f"{kind}Field.{way}_paddle": _PADDLE for kind in ("", "Scalar", "Matrix", "Struct") for way in ("from", "to")},
    "ArgPack.items": "`to_dict` gives them",
    "append": "a full list is an error",
    "deactivate": "what is inactive reads 0 at once, below bitmasked nodes too",
    "get_addr": "the place in the memory of its tree",
    "Layout.NULL": "there is `AOS` and `SOA`; neither given is `AOS`",
    "TaichiRuntimeError": "the base of all errors of Weft",
    "lang.exception.TaichiRuntimeError": "the base of all errors of Weft",
    "TaichiAssertionError": "also what other faults of a running kernel are, such as an index out of bounds",
    "lang.exception.TaichiAssertionError": "also what other faults of a running kernel are",
    "lang.misc.get_host_arch_list": "gives `[ti.cpu]`",
    "lang.util.has_paddle": "tells whether it is installed; fields do not know it",
    "linalg.MatrixFreeBICGSTAB": "`x` is the first guess; sums are kept in f64; fields of vectors too",
    "linalg.MatrixFreeCG": "`x` is the first guess; sums are kept in f64; fields of vectors too",
    "random": "other numbers: the same for a seed on every arch, whatever the number of threads",
    "randn": "other numbers: the same for a seed on every arch, whatever the number of threads",
}


def sample(owner: str) -> Any:
    """A value of the class, where its attributes are those of values."""
    makers: dict[str, Callable[[], Any]] = {
        "Field": lambda: ti.field(ti.f32, 2),
        "Matrix": lambda: ti.Vector([1, 2, 3, 4]),
        "MatrixField": lambda: ti.Vector.field(2, ti.f32, 2),
        "MatrixNdarray": lambda: ti.MatrixNdarray(2, 2, ti.f32, 2),
        "Ndarray": lambda: ti.ndarray(ti.f32, 2),
        "ScalarField": lambda: ti.field(ti.f32, 2),
        "ScalarNdarray": lambda: ti.ScalarNdarray(ti.f32, 2),
        "SNode": lambda: ti.field(ti.f32, 2).parent(),
        "Struct": lambda: ti.Struct(a=1),
        "StructField": lambda: ti.Struct.field({"a": ti.f32}, shape=2),
        "Vector": lambda: ti.Vector([1, 2, 3, 4]),
        "linalg.SparseMatrix": lambda: ti.linalg.SparseMatrix(2, 2),
        "VectorNdarray": lambda: ti.VectorNdarray(2, ti.f32, 2),
    }
    maker = makers.get(owner)
    return None if maker is None else maker()


def is_here(name: str) -> bool:
    """Whether `name` (without `ti.`) can be looked up."""
    if name.startswith("init."):
        option = name.removeprefix("init.")
        return option in OPTIONS or option in inspect.signature(ti.init).parameters
    owner, _, attribute = name.rpartition(".")
    value: Any = sample(owner)
    if value is not None:
        return hasattr(value, attribute)
    value = ti
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            return False
    return True


def verdict(name: str) -> tuple[str, str]:
    """("yes" | "differs" | "later", why)."""
    if name in REFUSED:
        return "later", REFUSED[name]
    if name.startswith("init.") and inert(name.removeprefix("init.")):
        return "differs", "accepted, and said to have no meaning here"
    if name in DIFFERS:
        return "differs", DIFFERS[name]
    if is_here(name):
        return "yes", ""
    what = later(name)
    assert what, f"ti.{name} is not here: add it, or say in this file how it differs or in `compat.LATER` what it is of"
    return "later", what


def page() -> str:
    """The page, from the names and what they resolve to now."""
    verdicts = {name.removeprefix("ti."): verdict(name.removeprefix("ti.")) for name in NAMES}
    counts = {status: [v for v, _ in verdicts.values()].count(status) for status in ("yes", "differs", "later")}
    lines = [INTRODUCTION.format(total=len(verdicts), **counts)]
    sections: dict[str, list[str]] = {}
    for name in verdicts:
        sections.setdefault(name.rpartition(".")[0], []).append(name)
    for section, names in sorted(sections.items()):
        lines += [f"## {f'ti.{section}' if section else 'ti'}\n", "| names | here? | remark |", "|---|---|---|"]
        groups: dict[tuple[str, str], list[str]] = {}
        for name in names:
            groups.setdefault(verdicts[name], []).append(f"`{name.rpartition('.')[2]}`")
        order = {"yes": 0, "differs": 1, "later": 2}
        for (status, why), members in sorted(groups.items(), key=lambda entry: (order[entry[0][0]], entry[0][1])):
            lines.append(f"| {' '.join(members)} | {status} | {why} |")
        lines.append("")
    return "\n".join(lines)


def test_the_page_is_the_truth(request: pytest.FixtureRequest) -> None:
    ti.init(arch=ti.cpu)
    text = page()
    ti.reset()
    if request.config.getoption("--update"):
        PAGE.write_text(text, encoding="utf-8", newline="\n")
    assert PAGE.read_text(encoding="utf-8") == text, "pytest tests/lang/compat/test_compatibility.py --update"


def test_every_reason_is_of_a_name() -> None:
    known = {name.removeprefix("ti.") for name in NAMES}
    assert set(DIFFERS) <= known
    assert set(REFUSED) <= known
