"""How a notebook shows fields and ndarrays: what they are, statistics of their elements, and a small picture."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from weft.lang.notebook.thumbnails import colored, picture_of_colors, png_url, scale_of, thumbnail

__all__ = ["html_of_array", "html_of_members", "html_of_note"]

_MOST = 1 << 24  # elements; of larger arrays, the statistics are those of a sample
_STYLE = "display:inline-block;vertical-align:top;margin:0 1.2em .5em 0;font-size:90%"


def html_of_array(title: str, values: Any, axes: int) -> str:
    """Return HTML for an array. The first `axes` axes of `values` are those of the field. Elements are what follows."""
    values, sampled = _sample(values, axes)
    facts, picture = _facts(values, axes), ""
    if sampled and facts:
        facts.append(("of", f"a sample of 1 in {sampled} along each axis"))
    if axes and values.size:
        picture = _picture(values, axes)
    rows = "".join(f"<tr><th style='text-align:left'>{name}</th><td>{text}</td></tr>" for name, text in facts)
    return f"<div><code>{escape(title)}</code><div><table style='{_STYLE}'>{rows}</table>{picture}</div></div>"


def html_of_note(title: str, note: str) -> str:
    """Return HTML for an array whose elements cannot be read; `note` says why."""
    return f"<div><code>{escape(title)}</code><div style='{_STYLE}'>{escape(note)}</div></div>"


def html_of_members(title: str, members: dict[str, str]) -> str:
    """Return HTML for a field of structs, from that of its members."""
    parts = "".join(
        f"<details><summary><code>.{escape(name)}</code></summary>{html}</details>" for name, html in members.items()
    )
    return f"<div><code>{escape(title)}</code>{parts}</div>"


def _sample(values: Any, axes: int) -> tuple[Any, int]:
    step = 1
    while axes and values.size / step**axes > _MOST:
        step += 1
    return (values[(slice(None, None, step),) * axes], step) if step > 1 else (values, 0)


def _facts(values: Any, axes: int) -> list[tuple[str, str]]:
    """Return the rows of the table: names and numbers."""
    if not values.size:
        return [("elements", "none")]
    if not axes:
        return [("value", escape(str(values.tolist())))]
    finite = values[np.isfinite(values)]
    facts = list[tuple[str, str]]()
    if finite.size:
        wide = finite.astype(np.float64)
        numbers = ("min", finite.min()), ("max", finite.max()), ("mean", wide.mean()), ("std", wide.std())
        facts = [(name, f"{float(number):.6g}") for name, number in numbers]
    for name, count in (("NaN", np.isnan(values).sum()), ("infinite", np.isinf(values).sum())):
        if count:
            facts.append((name, f"<b>{count}</b> of {values.size}"))
    return facts


def _picture(values: Any, axes: int) -> str:
    """Return an image with a bar of its colours. Vectors of three in [0, 1] on two axes are colours; of others, the
    picture shows the lengths."""
    inner = values.shape[axes:]
    with np.errstate(invalid="ignore", over="ignore"):
        if (
            inner == (3,)
            and axes == 2
            and values.dtype.kind == "f"
            and not (values < 0).any()
            and not (values > 1).any()
        ):
            return _image(picture_of_colors(values), "colours")
        numbers, what = values, "elements"
        if inner:
            numbers = np.sqrt((values.astype(np.float64) ** 2).sum(tuple(range(axes, values.ndim))))
            what = "lengths of the vectors" if len(inner) == 1 else "Frobenius norms of the matrices"
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return ""
    scale = scale_of(float(finite.min()), float(finite.max()))
    if axes > 2:
        what += ", the middle along axis " + ", ".join(map(str, range(2, axes)))
    bar = png_url(colored(np.linspace(scale.low, scale.high, 96)[None], scale))
    legend = f"{scale.low:.4g} <img src='{bar}' style='width:96px;height:.8em;display:inline'> {scale.high:.4g}"
    return _image(thumbnail(numbers, scale), what, legend)


def _image(picture: Any, what: str, legend: str = "") -> str:
    height, width, _ = picture.shape
    zoom = max(1, min(160 // width, 160 // height, 16))
    size = f"width:{width * zoom}px;height:{height * zoom}px;image-rendering:pixelated;margin:0"
    return (
        f"<div style='{_STYLE}'><img src='{png_url(picture)}' title='{what}' alt='{what}' style='{size}'>"
        f"<div>{what}</div><div>{legend}</div></div>"
    )
