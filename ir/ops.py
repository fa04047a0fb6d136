"""The ops of CHI, of tasks and of lowered CHI. The constructor, verifier, printer and parser of an op follow from its
declaration (see `core.py`), which says which levels may hold the op. Elementwise ops accept scalars, whole tensors
until `scalarize` has run, and vectors after `vectorize`."""

from __future__ import annotations

from weft.ir.atomic_ops import ORDERS, AtomicLoad, AtomicStore, CompareExchange, Exchange, Fence
from weft.ir.core import Block, Op, Value, attr, operand, operands, pointee, region
from weft.ir.derivative_ops import Derivative, Vary
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
    Yield,
)
from weft.ir.mapped_ops import Aligned, AtomicRow, Clamp, StackLeft
from weft.ir.message_ops import Assert, Print, Warn
from weft.ir.scalar import ATOMICS, BINARY, UNARY, binary_type, unary_type
from weft.ir.schedule import LoopSchedule, Schedule
from weft.ir.simt import SIMT, result_of
from weft.ir.sparse_ops import (
    Activate,
    Append,
    Deactivate,
    FoundSlot,
    HoldInterrupts,
    IsActive,
    Length,
    RunRoutine,
    VisitedIndex,
    VisitedSlot,
)
from weft.ir.symbols import FieldSymbol, LoopConfig, Lost, NodeSymbol, Param
from weft.ir.tensor_ops import Extract, MakeStruct, MakeTensor, MatMul, Member, Transpose
from weft.ir.types import Array, Pointer, Struct, Type, element, i32, pointer, shape_of, with_element
from weft.ir.vector_ops import (
    AnyActive,
    EachLane,
    FirstActive,
    FirstLanes,
    Gather,
    Lane,
    LaneRandom,
    MaskedLoad,
    MaskedStore,
    Ramp,
    Scatter,
    Shuffle,
)

__all__ = [
    "ATOMICS",
    "BINARY",
    "ORDERS",
    "SIMT",
    "UNARY",
    "Activate",
    "Address",
    "Aligned",
    "AnyActive",
    "Append",
    "ArrayBase",
    "ArrayExtent",
    "ArrayStride",
    "Assert",
    "AtomicLoad",
    "AtomicRow",
    "AtomicStore",
    "Clamp",
    "CompareExchange",
    "Deactivate",
    "Derivative",
    "EachLane",
    "Exchange",
    "Exit",
    "Extract",
    "Fence",
    "FirstActive",
    "FirstLanes",
    "FoundSlot",
    "Gather",
    "HoldInterrupts",
    "IsActive",
    "Lane",
    "LaneRandom",
    "Length",
    "MakeStruct",
    "MakeTensor",
    "MaskedLoad",
    "MaskedStore",
    "MatMul",
    "Member",
    "Print",
    "Ramp",
    "RunRoutine",
    "ScalarArg",
    "Scatter",
    "SharedBase",
    "Shuffle",
    "StackLeft",
    "StoreResult",
    "Transpose",
    "TreeBase",
    "Vary",
    "VisitedIndex",
    "VisitedSlot",
    "Warn",
    "Yield",
]

# ---- values ----------------------------------------------------------------------------------------------------------


class Const(Op, name="const", pure=True, place=True, lanes="operands"):
    """A scalar constant of the op's type. `value` is a Python int, float or bool."""

    value: int | float | bool = attr()


class Arg(Op, name="arg", pure=True, place=True):
    """The value of the kernel parameter number `index`: a scalar, tensor, struct or array."""

    index: int = attr()


class Unary(Op, name="unary", pure=True, elementwise=True, lanes="operands"):
    """Applies the operator `kind` of the UNARY table to a scalar, or to each element of a tensor or vector."""

    kind: str = attr()
    x: Value = operand()

    def result_type(self) -> Type:
        return with_element(self.x.type, unary_type(self.kind, element(self.x.type))[1])


class Binary(Op, name="binary", pure=True, elementwise=True, lanes="rule"):
    """Applies the operator `kind` of the BINARY table elementwise. A scalar operand is combined with every element of a
    tensor operand. Before `infer_types`, the operands may differ in element type and in rank. After it, they have the
    types that the operator requires. If one is a vector, both are."""

    kind: str = attr()
    lhs: Value = operand()
    rhs: Value = operand()

    def result_type(self) -> Type:
        wide = self.lhs if shape_of(self.lhs.type) else self.rhs
        result = binary_type(self.kind, element(self.lhs.type), element(self.rhs.type))[2]
        return with_element(wide.type, result)


