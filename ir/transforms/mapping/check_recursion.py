"""The stack of functions that call themselves: they fail before it is full.

    task serial body { ... }                                    of a function that may call itself

    task serial body { %left = stack_left; assert %left, [], message="'f' calls itself too deeply: ..." ... }

A thread's stack has an end, which the code around the kernel knows. Other functions need no such check: the room below
the end is enough for what they take.
"""

from __future__ import annotations

from weft.ir.calls import calls_itself
from weft.ir.config import CompileConfig
from weft.ir.ops import Assert, Kernel, StackLeft
from weft.ir.passes import pass_
from weft.ir.tasks import tasks_of

__all__ = ["check_recursion"]

_TOO_DEEP = "'{}' calls itself too deeply: the calls inside one another fill the stack"
_MORE_STACK = "; ti.init(cuda_stack_limit=bytes) makes that of a GPU's threads larger"


@pass_("check_recursion")
def check_recursion(root: Kernel, config: CompileConfig) -> bool:
    """Let a function that may call itself ask for room on the stack."""
    if not root.called or not calls_itself(root):
        return False
    message = _TOO_DEEP.format(root.symbol.rpartition("_")[0])
    if config.arch == "cuda":
        message += _MORE_STACK
    body = tasks_of(root)[0].body
    first, left = body.first, StackLeft(span=root.span)
    body.insert(left, first)
    body.insert(Assert(left, [], message, kind="recursion", span=root.span), first)
    return True
