"""Packages that some tests need, and that the development environment does not have."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from weft.lang.extras import EXTRAS

__all__ = ["needs", "with_package"]


def needs(module: str) -> Any:
    """The mark of tests that need this package: they are skipped where it is not installed."""
    row = EXTRAS.get(module)
    name = row.package if row else module
    return pytest.mark.skipif(find_spec(module) is None, reason=f"the package {name} is not installed")


def with_package(value: Any, module: str, *more: str) -> Any:
    """A parameter of a test that needs these packages."""
    return pytest.param(value, marks=[needs(one) for one in (module, *more)])