class Select(Op, name="select", pure=True, elementwise=True, lanes="operands"):
    """Gives `a` where `condition` is true, else `b`. `condition` is a u1, or a tensor or vector of u1. Both `a` and
    `b` are computed."""

    condition: Value = operand()
    a: Value = operand()
    b: Value = operand()

    def result_type(self) -> Type:
        return self.a.type


class Cast(Op, name="cast", pure=True, elementwise=True, lanes="rule"):
    """Converts the value of `x` to the op's type. `x` is a scalar, or a tensor or vector of the same shape."""

    x: Value = operand()


class BitCast(Op, name="bit_cast", pure=True, elementwise=True, lanes="operands"):
    """Reinterprets the bits of `x` as the op's type, which has the same width."""

    x: Value = operand()


class Random(Op, name="random", reads=True, writes=True, effect="elsewhere", lanes="own"):
    """Gives the next random number of this iteration. Floats are in [0, 1). Integers cover their whole range. `stream`
    is the number of the parallel loop around it in program order, from 1, or 0 outside of loops (see `philox.py`)."""

    stream: int = attr(0)


class RandomAt(Op, name="random_at", reads=True, effect="elsewhere"):
    """Gives the random number that `random` gives this iteration, or iteration `lane` (i64) if the loop now runs in
    order, after `draw` others (i32). A gradient draws again what its kernel drew. It does not count as a draw."""

    draw: Value = operand()
    lane: list[Value] = operands()
    stream: int = attr(0)


class Splat(Op, name="splat", pure=True, steps_into=True, levels="chi tasks vectors"):
    """Builds a tensor or vector of the op's type in which every element equals `x`, a scalar. The elements of a vector
    may be addresses too."""

    x: Value = operand()


class Reduce(Op, name="reduce", pure=True, levels="chi tasks vectors"):
    """Combines all elements of a tensor from left to right with the BINARY row `kind`: add, mul, min, max, and, or. The
    elements of a vector are combined in any order, also by xor."""

    kind: str = attr()
    x: Value = operand()

    def result_type(self) -> Type:
        return element(self.x.type)


class Invoke(Op, name="invoke", reads=True, writes=True, effect="anywhere"):
    """Calls the function `function`, which may access the fields and arrays in `touched`, does not write those of them
    in `only_read`, and does not use the values of those in `only_written`. `results` holds the types of the result's
    scalars when `returned` ops read them. `stream` is as in `random`. `effects` is described in `calls.py`. `most`: on
    a CPU, the highest cost of the call (0: it is not limited, or not known yet)."""

    function: str = attr()
    values: list[Value] = operands()
    touched: tuple[str, ...] = attr(default=())
    only_read: tuple[str, ...] = attr(default=())
    results: tuple[Type, ...] = attr(default=())
    stream: int = attr(default=0)
    effects: tuple[str, ...] = attr(default=())
    most: float = attr(default=0.0)
    only_written: tuple[str, ...] = attr(default=())

    @property
    def written(self) -> list[str]:
        """The fields and arrays that the function may write."""
        return [name for name in self.touched if name not in self.only_read]


class Simt(Op, name="simt", reads=True, writes=True, effect="elsewhere"):
    """Executes the intrinsic `kind` of the SIMT table, in which the threads of a block or warp cooperate. No pass moves
    it."""

    kind: str = attr()
    values: list[Value] = operands()

    def result_type(self) -> Type:
        return result_of(self.kind, [value.type for value in self.values])

    def orders(self) -> bool:
        return SIMT[self.kind].orders


class Returned(Op, name="returned", pure=True, levels="lowered"):
    """Gives the scalar number `part` of the result of a call."""

    call: Value = operand()
    part: int = attr()


# ---- memory ----------------------------------------------------------------------------------------------------------


class Alloca(Op, name="alloca", droppable=True, local=True, lanes="operands"):
    """Allocates an uninitialised mutable local of the pointed-to type. The local lives until its block ends."""


class SharedLocal(Op, name="shared_local", droppable=True, local=True, levels="chi"):
    """Allocates a local of the kernel that the iterations of a parallel loop share and write. It lives as long as the
    kernel. Concurrent updates of it must be atomic. `offload` turns it into a temporary of the kernel."""


class Shared(Op, name="shared", levels="chi tasks"):
    """Allocates an uninitialised array of the given shape in the memory of a thread block. It occurs only in parallel
    loops."""

    shape: tuple[int, ...] = attr()


