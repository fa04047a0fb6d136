"""The ops of CHI, of offloaded tasks, and of lowered CHI. From each declaration follow its constructor, verifier,
printer and parser (see `core.py`); `levels.py` says which ops each level may hold. Elementwise ops work on scalars and
on whole tensors alike, until `scalarize`."""

from __future__ import annotations

from weft.ir.atomic_ops import ORDERS, AtomicLoad, AtomicStore, CompareExchange, Exchange, Fence
from weft.ir.core import Block, Op, Value, attr, operand, operands, region
from weft.ir.lowered_ops import (
    Address,
    ArrayBase,
    ArrayExtent,
    ArrayStride,
    Exit,
    ScalarArg,
    SharedBase,
    StoreResult,
    TreeBase,
)
from weft.ir.mapped_ops import Aligned, AtomicRow, Clamp, StackLeft
from weft.ir.scalar import ATOMICS, BINARY, UNARY, binary_type, unary_type
from weft.ir.schedule import LoopSchedule, Schedule
from weft.ir.simt import SIMT, result_of
from weft.ir.symbols import FieldSymbol, LoopConfig, Param
from weft.ir.types import Array, Pointer, Struct, Type, element, i32, pointer, shape_of, tensor, with_element

__all__ = [
    "ATOMICS",
    "BINARY",
    "ORDERS",
    "SIMT",
    "UNARY",
    "Address",
    "Aligned",
    "ArrayBase",
    "ArrayExtent",
    "ArrayStride",
    "AtomicLoad",
    "AtomicRow",
    "AtomicStore",
    "Clamp",
    "CompareExchange",
    "Exchange",
    "Exit",
    "Fence",
    "ScalarArg",
    "SharedBase",
    "StackLeft",
    "StoreResult",
    "TreeBase",
]

# ---- values ----------------------------------------------------------------------------------------------------------


class Const(Op, name="const", pure=True, place=True, lanes="operands"):
    """A scalar constant. `value` is a Python int, float or bool; the type is given."""

    value: int | float | bool = attr()


class Arg(Op, name="arg", pure=True, place=True):
    """The value of kernel parameter number `index`: a scalar, tensor, struct or array."""

    index: int = attr()


class Unary(Op, name="unary", pure=True, elementwise=True, lanes="operands"):
    """Operator `kind` of the UNARY table on a scalar, or on each element of a tensor."""

    kind: str = attr()
    x: Value = operand()

    def result_type(self) -> Type:
        return with_element(self.x.type, unary_type(self.kind, element(self.x.type))[1])


class Binary(Op, name="binary", pure=True, elementwise=True, lanes="rule"):
    """Operator `kind` of the BINARY table, elementwise. A scalar pairs with every element of a tensor.
    Before `infer_types` operands may differ in element type and in rank; after it they agree."""

    kind: str = attr()
    lhs: Value = operand()
    rhs: Value = operand()

    def result_type(self) -> Type:
        wide = self.lhs if shape_of(self.lhs.type) else self.rhs
        result = binary_type(self.kind, element(self.lhs.type), element(self.rhs.type))[2]
        return with_element(wide.type, result)


class Select(Op, name="select", pure=True, elementwise=True, lanes="operands"):
    """`a` where `condition` (u1, or a tensor of u1) holds, else `b`. Both sides are computed."""

    condition: Value = operand()
    a: Value = operand()
    b: Value = operand()

    def result_type(self) -> Type:
        return self.a.type


class Cast(Op, name="cast", pure=True, elementwise=True, lanes="rule"):
    """The value of `x` in the op's type (a scalar, or a tensor of the same shape)."""

    x: Value = operand()


class BitCast(Op, name="bit_cast", pure=True, elementwise=True, lanes="operands"):
    """The bits of `x` read as the op's type, of the same width."""

    x: Value = operand()


class Random(Op, name="random", reads=True, writes=True, effect="elsewhere", lanes="own"):
    """The next random number of this iteration: floats in [0, 1), integers over their whole range. `stream` is the
    number of the parallel loop it is in, from 1 in program order; 0 outside of them (see `philox.py`)."""

    stream: int = attr(0)


