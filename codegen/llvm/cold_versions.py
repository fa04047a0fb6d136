"""The version of a block that is seldom needed becomes a function of its own (see `mask_accesses`).

    br i1 %ok, %then, %else                          br i1 %ok, %then, %else
    else: <hundreds of lines> br label %done   ->    else: call fastcc void @f_apart1(float %v3, ptr %ctx) br %done

LLVM takes time by more than the length of a function, most of it for registers; and where both versions are in one, the
seldom one takes registers from the other. In lanes it is written for one lane, in a loop over them: a masked access of
all lanes is many times as long as that of one.

The function takes the registers that it uses as parameters. Where it may end the task (a failed assertion, an
interrupt), it says whether it did. It stays where it was if it is short, if it leaves the block by another way than
these (`continue`), if it calls a recursive function, or if it takes the address of a local: that of the other version
could not live in registers any more. Not with debug lines, which belong to one function.
"""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING

from weft.codegen.llvm.function import FunctionWriter, spell
from weft.codegen.llvm.outline import USED, defined, labels
from weft.ir.addresses import root_of
from weft.ir.core import Block, Value, ops_of
from weft.ir.ops import Alloca, Atomic, Break, Const, Continue, For, If, Load, Store, Warn, While
from weft.ir.types import Pointer, Prim
from weft.ir.uniform import target_of

if TYPE_CHECKING:
    from weft.codegen.cpu.lanes import LaneWriter

__all__ = ["write_apart", "write_by_lane"]

_LEAST = 60  # lines: a shorter one is not worth a call
_BY_LANE = (Alloca, Atomic, Break, Const, Continue, For, If, Load, Store, Warn, While)  # and what is pure


def write_apart(f: FunctionWriter, block: Block, done: str) -> None:
    """Write a block that is seldom needed, and that nothing behind it takes values of; it goes on to `done`."""
    name, f.apart = f.apart, ""
    seldom, f.seldom = f.seldom, True
    first, slots, label = len(f.lines), len(f.slots), f.label
    scratches, record = f.scratches, f.record
    if name:
        f.scratches, f.record = {}, ""
    f.block(block)
    f.jump(done)
    f.apart, f.seldom = name, seldom
    inside = ops_of(block)
    effort = "" if any(isinstance(op, For | While) for op in inside) else "minsize"
    long = len(f.lines) - first >= _LEAST and f.lines_from is None
    if name and long and _cut(f, first, slots, (label, done), effort):
        f.scratches, f.record = scratches, record  # what else was made went with it
    else:
        f.scratches |= scratches
        f.record = record or f.record


def _cut(f: FunctionWriter, first: int, slots: int, ends: tuple[str, str], effort: str) -> bool:
    """Make a function of the lines from `first` on, and of the slots from there on, and call it; False: not possible.
    `ends`: the block that they begin, and the one that they go on to."""
    label, done = ends
    inside, own = f.lines[first:], f.slots[slots:]
    known = {f"%{label}", f"%{done}", *defined(own), *defined(inside), *labels(inside)}
    taken = dict.fromkeys(name for line in (*own, *inside) for name in USED.findall(line) if name not in known)
    ends_task = taken.pop(f"%{f.exit_label}", "") is None
    outer = defined(f.slots[:slots])
    used = {text: value.type for value, text in f.values.items() if text in taken}
    types = {text: spell(type) for text, type in used.items() if isinstance(type, Prim | Pointer)} | {"%ctx": "ptr"}
    types |= {register: type for register, type in defined(f.lines[:first]).items() if type}
    if any(register in outer or register not in types for register in taken):
        return False
    parameters = ", ".join(f"{types[register]} {register}" for register in taken)
    function = f.register(f"{f.apart}_apart")[1:]
    type, stay, leave = ("i1", "i1 false", "i1 true") if ends_task else ("void", "void", "void")
    head = f"define internal fastcc {type} @{function}({parameters}) cold noinline {effort} {f.module.attributes} {{"
    tail = (f"{done}:", f"  ret {stay}", f"{f.exit_label}:", f"  ret {leave}", "}\n")
    f.module.functions.append("\n".join((head, "entry:", *own, f"  br label %{label}", f"{label}:", *inside, *tail)))
    del f.slots[slots:]
    call, left = f"call fastcc {type} @{function}({parameters})", f.register("left")
    f.lines[first:] = (
        [f"  {left} = {call}", f"  br i1 {left}, label %{f.exit_label}, label %{done}"]
        if ends_task
        else [f"  {call}", f"  br label %{done}"]
    )
    return True


def write_by_lane(f: LaneWriter, block: Block, done: str) -> bool:
    """The same in lanes: one lane that is here after another. False, and nothing is written, where that is not
    possible."""
    inside = ops_of(block)
    own: set[Value] = {*inside, *(arg for op in inside for region in op.regions for arg in region.args)}
    taken = dict.fromkeys(value for op in inside for value in op.operands if value not in own)
    if f.many > 1 or not f.apart or not all(op.pure or isinstance(op, _BY_LANE) for op in inside):
        return False
    if any(target_of(op) not in own for op in inside if isinstance(op, Break | Continue)):
        return False
    if any(isinstance(root_of(value), Alloca) for value in taken if isinstance(value.type, Pointer)):
        return False
    if not all(value in f.values or isinstance(value, Const) for value in taken):
        return False
    with f.each() as number:
        mine = {value: f.of_lane(value, number) for value in taken}
        before = f.here, f.values
        f.here, f.values = (), ChainMap({}, mine, f.values)
        label, end = f.fresh_label("one"), f.fresh_label("rest")
        f.start(label)
        write_apart(f, block, end)
        f.start(end)
        f.here, f.values = before
    f.jump(done)
    return True
