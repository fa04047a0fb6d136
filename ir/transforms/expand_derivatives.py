"""Computes the derivatives that a kernel asks for itself, `ti.ad.derivative(f, x)`, by forward mode of a part of it.

    %v = vary %x                               %y = unary sin %x
    %y = unary sin %v                    =>    %d = binary mul (unary cos %x), 1
    %d = derivative %y, %v

What depends on a `vary` gets a dual beside it, once for each number of %x. Derivatives are expanded in program order. A
`derivative` in a function that is differentiated comes before the one of the function, so it is plain code by then. To
the derivative by another argument, a `vary` is its operand.

Only values and locals carry these derivatives. A function that stores a value that depends on its argument to memory of
the program, or passes it to a real function, is refused: what it reads from there would have no dual. So is one that
stores it to a local from outside of a loop around the `vary`: the next iteration has another argument.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import active_values
from weft.ir.autodiff.forward import DUALS, Forward
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder, Op, Value
from weft.ir.errors import CompilationError
from weft.ir.passes import pass_
from weft.ir.types import Tensor, element, shape_of

__all__ = ["expand_derivatives"]


@pass_("expand_derivatives")
def expand_derivatives(root: ops.Kernel, config: CompileConfig) -> bool:
    """Replace each `derivative` by the code that computes it."""
    del config
    found = root.all_of(ops.Derivative)
    for op in found:
        _expand(root, op)
    for vary in root.all_of(ops.Vary):
        vary.replace(vary.x)
    return bool(found)


class _Constants:
    """What `Companions` says of a kernel in which no memory has a companion."""

    def __init__(self) -> None:
        self.params: dict[int, int] = {}

    def has(self, root: Value) -> bool:
        return False

    def recorded(self, op: Value) -> None:
        return None

    def is_record(self, ptr: Value) -> bool:
        return False


class _Along(Forward):
    """Forward mode of what depends on `vary`, along one direction."""

    def __init__(self, kernel: ops.Kernel, active: set[Value], vary: Value, direction: Value) -> None:
        self.kernel, self.active = kernel, active
        self.companions = _Constants()  # type: ignore[assignment]
        self.duals = {vary: direction}
        self.places = {}

    def block(self, block: Block) -> None:
        for op in block:
            if op in self.active or self._updates(op):
                DUALS[type(op)](self, op)
            for region in op.regions:
                self.block(region)

    def _updates(self, op: Op) -> bool:
        """Whether it changes a local that holds derivatives."""
        return isinstance(op, (ops.Store, ops.Atomic)) and root_of(op.ptr) in self.active


_LOCALS = (ops.Alloca, ops.SharedLocal)
_LOOPS = (ops.For, ops.While, ops.ParallelFor, ops.StructFor)
_OUTSIDE = (ops.Store, ops.Atomic, ops.AtomicStore, ops.Exchange, ops.CompareExchange, ops.Simt, ops.Invoke)


def _expand(kernel: ops.Kernel, op: ops.Derivative) -> None:
    vary, value = op.by, op.value
    assert isinstance(vary, ops.Vary)
    active = active_values(kernel, _Constants(), [vary])  # type: ignore[arg-type]
    active.discard(vary)
    _refuse(kernel, active | {vary}, vary)
    duals = list[Value]()
    for direction in _directions(vary):
        along = _Along(kernel, active, vary, direction)
        along.block(kernel.body)
        duals.append(along.dual(Builder.at(op), value))
    op.replace(_joined(Builder.at(op), op, duals))


def _refuse(kernel: ops.Kernel, active: set[Value], vary: ops.Vary) -> None:
    loops = [op for op in vary.around() if isinstance(op, _LOOPS)]
    for op in kernel.all_of(*_OUTSIDE):
        carried = [value for value in op.operands if value in active and value is not getattr(op, "ptr", None)]
        root = root_of(op.ptr) if isinstance(op, (ops.Store, ops.Atomic)) else None
        own = isinstance(root, _LOCALS) and all(root.within(loop) for loop in loops)
        if carried and not own:
            raise CompilationError(
                f"ti.ad.derivative cannot differentiate a function with this {op.opname} of a value that depends on "
                "its argument: return the value instead",
                op.span,
            )


def _directions(vary: ops.Vary) -> list[Value]:
    """A unit vector for each number of the argument."""
    assert vary.block is not None
    build, elem = Builder(vary.block, vary.next, vary.span), element(vary.type)
    if not isinstance(vary.type, Tensor):
        return [build.add(ops.Const(1.0, type=elem))]
    zero, one = (build.add(ops.Const(number, type=elem)) for number in (0.0, 1.0))
    count = vary.type.count
    parts: list[list[Value]] = [[one if k == number else zero for k in range(count)] for number in range(count)]
    return [build.add(ops.MakeTensor(row, type=vary.type)) for row in parts]


def _joined(build: Builder, op: ops.Derivative, duals: list[Value]) -> Value:
    """The derivative, whose last axes are those of the argument."""
    if not shape_of(op.by.type):
        return duals[0]
    count = op.value.type.count if isinstance(op.value.type, Tensor) else 0
    if not count:
        return build.add(ops.MakeTensor(duals, type=op.type))
    parts: list[Value] = [build.add(ops.Extract(dual, k)) for k in range(count) for dual in duals]
    return build.add(ops.MakeTensor(parts, type=op.type))
