"""How the site is built from these pages: `make docs` (Sphinx, with MyST for Markdown and the theme Furo)."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import tutorial_notebooks

import weft
from weft.lang.names import MODULES

project = "Weft"
author = "the authors of Weft"
copyright = "the authors of Weft"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "building.films",
    "building.formulas",
    "building.reference",
]
html_math_renderer = "mathml"  # of `building/formulas.py`
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
default_role = "code"  # docstrings quote names in single backticks
suppress_warnings = ["myst.xref_missing"]  # links to files of the repository; `tests/docs` checks every link

autodoc_typehints = "none"  # `building/reference.py` writes the signatures
python_maximum_signature_line_length = 88
autodoc_member_order = "bysource"
autodoc_default_options = {"undoc-members": False}
add_module_names = True

# Pages document `ti.field`, as programs write it, so that a search for that finds it.
sys.modules["ti"] = weft
for _name in (*MODULES, "math", "types", "linalg", "compat"):
    sys.modules[f"ti.{_name}"] = getattr(weft, _name)
for _name in ("block", "grid", "subgroup", "warp"):
    sys.modules[f"ti.simt.{_name}"] = importlib.import_module(f"weft.lang.simt.{_name}")
for _name in ("polyscope", "rerun", "viser"):
    sys.modules[f"ti.views.{_name}"] = getattr(weft.views, _name)


def _show_programs(_app: Any, _what: str, _name: str, _one: Any, _options: Any, lines: list[str]) -> None:
    """In docstrings, an indented block after a blank line or after `Example:` is a program."""
    shown: list[str] = []
    in_program = False
    for line in lines:
        before = shown[-1] if shown else ""
        if line == "Example:":
            shown += ["", ".. rubric:: Example", ""]
        elif line.startswith("    ") and not in_program and not before.strip():
            in_program = True
            shown += ["", ".. code-block:: python", "", line]
        else:
            in_program = in_program and (line.startswith("    ") or not line)
            shown.append(line)
    lines[:] = shown


def _offer_notebook(_app: Any, page: str, source: list[str]) -> None:
    """Below the title of a tutorial, a link to its notebook."""
    folder, _, name = page.rpartition("/")
    if folder == "tutorials" and name != "index":
        title, _, rest = source[0].partition("\n")
        link = f'<p><a href="{name}.ipynb" download>Download this page as a notebook</a></p>'
        source[0] = f"{title}\n\n{link}\n{rest}"


def _write_notebooks(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        tutorial_notebooks.write_all(Path(app.srcdir) / "tutorials", Path(app.outdir) / "tutorials")


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.connect("source-read", _offer_notebook)
    app.connect("build-finished", _write_notebooks)
    app.connect("autodoc-process-docstring", _show_programs)


html_theme = "furo"
html_title = "Weft"
html_logo = "pictures/weft.svg"
html_favicon = "pictures/weft.svg"
html_static_path = ["static"]
html_search_scorer = str(Path(__file__).parent / "static" / "scorer.js")
html_css_files = ["weft.css"]
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {"color-brand-primary": "#9a3b12", "color-brand-content": "#9a3b12"},
    "dark_css_variables": {"color-brand-primary": "#f0935f", "color-brand-content": "#f0935f"},
}
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # output is not for copying
copybutton_prompt_text = "$ "
pygments_style = "friendly"
pygments_dark_style = "native"
