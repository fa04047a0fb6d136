"""How the site is built from these pages: `make docs` (Sphinx, with MyST for Markdown and the theme Furo)."""

from __future__ import annotations

import importlib
import sys
from typing import Any

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
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
default_role = "code"  # docstrings quote names in single backticks
suppress_warnings = ["myst.xref_missing"]  # links to files of the repository; `tests/docs` checks every link

autodoc_typehints = "none"  # the signatures show them
autodoc_member_order = "groupwise"
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


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.connect("autodoc-process-docstring", _show_programs)


html_theme = "furo"
html_title = "Weft"
html_logo = "pictures/weft.svg"
html_favicon = "pictures/weft.svg"
html_static_path = ["static"]
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
