"""Launches that a tape expects again. (Native code, see `native.py`.)

A training loop opens a tape with the same launches in each round. The tape records them through Python, once. In later
rounds it says which launches it expects: for each the kernel, and what bound the arguments of its gradient to which
context (EXPECTED). A launch that is the next expected one runs natively, and is counted. Python records any other one,
after it has recorded those that were counted.

Launches are expected only where a context variable has a certain value, which says which blocks are open. That is so in
one thread, and in others that run in a copy of its context.
"""

from __future__ import annotations

from weft.runtime.argument_ir import SLOW
from weft.runtime.native import Block, Function, Module, Value

__all__ = ["EXPECTED", "FITS", "REPEAT", "REPEAT_IR"]

REPEAT = Block(
    "ptr variable",  # a context variable,
    "ptr value",  # and the object that it must have
    "i64 done",  # how many launches have come
    "i64 count",  # how many are expected
    "ptr entries",  # EXPECTED of each
)
EXPECTED = Block(
    "ptr kernel",  # the kernel object
    "ptr binder",  # the object that binds arguments of its gradient
    "ptr token",  # that of the plan
    "ptr context",  # the words of the context
    "i64 words",  # how many: those up to the results
)
FITS = 7  # in place of an answer: the arguments give the context that was expected
_OWN_WORDS = 3  # of a context: a launch fills them
_RUN = 0

REPEAT_IR = _IR = Module()
_IR.global_variable("repeat", "ptr")


@_IR.function("void", "ptr", exported=True)
def set_repeat(f: Function, repeat: Value) -> None:
    """Expect these launches from now on; null: none."""
    f.symbol("repeat").store(repeat, "seq_cst")
    f.ret()


@_IR.function("ptr", "ptr", "ptr", "i64")
def call_repeated(f: Function, self: Value, args: Value, n: Value) -> None:
    """A launch, if it is the one that is expected next; else SLOW, and nothing has run."""
    mark = f.call("call_begin")
    f.ret(f.call("call_end", mark, f.call("repeat_next", self, args, n)))


@_IR.function("ptr", "ptr", "ptr", "i64")
def repeat_next(f: Function, self: Value, args: Value, n: Value) -> None:
    """`call_repeated`, between its begin and its end."""
    slow, repeat = f.constant(SLOW, "ptr"), f.symbol("repeat").load("ptr", "seq_cst")
    f.ret_if(repeat.eq(0), slow)
    done, count, entries = REPEAT.read(repeat, "done", "count", "entries")
    f.ret_if(done.compare("sge", count), slow)
    entry = entries.at(done * len(EXPECTED))
    kernel, binder = EXPECTED.read(entry, "kernel", "binder")
    f.ret_if(kernel.ne(self), slow)
    f.ret_if(~f.call("repeat_is_here", *REPEAT.read(repeat, "variable", "value")), slow)
    bound = f.call("call_try", binder, args, n, None, entry.cast("ptrtoint", "i64"))
    with f.unless(bound.eq(f.constant(FITS, "ptr"))):
        f.ret(bound)  # SLOW, or null: an exception
    REPEAT.at(repeat, "done").store(done + 1)  # before it runs, and lets other threads run that have that value, too
    answer = f.call("call_try", self, args, n, None, _RUN)
    with f.when(answer.eq(0) | answer.eq(slow)):
        (now,) = REPEAT.read(repeat, "done")
        with f.when(now.eq(done + 1)):
            REPEAT.at(repeat, "done").store(done)
    f.ret(answer)


@_IR.function("i1", "ptr", "ptr")
def repeat_is_here(f: Function, variable: Value, value: Value) -> None:
    """Whether the context variable has that value."""
    box = f.variable("ptr", 0)
    with f.unless(f.call("PyContextVar_Get", variable, None, box.address).eq(0)):
        f.call("PyErr_Clear")
        f.ret(False, "i1")
    now = box.get()
    with f.unless(now.eq(0)):
        f.call("Py_DecRef", now)  # the variable keeps it
    f.ret(now.eq(value))


@_IR.function("ptr", "ptr", "ptr", "ptr", "i64")
def repeat_fits(f: Function, one: Value, token: Value, ctx: Value, words: Value) -> None:
    """FITS if that one of EXPECTED has this context, of the plan with that token; else SLOW."""
    slow = f.constant(SLOW, "ptr")
    expected, context, count = EXPECTED.read(one, "token", "context", "words")
    f.ret_if(token.ne(expected) | words.ne(count), slow)
    with f.count(words, _OWN_WORDS) as k:
        f.ret_if(ctx.at(k).load("i64").ne(context.at(k).load("i64")), slow)
    f.ret(f.constant(FITS, "ptr"))
