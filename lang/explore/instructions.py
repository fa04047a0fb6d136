"""What instructions do: a line of explanation for each that the texts of a page have.

Ops of the IR are explained by their docstrings. The tables below have the instructions of LLVM, x86 and PTX that
kernels use most. A name is looked up as it is, and then without its endings: `ld.global.f32` is a `ld`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable

from weft.ir.core import OPS

__all__ = ["OPCODE", "explained"]

# The instruction of a line, in all levels: `%0 = load ...`, `lock incl ...`, `@%p1 bra ...`. `legend.js` has the same.
OPCODE = re.compile(r"\s*(?:@!?%\w+\s+)?(?:[%@$\w.\[\], ]+ = )?(?:tail |lock\s+)?([a-z_][\w.]*)")


def _table(rows: str) -> dict[str, str]:
    """The table whose rows are `names: text`."""
    parts = [row.strip().split(": ", 1) for row in rows.strip().splitlines()]
    return {name: text for names, text in parts for name in names.split()}


_LLVM = _table(
    """
    add: adds integers
    sub: subtracts integers
    mul: multiplies integers
    shl: shifts left
    sdiv: divides signed integers
    udiv: divides unsigned integers
    srem: remainder of signed integers
    urem: remainder of unsigned integers
    lshr: shifts right, zeros fill
    ashr: shifts right, the sign fills
    and: bits that both have
    or: bits that one has at least
    xor: bits that only one has
    fadd: adds floats
    fsub: subtracts floats
    fmul: multiplies floats
    fdiv: divides floats
    frem: remainder of floats
    fneg: changes the sign of a float
    icmp: compares integers or addresses
    fcmp: compares floats
    select: takes one of two values, without a branch
    phi: the value that the branch taken to this block brings
    br: goes to a block; with a condition, to one of two
    switch: goes to the block of a number
    ret: ends the function
    call: calls a function
    load: reads memory
    store: writes memory
    alloca: reserves memory on the stack
    getelementptr: computes an address; it reads nothing
    atomicrmw: changes memory in one atomic operation
    cmpxchg: writes memory if it still has the expected value, atomically
    fence: orders accesses to memory
    sext: widens a signed integer
    zext: widens an unsigned integer
    trunc: drops the high bits
    fpext: converts to a wider float
    fptrunc: converts to a narrower float
    sitofp: converts a signed integer to a float
    uitofp: converts an unsigned integer to a float
    fptosi: converts a float to a signed integer
    fptoui: converts a float to an unsigned integer
    bitcast: the same bits as another type
    freeze: an unknown value becomes any fixed one
    insertelement: sets one lane of a vector
    extractelement: takes one lane of a vector
    shufflevector: takes lanes of two vectors in another order
    declare: a function that is defined elsewhere
    define: a function begins
    unreachable: execution never gets here
    """
)

_X86 = _table(
    """
    mov: copies a value
    movs: copies and widens a signed integer
    movz: copies and widens an unsigned integer
    lea: computes an address, or a sum, without reading memory
    add vpadd: adds integers
    sub vpsub: subtracts integers
    inc: adds 1
    dec: subtracts 1
    imul vpmul: multiplies integers
    idiv: divides signed integers, slowly
    div: divides unsigned integers, slowly
    neg: changes the sign
    not: inverts all bits
    and: bits that both have
    or: bits that one has at least
    xor: bits that only one has; of a register with itself: sets it to 0
    shl vpsll: shifts left
    shr vpsrl: shifts right, zeros fill
    sar vpsra: shifts right, the sign fills
    cmp: compares, for a jump or move that follows
    test: compares the common bits with 0
    jmp: goes on elsewhere
    j: goes on elsewhere if the last comparison says so
    set: 1 or 0: what the last comparison says
    cmov: copies if the last comparison says so
    call: calls a function
    ret: returns to the caller
    push: saves a register on the stack
    pop: restores a register from the stack
    lock: makes the next instruction atomic
    nop: does nothing
    xchg: exchanges two values
    xadd: adds and returns the old value
    cmpxchg: writes if the value is still the expected one
    prefetch: asks the cache to read ahead
    bt: tests one bit
    popcnt: counts bits
    lzcnt: counts leading zeros
    kmov: copies a mask of lanes
    kortest: tests whether masks of lanes are 0
    kunpck: joins two masks of lanes
    kand: lanes that both masks have
    kor: lanes that one mask has
    vzeroupper: clears the upper parts of vector registers, before code without them
    vmovup: reads or writes a whole vector, at any address
    vmovap: copies a whole vector, at an aligned address
    vmovdqu: reads or writes a whole vector of integers
    vmovdqa: copies a whole vector of integers
    vmovnt: writes a whole vector past the caches
    vmovs: copies
    vmovd: copies 32 bits between a vector register and another one
    vmovq: copies 64 bits between a vector register and another one
    vadd: adds floats
    vsub: subtracts floats
    vmul: multiplies floats
    vdiv: divides floats, slowly
    vsqrt: square root, slowly
    vmax: maximum of floats
    vmin: minimum of floats
    vfmadd: multiplies and adds in one step
    vfmsub: multiplies and subtracts in one step
    vfnmadd: subtracts a product in one step
    vcmp: compares floats, into a mask
    vucomi: compares two floats
    vand vpand: common bits of vectors
    vor vpor: bits of one of two vectors at least
    vxor: bits of only one vector; of a register with itself: 0
    vround vrndscale: rounds to whole numbers
    vbroadcast: copies one number to all lanes
    vgather vpgather: reads each lane from its own address, slowly
    vscatter vpscatter: writes each lane to its own address, slowly
    vshuf vperm vpshuf: moves lanes
    vunpck: interleaves lanes
    vextract: takes a part of a vector
    vinsert: sets a part of a vector
    vblend vpblend: takes each lane from one of two vectors
    vcvt: converts numbers to another type
    vpcmp: compares integers
    vpxor: bits of only one vector
    vpmax: maximum of integers
    vpmin: minimum of integers
    vpbroadcast: copies one integer to all lanes
    vpextr: takes one lane
    vpinsr: sets one lane
    vpmov: converts integers to another width
    vptern: any operation on the bits of three vectors
    vpabs: absolute value of integers
    """
)

_LANES = {"ps": "f32 in each lane", "pd": "f64 in each lane", "ss": "one f32", "sd": "one f64"}

_PTX = _table(
    """
    ld: reads memory
    st: writes memory
    mov: copies a value
    add: adds
    sub: subtracts
    mul: multiplies
    mad: multiplies and adds
    fma: multiplies and adds in one step
    div: divides
    rem: remainder
    neg: changes the sign
    abs: absolute value
    min: minimum
    max: maximum
    sqrt: square root
    rsqrt: 1 / square root
    rcp: reciprocal
    sin: sine, approximate
    cos: cosine, approximate
    ex2: 2 to a power
    lg2: logarithm to base 2
    setp: compares, into a predicate
    selp: takes one of two values
    and: bits that both have
    or: bits that one has at least
    xor: bits that only one has
    not: inverts all bits
    shl: shifts left
    shr: shifts right
    cvt: converts to another type
    cvta: converts an address to one of a memory space
    bra: goes on elsewhere; with a predicate, if it holds
    ret: ends the thread or function
    call: calls a function
    bar barrier: waits for the threads of the block
    membar fence: orders accesses to memory
    atom: changes memory in one atomic operation, returns the old value
    red: changes memory in one atomic operation
    shfl: takes the value of another lane of the warp
    vote: what the lanes of the warp agree on
    activemask: the lanes that are here
    match: the lanes that have the same value
    redux: combines the values of a warp
    prmt: picks bytes
    bfe: takes some bits
    clz: counts leading zeros
    popc: counts bits
    lop3: any operation on the bits of three values
    """
)


def explained(level: str, lines: Iterable[str]) -> dict[str, str]:
    """What each instruction does that the lines of a level have, by name. Those that nobody knows are left out."""
    known = _LEVELS.get(level, _of_ir)
    words = {found[1] for line in lines if (found := OPCODE.match(line))}
    return {word: text for word in sorted(words) if (text := known(word))}


def _of_ir(word: str) -> str:
    if word not in OPS:
        return ""
    text = " ".join((inspect.getdoc(OPS[word]) or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".")


def _of_llvm(word: str) -> str:
    return _LLVM.get(word, "")


def _of_x86(word: str) -> str:
    for length in range(len(word), 0, -1):
        stem = word[:length]
        if stem in _X86 and (length > 1 or word[0] == "j"):
            lanes = _LANES.get(word[-2:], "") if stem.startswith("v") else ""
            return f"{_X86[stem]} ({lanes})" if lanes else _X86[stem]
    return ""


def _of_ptx(word: str) -> str:
    return _PTX.get(word.partition(".")[0], "")


_LEVELS: dict[str, Callable[[str], str]] = {
    "llvm": _of_llvm,
    "llvm_optimized": _of_llvm,
    "asm": _of_x86,
    "ptx": _of_ptx,
    "tree": lambda word: "",
    "sass": lambda word: "",
}
