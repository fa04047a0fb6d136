"""The explorer: one HTML page that shows what becomes of each line of a kernel, from Python to machine code.

`write_page(path, stages)` is all; `data.py` says what the page is given, and page.html, page.css and the scripts are
the page. Nothing in it needs a network.
"""

from __future__ import annotations

from weft.lang.explore.page import page_of, page_with, write_page

__all__ = ["page_of", "page_with", "write_page"]
