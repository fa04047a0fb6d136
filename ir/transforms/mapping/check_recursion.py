"""Inserts a check of the stack into recursive functions, so that they fail before the stack overflows.

    task serial body { ... }                                    of a function that may call itself

    task serial body { %left = stack_left; assert %left, [], message="'f' calls itself too deeply: ..." ... }

The stack of a thread is limited. The code around the kernel knows the limit. Functions that are not recursive need no
check, because the room that the limit leaves is enough for them.
"""

from __future__ import annotations

from weft.ir.calls import calls_itself
from weft.ir.config import CompileConfig
from weft.ir.ops import Assert, Kernel, StackLeft
from weft.ir.passes import pass_
from weft.ir.tasks import tasks_of

__all__ = ["check_recursion"]

_TOO_DEEP = "'{}' calls itself too deeply: its calls overflow the stack"
_MORE_STACK = "; ti.init({}=bytes) gives the threads of a GPU larger stacks"


@pass_("check_recursion")
def check_recursion(root: Kernel, config: CompileConfig) -> bool:
    """Let a function that may call itself check first that the stack has room."""
    if not root.called or not calls_itself(root):
        return False
    message = _TOO_DEEP.format(root.symbol.rpartition("_")[0])
    if option := config.traits.stack_option:
        message += _MORE_STACK.format(option)
    body = tasks_of(root)[0].body
    first, left = body.first, StackLeft(span=root.span)
    body.insert(left, first)
    body.insert(Assert(left, [], message, kind="recursion", span=root.span), first)
    return True
