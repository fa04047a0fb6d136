"""The frontend AST IR: the translator builds it from a kernel, and `lower_tree` lowers it to CHI.

It still has the structure of the user's program: expressions nest, variables have names, loops are loops. But
everything that is dynamic in Python is resolved: `static` is evaluated, names are bound, templates are instantiated,
and each expression has a type. Operators may mix element types. `infer_types` inserts the casts after lowering.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from weft.ir.errors import Span
from weft.ir.symbols import FieldSymbol, LoopConfig, NodeSymbol, Param
from weft.ir.types import Type

__all__ = ["EXPRESSIONS", "STATEMENTS", "Expr", "KernelTree", "Node", "Stmt", "Variable"]


DEFAULT_LOOP = LoopConfig()
NodeT = TypeVar("NodeT", bound="Node")


@dataclass(eq=False, slots=True)
class Variable:
    """A local: its type is fixed by its first assignment. Distinct variables may share a name."""

    name: str
    type: Type


@dataclass(eq=False, slots=True, kw_only=True)
class Node:
    """Anything in the tree."""

    span: Span | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class Expr(Node):
    """An expression. `type` is always set. A field's element or a variable is also an lvalue."""

    type: Type


@dataclass(eq=False, slots=True)
class Const(Expr):
    """A scalar literal or captured Python number."""

    value: int | float | bool


@dataclass(eq=False, slots=True)
class Var(Expr):
    """A use of a local variable."""

    variable: Variable


@dataclass(eq=False, slots=True)
class ParamRef(Expr):
    """The value of kernel parameter `index`; for an array, the array itself."""

    index: int


@dataclass(eq=False, slots=True)
class Unary(Expr):
    """Operator `kind` of the UNARY table, elementwise."""

    kind: str
    x: Expr


@dataclass(eq=False, slots=True)
class Binary(Expr):
    """Operator `kind` of the BINARY table (comparisons included), elementwise; a scalar pairs with every element."""

    kind: str
    lhs: Expr
    rhs: Expr


@dataclass(eq=False, slots=True)
class BoolOp(Expr):
    """`and`/`or` of scalars with short circuit; the type is u1."""

    kind: str
    values: list[Expr]


@dataclass(eq=False, slots=True)
class IfExp(Expr):
    """`a if condition else b` of any type: only one side is evaluated."""

    condition: Expr
    a: Expr
    b: Expr


@dataclass(eq=False, slots=True)
class Select(Expr):
    """`select(condition, a, b)`, elementwise: both sides are evaluated."""

    condition: Expr
    a: Expr
    b: Expr


@dataclass(eq=False, slots=True)
class Cast(Expr):
    """The value of `x` in type `type` (a scalar, or a tensor of the same shape)."""

    x: Expr


@dataclass(eq=False, slots=True)
class BitCast(Expr):
    """The bits of `x` as `type`."""

    x: Expr


@dataclass(eq=False, slots=True)
class Vary(Expr):
    """`x`, as the argument of a function that a `Derivative` differentiates."""

    x: Expr


@dataclass(eq=False, slots=True)
class Derivative(Expr):
    """The derivative of `value` by the variable `by`, whose value is a `Vary`."""

    value: Expr
    by: Expr


@dataclass(eq=False, slots=True)
class Random(Expr):
    """`random(dtype)`."""


@dataclass(eq=False, slots=True)
class Simt(Expr):
    """Intrinsic `kind` of the SIMT table. `type` is VOID where it gives nothing."""

    kind: str
    values: list[Expr]


@dataclass(eq=False, slots=True)
class Shared(Expr):
    """An array of that shape, of array type, in the memory of a thread block. The identity of the node is that of the
    array. It is evaluated where it is created, before its elements are accessed."""

    name: str
    shape: tuple[int, ...]


@dataclass(eq=False, slots=True)
class MakeTensor(Expr):
    """A vector or matrix from its scalars, row-major."""

    values: list[Expr]