class MakeTensor(Op, name="make_tensor", pure=True, levels="chi tasks"):
    """A tensor of the op's type from its scalars, row-major."""

    values: list[Value] = operands()


class Splat(Op, name="splat", pure=True, levels="chi tasks"):
    """A tensor of the op's type with every element equal to the scalar `x`."""

    x: Value = operand()


class Extract(Op, name="extract", pure=True, levels="chi tasks"):
    """Element number `index` (row-major, constant) of a tensor value."""

    x: Value = operand()
    index: int = attr()

    def result_type(self) -> Type:
        return element(self.x.type)


class MatMul(Op, name="matmul", pure=True, levels="chi tasks"):
    """The product of an n x k matrix with a k x m matrix or a vector of k."""

    lhs: Value = operand()
    rhs: Value = operand()

    def result_type(self) -> Type:
        return tensor(element(self.lhs.type), (shape_of(self.lhs.type)[0], *shape_of(self.rhs.type)[1:]))


class Transpose(Op, name="transpose", pure=True, levels="chi tasks"):
    """The transposed matrix."""

    x: Value = operand()

    def result_type(self) -> Type:
        return tensor(element(self.x.type), shape_of(self.x.type)[::-1])


class Reduce(Op, name="reduce", pure=True, levels="chi tasks"):
    """All elements of a tensor combined left to right with the BINARY row `kind`: add, mul, min, max, and, or."""

    kind: str = attr()
    x: Value = operand()

    def result_type(self) -> Type:
        return element(self.x.type)


class MakeStruct(Op, name="make_struct", pure=True, levels="chi tasks"):
    """A struct of the op's type from its members in order."""

    values: list[Value] = operands()


class Member(Op, name="member", pure=True, levels="chi tasks"):
    """Member number `index` of a struct value."""

    x: Value = operand()
    index: int = attr()

    def result_type(self) -> Type:
        assert isinstance(self.x.type, Struct)
        return self.x.type.members[self.index][1]


class Invoke(Op, name="invoke", reads=True, writes=True, effect="anywhere"):
    """A call of the function `function`, which may write the fields and arrays in `touched`; `stream`: see `random`.
    `results`: the types of the result's scalars, once `returned` has them; `effects`: see `calls.py`."""

    function: str = attr()
    values: list[Value] = operands()
    touched: tuple[str, ...] = attr(default=())
    results: tuple[Type, ...] = attr(default=())
    stream: int = attr(default=0)
    effects: tuple[str, ...] = attr(default=())


class Simt(Op, name="simt", reads=True, writes=True, effect="elsewhere"):
    """Intrinsic `kind` of the SIMT table: what the threads of a block or warp do together. It stays where it stands."""

    kind: str = attr()
    values: list[Value] = operands()

    def result_type(self) -> Type:
        return result_of(self.kind, [value.type for value in self.values])

    def orders(self) -> bool:
        return SIMT[self.kind].orders


class Returned(Op, name="returned", pure=True, levels="lowered"):
    """Scalar number `part` of what a call gave."""

    call: Value = operand()
    part: int = attr()


# ---- memory ----------------------------------------------------------------------------------------------------------


class Alloca(Op, name="alloca", droppable=True, local=True, lanes="operands"):
    """A mutable local of the pointed-to type, uninitialised. It lives as long as its block runs."""


class SharedLocal(Op, name="shared_local", droppable=True, local=True, levels="chi"):
    """A local of the kernel that iterations of a parallel loop write: memory that all of them share. It lives as long
    as the kernel. What they do to it at once must be atomic; `offload` makes it a temporary of the kernel."""


class Shared(Op, name="shared", levels="chi tasks"):
    """An uninitialised array of that shape in the memory of a thread block. Only in parallel loops."""

    shape: tuple[int, ...] = attr()


class FieldPtr(Op, name="field_ptr", pure=True, place=True, levels="chi tasks"):
    """The address of element `indices` of a field. 0-D fields take no index."""

    field: FieldSymbol = attr()
    indices: list[Value] = operands()

    def result_type(self) -> Type:
        return pointer(self.field.dtype)


