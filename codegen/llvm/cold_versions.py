"""Moves the rarely needed version of a block to a function of its own (see `mask_accesses`).

    br i1 %ok, %then, %else                          br i1 %ok, %then, %else
    else: <hundreds of lines> br label %done   ->    else: call fastcc void @f_apart1(float %v3, ptr %ctx) br %done

LLVM takes more than linear time in the length of a function, most of it for register allocation. If both versions are
in one function, the rare one also takes registers from the other.

The function takes the registers that it uses as parameters. If it may end the task (a failed assertion, an interrupt),
it returns whether it did. The version stays in place if it is short, if it leaves the block in another way than these
(`continue`), if it calls a recursive function, or if it takes the address of a local, which the other version could
then not keep in registers. It stays in place with debug lines, which belong to one function.
"""

from __future__ import annotations

from weft.codegen.llvm.function import ColdCode, EntryValues, FunctionWriter, spell
from weft.codegen.llvm.outline import USED, defined, labels
from weft.ir.core import Block, ops_of
from weft.ir.ops import For, While

__all__ = ["write_apart"]

_LEAST = 60  # lines: a shorter one is not worth a call


def write_apart(f: FunctionWriter, block: Block, done: str) -> None:
    """Emit a block that is rarely needed and whose values no later op uses. It continues at `done`."""
    outside, before = f.cold, f.entry
    f.cold = ColdCode(inside=True)
    first, slots, label = len(f.lines), len(f.slots), f.label
    if outside.prefix:
        f.entry = EntryValues(before.floor, before.frame)
    f.block(block)
    f.jump(done)
    f.cold = outside
    inside = ops_of(block)
    effort = "" if any(isinstance(op, For | While) for op in inside) else "minsize"
    long = len(f.lines) - first >= _LEAST and f.lines_from is None
    moved = _cut(f, first, slots, (label, done), effort) if outside.prefix and long else False
    if moved:
        f.entry = before  # what the block needs moved with it
    else:
        f.entry.scratches |= before.scratches
        f.entry.record = before.record or f.entry.record


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
    types = {text: spell(type) for text, type in used.items()} | {"%ctx": "ptr"}
    types |= {register: type for register, type in defined(f.lines[:first]).items() if type}
    if any(register in outer or register not in types for register in taken):
        return False
    parameters = ", ".join(f"{types[register]} {register}" for register in taken)
    function = f.register(f"{f.cold.prefix}_apart")[1:]
    type, stay, leave = ("i1", "i1 false", "i1 true") if ends_task else ("void", "void", "void")
    head = f"define internal fastcc {type} @{function}({parameters}) cold noinline {effort} {f.target.attributes} {{"
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
