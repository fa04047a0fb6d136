"""Mutants that mean the same as the original, by module and name: why no test can tell them apart."""

from __future__ import annotations

__all__ = ["EQUIVALENT"]

EQUIVALENT: dict[str, dict[str, str]] = {}
