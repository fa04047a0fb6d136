"""The options in which the stages of one kernel can differ: `Stages.with_options`, and `weft explore --beside`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from weft.lang.errors import ArgumentError
from weft.lang.program.options import OPTIONS, checked

__all__ = ["OF_COMPILER", "checked_options", "parse_variant"]

# The options of `init` that only the compiler reads.
OF_COMPILER = ("fast_math", "opt_level", "advanced_optimization", "mask_out_of_bounds", "cpu_features")


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as `CompileConfig` has them. Raises ArgumentError for an option that is none of `OF_COMPILER`, and
    WrongOption (a ValueError and a TypeError) for a value that `init` refuses."""
    found = {}
    for name, value in options.items():
        if name not in OF_COMPILER:
            raise ArgumentError(f"{name!r} is no option of the compiler; these are {', '.join(OF_COMPILER)}")
        found[name] = checked(name, OPTIONS[name], value)
    if "cpu_features" in found:
        sets = importlib.import_module("weft.codegen.llvm.instruction_sets")
        found["cpu_features"] = sets.named(found["cpu_features"])
    return found


def parse_variant(text: str) -> tuple[str, dict[str, Any]]:
    """Read `cuda,fast_math=False`: an arch, which may be missing, and options. Raises ArgumentError for an option that
    is unknown, and for a value that is not of its type."""
    arch, options = "", dict[str, Any]()
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals and not arch:
            arch = name
        elif not equals:
            raise ArgumentError(f"{text!r}: write an arch, or options as name=value, between commas")
        else:
            options[name] = _value(name, value)
    checked_options(options)
    return arch, options


def _value(name: str, text: str) -> Any:
    kind = OPTIONS.get(name, str)
    words = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}
    if kind is bool and text in words:
        return words[text]
    return int(text) if kind is int and text.lstrip("-").isdigit() else text