@dataclass(eq=False, slots=True)
class Splat(Expr):
    """A vector or matrix with every element equal to the scalar `x`."""

    x: Expr


@dataclass(eq=False, slots=True)
class MatMul(Expr):
    """`lhs @ rhs`."""

    lhs: Expr
    rhs: Expr


@dataclass(eq=False, slots=True)
class Transpose(Expr):
    """`x.transpose()`."""

    x: Expr


@dataclass(eq=False, slots=True)
class Reduce(Expr):
    """The elements of a tensor combined with the BINARY row `kind`: add, mul, min, max, and, or."""

    kind: str
    x: Expr


@dataclass(eq=False, slots=True)
class MakeStruct(Expr):
    """A struct from its members in order."""

    values: list[Expr]


@dataclass(eq=False, slots=True)
class Element(Expr):
    """One element of a tensor: `base[indices]`, constant or run-time indices. An lvalue where `base` is one."""

    base: Expr
    indices: list[Expr]


@dataclass(eq=False, slots=True)
class Member(Expr):
    """One member of a struct: `base.name`. An lvalue where `base` is one."""

    base: Expr
    name: str


@dataclass(eq=False, slots=True)
class FieldElement(Expr):
    """`field[indices]`; a 0-D field has no indices. An lvalue. `stopped`: what is read there carries no derivative.
    `activates`: a write activates the cells of sparse nodes above it; otherwise it changes only what is active."""

    field: FieldSymbol
    indices: list[Expr]
    stopped: bool = False
    activates: bool = True


@dataclass(eq=False, slots=True)
class CellOp(Expr):
    """An operation on a cell of a sparse node, or on a list: `kind` is the name of an op of `sparse_ops.py`. `indices`
    are those of the cell; a list has those of the cell that it lies in. `type` is VOID where it gives nothing."""

    kind: str
    node: NodeSymbol
    indices: list[Expr]


@dataclass(eq=False, slots=True)
class ArrayElement(Expr):
    """`array[indices]` of an array parameter. An lvalue."""

    array: Expr
    indices: list[Expr]


@dataclass(eq=False, slots=True)
class ArrayShape(Expr):
    """`array.shape[axis]`, an i32; an i64 of a wide array."""

    array: Expr
    axis: int


@dataclass(eq=False, slots=True)
class Atomic(Expr):
    """`atomic_<kind>(target, value)`: the old value. On a local that iterations do not share it is a plain
    read-modify-write."""

    kind: str
    target: Expr
    value: Expr


@dataclass(eq=False, slots=True)
class Call(Expr):
    """An inlined `@func` call: `arguments` are assigned to fresh variables, then `body` runs; each `Return` inside
    gives the value. `type` is VOID where the function returns nothing."""

    name: str
    arguments: list[tuple[Variable, Expr]]
    body: list[Stmt]


@dataclass(eq=False, slots=True)
class Invoke(Expr):
    """A real call of the function tree named `function`, arguments by value (arrays: the array itself). It may read and
    write the fields `touched`, but does not write those in `only_read`, nor the arrays of arguments with these
    numbers. It does not use the values of those in `only_written`: it stores to them, or adds."""

    function: str
    arguments: list[Expr]
    touched: list[FieldSymbol]
    only_read: list[FieldSymbol | int]
    only_written: list[FieldSymbol | int]


@dataclass(eq=False, slots=True)
class Stmt(Node):
    """A statement."""


@dataclass(eq=False, slots=True)
class Let(Stmt):
    """The first assignment of a variable: declares it in the enclosing block. The value is cast to its type."""

    variable: Variable
    value: Expr


@dataclass(eq=False, slots=True)
class Assign(Stmt):
    """`target = value`; the value is cast to the target's type, and a scalar fills a tensor."""

    target: Expr
    value: Expr


@dataclass(eq=False, slots=True)
class AugAssign(Stmt):
    """`target op= value`. Atomic where the target is an element of a field or array, or a local that the
    iterations of a parallel loop share, and `kind` is in ATOMICS."""

    kind: str
    target: Expr
    value: Expr