class FieldPtr(Op, name="field_ptr", pure=True, place=True, levels="chi tasks"):
    """Gives the address of the element `indices` of a field (none for 0-D). `activates`: a write through it activates
    the cells above. Otherwise a write to what is not active has no effect. `active`: they are known to be active."""

    field: FieldSymbol = attr()
    indices: list[Value] = operands()
    activates: bool = attr(default=True)
    active: bool = attr(default=False)

    def result_type(self) -> Type:
        return pointer(self.field.dtype)


class ArrayPtr(Op, name="array_ptr", pure=True, place=True, levels="chi tasks"):
    """Gives the address of the element `indices` of an array argument."""

    array: Value = operand()
    indices: list[Value] = operands()

    def result_type(self) -> Type:
        assert isinstance(self.array.type, Array)
        return pointer(self.array.type.elem)


class ArrayShape(Op, name="array_shape", pure=True, levels="chi tasks"):
    """Gives the extent of an array argument along `axis`."""

    array: Value = operand()
    axis: int = attr()

    def result_type(self) -> Type:
        return self.array.type.index if isinstance(self.array.type, Array) else i32


class ElementPtr(Op, name="element_ptr", pure=True, place=True, steps_into=True, levels="chi tasks"):
    """Gives the address of one element of the tensor at `base`. There is one index per axis of the tensor. The indices
    need not be constant."""

    base: Value = operand()
    indices: list[Value] = operands()

    def result_type(self) -> Type:
        return pointer(element(pointee(self.base)))


class MemberPtr(Op, name="member_ptr", pure=True, place=True, steps_into=True, levels="chi tasks"):
    """Gives the address of the member number `index` of the struct at `base`."""

    base: Value = operand()
    index: int = attr()

    def result_type(self) -> Type:
        assert isinstance(self.base.type, Pointer)
        assert isinstance(self.base.type.elem, Struct)
        return pointer(self.base.type.elem.members[self.index][1])


class Load(Op, name="load", reads=True, effect="address", droppable=True, lanes="rule"):
    """Reads the value at an address. `invariant`: nothing writes this memory while the task runs. `move`: how the load
    is executed for all SIMD lanes, if iterations run in lanes (see `mapping/moves.py`)."""

    ptr: Value = operand()
    invariant: bool = attr(default=False)
    move: str = attr(default="")

    def result_type(self) -> Type:
        return pointee(self.ptr)


class Store(Op, name="store", writes=True, effect="address", lanes="rule"):
    """Writes `value` to an address. `relaxed`: other iterations may store to the same address at the same time. Any of
    these stores may take effect last, none is torn, and they order no other access. `move`: as in `load`."""

    ptr: Value = operand()
    value: Value = operand()
    relaxed: bool = attr(default=False)
    move: str = attr(default="")


class Atomic(Op, name="atomic", reads=True, writes=True, effect="address", lanes="own"):
    """Performs an atomic read-modify-write of one of the kinds in ATOMICS and gives the old value. On a tensor, it
    performs one per element. `move`: as in `load`."""

    kind: str = attr()
    ptr: Value = operand()
    value: Value = operand()
    move: str = attr(default="")

    def result_type(self) -> Type:
        return pointee(self.ptr)


class TempPtr(Op, name="temp_ptr", pure=True, place=True, lanes="operands"):
    """Gives the address of a temporary of the kernel, at byte `offset`. Temporaries pass values from one task to a
    later one."""

    offset: int = attr()


# ---- control ---------------------------------------------------------------------------------------------------------


class If(Op, name="if", droppable=True, lanes="operands"):
    """Runs `then` if the u1 `condition` is true, else `orelse`. `versioned`: `orelse` is correct whether or not the
    condition holds, and rarely runs (see `mask_accesses`). `seldom`: `orelse` rarely runs. `unasked`: the branches that
    SIMD lanes run without testing whether any lane takes them. `general`: `orelse` is correct whether or not the
    condition holds. SIMD lanes that disagree all run it."""

    condition: Value = operand()
    versioned: bool = attr(default=False)
    seldom: bool = attr(default=False)
    general: bool = attr(default=False)
    unasked: tuple[str, ...] = attr(default=())
    then: Block = region(default=None)
    orelse: Block = region(default=None)


