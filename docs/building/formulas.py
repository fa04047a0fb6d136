"""Formulas of the pages as MathML, which browsers draw by themselves: the site needs no script and no network for them.

`$...$` and `$$...$$` are LaTeX. `conf.py` adds this renderer to Sphinx.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def mathml(latex: str, display: str) -> str:
    """MathML of a formula; `display` is "inline" or "block". Raises ValueError for a command that is not known."""
    text: str = convert(latex, display=display)
    if "\\" in text:
        raise ValueError(f"this formula has a command that does not become MathML: {latex}")
    return text


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(writer: Any, node: Any) -> None:
    writer.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
