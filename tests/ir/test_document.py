"""The reference page is what the declarations say."""

from __future__ import annotations

from pathlib import Path

from weft.ir.document import reference


def test_the_page_is_up_to_date() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "ir.md"
    assert page.read_text(encoding="utf-8") == reference(), "python -m weft.ir.document > docs/ir.md"