class ArrayPtr(Op, name="array_ptr", pure=True, place=True, levels="chi tasks"):
    """The address of element `indices` of an array argument."""

    array: Value = operand()
    indices: list[Value] = operands()

    def result_type(self) -> Type:
        assert isinstance(self.array.type, Array)
        return pointer(self.array.type.elem)


class ArrayShape(Op, name="array_shape", pure=True, levels="chi tasks"):
    """The extent of an array argument along `axis`."""

    array: Value = operand()
    axis: int = attr()

    def result_type(self) -> Type:
        return self.array.type.index if isinstance(self.array.type, Array) else i32


class ElementPtr(Op, name="element_ptr", pure=True, place=True, steps_into=True, levels="chi tasks"):
    """The address of one element of the tensor at `base`; one index per axis of the tensor, constant or not."""

    base: Value = operand()
    indices: list[Value] = operands()

    def result_type(self) -> Type:
        assert isinstance(self.base.type, Pointer)
        return pointer(element(self.base.type.elem))


class MemberPtr(Op, name="member_ptr", pure=True, place=True, steps_into=True, levels="chi tasks"):
    """The address of member number `index` of the struct at `base`."""

    base: Value = operand()
    index: int = attr()

    def result_type(self) -> Type:
        assert isinstance(self.base.type, Pointer)
        assert isinstance(self.base.type.elem, Struct)
        return pointer(self.base.type.elem.members[self.index][1])


class Load(Op, name="load", reads=True, effect="address", droppable=True, lanes="rule"):
    """The value at an address. `invariant`: no one writes it while the task runs. `move`: how lanes load it, where
    iterations run in lanes (see `mapping/moves.py`)."""

    ptr: Value = operand()
    invariant: bool = attr(default=False)
    move: str = attr(default="")

    def result_type(self) -> Type:
        assert isinstance(self.ptr.type, Pointer)
        return self.ptr.type.elem


class Store(Op, name="store", writes=True, effect="address", lanes="rule"):
    """Put `value` at an address. `relaxed`: other iterations may store there at the same time, and any of them may be
    the last; nothing is torn, and nothing is ordered by it. `move`: as for loads."""

    ptr: Value = operand()
    value: Value = operand()
    relaxed: bool = attr(default=False)
    move: str = attr(default="")


class Atomic(Op, name="atomic", reads=True, writes=True, effect="address", lanes="own"):
    """An atomic read-modify-write of kind ATOMICS; gives the old value. On a tensor: one per element. `move`: as for
    loads."""

    kind: str = attr()
    ptr: Value = operand()
    value: Value = operand()
    move: str = attr(default="")

    def result_type(self) -> Type:
        assert isinstance(self.ptr.type, Pointer)
        return self.ptr.type.elem


class TempPtr(Op, name="temp_ptr", pure=True, place=True, lanes="operands", levels="tasks lowered"):
    """The address of a kernel-wide temporary at byte `offset`: how a value crosses from one task to a later one."""

    offset: int = attr()


# ---- control ---------------------------------------------------------------------------------------------------------


class If(Op, name="if", droppable=True, lanes="operands"):
    """Runs `then` where the u1 `condition` holds, else `orelse`. `versioned`: `orelse` would be right in any case, and
    is seldom needed (see `mask_accesses`). `unasked`: the sides that lanes run without asking whether any takes it."""

    condition: Value = operand()
    versioned: bool = attr(default=False)
    unasked: tuple[str, ...] = attr(default=())
    then: Block = region(default=None)
    orelse: Block = region(default=None)


class For(Op, name="for", droppable=True, lanes="rule"):
    """A serial loop: `body` (argument: the index) for `begin`, `begin + step`, ... short of `end`."""

    begin: Value = operand()
    end: Value = operand()
    step: Value = operand()
    schedule: LoopSchedule = attr(default=LoopSchedule())
    body: Block = region(default=None)


