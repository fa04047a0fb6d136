"""The generated pages of the documentation say what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.ir.document import PAGES


@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_the_code(page: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    assert text == PAGES[page](), "python -m weft.ir.document docs"
