"""How the site shows formulas and pictures that move. (`make docs` builds the whole of it.)"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from docutils import nodes
from docutils.utils import new_document
from PIL import Image

from tests.docs.public_names import ROOT

sys.path.append(str(ROOT / "docs"))
from building import films, formulas  # type: ignore[import-not-found]

_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$\w])\$(?![\s$])([^$\n]+?)(?<!\s)\$(?![\d$])")
PICTURES = ROOT / "docs" / "pictures"


def _formulas(page: Path) -> list[str]:
    text = re.sub(r"`[^`]*`", "", _BLOCK.sub("", page.read_text(encoding="utf-8")))
    return [block or inline for block, inline in _FORMULA.findall(text)]


def test_all_formulas_become_mathml() -> None:
    found = [one for page in (ROOT / "docs" / "tutorials").glob("*.md") for one in _formulas(page)]
    assert len(found) > 10
    for one in found:
        ElementTree.fromstring(formulas.mathml(one, "inline"))  # well-formed


def test_an_unknown_command_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not become MathML"):
        formulas.mathml(r"\nonsense x", "inline")


def test_the_site_loads_no_script_from_elsewhere() -> None:
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert "mathjax" not in conf
    assert re.search(r'html_math_renderer = "mathml"', conf)
    assert "http" not in conf


def test_films_stand_in_for_their_pictures() -> None:
    """A page below a folder shows a picture with its film, and one without a film as it is."""
    film = next(iter(sorted(PICTURES.rglob("*.webp"))))
    still = film.with_suffix(".jpg").relative_to(ROOT / "docs").as_posix()
    document = new_document("page")
    document += nodes.image(uri=still, alt='it "moves"', classes=["card"])
    document += nodes.image(uri="pictures/tree.png")
    builder = SimpleNamespace(format="html", images={}, imagedir="_images")
    env = SimpleNamespace(images={still: ({"tutorials/page"}, "still1.jpg")})
    app = SimpleNamespace(builder=builder, env=env, srcdir=str(ROOT / "docs"))
    films.show_films(app, document, "tutorials/page")
    assert [type(node).__name__ for node in document.children] == ["raw", "image"]
    picture = ElementTree.fromstring(re.sub(r"<(source|img)([^>]*)>", r"<\1\2/>", document[0].astext()))
    source, image = picture
    assert picture.tag == "picture"
    assert source.get("media") == "(prefers-reduced-motion: no-preference)"
    assert source.get("srcset") == f"../_films/{Path(still).with_suffix('.webp').as_posix()}"
    assert (image.get("src"), image.get("alt"), image.get("class")) == ("../_images/still1.jpg", 'it "moves"', "card")
    assert builder.images == {still: "still1.jpg"}  # Sphinx copies it


@pytest.mark.parametrize("film", sorted(PICTURES.rglob("*.webp")), ids=lambda film: film.stem)
def test_films_are_small_and_have_a_picture(film: Path) -> None:
    with Image.open(film) as moving, Image.open(film.with_suffix(".jpg")) as still:
        assert getattr(moving, "n_frames", 1) > 10
        assert moving.info["loop"] == 0
        assert abs(moving.width / moving.height - still.width / still.height) < 0.02
    assert film.stat().st_size < (1_600_000 if film.stem == "demos" else 260_000)
