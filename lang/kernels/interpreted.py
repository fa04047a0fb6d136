"""A call of a kernel that runs as Python, with `arch=python`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.lang.calls.compile import Instance
from weft.lang.data.field_tree import NOT_HELD

__all__ = ["interpret"]


def interpret(kernel: Any, instance: Instance, owner: Any, args: Sequence[Any], flat: Sequence[Any]) -> Any:
    """Run a kernel as Python. `args` are the arguments of the call, and `flat` those without packs."""
    from weft.lang.interpret.random import draws
    from weft.lang.interpret.run import InterpretedKernel, interpret_kernel

    for parameter, value in zip(kernel._parameters, flat, strict=True):
        # raises an error for an argument that no arch accepts
        _ = parameter.argument(value) if parameter.keyed else parameter.pack(value)
    with instance.held() if instance.held else NOT_HELD:
        result = interpret_kernel(InterpretedKernel(kernel.function, kernel.params, owner, instance.choices), args)
    instance.key = draws().key
    return result
