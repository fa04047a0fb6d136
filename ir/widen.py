"""Converts indices to i64: a sign extension is pushed down to the operands of an index.

`widen(i + 1)` becomes `widen(i) + 1`, down to loop indices (which become i64 themselves), loads and arguments. LLVM
then sees addresses that advance by a constant. The two differ if `i + 1` overflows, but then the index, or a value that
it is computed from, is out of bounds of any field. This argument does not hold for loop bounds and for indices that are
checked in their own width. There, the extension is pushed only through ops that are known not to overflow (`exactly`).
"""

from __future__ import annotations

from weft.ir.core import Block, BlockArg, Builder, Op, Value
from weft.ir.intervals import interval, type_interval
from weft.ir.ops import Binary, Cast, Const, For, Select, Task, Unary, Yield
from weft.ir.types import i32, i64

__all__ = ["FARTHEST", "Widener"]

# In bytes: a constant that moves an address further stays with the index. An index without its constants, times its
# stride, is therefore within the size of the field plus a few times this. `vectorize/addresses.py` relies on that.
FARTHEST = 1 << 28


class Widener:
    """Widens values within one kernel. Each value is widened once, right after its definition. `exact`: indices keep
    their 32-bit values too."""

    def __init__(self, exact: bool = False) -> None:
        self.exact_indices = exact
        self.wide: dict[Value, Value] = {}
        self.exact: dict[Value, Value] = {}
        self.shared: dict[tuple[Block, object], Value] = {}
        self.front: dict[Block, Op] = {}

    # ---- what a whole task shares ----

    def home(self, block: Block) -> Block:
        """The block whose values are visible wherever `block` runs: a task's prologue, bounds or serial body."""
        while not isinstance(block.owner, Task):
            assert block.owner is not None
            assert block.owner.block is not None
            block = block.owner.block
        task = block.owner
        return task.prologue if task.kind != "serial" and block is not task.bounds else block

    def share(self, block: Block, op: Op, key: object) -> Value:
        """The value of `op` at the start of the home of `block`. There is one op for each `key`."""
        home = self.home(block)
        if (home, key) not in self.shared:
            last = self.front.get(home)
            self.front[home] = Builder(home, home.first if last is None else last.next).add(op)
            self.shared[home, key] = op
        return self.shared[home, key]

    def constant(self, block: Block, value: int) -> Value:
        """An i64 constant."""
        found = self.shared.get((self.home(block), value))
        return found if found is not None else self.share(block, Const(value, type=i64), value)

    # ---- widening ----

    def __call__(self, value: Value) -> Value:
        """`value`, an index, as i64."""
        return self.exactly(value) if self.exact_indices else self._widen(value, self.wide, False)

    def exactly(self, value: Value) -> Value:
        """`value`, any integer, as i64, even if intermediate values overflow."""
        return self._widen(value, self.exact, True)

    def _widen(self, value: Value, known: dict[Value, Value], exact: bool) -> Value:
        if value.type is i64:
            return value
        if value not in known:
            known[value] = self._make(value, known, exact)
        return known[value]

    def _make(self, value: Value, known: dict[Value, Value], exact: bool) -> Value:
        if isinstance(value, BlockArg):
            return self._loop_index(value)
        assert isinstance(value, Op)
        assert value.block is not None
        after = Builder(value.block, value.next, value.span)
        if isinstance(value, Const):
            return self.constant(value.block, int(value.value))
        if isinstance(value, Cast) and _is_view(value):
            return value.x
        if value.type is i32 and not (exact and interval(value) == type_interval(i32)):
            if isinstance(value, Binary) and _distributes(value):
                lhs, rhs = self._widen(value.lhs, known, exact), self._widen(value.rhs, known, exact)
                return after.add(Binary(value.kind, lhs, rhs, name=value.name))
            if isinstance(value, Select):
                a, b = self._widen(value.a, known, exact), self._widen(value.b, known, exact)
                return after.add(Select(value.condition, a, b, name=value.name))
            if isinstance(value, Unary) and value.kind == "neg":
                return after.add(Unary("neg", self._widen(value.x, known, exact), name=value.name))
        return after.add(Cast(value, type=i64, name=value.name))

    # ---- loops ----

    def _loop_index(self, arg: BlockArg) -> Value:
        assert arg.block is not None
        loop = arg.block.owner
        assert isinstance(loop, For)
        bounds = [self.exactly(operand) for operand in loop.operands]
        for position, bound in enumerate(bounds):
            loop.set_operand(position, bound)
        return self._retype(arg.block, 0)

    def widen_task(self, task: Task) -> None:
        """Make the indices and the bounds of a range_for i64."""
        for position, arg in enumerate(list(task.body.args)):
            if arg.type is not i64:
                self.wide[arg] = self.exact[arg] = self._retype(task.body, position)
        box = task.bounds.last
        assert isinstance(box, Yield)
        for position, value in enumerate(list(box.operands)):
            box.set_operand(position, self.exactly(value))

    def _retype(self, block: Block, position: int) -> BlockArg:
        """Make a block's argument i64. Its users see it through a cast."""
        old = block.args[position]
        new = block.args[position] = BlockArg(i64, old.name, old.span)
        new.block = block
        if old.users:
            view = Cast(new, type=old.type, name=old.name)
            old.replace_uses(view)
            Builder(block, block.first, old.span).add(view)
            self.wide[view] = self.exact[view] = new
        return new


def _is_view(value: Cast) -> bool:
    """Whether it narrows something that fits: so it is with loop indices and extents that were i32 to begin with."""
    low, high = interval(value.x)
    least, most = type_interval(value.type)
    return value.x.type is i64 and least <= low and high <= most


def _distributes(value: Binary) -> bool:
    if value.kind == "mul":
        return isinstance(value.lhs, Const) or isinstance(value.rhs, Const)
    return value.kind in ("add", "sub", "min", "max")