@dataclass(eq=False, slots=True)
class Eval(Stmt):
    """An expression that is evaluated for its side effects."""

    value: Expr


@dataclass(eq=False, slots=True)
class If(Stmt):
    """`if condition: then else: orelse`; the condition is a scalar."""

    condition: Expr
    then: list[Stmt]
    orelse: list[Stmt] = field(default_factory=list["Stmt"])


@dataclass(eq=False, slots=True)
class While(Stmt):
    """`while condition: body`."""

    condition: Expr
    body: list[Stmt]


@dataclass(eq=False, slots=True)
class RangeFor(Stmt):
    """`for variable in range(begin, end, step)`. `parallel`: the iterations may run in any order."""

    variable: Variable
    begin: Expr
    end: Expr
    step: Expr
    body: list[Stmt]
    parallel: bool = False
    config: LoopConfig = DEFAULT_LOOP


@dataclass(eq=False, slots=True)
class BoxFor(Stmt):
    """A loop over the box [begins, ends): `ndrange`, or `range` of one axis; slowest axis first."""

    variables: list[Variable]
    begins: list[Expr]
    ends: list[Expr]
    body: list[Stmt]
    parallel: bool = False
    config: LoopConfig = DEFAULT_LOOP


@dataclass(eq=False, slots=True)
class StructFor(Stmt):
    """A loop over every element of a field or of an array parameter (`over`), in any order. Of a sparse field it visits
    the active elements, of a sparse node its active cells."""

    variables: list[Variable]
    over: FieldSymbol | NodeSymbol | Expr
    body: list[Stmt]
    parallel: bool = False
    config: LoopConfig = DEFAULT_LOOP

    @property
    def is_listed(self) -> bool:
        """Whether it visits what is active. Such a loop is one of a whole kernel, also where it runs in order."""
        return isinstance(self.over, NodeSymbol) or (isinstance(self.over, FieldSymbol) and self.over.node is not None)


@dataclass(eq=False, slots=True)
class Break(Stmt):
    """`break` of the innermost serial loop."""


@dataclass(eq=False, slots=True)
class Continue(Stmt):
    """`continue` of the innermost loop."""


@dataclass(eq=False, slots=True)
class Return(Stmt):
    """Returns from the innermost `Call`, or from the kernel. Results and types of a kernel correspond pairwise, and
    values are cast."""

    values: list[Expr]


@dataclass(eq=False, slots=True)
class Print(Stmt):
    """Prints the pieces in order: literal text, or an expression with its format spec ("" for Python's `str`)."""

    parts: list[str | tuple[Expr, str]]


@dataclass(eq=False, slots=True)
class Assert(Stmt):
    """In debug: raises `message`, its `{}` filled from the arguments, where the scalar condition does not hold."""

    condition: Expr
    message: str
    arguments: list[Expr] = field(default_factory=list[Expr])


@dataclass(eq=False, slots=True)
class KernelTree(Node):
    """A whole kernel."""

    name: str
    params: tuple[Param, ...]
    results: tuple[Type, ...]
    fields: tuple[FieldSymbol, ...]
    body: list[Stmt]
    functions: list[KernelTree] = field(default_factory=list["KernelTree"])  # that `Invoke` calls
    called: bool = False  # it is one of those
    mode: str = ""  # a row of MODES (`symbols.py`): which derivative is compiled
    nodes: tuple[NodeSymbol, ...] = ()  # the sparse nodes of the trees of its fields, parents first


def _subclasses(base: type[NodeT]) -> tuple[type[NodeT], ...]:
    """Every class above that extends `base`, in order. (`__subclasses__` would also list the classes without slots.)"""
    classes = [thing for thing in globals().values() if isinstance(thing, type)]
    return tuple(one for one in classes if issubclass(one, base) and one is not base)


EXPRESSIONS: tuple[type[Expr], ...] = _subclasses(Expr)
STATEMENTS: tuple[type[Stmt], ...] = _subclasses(Stmt)
