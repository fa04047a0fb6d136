"""The code of a kernel for a GPU in the terms of the host: what no CPU has becomes calls of `blocks`, or plain code."""

from __future__ import annotations

import re

from tests.emulated.blocks import DECLARATIONS, REGISTERS
from weft.codegen.llvm import machine

__all__ = ["block_rules", "host_text", "meets"]

# The hardware's approximations, more exact than it has them.
_APPROXIMATE = """
define internal float @weft_div.full.ftz(float %a, float %b) { %r = fdiv float %a, %b ret float %r }
define internal float @weft_rsqrt.approx.ftz.f(float %x) {
  %s = call float @llvm.sqrt.f32(float %x)
  %r = fdiv float 1.0, %s
  ret float %r
}
define internal float @weft_sqrt.approx.ftz.f(float %x) { %r = call float @llvm.sqrt.f32(float %x) ret float %r }
define internal float @weft_ex2.approx.ftz.f(float %x) { %r = call float @llvm.exp2.f32(float %x) ret float %r }
define internal float @weft_lg2.approx.ftz.f(float %x) { %r = call float @llvm.log2.f32(float %x) ret float %r }
"""

# What threads do together.
_MEETINGS = re.compile(r"@llvm\.nvvm\.(shfl|vote|match|barrier|activemask|bar\.warp)")
_DYNAMIC = 256 << 10  # bytes of shared memory that come with a launch, at most


def meets(device: str) -> bool:
    """Whether threads do something together."""
    return _MEETINGS.search(device) is not None


def block_rules(device: str) -> dict[str, tuple[str, int]]:
    """What the code says of the blocks of each entry: "reqntid" or "maxntid", and the number."""
    found = re.findall(r'define ptx_kernel void @(\w+)\(.*"nvvm\.(reqntid|maxntid)"="(\d+)"', device)
    return {name: (kind, int(number)) for name, kind, number in found}


def host_text(device: str) -> str:
    """The device's module as one for the host."""
    text = device.split("\n", 2)[2]
    text = text.replace("ptx_kernel ", "").replace("@__nv_", "@")
    text = re.sub(r"ptr byval\(\[\d+ x i64\]\) align 8( \"nvvm.grid_constant\")? %ctx", "ptr noalias %ctx", text)
    for number, name in enumerate(REGISTERS):
        place = f"getelementptr ([{len(REGISTERS)} x i32], ptr @emu_registers, i32 0, i32 {number})"
        text = text.replace(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()", f"load volatile i32, ptr {place}")
    text = re.sub(
        r"@weft_dynamic = external (.*)\[0 x i8\]", rf"@weft_dynamic = internal \1[{_DYNAMIC} x i8] poison", text
    )
    text = re.sub(
        r"(define internal void @weft_add_v\d\(ptr %p, [^\n]*\{\n).*?\n\}\n",
        lambda match: match[1] + _sums(match[1].count("float")) + "}\n",
        text,
        flags=re.S,
    )
    text = _ALIGNED.sub(r"  call void @emu_aligned(ptr \1, i64 \2)\n\g<0>", text)
    defined = [_DEFINITIONS[name] for name in _DEFINITIONS if f"@llvm.nvvm.{name}(" in text]
    text = re.sub(r"@llvm\.nvvm\.(\w+(\.approx|\.full)\.ftz)", r"@weft_\1", re.sub(_DECLARED, "", text))
    text = text.replace("@llvm.nvvm.", "@nvvm_")
    for name in ("sqrt", "exp2", "log2"):
        if f"declare float @llvm.{name}.f32" not in text:
            text = f"declare float @llvm.{name}.f32(float)\n" + text
    return machine.host_cpu(0).header + text + DECLARATIONS + "".join(defined) + _APPROXIMATE


# Accesses that say more of their address than what their type does: a GPU refuses words that do not lie well.
_ALIGNED = re.compile(
    r"^  (?:%\w+ = load (?:i8|i16|i32|half|float)|store (?:i8|i16|i32|half|float) [^,]+), ptr (%\w+), align (8|16)\b",
    re.MULTILINE,
)
_DECLARED = re.compile(r"^declare .*@llvm\.nvvm\..*\n", re.MULTILINE)


def _sums(width: int) -> str:
    """Sums into neighbours, one by one."""
    lines = list[str]()
    for k in range(width):
        lines.append(f"  %p{k} = getelementptr float, ptr %p, i64 {k}")
        lines.append(f"  %o{k} = atomicrmw fadd ptr %p{k}, float %v{k} monotonic")
    return "\n".join([*lines, "  ret void\n"])


def _function(result: str, name: str, takes: str, body: str) -> tuple[str, str]:
    return name, f"define internal {result} @nvvm_{name}({takes}) {{ {body} }}\n"


def _definitions() -> dict[str, str]:
    """The intrinsics of what threads do together, by calls of `blocks`."""
    wait = "%r = call i32 @emu_barrier(i32 0, i1 false)\nret void"
    made = [_function("void", "barrier.cta.sync.aligned.all", "i32 %i", wait)]
    for number, how in enumerate(("popc", "and", "or")):
        result = "i32" if how == "popc" else "i1"
        give = "ret i32 %r" if how == "popc" else "%t = trunc i32 %r to i1\nret i1 %t"
        code = f"%r = call i32 @emu_barrier(i32 {number}, i1 %b)\n{give}"
        made.append(_function(result, f"barrier.cta.red.{how}.aligned.all", "i32 %i, i1 %b", code))
    for number, how in enumerate(("all", "any", "uni")):
        code = f"%r = call i32 @emu_vote(i32 {number}, i32 %m, i1 %b)\n%t = trunc i32 %r to i1\nret i1 %t"
        made.append(_function("i1", f"vote.{how}.sync", "i32 %m, i1 %b", code))
    code = "%r = call i32 @emu_vote(i32 3, i32 %m, i1 %b)\nret i32 %r"
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
    wait = "%r = call i32 @emu_vote(i32 3, i32 %m, i1 false)\nret void"
    made.append(_function("void", "bar.warp.sync", "i32 %m", wait))
    made += [_function("void", f"membar.{scope}", "", "ret void") for scope in ("cta", "gl")]
    return dict(made)


_DEFINITIONS = _definitions()
