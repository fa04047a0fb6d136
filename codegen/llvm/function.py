"""Emits the ops of one function as LLVM text. The functions in the `*_ops.py` files, registered with `@emits(OpClass)`,
emit one kind of op each.

The state of a function consists of small types: the text so far (`Code`), how the target spells what all targets have
(`TargetHooks`), what holds for its accesses to memory (`MemoryFacts`), its random numbers (`RandomState`), what its
entry block computes once (`EntryValues`), and its rarely needed code (`ColdCode`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from weft.codegen.llvm.code import Body, Code, Jump
from weft.codegen.llvm.spelling import constant, in_register
from weft.ir.core import Block, Op, Value
from weft.ir.errors import InternalError
from weft.ir.ops import Const
from weft.ir.registry import registers
from weft.ir.types import Lanes, Pointer, Prim, Type, u1

if TYPE_CHECKING:
    from collections.abc import Generator

    from weft.codegen.llvm.line_table import LineTable
    from weft.codegen.llvm.module import ModuleWriter
    from weft.ir.scopes import Scope

__all__ = [
    "EMITTERS",
    "AfterIteration",
    "Body",
    "ColdCode",
    "Emitters",
    "EntryValues",
    "FunctionWriter",
    "Jump",
    "MathLibrary",
    "MemoryFacts",
    "RandomState",
    "TargetHooks",
    "emits",
    "spell",
]

Emitters = Mapping[type[Op], Callable[[Any, Any], "str | None"]]
EMITTERS: dict[type[Op], Callable[[Any, Any], str | None]] = {}


emits = registers(EMITTERS)  # what emits ops of a class; it gives the name of the result, if there is one


AfterIteration = Callable[["FunctionWriter"], None]  # emits what comes after each iteration of a loop


class MathLibrary(Protocol):
    """How a target computes sin, exp, pow ..."""

    def __call__(self, f: FunctionWriter, kind: str, type: Prim, *operands: str) -> str:
        """Emit a call of the function `kind` on operands of `type`. Gives the register of the result."""
        ...


@dataclass(frozen=True)
class TargetHooks:
    """How a target spells what all targets have. The emitters that targets share ask here."""

    math: MathLibrary
    # The operators on a type that the target emits in its own way, by kind.
    own: Mapping[tuple[str, Prim], Callable[..., str]] = field(default_factory=dict[tuple[str, Prim], Any])
    leave_if_failed: Callable[[FunctionWriter], None] | None = None  # leaves a function after a called one has failed
    floor: tuple[str, ...] = ()  # the lines of an entry block that compute %floor, the end of the stack
    attributes: str = "nounwind"  # of functions
    sync_scope: str = ""  # the threads that take part in atomics; empty: all; else it ends in a space
    tree_base: str = ""  # metadata on the addresses of SNode trees
    local_space: str = ""  # the address space of locals; empty: the default one
    vectorized: bool = False  # LLVM may vectorize the code


@dataclass
class RandomState:
    """How the random numbers of a function are numbered (see `ir/philox.py`)."""

    draws: str = ""  # the slot that counts the draws of an iteration; empty: nothing here draws
    lane: str = "0"  # the number of the iteration, as an i64
    stream: str = ""  # the number of the stream, where the caller of a function passes it


@dataclass
class MemoryFacts:
    """What holds for the accesses to memory of a function, or of the task that it runs."""

    plain: bool = False  # one thread runs, so atomics are ordinary reads and writes
    group: str = ""  # the metadata node of accesses that do not depend on other iterations; empty: none are known
    frozen: str = ""  # the metadata of loads from memory that the task does not write
    moved: dict[Scope, str] = field(default_factory=dict["Scope", str])  # the addresses of private copies of fields
    joined: frozenset[int] = frozenset()  # the trees whose parts have one scope (see `joined_trees.py`)
    alignments: dict[str, int] = field(default_factory=dict[str, int])  # of addresses, where more than an element's
    written: dict[Op, set[Hashable]] = field(default_factory=dict[Op, "set[Hashable]"])  # the spaces that a task writes


@dataclass
class EntryValues:
    """Registers that the entry block defines as soon as something needs them. Empty: nothing does yet."""

    floor: str = ""  # the address below which the stack must not grow
    frame: int = 0  # the bytes of the arrays of a function
    record: str = ""  # the address of the error record
    scratches: dict[int, str] = field(default_factory=dict[int, str])  # slots for arguments, by their number of words


@dataclass
class ColdCode:
    """Blocks that rarely run (see `cold_versions.py`)."""

    prefix: str = ""  # of the names of the functions that blocks are moved to; empty: they stay in place
    inside: bool = False  # whether the current block is one


@dataclass
class FunctionWriter(Code):
    """The function that is being emitted."""

    module: ModuleWriter  # that the function becomes a part of
    target: TargetHooks  # what the target spells in its own way
    emitters: Emitters = field(default_factory=lambda: EMITTERS)  # the functions that emit ops, by class
    values: MutableMapping[Value, str] = field(default_factory=dict[Value, str])  # the registers of ops and arguments
    width: int = 1  # the number of lanes of the current values (see `cpu/vectors.py`)
    random: RandomState = field(default_factory=RandomState)  # numbers the random numbers
    memory: MemoryFacts = field(default_factory=MemoryFacts)  # what holds for accesses
    entry: EntryValues = field(default_factory=EntryValues)  # what the entry block computes
    cold: ColdCode = field(default_factory=ColdCode)  # what is moved to functions of its own
    lines_from: LineTable | None = None  # the source lines of the program, if wanted
    twice: bool = False  # a loop that is probably short is emitted twice
    in_lanes: bool = False  # the current code runs iterations in SIMD lanes

    # ---- stack slots and loops ----

    def stack(self, type: str, align: int = 8) -> str:
        """A stack slot: written into the entry block, where LLVM turns it into registers."""
        name, space = self.register("s"), self.target.local_space
        if not space:
            self.slots.append(f"  {name} = alloca {type}, align {align}")
            return name
        self.slots.append(f"  {name}.local = alloca {type}, align {align}, {space}")
        self.slots.append(f"  {name} = addrspacecast ptr {space} {name}.local to ptr")
        return name

    def scratch(self, words: int) -> str:
        """A stack slot of this many 64-bit words, which nothing reads any more when the next user writes to it: the
        values that a call takes by address."""
        known = self.entry.scratches
        if words not in known:
            known[words] = self.stack(f"[{words} x i64]")
        return known[words]

    @contextmanager
    def loop(
        self,
        begin: str,
        end: str,
        metadata: str = "",
        type: str = "i64",
        after_iteration: AfterIteration | None = None,
    ) -> Generator[str, None, None]:
        """A loop that counts [begin, end) by one. Gives the index. `continue` and `break` of the body jump to its ends.
        `after_iteration` emits what comes after each iteration."""
        head, body, latch, done = (self.fresh_label(hint) for hint in ("head", "body", "latch", "done"))
        after = self.fresh_label("check") if after_iteration else latch
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
        if after_iteration:
            self.start(after)
            after_iteration(self)
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
        raise InternalError(f"codegen: {value!r} is used before its op was emitted")

    def typed(self, value: Value) -> str:
        """Type and operand text of a value."""
        return f"{self.spell(value.type)} {self.use(value)}"

    @property
    def truth(self) -> str:
        """The type of a condition."""
        return self.spell(u1)

    def spell(self, type: Type) -> str:
        """The LLVM type of a value: of one, or of one for each lane."""
        one = self.width == 1 or isinstance(type, Lanes)
        return spell(type) if one else f"<{self.width} x {spell(type)}>"

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
            raise InternalError(f"codegen has no emitter for '{op.opname}': {op!r}")
        result = emitter(self, op)
        if result is not None:
            self.values[op] = result


def spell(type: Type) -> str:
    """The LLVM type of any value in code generation."""
    if isinstance(type, Prim):
        return in_register(type)
    if isinstance(type, Pointer):
        return "ptr"
    if isinstance(type, Lanes):
        return f"<{type.count} x {spell(type.elem)}>"
    raise InternalError(f"codegen: a value of type {type} should have been lowered")
