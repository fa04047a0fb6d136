"""The API reference has each public name on one page, and the examples of the docstrings run."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from tests import emulated
from tests.docs.public_names import PAGES, ROOT, Entry, entries, example, is_constant, public, run_example

ENTRIES = entries()
PUBLIC = public()
GPU = "simt."  # what runs on a GPU only


def test_each_name_is_on_one_page() -> None:
    twice = [name for name, times in Counter(entry.name for entry in ENTRIES).items() if times > 1]
    assert not twice, f"documented twice: {twice}"
    documented = {id(entry.object) for entry in ENTRIES}
    assert len(documented) == len(ENTRIES), "an object is documented under two names"
    missing = [name for name, one in PUBLIC.items() if not is_constant(one) and id(one) not in documented]
    assert not missing, f"docs/api does not document {missing}"


def test_each_constant_is_named() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"`ti\.([\w.]+)`", text)) | {entry.name for entry in ENTRIES}
    missing = [name for name, one in PUBLIC.items() if is_constant(one) and name.removeprefix("types.") not in named]
    assert not missing, f"docs/api does not name {missing}"


def test_nothing_else_is_documented() -> None:
    names = {id(one) for one in PUBLIC.values()}
    assert not (other := [one.name for one in ENTRIES if one.is_public and id(one.object) not in names]), other


@pytest.mark.parametrize("entry", [one for one in ENTRIES if one.members], ids=lambda entry: entry.name)
def test_members(entry: Entry) -> None:
    """Each has a docstring, and occurs in an example: that of its class, or one of the page."""
    text = entry.page.read_text(encoding="utf-8")
    others = [example(one.object) for one in ENTRIES if one.page == entry.page]
    programs = "\n".join([*others, *re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)])
    for member in entry.members:
        assert inspect.getattr_static(entry.object, member).__doc__, f"ti.{entry.name}.{member} has no docstring"
        assert re.search(rf"\.{member}\b", programs), f"no example on {entry.page.name} uses .{member}"


def _examples() -> Iterator[Any]:
    for one in ENTRIES:
        if one.is_public:
            marks = [pytest.mark.emulated] if one.name.startswith(GPU) else []
            yield pytest.param(one, marks=marks, id=one.name)


@pytest.mark.parametrize("entry", list(_examples()))
def test_example(
    entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = example(entry.object)
    assert text, f"the docstring of ti.{entry.name} has no example"
    for module in re.findall(r"^ *import (\w+)", text, re.MULTILINE):
        pytest.importorskip(module)  # libraries that Weft works with
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEFT_GUI_FRAMES", "1")
    for display in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(display, raising=False)
    if entry.name.startswith(GPU):
        emulated.use(monkeypatch)
        weft.init(arch=weft.cuda, enable_fallback=False)
    else:
        weft.init(arch=weft.cpu)
    checked = run_example(text, tmp_path / "example.py", lambda: capsys.readouterr().out)
    assert checked or capsys.readouterr().out, "it shows nothing"
    weft.reset()


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert all(f"api/{page.stem}" in index for page in PAGES)