class ParallelFor(Op, name="parallel_for", droppable=True, levels="chi"):
    """Iterations over the box [begins, ends) in any order; `body` has one argument per axis, slowest axis first.
    Only at the top level of a kernel; `offload` turns each into a task."""

    begins: list[Value] = operands()
    ends: list[Value] = operands()
    config: LoopConfig = attr(default=LoopConfig())
    body: Block = region(default=None)


class StructFor(Op, name="struct_for", droppable=True, levels="chi"):
    """Iterations over every element of a field, in any order; arguments: the user's indices (offset included)."""

    field: FieldSymbol = attr()
    config: LoopConfig = attr(default=LoopConfig())
    body: Block = region(default=None)


class While(Op, name="while", lanes="operands"):
    """Runs `body` until a `break`."""

    body: Block = region(default=None)


class Break(Op, name="break", terminator=True, lanes="rule"):
    """Leaves the innermost For or While. In a parallel loop: not allowed."""


class Continue(Op, name="continue", terminator=True, lanes="rule"):
    """Starts the next iteration of the innermost For, While, parallel loop or task body."""


class Return(Op, name="return", terminator=True, exits=True, levels="chi tasks"):
    """Ends the kernel with those results; only outside parallel loops."""

    values: list[Value] = operands()


class Yield(Op, name="yield", terminator=True, levels="tasks lowered"):
    """Ends a task's `bounds` with the begins of all axes, then the ends of all axes."""

    begins: list[Value] = operands()
    ends: list[Value] = operands()


class Print(Op, name="print", writes=True, effect="elsewhere"):
    """Prints the pieces in order: `parts` holds literal text, or a format spec (after a NUL) for the next operand.
    Once `scalarize` has cut tensor operands up, `types` has what the user wrote (empty before that)."""

    values: list[Value] = operands()
    parts: tuple[str, ...] = attr()
    types: tuple[Type, ...] = attr(default=())


class Assert(Op, name="assert", writes=True, effect="elsewhere", fails=True):
    """Where the u1 `condition` is false: stops the task; the launch raises `message`, `{}` filled from the operands,
    as `kind` says: "assert", "bounds", "arithmetic", "recursion", "race" or "uninitialised". `types` as in Print."""

    condition: Value = operand()
    values: list[Value] = operands()
    message: str = attr()
    kind: str = attr(default="assert")
    types: tuple[Type, ...] = attr(default=())


class Warn(Op, name="warn", writes=True, effect="elsewhere", lanes="operands"):
    """Tells, as a warning at the next synchronisation, with `message`, `{}` filled from the operands, and goes on.
    `kind`: "outside", an access that was left out, once a kernel; "overflow", once a place. `types` as in Print."""

    values: list[Value] = operands()
    message: str = attr()
    kind: str = attr(default="outside")
    types: tuple[Type, ...] = attr(default=())


# ---- kernels and tasks -----------------------------------------------------------------------------------------------


class Kernel(Op, name="kernel"):
    """A whole kernel: `body` has statements, or tasks. `called`: it is a function, iterations may be in it at once."""

    symbol: str = attr()
    params: tuple[Param, ...] = attr(default=())
    results: tuple[Type, ...] = attr(default=())
    fields: tuple[FieldSymbol, ...] = attr(default=())
    temp_bytes: int = attr(default=0)
    called: bool = attr(default=False)
    body: Block = region(default=None)


class Task(Op, name="task", levels="tasks lowered"):
    """One launch. `kind` "serial": `body` runs once. "range_for": `bounds` yields a box; `body` (one argument per axis,
    slowest first) runs for each point in any order, `prologue` before and `epilogue` after each thread's share, which
    see the values of the prologue. `read_set`/`write_set`: the fields and arrays touched; `schedule`: how it runs."""

    kind: str = attr()
    config: LoopConfig = attr(default=LoopConfig())
    read_set: tuple[str, ...] = attr(default=())
    write_set: tuple[str, ...] = attr(default=())
    schedule: Schedule = attr(default=Schedule())
    bounds: Block = region(default=None)
    prologue: Block = region(default=None)
    body: Block = region(default=None)
    epilogue: Block = region(default=None)
