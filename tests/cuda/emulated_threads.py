"""Blocks of many threads in software: what SIMT intrinsics do, done by Python threads that wait for one another.

A kernel whose code has SIMT intrinsics is given functions of the same meaning instead: each thread of a block is a
thread of this process, one block runs after the other. Slow, and exact: a barrier that not all reach is a deadlock here
too, and so it is reported.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["HELPERS", "SYMBOLS", "rewrite", "run_blocks"]

_PATIENCE = 20.0  # seconds until a meeting counts as a deadlock
_SREGS = [f"{kind}.{axis}" for kind in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]

HELPERS = """
declare i32 @emu_sreg(i32)
declare void @emu_sync()
declare i32 @emu_meet_block(i32, i8)
declare i32 @emu_vote(i32, i32, i8)
declare i32 @emu_match(i32, i32, i64)
declare i32 @emu_shuffle(i32, i32, i32, i32)
declare i32 @emu_active()
"""


def rewrite(text: str) -> str:
    """The intrinsics as calls of the functions here."""
    text = re.sub(r"call i32 @llvm\.nvvm\.read\.ptx\.sreg\.laneid\(\)", "call i32 @emu_sreg(i32 12)", text)
    for number, name in enumerate(_SREGS):
        text = text.replace(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()", f"call i32 @emu_sreg(i32 {number})")
    text = re.sub(r"declare .*@llvm\.nvvm\.read\.ptx.*\n", "", text)
    text = re.sub(r"@weft_dynamic = external (.*)\[0 x i8\]", r"@weft_dynamic = internal \1[262144 x i8] poison", text)
    body = r"define internal void @weft_barrier\(\) convergent nounwind \{.*?\n\}\n"
    text = re.sub(body, "define internal void @weft_barrier() { call void @emu_sync() ret void }\n", text, flags=re.S)
    defined = [_DEFINITIONS[name] for name in _DEFINITIONS if f"@llvm.nvvm.{name}(" in text]
    text = re.sub(r"declare .*@llvm\.nvvm\.(shfl|vote|match|barrier|activemask|bar\.warp|membar).*\n", "", text)
    return text.replace("@llvm.nvvm.", "@nvvm_") + HELPERS + "".join(defined).replace("@llvm.nvvm.", "@nvvm_")


def _function(result: str, name: str, takes: str, body: str) -> tuple[str, str]:
    return name, f"define internal {result} @llvm.nvvm.{name}({takes}) {{ {body} }}\n"


def _definitions() -> dict[str, str]:
    made = list[tuple[str, str]]()
    to_bit = "%p = zext i1 %b to i8\n"
    for number, how in enumerate(("popc", "and", "or")):
        result = "i32" if how == "popc" else "i1"
        give = "ret i32 %r" if how == "popc" else "%t = trunc i32 %r to i1\nret i1 %t"
        code = f"{to_bit}%r = call i32 @emu_meet_block(i32 {number}, i8 %p)\n{give}"
        made.append(_function(result, f"barrier.cta.red.{how}.aligned.all", "i32 %i, i1 %b", code))
    for number, how in enumerate(("all", "any", "uni")):
        code = f"{to_bit}%r = call i32 @emu_vote(i32 {number}, i32 %m, i8 %p)\n%t = trunc i32 %r to i1\nret i1 %t"
        made.append(_function("i1", f"vote.{how}.sync", "i32 %m, i1 %b", code))
    code = f"{to_bit}%r = call i32 @emu_vote(i32 3, i32 %m, i8 %p)\nret i32 %r"
    made.append(_function("i32", "vote.ballot.sync", "i32 %m, i1 %b", code))
    for number, way in enumerate(("idx", "up", "down", "bfly")):
        code = f"%r = call i32 @emu_shuffle(i32 {number}, i32 %m, i32 %v, i32 %k)\nret i32 %r"
        made.append(_function("i32", f"shfl.sync.{way}.i32", "i32 %m, i32 %v, i32 %k, i32 %c", code))
    for word in ("i32", "i64"):
        wide = "%w = zext i32 %v to i64\n" if word == "i32" else "%w = add i64 %v, 0\n"
        code = f"{wide}%r = call i32 @emu_match(i32 0, i32 %m, i64 %w)\nret i32 %r"
        made.append(_function("i32", f"match.any.sync.{word}", f"i32 %m, {word} %v", code))
        pair = "%s = insertvalue { i32, i1 } zeroinitializer, i32 %r, 0\nret { i32, i1 } %s"
        code = f"{wide}%r = call i32 @emu_match(i32 1, i32 %m, i64 %w)\n{pair}"
        made.append(_function("{ i32, i1 }", f"match.all.sync.{word}p", f"i32 %m, {word} %v", code))
    made.append(_function("i32", "activemask", "", "%r = call i32 @emu_active()\nret i32 %r"))
    wait = "%r = call i32 @emu_vote(i32 3, i32 %m, i8 0)\nret void"
    made.append(_function("void", "bar.warp.sync", "i32 %m", wait))
    made += [_function("void", f"membar.{scope}", "", "ret void") for scope in ("cta", "gl")]
    return dict(made)


_DEFINITIONS = _definitions()


class _Block:
    """A block while it runs: which of its threads are alive, and who waits where."""

    def __init__(self, threads: int) -> None:
        self.threads, self.alive = threads, set(range(threads))
        self.change = threading.Condition()
        self.meetings: dict[Any, dict[int, Any]] = {}
        self.failed = ""

    def meet(self, place: Any, members: set[int], me: int, value: Any) -> dict[int, Any]:
        """Wait at `place` until all living members are there; gives what each brought."""
        with self.change:
            meeting = self.meetings.setdefault(place, {})
            meeting[me] = value
            if not self.change.wait_for(lambda: self.failed or members & self.alive <= meeting.keys(), _PATIENCE):
                self.failed = f"thread {me} waits at {place} for {sorted(members & self.alive - meeting.keys())}"
            if self.meetings.get(place) is meeting:
                del self.meetings[place]
            self.change.notify_all()
            return meeting

    def leave(self, me: int) -> None:
        with self.change:
            self.alive.discard(me)
            self.change.notify_all()


class _Here(threading.local):
    """The thread of the emulated GPU that this thread is."""

    block: _Block
    number: int
    registers: tuple[int, ...]


_here = _Here()


def run_blocks(run: Callable[[], Any], grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    """Call `run` for each thread of each block. AssertionError where threads wait for others that never come."""
    x, y, z = block
    for number in range(grid[0] * grid[1] * grid[2]):
        at = (number % grid[0], number // grid[0] % grid[1], number // grid[0] // grid[1])
        made = _Block(x * y * z)

        def thread(k: int, at: tuple[int, ...] = at, made: _Block = made) -> None:
            _here.block, _here.number = made, k
            _here.registers = (k % x, k // x % y, k // x // y, *block, *at, *grid, k % 32)
            run()
            made.leave(k)

        threads = [threading.Thread(target=thread, args=(k,)) for k in range(x * y * z)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert not made.failed, made.failed


def _warp(mask: int) -> tuple[set[int], int, int]:
    """The threads of this warp that the mask names, the number of its first thread, the lane of this one."""
    first = _here.number // 32 * 32
    return {first + lane for lane in range(32) if mask >> lane & 1}, first, _here.number - first


def _sreg(number: int) -> int:
    return _here.registers[number]


def _sync() -> None:
    block = _here.block
    block.meet("barrier", set(range(block.threads)), _here.number, 0)


def _meet_block(how: int, predicate: int) -> int:
    block = _here.block
    met = block.meet("barrier", set(range(block.threads)), _here.number, predicate & 1).values()
    return int((sum(met), all(met), any(met))[how])


def _vote(how: int, mask: int, predicate: int) -> int:
    members, first, _ = _warp(mask)
    met = _here.block.meet(("vote", first, mask), members, _here.number, predicate & 1)
    bits = sum(1 << (thread - first) for thread, value in met.items() if value)
    return int((all(met.values()), any(met.values()), len(set(met.values())) == 1, bits)[how])


def _match(how: int, mask: int, value: int) -> int:
    members, first, lane = _warp(mask)
    met = _here.block.meet(("match", first, mask), members, _here.number, value)
    bits = sum(1 << (thread - first) for thread, other in met.items() if other == value)
    return bits if how == 0 or bits == sum(1 << (thread - first) for thread in met) else 0


def _shuffle(way: int, mask: int, value: int, by: int) -> int:
    members, first, lane = _warp(mask)
    met = _here.block.meet(("shuffle", first, mask), members, _here.number, value)
    source = (by & 31, lane - by, lane + by, lane ^ by)[way]
    return int(met.get(first + source, value)) if 0 <= source < 32 else value


def _active() -> int:
    """Which lanes are here: those that are alive."""
    _, first, _ = _warp(0)
    return sum(1 << lane for lane in range(32) if first + lane in _here.block.alive)


def _callbacks() -> dict[str, Any]:
    u8, u32, u64 = ctypes.c_ubyte, ctypes.c_uint, ctypes.c_uint64
    kinds: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
        "emu_sreg": (_sreg, (u32, u32)),
        "emu_sync": (_sync, (None,)),
        "emu_meet_block": (_meet_block, (u32, u32, u8)),
        "emu_vote": (_vote, (u32, u32, u32, u8)),
        "emu_match": (_match, (u32, u32, u32, u64)),
        "emu_shuffle": (_shuffle, (u32, u32, u32, u32, u32)),
        "emu_active": (_active, (u32,)),
    }
    return {name: ctypes.CFUNCTYPE(*types)(function) for name, (function, types) in kinds.items()}


_CALLBACKS = _callbacks()
SYMBOLS: dict[str, int] = {name: ctypes.cast(made, ctypes.c_void_p).value or 0 for name, made in _CALLBACKS.items()}
