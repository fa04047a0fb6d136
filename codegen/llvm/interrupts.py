"""Where a kernel for the CPU looks whether its launch shall end: after a failure in another thread, or an interrupt.

    while { A }               ->    while { A; in every 1000th round or so: look }

    for %i in %b..%e { A }    ->    for stretches [%p, %q) of %b..%e {
                                      if it is not the last one { look }
                                      for %i in %p..%q { A }
                                    }

A look is a load and a branch; between two of them lies about a millisecond. A `while`, and a loop with other loops in
it, counts its rounds down, which costs an instruction for each. A counted loop that LLVM may vectorize is cut into
stretches. A loop that is over sooner is left alone: the loop around it looks.

One whose length each iteration finds out for itself (the neighbours of a particle, the elements of a row), where rounds
are cheap, is likely to be short, and what stretches need would cost it some ten percent. It is written twice: as it is,
for up to LIKELY rounds, and cut into stretches. `runtime/interrupts.py` says who asks for a look.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from weft.codegen.llvm.cost import price
from weft.codegen.llvm.memory_ops import service
from weft.ir.core import Block, BlockArg, Op, Value
from weft.ir.intervals import interval, type_interval
from weft.ir.ops import Alloca, Atomic, Const, For, Invoke, Kernel, While
from weft.ir.scopes import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from weft.codegen.llvm.function import FunctionWriter

__all__ = ["LIKELY", "NEVER", "Stretches", "counted", "even_part", "look", "may_overflow", "stretches"]

# Units of `cost.py` between two looks: a millisecond or less.
_STRETCH = 4e6

# The same for a row of a box whose length is known: LLVM makes more of it in one piece.
_ROW = 1e8

# Rounds between two looks at most, and where there are loops inside that look as well, each when it has lasted so long.
_ROUNDS, _ROUNDS_AROUND = 1024, 16

# What is taken for the length of a loop that each iteration finds out for itself, how long it is likely to be at most,
# and the price of its rounds up to which it is left alone.
_SHORT, LIKELY, _CHEAP = 4096, 1 << 14, 100.0

NEVER = 0
_DEPTH = 8  # how far up an expression to look

# What no loop around needs to know of the look: it changes no memory of the program's, and (by `preserve_allcc`) no
# register.
_CALL = "nounwind willreturn cold memory(inaccessiblemem: readwrite)"
_RECORD = Scope("record")  # the error record of the launch
_MOSTLY = '!"branch_weights", i32 1000000, i32 1'
_SELDOM = '!"branch_weights", i32 1, i32 1000000'


class Stretches:
    """Between two looks lie so many rounds of a loop: NEVER, a stretch of it, or less than 0: it counts them down. By
    what the loop can cost at most. The functions are those that kernels call."""

    def __init__(self, functions: Mapping[str, Kernel]) -> None:
        self._functions = functions
        self._known: dict[str, float] = {}

    def of(self, op: For | While) -> int:
        """Of that loop."""
        each = max(self._most(op.body), 1.0)
        if isinstance(op, While):
            return -_rounds_of_price(each)
        return self._of_price(each, rounds_of(op))

    def is_likely_short(self, op: For) -> bool:
        """Whether that loop seldom lasts until the first look."""
        return _is_short(op, max(self._most(op.body), 1.0))

    def of_rounds(self, body: Block, rounds: float, row: bool) -> int:
        """Of a parallel loop with so many rounds at most; `row`: a loop around it looks in each round."""
        each = max(self._most(body), 1.0)
        return NEVER if row and each * rounds <= _ROW else self._of_price(each, rounds)

    def _of_price(self, each: float, rounds: float) -> int:
        if math.isinf(each):
            return -_ROUNDS_AROUND
        return NEVER if each * rounds <= _STRETCH else max(1, int(_STRETCH / each))

    def _most(self, block: Block) -> float:
        return sum(self._most_of(op) for op in block)

    def _most_of(self, op: object) -> float:
        if isinstance(op, While):
            return math.inf
        if isinstance(op, For):
            each = max(self._most(op.body), 1.0)
            if _is_short(op, each):
                return each * _SHORT
            whole = each * rounds_of(op)
            return whole if whole <= _STRETCH else math.inf
        if isinstance(op, Invoke):
            return self._most_of_call(op.function)
        inner = sum(map(self._most, getattr(op, "regions", ())))
        return inner + (100.0 if isinstance(op, Atomic) else price(op))

    def _most_of_call(self, name: str) -> float:
        if name not in self._known:
            self._known[name] = math.inf  # of a function that calls itself
            self._known[name] = sum(self._most_of(op) for op in self._functions[name].body)
        return self._known[name]


def _rounds_of_price(each: float) -> int:
    return _ROUNDS_AROUND if math.isinf(each) else max(1, min(_ROUNDS, int(_STRETCH / each)))


def _is_short(op: For, each: float) -> bool:
    """Whether each iteration around finds out how long the loop is, and its rounds are cheap. (Or the step may lead out
    of the index's type: of stretches of such a loop LLVM makes no vectors.)"""
    return each <= _CHEAP and (any(map(_found_out, (op.begin, op.end))) or may_overflow(op))


def may_overflow(op: For) -> bool:
    """Whether an index that is short of `end` may be less than a step from the end of its type."""
    if not isinstance(op.step, Const):
        return True
    (low, high), (least, most), step = interval(op.end), type_interval(op.end.type), int(op.step.value)
    return high - 1 + step > most if step > 0 else low + 1 + step < least


def _found_out(value: Value, depth: int = _DEPTH) -> bool:
    """Whether the value comes from the index of a loop around, or may do so."""
    if isinstance(value, (BlockArg, Alloca, Atomic, Invoke)):
        return True
    return depth > 0 and isinstance(value, Op) and any(_found_out(operand, depth - 1) for operand in value.operands)


def rounds_of(op: For) -> float:
    """How many rounds the loop has at most."""
    if not isinstance(op.step, Const) or not op.step.value:
        return math.inf
    (low, high), (least, most), step = interval(op.begin), interval(op.end), int(op.step.value)
    distance = most - low if step > 0 else high - least
    return max(0.0, distance / abs(step))


def look(f: FunctionWriter) -> None:
    """Leave the function if the launch shall end."""
    if not f.record:
        f.record = f.register("record") if f.seldom else "%record"
        f.slots.append(f"  {f.record}.at = getelementptr inbounds i8, ptr %ctx, i64 8")
        f.slots.append(f"  {f.record} = load ptr, ptr {f.record}.at, align 8, !invariant.load !{{}}")
    ask, on = f.fresh_label("ask"), f.fresh_label("on")
    word = f.set(f"load atomic i64, ptr {f.record} monotonic, align 8{f.module.access(_RECORD, '')}")
    f.branch(f.set(f"icmp eq i64 {word}, 0"), on, ask, f", !prof {f.module.hint(_MOSTLY)}")
    f.start(ask)
    stop = f.set(f"call preserve_allcc zeroext i1 {service(f, 'poll')}(ptr {f.record}) {_CALL}")
    f.branch(stop, f.exit_label, on)
    f.start(on)


def counted(f: FunctionWriter, rounds: int) -> Callable[[FunctionWriter], None]:
    """Before a loop: what writes, at the end of a round, a look in every so many rounds."""
    left, rounds = f.stack("i32", align=4), min(rounds, _ROUNDS)
    f.do(f"store i32 {rounds}, ptr {left}, align 4")

    def turn(f: FunctionWriter) -> None:
        now, on = f.fresh_label("now"), f.fresh_label("on")
        less = f.set(f"sub i32 {f.set(f'load i32, ptr {left}, align 4')}, 1")
        f.do(f"store i32 {less}, ptr {left}, align 4")
        f.branch(f.set(f"icmp slt i32 {less}, 0"), now, on, f", !prof {f.module.hint(_SELDOM)}")
        f.start(now)
        f.do(f"store i32 {rounds}, ptr {left}, align 4")
        look(f)
        f.start(on)

    return turn


@contextmanager
def stretches(
    f: FunctionWriter, begin: str, end: str, size: int, type: str = "i64", even: bool = False
) -> Generator[tuple[str, str, str], None, None]:
    """A loop over the stretches of [begin, end), of `size` or less, with a look before each but the last: a short loop
    pays for two comparisons. (A negative size: it goes down from `begin`.) Gives the limits of one, and where `break`
    goes. The type of the index is signed. Where the distance is more than the type holds, there may be one stretch
    only. `even`: they are all of that size, which is how LLVM knows it."""
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


def even_part(distance: float, most: int, unit: int) -> int:
    """The largest part of the distance, a multiple of `unit` not much shorter than `most`, that goes into it without a
    rest; 0 if there is none."""
    if math.isinf(distance):
        return 0
    least = max(2, -(-int(distance) // most))
    parts = (parts for parts in range(least, least + 4096) if distance % parts == 0 and distance / parts % unit == 0)
    return int(distance) // next(parts, int(distance) + 1)
