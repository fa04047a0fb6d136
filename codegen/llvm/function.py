"""Emits one LLVM function as text: registers, basic blocks, stack slots, loops.

It emits text and uses no builder library: an f-string line costs a fraction of a microsecond, and the code shows the
IR. The functions in the `*_ops.py` files, registered with `@emits(OpClass)`, emit the ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from weft.codegen.llvm.spelling import constant, in_register
from weft.ir.core import Block, Op, Value
from weft.ir.errors import InternalError
from weft.ir.ops import Const
from weft.ir.types import Pointer, Prim, Type, u1

if TYPE_CHECKING:
    from collections.abc import Generator

    from weft.codegen.llvm.line_table import LineTable
    from weft.codegen.llvm.module import ModuleWriter
    from weft.ir.scopes import Scope

__all__ = ["EMITTERS", "Body", "FunctionWriter", "Jump", "Turn", "emits", "spell"]

OpT = TypeVar("OpT", bound=Op)
Emitters = Mapping[type[Op], Callable[[Any, Any], "str | None"]]
EMITTERS: dict[type[Op], Callable[[Any, Any], str | None]] = {}


def emits(cls: type[OpT]) -> Callable[[Callable[[FunctionWriter, OpT], str | None]], Any]:
    """Register the function that emits ops of class `cls`. It returns the name of the result, if there is one."""

    def register(function: Callable[[FunctionWriter, OpT], str | None]) -> Callable[[FunctionWriter, OpT], str | None]:
        EMITTERS[cls] = function
        return function

    return register


Turn = Callable[["FunctionWriter"], None]  # emits what comes after each iteration of a loop


@dataclass(frozen=True)
class Jump:
    """The targets of `break` and `continue` of the innermost loop."""

    stop: str
    next: str


@dataclass(frozen=True)
class Body:
    """The position of the body of a counted loop: the block `label` in the lines [begin, end), before the block
    `latch`."""

    label: str
    latch: str
    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin


@dataclass
class FunctionWriter:
    """The function that is being emitted.

    - `plain`: atomics become ordinary reads and writes, because one thread runs
    - `frozen`: metadata for loads of memory that the task does not write
    - `width`: the number of lanes of the current values (see `lanes.py`)
    - `moved`: the base addresses, by scope, of fields that are not in their tree
    - `alignments`: the alignment of addresses that are multiples of more than an element
    - `emitters`: the functions that emit ops
    - `draws`, `lane`, `stream`: number the random numbers (`stream`: if the caller provides it)
    - `floor`: the end of the stack
    - `record`: the error record, if it is tested
    - `lines_from`: the source lines of the program, if wanted
    - `apart`: the prefix of the names of functions that are split off (see `cold_versions.py`; empty: none are)
    - `seldom`: the current code is rarely needed
    - `joined`: the trees whose parts have one scope (see `joined_trees.py`)
    """

    module: ModuleWriter
    plain: bool = False
    exit_label: str = "exit"
    access_group: str = ""
    values: MutableMapping[Value, str] = field(default_factory=dict[Value, str])
    slots: list[str] = field(default_factory=list[str])
    scratches: dict[int, str] = field(default_factory=dict[int, str])
    lines: list[str] = field(default_factory=list[str])
    jumps: list[Jump] = field(default_factory=list[Jump])
    bodies: list[Body] = field(default_factory=list[Body])
    label: str = "start"
    open: bool = True
    lane: str = "0"
    draws: str = ""
    stream: str = ""
    floor: str = ""
    record: str = ""
    counter: int = 0
    frozen: str = ""
    width: int = 1
    moved: dict[Scope, str] = field(default_factory=dict["Scope", str])
    alignments: dict[str, int] = field(default_factory=dict[str, int])
    emitters: Emitters = field(default_factory=lambda: EMITTERS)
    lines_from: LineTable | None = None
    apart: str = ""
    seldom: bool = False
    joined: frozenset[int] = frozenset()

    # ---- registers and lines ----

    def register(self, hint: str = "v") -> str:
        """A fresh register name."""
        self.counter += 1
        return f"%{hint}{self.counter}"

    def set(self, text: str, hint: str = "v") -> str:
        """Write `%fresh = text` and give the register."""
        name = self.register(hint)
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Write an instruction without result."""
        self.lines.append(f"  {text}")

    def stack(self, type: str, align: int = 8) -> str:
        """A stack slot: written into the entry block, where LLVM turns it into registers."""
        name, space = self.register("s"), self.module.local_space
        if not space:
            self.slots.append(f"  {name} = alloca {type}, align {align}")
            return name
        self.slots.append(f"  {name}.local = alloca {type}, align {align}, {space}")
        self.slots.append(f"  {name} = addrspacecast ptr {space} {name}.local to ptr")
        return name

    def scratch(self, words: int) -> str:
        """A stack slot of this many 64-bit words, which nothing reads any more when the next user writes to it: the
        values that a call takes by address."""
        if words not in self.scratches:
            self.scratches[words] = self.stack(f"[{words} x i64]")
        return self.scratches[words]

    # ---- blocks ----

    def fresh_label(self, hint: str) -> str:
        """A label not used yet."""
        self.counter += 1
        return f"{hint}{self.counter}"

    def start(self, label: str) -> None:
        """Begin the block `label`. An unfinished block falls through to it."""
        self.jump(label)
        self.lines.append(f"{label}:")
        self.label, self.open = label, True

    def jump(self, label: str) -> None:
        """End the current block with a branch, if it has not ended already."""
        if self.open:
            self.do(f"br label %{label}")
            self.open = False

    def branch(self, condition: str, yes: str, no: str, metadata: str = "") -> None:
        """End the current block with a two-way branch."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}{metadata}")
        self.open = False

    @contextmanager
    def loop(
        self,
        begin: str,
        end: str,
        metadata: str = "",
        type: str = "i64",
        turn: Turn | None = None,
    ) -> Generator[str, None, None]:
        """A loop that counts [begin, end) by one. Gives the index. `continue` and `break` of the body jump to its ends.
        `turn` emits what comes after each iteration."""
        head, body, latch, done = (self.fresh_label(hint) for hint in ("head", "body", "latch", "done"))
        after = self.fresh_label("turn") if turn else latch
        index, following = self.register("i"), self.register("n")
        self.jump(head)
        before = self.label
        self.lines.append(f"{head}:")
        self.lines.append(f"  {index} = phi {type} [ {begin}, %{before} ], [ {following}, %{latch} ]")
        self.label, self.open = head, True
        self.branch(self.set(f"icmp slt {type} {index}, {end}"), body, done)
        self.start(body)
        self.jumps.append(Jump(done, after))
        first = len(self.lines)
        yield index
        self.jumps.pop()
        self.jump(after)
        self.bodies.append(Body(f"%{body}", f"%{after}", first, len(self.lines)))
        if turn:
            self.start(after)
            turn(self)
        self.start(latch)
        self.lines.append(f"  {following} = add nsw {type} {index}, 1")
        self.do(f"br label %{head}{metadata}")
        self.open = False
        self.start(done)

    # ---- values ----

    def use(self, value: Value) -> str:
        """The operand text of a value: a literal, or the register its op was written to."""
        name = self.values.get(value)
        if name is not None:
            return name
        if isinstance(value, Const):
            assert isinstance(value.type, Prim)
            return constant(value.value, value.type)
        raise InternalError(f"codegen: {value!r} is used before it is written")

    def typed(self, value: Value) -> str:
        """Type and operand text of a value."""
        return f"{self.spell(value.type)} {self.use(value)}"

    @property
    def truth(self) -> str:
        """The type of a condition."""
        return self.spell(u1)

    def spell(self, type: Type) -> str:
        """The LLVM type of a value: of one, or of one for each lane."""
        return spell(type) if self.width == 1 else f"<{self.width} x {spell(type)}>"

    def suffix(self, type: Prim) -> str:
        """The suffix of the name of an intrinsic for such values."""
        one = f"f{type.bits}" if type.is_float else f"i{type.bits}"
        return one if self.width == 1 else f"v{self.width}{one}"

    def literal(self, value: int | float | bool, type: Prim) -> str:
        """A constant, the same in all lanes."""
        text = constant(value, type)
        return text if self.width == 1 else f"splat ({in_register(type)} {text})"

    def block(self, block: Block) -> None:
        """Write all ops of a block."""
        for op in block:
            if not self.open:
                return
            self.op(op)

    def op(self, op: Op) -> None:
        """Write one op, and where it comes from."""
        if self.lines_from is None:
            self.write(op)
            return
        first = len(self.lines)
        self.write(op)
        self.lines_from.mark(self.lines, first, op.span)

    def write(self, op: Op) -> None:
        """Write one op."""
        emitter = self.emitters.get(type(op))
        if emitter is None:
            raise InternalError(f"codegen has no way to write '{op.opname}': {op!r}")
        result = emitter(self, op)
        if result is not None:
            self.values[op] = result

    def text(self, signature: str) -> str:
        """The finished function. Every path ends at the exit label, which returns."""
        self.jump(self.exit_label)
        body = "\n".join(["entry:", *self.slots, "  br label %start", "start:", *self.lines])
        return f"{signature} {{\n{body}\n{self.exit_label}:\n  ret void\n}}\n"


def spell(type: Type) -> str:
    """The LLVM type of any value in code generation."""
    if isinstance(type, Prim):
        return in_register(type)
    if isinstance(type, Pointer):
        return "ptr"
    raise InternalError(f"codegen: a value of type {type} should have been lowered")
