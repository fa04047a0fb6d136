"""The state of `lower_tree`: where ops are inserted, the binding of each local, and how a jump leaves several loops.

The `break` of the IR leaves one loop. Some jumps must leave several loops: a `return` of an inlined function, or a
`break` of a nest that the user wrote as one loop. Such a jump sets a flag and leaves the innermost loop. A test of the
flag follows each loop on the way out:

    %flag = alloca; store false
    for { for { store %flag, true; break }; if load %flag { break } }; if load %flag { <the jump> }
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from weft.ir import ops, tree
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Op, Value
from weft.ir.errors import CompilationError, InternalError, Span, TypeMismatch
from weft.ir.scalar import binary_type
from weft.ir.shared_locals import Loop, LoopLocals, root_variable
from weft.ir.types import Prim, Type, element, i32, pointer, shape_of, u1, with_element

__all__ = ["Frame", "Inlined", "Lowering", "ends", "lowers"]

EXPRESSIONS: dict[type[tree.Expr], Callable[[Lowering, Any], Value]] = {}
STATEMENTS: dict[type[tree.Stmt], Callable[[Lowering, Any], None]] = {}
Lower = TypeVar("Lower", bound=Callable[..., Any])
OpT = TypeVar("OpT", bound=Op)
PARALLEL = (ops.ParallelFor, ops.StructFor)


def lowers(kind: type[tree.Expr] | type[tree.Stmt]) -> Callable[[Lower], Lower]:
    """Register the function that lowers tree nodes of class `kind`."""

    def register(function: Lower) -> Lower:
        table: dict[Any, Any] = EXPRESSIONS if issubclass(kind, tree.Expr) else STATEMENTS
        table[kind] = function
        return function

    return register


def ends(block: Block) -> bool:
    """Whether nothing after the last op of `block` can run."""
    last = block.last
    if isinstance(last, ops.If):
        return ends(last.then) and ends(last.orelse)
    return last is not None and last.terminator


@dataclass(eq=False)
class Jump:
    """A jump to the end (Break) or the next iteration (Continue) of an outer loop, and the flag that it sets."""

    target: Frame
    action: type[ops.Break] | type[ops.Continue]
    flag: Value


@dataclass(eq=False)
class Frame:
    """A loop of the IR that is being filled. `jumps` pass through it. The flags of `known` are allocated just before
    it."""

    op: Op
    jumps: list[Jump] = field(default_factory=list["Jump"])
    known: list[Jump] = field(default_factory=list["Jump"])


@dataclass(eq=False)
class Inlined:
    """An inlined call that is being filled: where its value is stored, and the one-trip loop that an early return
    leaves."""

    type: Type
    place: Value | None = None
    value: Value | None = None
    frame: Frame | None = None


class Lowering:
    """The state while one kernel is lowered from its tree to ops."""

    def __init__(
        self,
        kernel: ops.Kernel,
        config: CompileConfig,
        memory: set[tree.Variable],
        sharing: dict[Loop, LoopLocals],
    ) -> None:
        self.kernel, self.config, self.memory = kernel, config, memory
        self.builder = Builder(kernel.body)
        self.locals: dict[tree.Variable, Value] = {}
        self.shared: dict[tree.Shared, Value] = {}
        self.frames: list[Frame] = []
        self.loops: list[tuple[Frame, Frame]] = []  # the user's loops: the targets of `break` and of `continue`
        self.calls: list[Inlined] = []
        self.constants: dict[tuple[Block, Type, str], ops.Const] = {}
        self.sharing = sharing
        self.loop_locals = LoopLocals()  # of the current parallel loop
        self.parallel_loops = 0  # the number of parallel loops so far
        self.drawing = frozenset[str]()  # the functions that draw random numbers
        self.stream = 0  # of random numbers: the number of the current parallel loop, from 1

    # -- emitting ------------------------------------------------------------------------------------------------------

    def add(self, op: OpT) -> OpT:
        """Append `op` at the current point."""
        return self.builder.add(op)

    def const(self, value: int | float | bool, type: Type) -> Value:
        """A constant. There is one op per block and value."""
        key = (self.builder.block, type, repr(value))
        if key not in self.constants:
            self.constants[key] = self.add(ops.Const(value, type=type))
        return self.constants[key]

    def index(self, value: int) -> Value:
        """An i32 constant."""
        return self.const(value, i32)

    def cast(self, value: Value, type: Type) -> Value:
        """Convert `value` to `type`. `infer_types` inserts the actual ops."""
        return value if value.type is type else self.add(ops.Cast(value, type=type))

    def binary(self, kind: str, lhs: Value, rhs: Value) -> Value:
        """A binary operator whose result type is not given by the tree."""
        wide = lhs if shape_of(lhs.type) else rhs
        return self.add(ops.Binary(kind, lhs, rhs, type=with_element(wide.type, self.result_of(kind, lhs, rhs))))

    def result_of(self, kind: str, lhs: Value, rhs: Value) -> Prim:
        """The element type of its result."""
        try:
            return binary_type(kind, element(lhs.type), element(rhs.type), self.config.default_fp)[2]
        except TypeError as error:
            raise TypeMismatch(str(error), self.builder.span) from error

    def local(self, type: Type, name: str = "") -> ops.Alloca:
        """Allocate memory for a local of that type."""
        return self.add(ops.Alloca(type=pointer(type), name=name))

    def load(self, ptr: Value) -> Value:
        """Load the value at `ptr`."""
        return self.add(ops.Load(ptr))

    def store(self, ptr: Value, value: Value, relaxed: bool = False) -> None:
        """Store `value` at `ptr`."""
        self.add(ops.Store(ptr, value, relaxed))

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Emit ops at the end of `block` until the context ends."""
        outer, self.builder = self.builder, Builder(block, span=self.builder.span)
        try:
            yield
        finally:
            self.builder = outer

    def branch(self, condition: Value) -> ops.If:
        """An `If` with empty branches."""
        return self.add(ops.If(condition))

    # -- the tree ------------------------------------------------------------------------------------------------------

    def value(self, expr: tree.Expr) -> Value:
        """Lower an expression."""
        outer = self.builder.span
        self.builder.span = expr.span or outer
        result = EXPRESSIONS[type(expr)](self, expr)
        self.builder.span = outer
        return result

    def values(self, exprs: Sequence[tree.Expr]) -> list[Value]:
        """Lower several expressions in order."""
        return [self.value(expr) for expr in exprs]

    def run(self, body: Sequence[tree.Stmt]) -> None:
        """Lower statements one after another, up to the first one that cannot be reached."""
        for stmt in body:
            if ends(self.builder.block):
                return
            self.statement(stmt)

    def statement(self, stmt: tree.Stmt) -> None:
        """Lower one statement."""
        self.builder.span = stmt.span or self.builder.span
        STATEMENTS[type(stmt)](self, stmt)

    def bind(self, variable: tree.Variable, value: Value) -> None:
        """Give a local its first value. It is memory if the local is assigned later, else just the value."""
        if variable in self.memory:
            self.locals[variable] = self.local(variable.type, variable.name)
            self.store(self.locals[variable], value)
            return
        value = self.cast(value, variable.type)
        if not value.name and not isinstance(value, ops.Const):
            value.name = variable.name
        self.locals[variable] = value

    def lookup(self, variable: tree.Variable) -> Value:
        """The binding of a local: an address if it is in `memory`, else a value."""
        if variable not in self.locals:
            raise InternalError(
                f"lower_tree: local '{variable.name}' is used outside the block of its first assignment"
            )
        return self.locals[variable]

    def shares(self, target: tree.Expr) -> bool:
        """Whether `target` is a local that the enclosing iterations share, or a part of one."""
        return root_variable(target) in self.loop_locals.shared

    @contextmanager
    def iterations(self, loop: Loop) -> Generator[None]:
        """Fill the body of a parallel loop. A local of the kernel that iterations write is shared memory, or each
        iteration has its own copy."""
        self.loop_locals = facts = self.sharing.get(loop, LoopLocals())
        outer = {variable: self.locals[variable] for variable in facts.private}
        for variable in facts.private:
            self.locals[variable] = self.local(variable.type, variable.name)
        for variable in facts.shared:
            local = self.locals[variable]
            if isinstance(local, ops.Alloca):
                self.locals[variable] = Builder.at(local).add(ops.SharedLocal(type=local.type, name=local.name))
                local.replace(self.locals[variable])
        yield
        self.locals.update(outer)
        self.loop_locals = LoopLocals()

    # -- loops and jumps -----------------------------------------------------------------------------------------------

    @contextmanager
    def loop(self, op: Op, body: Block) -> Generator[Frame]:
        """Fill the `body` of the loop `op`, then emit the tests of flags after it."""
        frame = Frame(op)
        self.frames.append(frame)
        with self.inside(body):
            yield frame
        self.frames.pop()
        for jump in frame.jumps:
            test = self.branch(self.load(jump.flag))
            with self.inside(test.then):
                self._leave(jump)

    def jump(self, target: Frame, action: type[ops.Break] | type[ops.Continue]) -> None:
        """End the current block with a jump to the loop `target`, which may be several loops further out."""
        position = self.frames.index(target) + 1
        if position == len(self.frames):
            self._act(target, action)
            return
        outermost = self.frames[position]
        jump = next((j for j in outermost.known if j.target is target and j.action is action), None)
        if jump is None:
            jump = Jump(target, action, self._flag_before(outermost.op))
            outermost.known.append(jump)
        self.store(jump.flag, self.const(True, u1))
        self._leave(jump)

    def _flag_before(self, op: Op) -> Value:
        builder = Builder.at(op)
        flag = builder.add(ops.Alloca(type=pointer(u1), name="left"))
        builder.add(ops.Store(flag, builder.add(ops.Const(False, type=u1))))
        return flag

    def _leave(self, jump: Jump) -> None:
        frame = self.frames[-1]
        if frame is jump.target:
            self._act(frame, jump.action)
            return
        if jump not in frame.jumps:
            frame.jumps.append(jump)
        self._act(frame, ops.Break)

    def _act(self, frame: Frame, action: type[ops.Break] | type[ops.Continue]) -> None:
        if action is ops.Break and isinstance(frame.op, PARALLEL):
            raise CompilationError("a parallel loop cannot be left early: its iterations run in any order", self.span)
        self.add(action())

    @property
    def span(self) -> Span | None:
        """The source location of the current statement or expression."""
        return self.builder.span

    def parallel_here(self) -> bool:
        """Whether a parallel loop may be emitted at the current point: only at the top level of the kernel."""
        return self.builder.block is self.kernel.body

    def require_block(self, why: str) -> None:
        """Raise CompilationError outside of parallel loops. `why` says what needs one."""
        if not any(isinstance(frame.op, PARALLEL) for frame in self.frames):
            raise CompilationError(f"{why}: use it in a parallel loop, one at the top level of the kernel", self.span)

    def body_args(self, variables: Sequence[tree.Variable]) -> Block:
        """A loop body with one index per variable."""
        return Block([BlockArg(variable.type, variable.name) for variable in variables])

    def one_like(self, type: Type) -> Value:
        """The constant 1 of an integer type."""
        assert isinstance(type, Prim)
        return self.const(1, type)

    def zero_like(self, type: Type) -> Value:
        """The constant 0 of an integer type."""
        assert isinstance(type, Prim)
        return self.const(0, type)
