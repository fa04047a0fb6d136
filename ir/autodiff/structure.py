"""Control flow without jumps, which reverse mode needs: `break`, `continue` and `return` become flags and branches.

    for %k in 0..%n {                        store %index, 0; store %run, (lt 0, %n)
      if %p { break }                        while { if (load %run) {} else { break }
      A                              =>        if %p { store %run, false } else { A }
    }                                          store %index, (load %index) + 1; store %run, (load %run) and ...
                                             }

After the pass, the only jump is the one at the beginning of each While. A jump that ends one side of an If, and nothing
else, costs nothing: what follows the If moves to its other side. Otherwise a flag says whether the iteration goes on.
Atomics on the locals of one iteration become loads and stores, and so do those of serial code.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir import ops
from weft.ir.autodiff.early_returns import PARALLEL, guard_rest
from weft.ir.autodiff.splitting import split_atomics
from weft.ir.core import Block, Builder, Op, Value
from weft.ir.errors import Span
from weft.ir.rewrite import literal
from weft.ir.types import pointer, shape_of, u1

__all__ = ["structure", "test_of"]

NEVER, MAYBE, ALWAYS = range(3)  # whether the end of a block is skipped by a jump


def structure(kernel: ops.Kernel) -> list[tuple[Value, Span | None]]:
    """Give a kernel the form that reverse mode reads. Gives the values that it returned, and where."""
    returned = [(value, op.span) for op in kernel.all_of(ops.Return) for value in op.values]
    _Structure().kernel(kernel)
    split_atomics(kernel)
    for reduce in kernel.all_of(ops.Reduce):
        if reduce.kind != "add":
            _expand(reduce)
    return returned


def test_of(loop: ops.While) -> tuple[ops.Load, ops.If]:
    """The load of the flag of a structured While, and the If that leaves the loop."""
    load = loop.body.first
    assert isinstance(load, ops.Load)
    assert isinstance(load.next, ops.If)
    return load, load.next


def _expand(op: ops.Reduce) -> None:
    """A reduction as operators on the elements, which have derivatives."""
    build, count = Builder.at(op), 1
    for extent in shape_of(op.x.type):
        count *= extent
    total: Value = build.add(ops.Extract(op.x, 0))
    for index in range(1, count):
        total = build.add(ops.Binary(op.kind, total, build.add(ops.Extract(op.x, index)), type=op.type))
    op.replace(total)


@dataclass
class _Scope:
    """A body that jumps may leave. `go`: the local that is false once the rest of the body is skipped. `run`: the local
    that is false once the loop ends; None: no loop. `breaks`: whether something leaves the loop."""

    go: Value
    run: Value | None = None
    breaks: bool = False


class _Structure:
    """One run over a kernel. `done`: the local that is true after a `return`."""

    def __init__(self) -> None:
        self.done: Value | None = None

    def kernel(self, kernel: ops.Kernel) -> None:
        body = kernel.body
        if isinstance(body.last, ops.Return):
            body.last.erase()
        build = Builder(body, body.first, kernel.span)
        if kernel.all_of(ops.Return):
            self.done = _flag(build, "done", value=False)
        go = _flag(build, "go", value=True)
        self.block(body, _Scope(go))
        if len(go.users) == 1:
            _drop(go)

    def block(self, block: Block, scope: _Scope) -> int:
        """Replace the jumps of a block. Gives whether one of them skips what follows the block."""
        op = block.first
        while op is not None:
            following = op.next
            if isinstance(op, (ops.Break, ops.Continue, ops.Return)):
                self.jump(op, scope)
                return ALWAYS
            if isinstance(op, (ops.For, ops.While)):
                following = self.loop(op)
            elif isinstance(op, PARALLEL):
                self.parallel(op)
            elif isinstance(op, ops.If):
                sides = self.block(op.then, scope), self.block(op.orelse, scope)
                if any(sides):
                    return self.rest(op, sides, scope)
            op = following
        return NEVER

    def jump(self, op: Op, scope: _Scope) -> None:
        build = Builder.at(op)
        false, true = (build.add(ops.Const(value, type=u1)) for value in (False, True))
        build.add(ops.Store(scope.go, false))
        if not isinstance(op, ops.Continue) and scope.run is not None:
            build.add(ops.Store(scope.run, false))
            scope.breaks = True
        if isinstance(op, ops.Return):
            assert self.done is not None
            build.add(ops.Store(self.done, true))
        op.erase()

    def rest(self, op: ops.If, sides: tuple[int, int], scope: _Scope) -> int:
        """Move what follows an If with jumps to where it runs only if no jump was taken."""
        assert op.block is not None
        if sides != (ALWAYS, ALWAYS) and op.next is not None and any(isinstance(one, PARALLEL) for one in op.block):
            guard_rest(op.block, op.next, scope.go, lambda one, block: self.guarded(one, block, scope))
            return MAYBE
        rest = Block()
        while op.next is not None:
            moved = op.next
            moved.unlink()
            rest.append(moved)
        if sides == (ALWAYS, ALWAYS):
            for moved in reversed(rest):
                moved.erase()
            return ALWAYS
        if rest.first is None:
            return MAYBE
        if MAYBE not in sides:
            side = op.orelse if sides[0] == ALWAYS else op.then
        else:
            build = Builder(op.block, None, op.span)
            side = build.add(ops.If(build.add(ops.Load(scope.go)))).then
        inner = Block()
        inner.take(rest)
        self_status = self.block(inner, scope)
        side.take(inner)
        return ALWAYS if self_status == ALWAYS and MAYBE not in sides else MAYBE

    def guarded(self, op: Op, block: Block, scope: _Scope) -> None:
        """Replace the jumps of a parallel loop, or of serial ops at the top level."""
        if isinstance(op, PARALLEL):
            self.parallel(op)
        else:
            self.block(block, scope)

    def parallel(self, op: ops.ParallelFor | ops.StructFor) -> None:
        """Replace the jumps of a parallel loop."""
        go = _flag(Builder(op.body, op.body.first, op.span), "go", value=True)
        self.block(op.body, _Scope(go))
        if len(go.users) == 1:
            _drop(go)

    def loop(self, op: ops.For | ops.While) -> Op | None:
        """Replace the jumps of a loop. Gives the op to visit next."""
        assert op.block is not None
        returns = bool(op.all_of(ops.Return))
        around = Builder.at(op)
        run = _flag(around, "run", value=True)
        go = _flag(Builder(op.body, op.body.first, op.span), "go", value=True)
        scope = _Scope(go, run)
        self.block(op.body, scope)
        if len(go.users) == 1:
            _drop(go)
        made: Op = op
        if isinstance(op, ops.While):
            _test(op.body, run, op)
        elif scope.breaks:
            made = _as_while(op, run)
        else:
            _drop(run)
        if returns:
            assert made.block is not None
            build = Builder(made.block, made.next, made.span)
            assert self.done is not None
            leave = build.add(ops.If(build.add(ops.Load(self.done))))
            leave.then.append(ops.Return([], span=made.span))
        return made.next


def _flag(build: Builder, name: str, value: bool) -> ops.Alloca:
    flag = build.add(ops.Alloca(type=pointer(u1), name=name))
    build.add(ops.Store(flag, build.add(ops.Const(value, type=u1))))
    return flag


def _drop(flag: Value) -> None:
    """Erase a flag that is only set."""
    assert isinstance(flag, Op)
    for user in list(flag.users):
        user.erase()
    flag.erase()


def _test(body: Block, run: Value, loop: Op) -> None:
    build = Builder(body, body.first, loop.span)
    leave = build.add(ops.If(build.add(ops.Load(run))))
    leave.orelse.append(ops.Break(span=loop.span))


def _as_while(op: ops.For, run: Value) -> ops.While:
    """A For that something leaves, as a While that counts."""
    around = Builder.at(op)
    (arg,) = op.body.args
    index = around.add(ops.Alloca(type=pointer(arg.type), name=arg.name or "index"))
    around.add(ops.Store(index, op.begin))
    around.add(ops.Store(run, _is_inside(around, op, op.begin)))
    made = around.add(ops.While(span=op.span))
    made.body.take(op.body)
    front = Builder(made.body, made.body.first, op.span)
    value = front.add(ops.Load(index, name=arg.name))
    arg.replace_uses(value)
    back = Builder(made.body, None, op.span)
    following = back.add(ops.Binary("add", value, op.step))
    back.add(ops.Store(index, following))
    running = back.add(ops.Load(run))
    back.add(ops.Store(run, back.add(ops.Binary("and", running, _is_inside(back, op, following)))))
    _test(made.body, run, op)
    op.erase()
    return made


def _is_inside(build: Builder, op: ops.For, index: Value) -> Value:
    step = literal(op.step)
    if step is not None:
        return build.add(ops.Binary("lt" if step > 0 else "gt", index, op.end))
    zero = build.add(ops.Const(0, type=op.step.type))
    rising = build.add(ops.Binary("gt", op.step, zero))
    sides = [build.add(ops.Binary(kind, index, op.end)) for kind in ("lt", "gt")]
    return build.add(ops.Select(rising, *sides))
