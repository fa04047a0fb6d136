"""Assemble the page: markup, style, scripts and data in one file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.ir.errors import WeftError
from weft.lang.explore.data import kernel_data
from weft.lang.notebook.cells import Html, Place, in_notebook

if TYPE_CHECKING:
    from weft.lang.stages import Stages

__all__ = ["page_of", "page_with", "show_page", "write_page"]

_SCRIPTS = (
    "diff.js",
    "words.js",
    "list.js",
    "legend.js",
    "source.js",
    "passes.js",
    "search.js",
    "beside.js",
    "page.js",
)  # in the order of execution


def write_page(path: str, kernels: Sequence[Stages]) -> None:
    """Write the page for those kernels to a file."""
    Path(path).write_text(page_of(kernels), encoding="utf-8")


def show_page(kernels: Sequence[Stages]) -> None:
    """Show the page for those kernels below the running cell of a notebook. Raises WeftError elsewhere."""
    if not in_notebook():
        raise WeftError("explore writes a file outside of notebooks: give it a path, as in explore('kernel.html')")
    page = escape(page_of(kernels), quote=True)
    style = "width:100%;height:640px;border:1px solid #8884;border-radius:4px"
    names = ", ".join(dict.fromkeys(one.name for one in kernels))
    Place().show(Html(f'<iframe srcdoc="{page}" style="{style}"></iframe>', f"<the explorer of {names}>"))


def page_of(kernels: Sequence[Stages]) -> str:
    """Return the text of the page."""
    return page_with([kernel_data(one) for one in kernels])


def page_with(kernels: list[dict[str, Any]]) -> str:
    """Return the text of the page for that data (see `data.py`)."""
    title = escape(", ".join(dict.fromkeys(one["name"] for one in kernels)))
    _number([one["name"] for one in kernels], kernels)
    data = json.dumps(kernels, separators=(",", ":")).replace("</", "<\\/")
    script = "\n".join(_part(name) for name in _SCRIPTS)
    page = _part("page.html").replace("{{title}}", title).replace("{{style}}", _part("page.css"))
    return page.replace("{{script}}", script).replace("{{data}}", data)


def _number(names: list[str], shown: list[dict[str, Any]]) -> None:
    """Distinguish kernels that have the same name: by their arch and options, or else by a number."""
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        alike = [one for one in shown if one["name"] == name]
        ways = [", ".join(filter(None, (one["arch"], one["variant"]))) for one in alike]
        for k, (one, way) in enumerate(zip(alike, ways, strict=True), 1):
            one["name"] = f"{name} ({way})" if len({*ways}) == len(ways) else f"{name} ({k})"


def _part(name: str) -> str:
    return files("weft.lang.explore").joinpath(name).read_text(encoding="utf-8")
