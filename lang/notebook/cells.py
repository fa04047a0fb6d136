"""Show things below the running cell of a notebook. IPython is not imported: a notebook has done that already."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["Html", "Place", "in_notebook", "shell"]


def shell() -> Any:
    """Return IPython's shell, in a notebook or in a terminal, or None if this is not IPython."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    return getattr(shell(), "kernel", None) is not None


class Html:
    """HTML that a notebook shows. `text` is what a client without HTML shows."""

    def __init__(self, html: str, text: str = "") -> None:
        self.html, self.text = html, text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


class Place:
    """A place below the running cell. Each `show` replaces what is there."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, shown: Any) -> None:
        """Show an object that has a representation for notebooks."""
        if self._handle is None:
            self._handle = sys.modules["IPython"].display.display(shown, display_id=True)
        else:
            self._handle.update(shown)
