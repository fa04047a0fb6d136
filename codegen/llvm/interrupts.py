"""Emits the tests of a CPU kernel whether its launch must end: after a failure in another thread, or an interrupt.

    while { A }               ->    while { A; in every 1000th iteration or so: test }

    for %i in %b..%e { A }    ->    for stretches [%p, %q) of %b..%e {
                                      if it is not the last one { test }
                                      for %i in %p..%q { A }
                                    }

A test is a load and a branch. The time between two tests is about a millisecond. A `while`, and a loop that contains
loops, counts its iterations down, which costs an instruction for each. A counted loop that LLVM may vectorize is split
into stretches. A loop that ends sooner is left unchanged, because the loop around it tests.

If each outer iteration computes the length of a loop (the neighbours of a particle, the elements of a row) and its
iterations are cheap, the loop is probably short, and stretches would cost it some ten percent. It is emitted twice:
unchanged, for up to LIKELY iterations, and split into stretches. `runtime/interrupts.py` says who requests a test.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from weft.codegen.llvm.memory_ops import service
from weft.ir.artifact import HELD
from weft.ir.mapping.stretches import MOST_ITERATIONS
from weft.ir.scopes import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from weft.codegen.llvm.function import FunctionWriter

__all__ = ["counted", "hold", "look", "stretches"]

# The test does not affect the loops around it: it changes no memory of the program, and (by `preserve_allcc`) no
# register.
_CALL = "nounwind willreturn cold memory(inaccessiblemem: readwrite)"
_RECORD = Scope("record")  # the error record of the launch
_MOSTLY = '!"branch_weights", i32 1000000, i32 1'
_SELDOM = '!"branch_weights", i32 1, i32 1000000'


def look(f: FunctionWriter) -> None:
    """Leave the function if the launch must end."""
    if not f.entry.record:
        f.entry.record = record = f.register("record") if f.cold.inside else "%record"
        f.slots.append(f"  {record}.at = getelementptr inbounds i8, ptr %ctx, i64 8")
        f.slots.append(f"  {record} = load ptr, ptr {record}.at, align 8, !invariant.load !{{}}")
    record = f.entry.record
    ask, on = f.fresh_label("ask"), f.fresh_label("on")
    word = f.set(f"load atomic i64, ptr {record} monotonic, align 8{f.module.access(_RECORD, '')}")
    f.branch(f.set(f"icmp eq i64 {word}, 0"), on, ask, f", !prof {f.module.hint(_MOSTLY)}")
    f.start(ask)
    stop = f.set(f"call preserve_allcc zeroext i1 {service(f, 'poll')}(ptr {record}) {_CALL}")
    f.branch(stop, f.exit_label, on)
    f.start(on)


def hold(f: FunctionWriter, held: bool) -> None:
    """Let the launch come to its end, or no longer: with the state HELD, tests find that it must not end."""
    word = f.set("getelementptr inbounds i8, ptr %ctx, i64 8")
    record = f.set(f"load ptr, ptr {word}, align 8, !invariant.load !{{}}")
    f.do(f"store atomic i32 {HELD if held else 0}, ptr {record} release, align 8")


def counted(f: FunctionWriter, iterations: int) -> Callable[[FunctionWriter], None]:
    """Start a countdown before a loop. Return what emits the end of an iteration: each n-th one tests for the end of
    the launch."""
    left, iterations = f.stack("i32", align=4), min(iterations, MOST_ITERATIONS)
    f.do(f"store i32 {iterations}, ptr {left}, align 4")

    def check(f: FunctionWriter) -> None:
        now, on = f.fresh_label("now"), f.fresh_label("on")
        less = f.set(f"sub i32 {f.set(f'load i32, ptr {left}, align 4')}, 1")
        f.do(f"store i32 {less}, ptr {left}, align 4")
        f.branch(f.set(f"icmp slt i32 {less}, 0"), now, on, f", !prof {f.module.hint(_SELDOM)}")
        f.start(now)
        f.do(f"store i32 {iterations}, ptr {left}, align 4")
        look(f)
        f.start(on)

    return check


@contextmanager
def stretches(
    f: FunctionWriter, begin: str, end: str, size: int, type: str = "i64", even: bool = False
) -> Generator[tuple[str, str, str], None, None]:
    """A loop over the stretches of [begin, end), of `size` or less, with a test before each one except the last: a
    short loop costs two comparisons. A negative size counts down from `begin`. Gives the limits of one stretch, and the
    target of `break`. The type of the index is signed. If the distance does not fit the type, there may be only one
    stretch. `even`: all have that size, and LLVM is told so."""
    head, more, inside, done = (f.fresh_label(hint) for hint in ("stretch", "more", "inside", "done"))
    here, last, before = f.register("p"), f.register("q"), f.label
    down = size < 0
    f.jump(head)
    position = len(f.lines) + 1
    f.lines += [f"{head}:", ""]  # the phi, when its last operand has a label
    f.label, f.open = head, True
    if even:
        look(f)
        f.lines.append(f"  {last} = add nsw {type} {here}, {size}")
    else:
        left = f.set(f"sub {type} {here}, {end}" if down else f"sub {type} {end}, {here}")
        f.branch(f.set(f"icmp sgt {type} {left}, {abs(size)}"), more, inside, f", !prof {f.module.hint(_SELDOM)}")
        f.start(more)
        look(f)
        whole, looked = f.set(f"add {type} {here}, {size}"), f.label
        f.start(inside)
        f.lines.append(f"  {last} = phi {type} [ {end}, %{head} ], [ {whole}, %{looked} ]")
    yield here, last, done
    on = f.set(f"icmp s{'gt' if down else 'lt'} {type} {last}, {end}")
    f.lines[position] = f"  {here} = phi {type} [ {begin}, %{before} ], [ {last}, %{f.label} ]"
    f.branch(on, head, done, "" if even else f", !prof {f.module.hint(_SELDOM)}")
    f.start(done)