class For(Op, name="for", droppable=True, lanes="rule"):
    """A serial loop: `body` runs with the index `begin`, `begin + step`, ... below `end`. In lanes, it runs for a group
    of iterations, and has `%left` as in `task`. `row`: a part of a row of a cell (`peel_cells`), in any order. `rows`:
    over the rows of a cell, in any order, which are vectors."""

    begin: Value = operand()
    end: Value = operand()
    step: Value = operand()
    schedule: LoopSchedule = attr(default=LoopSchedule())
    row: bool = attr(default=False)
    rows: bool = attr(default=False)
    body: Block = region(default=None)


class ParallelFor(Op, name="parallel_for", droppable=True, levels="chi"):
    """Runs `body` for each point of the box [begins, ends), in any order. `body` has one argument per axis, slowest
    axis first. It occurs only at the top level of a kernel. `offload` turns each one into a task."""

    begins: list[Value] = operands()
    ends: list[Value] = operands()
    config: LoopConfig = attr(default=LoopConfig())
    body: Block = region(default=None)


class StructFor(Op, name="struct_for", droppable=True, levels="chi"):
    """Runs `body` for every element of a field, in any order. The arguments of `body` are the indices as the user
    counts them, with the field's offset. Of a sparse field, it visits what is active at its begin, or (`cells`) the
    active cells of the node whose table the field is."""

    field: FieldSymbol = attr()
    config: LoopConfig = attr(default=LoopConfig())
    cells: bool = attr(default=False)
    body: Block = region(default=None)


class While(Op, name="while", lanes="operands"):
    """Runs `body` again and again until a `break`. `stretch` is that of `LoopSchedule` in `schedule.py`."""

    stretch: int = attr(default=0)
    body: Block = region(default=None)


class Break(Op, name="break", terminator=True, lanes="rule"):
    """Leaves the innermost For or While. It must not leave a parallel loop."""


class Continue(Op, name="continue", terminator=True, lanes="rule"):
    """Starts the next iteration of the innermost For, While, parallel loop or task body."""


class Return(Op, name="return", terminator=True, exits=True, levels="chi tasks"):
    """Ends the kernel and returns `values`. It occurs only outside parallel loops."""

    values: list[Value] = operands()


# ---- kernels and tasks -----------------------------------------------------------------------------------------------


class Kernel(Op, name="kernel"):
    """A whole kernel. `body` holds statements, or tasks. `called`: it is a function that kernels call, and several
    iterations may execute it at once; `whole`: neither an interrupt nor a failure elsewhere ends it. `mode`: a row of
    MODES, the derivative that the kernel shall become. `differentiate` replaces the kernel by it. Of a gradient:
    `saved`, the memory that must be as it was before the launch of the original kernel, by names in `places_of`;
    `lost`, where that stores derivatives to memory without a gradient; `records`, see `records.py`; `grad_accesses`,
    see `grad_accesses.py`. `nodes`: the sparse nodes of its trees, parents first."""

    symbol: str = attr()
    params: tuple[Param, ...] = attr(default=())
    results: tuple[Type, ...] = attr(default=())
    fields: tuple[FieldSymbol, ...] = attr(default=())
    temp_bytes: int = attr(default=0)
    called: bool = attr(default=False)
    whole: bool = attr(default=False)
    mode: str = attr(default="")
    saved: tuple[str, ...] = attr(default=())
    lost: tuple[Lost, ...] = attr(default=())
    nodes: tuple[NodeSymbol, ...] = attr(default=())
    records: str = attr(default="")
    grad_accesses: tuple[str, ...] = attr(default=())
    body: Block = region(default=None)


class Task(Op, name="task", levels="chi tasks lowered"):
    """A part of a kernel that is launched as a unit. A "serial" task runs `body` once. For a "range_for" task, `bounds`
    yields a box, and `body` runs for each of its points in any order. `body` has one argument per axis, slowest axis
    first. Each thread runs `prologue` before its iterations and `epilogue` after it. Both `body` and `epilogue` may
    use the values of `prologue`. `read_set` and `write_set` list the fields and arrays that it reads and writes.
    `schedule` says how the target runs it. At the level "vectors", `body` runs for a group of neighbours along the
    innermost axis: it has the indices of the first one, and `%left`, the number of iterations left in the row.
    `routine` names the part of the run-time library that it belongs to. Only such tasks are there before `offload`."""

    kind: str = attr()
    config: LoopConfig = attr(default=LoopConfig())
    read_set: tuple[str, ...] = attr(default=())
    write_set: tuple[str, ...] = attr(default=())
    schedule: Schedule = attr(default=Schedule())
    routine: str = attr(default="")
    bounds: Block = region(default=None)
    prologue: Block = region(default=None)
    body: Block = region(default=None)
    epilogue: Block = region(default=None)
