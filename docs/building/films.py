"""Pictures that move: a picture `pictures/A.jpg` that has a film `pictures/A.webp` is shown as the film.

Readers whose system asks for reduced motion see the picture, and so do browsers without WebP. `pictures/gallery.py`
makes the films.
"""

from __future__ import annotations

import shutil
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes

_PICTURE = (
    '<picture><source media="(prefers-reduced-motion: no-preference)" type="image/webp" srcset="{film}">'
    '<img loading="lazy" class="{kinds}" alt="{alt}" src="{still}"></picture>'
)
_FOLDER = "_films"


def _films(source: Path) -> list[Path]:
    return sorted((source / "pictures").rglob("*.webp"))


def show_films(app: Any, doctree: Any, page: str) -> None:
    """Put a `picture` element with both into the place of each picture of a page that has a film."""
    if app.builder.format != "html":
        return
    up = "../" * page.count("/")
    for image in list(doctree.findall(nodes.image)):
        film = Path(image["uri"]).with_suffix(".webp")
        if not (Path(app.srcdir) / film).is_file():
            continue
        name = app.builder.images[image["uri"]] = app.env.images[image["uri"]][1]  # the writer copies the picture
        text = _PICTURE.format(
            film=f"{up}{_FOLDER}/{film.as_posix()}",
            kinds=" ".join(image["classes"]),
            alt=escape(image.get("alt", ""), quote=True),
            still=f"{up}{app.builder.imagedir}/{name}",
        )
        image.replace_self(nodes.raw("", text, format="html"))


def copy_films(app: Any, error: Exception | None) -> None:
    """Copy the films into the site."""
    if error is None and app.builder.format == "html":
        for film in _films(Path(app.srcdir)):
            copy = Path(app.outdir) / _FOLDER / film.relative_to(app.srcdir)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(film, copy)


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.connect("doctree-resolved", show_films)
    app.connect("build-finished", copy_films)
