"""The explorer: one HTML page that shows each line of a kernel at every stage, from Python to machine code.

`write_page(path, stages)` writes the page. `data.py` makes its data; page.html, page.css and the scripts are its
source. The page needs no network.
"""

from __future__ import annotations

from weft.lang.explore.page import page_of, page_with, show_page, write_page

__all__ = ["page_of", "page_with", "show_page", "write_page"]
