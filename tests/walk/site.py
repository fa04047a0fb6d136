"""The built documentation in a browser: served on this machine, read in headless Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote_plus

__all__ = ["BROWSER", "Site", "served"]

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_PATIENCE = 20_000  # milliseconds of the page's own clock


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


class Site:
    """A served site. `address` ends in a slash."""

    def __init__(self, address: str) -> None:
        self.address = address

    def search(self, words: str) -> list[str]:
        """The pages that the site's own search finds, best first, without repetitions."""
        html = self.shown(f"search.html?q={quote_plus(words)}")
        _, _, results = html.partition('id="search-results"')
        found = re.findall(r'<a href="([^"#?]+)\.html[^"]*"', results.partition("</ul>")[0])
        return list(dict.fromkeys(found))

    def shown(self, page: str) -> str:
        """The document that the page has become after its scripts have run."""
        assert BROWSER is not None
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--virtual-time-budget={_PATIENCE}", "--dump-dom"]
        run = subprocess.run(
            [BROWSER, *options, self.address + page], capture_output=True, text=True, timeout=200, check=True
        )
        return run.stdout


@contextmanager
def served(folder: Path) -> Iterator[Site]:
    """The files of the folder, at an address of this machine only."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Site(f"http://127.0.0.1:{server.server_port}/")
    finally:
        server.shutdown()
        server.server_close()
