"""The ops that tell the user something: prints, failures and warnings. `ops.py` exports them too."""

from __future__ import annotations

from weft.ir.core import Op, Value, attr, operand, operands
from weft.ir.types import Type

__all__ = ["Assert", "Print", "Warn"]

# ---- messages --------------------------------------------------------------------------------------------------------


class Print(Op, name="print", writes=True, effect="elsewhere"):
    """Prints its parts in order. Each element of `parts` is literal text, or a NUL and the format spec of the next
    operand. `types` holds the user's operand types after `scalarize` has split tensor operands. It is empty before
    that."""

    values: list[Value] = operands()
    parts: tuple[str, ...] = attr()
    types: tuple[Type, ...] = attr(default=())


class Assert(Op, name="assert", writes=True, effect="elsewhere", fails=True):
    """Stops the task if the u1 `condition` is false. The launch then raises `message`, with each `{}` replaced by an
    operand. `kind` selects the exception: "assert", "bounds", "arithmetic", "recursion", "race", "uninitialised" or
    "memory".
    `types` is as in `print`."""

    condition: Value = operand()
    values: list[Value] = operands()
    message: str = attr()
    kind: str = attr(default="assert")
    types: tuple[Type, ...] = attr(default=())


class Warn(Op, name="warn", writes=True, effect="elsewhere", lanes="operands"):
    """Issues a warning at the next synchronisation and continues. Its text is `message`, with each `{}` replaced by an
    operand. `kind` "outside" reports a masked access, once per kernel. "overflow" is reported once per place. `types`
    is as in `print`."""

    values: list[Value] = operands()
    message: str = attr()
    kind: str = attr(default="outside")
    types: tuple[Type, ...] = attr(default=())
