"""Run cells in a real kernel of Jupyter, by nbclient."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

NEEDED = ("nbclient", "nbformat", "ipykernel")
WHY = "needs a Jupyter kernel: pip install nbclient ipykernel"

_COLORS = re.compile(r"\x1b\[[0-9;]*m")


def run_cells(folder: Path, *cells: str, fails: bool = False, **environment: str) -> list[list[dict[str, Any]]]:
    """Run the cells in a new kernel, in that folder. Returns the outputs of each. With `fails`, cells may raise."""
    client = new_client(folder, *cells, allow_errors=fails)
    before = dict(os.environ)
    os.environ.update({"WEFT_CACHE_DIR": str(folder / "cache")} | environment)
    try:
        client.execute()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return [cell.outputs for cell in client.nb.cells]


def new_client(folder: Path, *cells: str, **options: Any) -> Any:
    """A client that has a notebook of those cells."""
    for name in NEEDED:
        pytest.importorskip(name, reason=WHY)
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    place = {"metadata": {"path": str(folder)}}
    return NotebookClient(notebook, timeout=120, kernel_name="python3", resources=place, **options)


def shown(outputs: list[dict[str, Any]], kind: str) -> list[str]:
    """What the outputs of a cell hold of that kind, "image/png" for instance."""
    return [output["data"][kind] for output in outputs if kind in output.get("data", {})]


def raised(outputs: list[dict[str, Any]]) -> str:
    """The traceback that a cell shows, without colours."""
    found = [output for output in outputs if output["output_type"] == "error"]
    assert len(found) == 1, f"the cell raised {len(found)} errors: {outputs}"
    return _COLORS.sub("", "\n".join(found[0]["traceback"]))
