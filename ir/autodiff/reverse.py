"""Reverse mode: the kernel that computes the gradients of a kernel's inputs from those of its outputs.

    parallel_for (%i) {                        parallel_for (%i) {
      %x = load @x[%i]                           %x = load @x[%i]
      %y = unary sin %x                  =>      %g = load @y.grad[%i]
      store @y[%i], %y                           store @y.grad[%i], 0
    }                                            atomic add @x.grad[%i], (mul (cos %x), %g)
                                               }

The *sweep* of a block is its forward sweep, which computes what the adjoints need and stores to locals only, and then
its backward sweep, which visits its ops in reverse order. The sweep of a parallel loop is its body's: the loop stays
one parallel loop. The backward sweep of an If or of a loop sweeps its blocks. So these are computed again there, with
the values that locals had before it. For serial loops, `checkpoints.py` provides these values. Values that are loaded
from memory of the program are loaded again: `clobbers.py` proves that they are still there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from functools import partial
from itertools import takewhile

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.adjoints import Frame, filled, local_like
from weft.ir.autodiff.checkpoints import Tape, counted, has_slots, index_at, reverse_each, slots_of
from weft.ir.autodiff.choices import chosen_results
from weft.ir.autodiff.companions import Companions
from weft.ir.autodiff.demand import LOCALS, reads_final, updates_local
from weft.ir.autodiff.draws import number_draws
from weft.ir.autodiff.exits import is_only_end, outer_exit
from weft.ir.autodiff.functions import called_again, form_of
from weft.ir.autodiff.joint import Joint, following, joint_of, once
from weft.ir.autodiff.keeping import Kept, kept_of
from weft.ir.autodiff.leaves import Leaves
from weft.ir.autodiff.lost import lost_derivatives
from weft.ir.autodiff.products import scale, scales
from weft.ir.autodiff.pullbacks import PULLBACKS, call_jointly
from weft.ir.autodiff.records import Records, record_param
from weft.ir.autodiff.refusals import refuse_reverse
from weft.ir.autodiff.settling import settled
from weft.ir.autodiff.slots import Slots, binary, local_of, loop_of
from weft.ir.autodiff.structure import structure, test_of
from weft.ir.autodiff.topology import keep_cells
from weft.ir.core import Block, BlockArg, Builder, Op, Value
from weft.ir.types import Pointer, i32, pointer, u1

__all__ = ["Reverse"]

_PARALLEL = (ops.ParallelFor, ops.StructFor)


class Reverse:
    """One run over a kernel. `memory`: see `Traits`. `shared`: values and locals that parallel loops use from outside.
    `needed`: what the forward sweep that is being emitted computes."""

    def __init__(self, kernel: ops.Kernel, fast_math: bool, memory: float) -> None:
        self.kernel, self.fast_math, self.memory = kernel, fast_math, memory
        self.form = form_of(kernel)
        number_draws(kernel)
        self.returned = structure(kernel)
        self.companions = Companions(kernel)
        param = record_param(kernel)
        self.demand, self.clobbers = settled(kernel, self.companions, fast_math, self.form, param)
        self.records = None if param is None else Records(self.demand, param)
        self.shared = self._shared()
        self.needed: Set[Value] = self.demand.needed
        self.tapes: list[dict[Op, Tape]] = []
        self.kept: dict[Op, tuple[Slots, Value]] = {}  # of iterations that write their rows: where values go
        self.exits: dict[Op, Value] = {}  # of loops whose forward sweep is emitted: where the conditions are noted
        self.known: dict[
            Op, Value | bool
        ] = {}  # of loops whose iterations run again: the conditions, or where they are
        self.parts: Set[Op] = frozenset()  # of the body of the loop whose iteration is swept
        self.scaling = False  # whether adjoints are multiplied by the factors of products, after their loop

    def run(self) -> None:
        """Replace the body of the kernel."""
        kernel, demand = self.kernel, self.demand
        refuse_reverse(kernel, demand)
        kernel.lost = lost_derivatives(kernel, demand.varied, self.companions, self.returned)
        kernel.saved = self.clobbers.hold()
        old = kernel.body
        kernel.body = Block()
        kernel.body.owner = kernel
        frame = Frame(Builder(kernel.body, None, kernel.span), self.companions)
        if self.records is not None:
            self.records.begin(frame.build)
            kernel.records = self.records.text
        self.sweep(old, frame, demand.needed, lasting=self.form is not None and bool(self.form.results))
        for op in reversed(old):
            op.erase()
        kernel.results = ()
        if self.form is not None:
            self.form.finish(frame, kernel)
        keep_cells(kernel)

    def _shared(self) -> set[Value]:
        found = set[Value]()
        for loop in self.kernel.all_of(ops.ParallelFor, ops.StructFor):
            for op in loop.walk():
                found.update(op.operands)
                found.update(root_of(value) for value in op.operands if isinstance(value.type, Pointer))
        return found

    def sweep(self, block: Block, frame: Frame, needed: Set[Value], lasting: bool = False) -> None:
        """Emit the forward and the backward sweep of a block, of which its adjoints need these ops. `lasting`: locals
        shall hold afterwards what the program leaves in them."""
        outer, self.needed = self.needed, needed
        self.tapes.append({})
        later = None if lasting else self._read_later(block)
        region, joint = once(self.demand, block, lasting), joint_of(self.demand, block)
        if region is not None:
            self._sweep_once(block, region, frame, later)
        elif joint is not None:
            self._sweep_jointly(block, joint, frame, later)
        else:
            self.forward(block, frame, later)
            self._know(frame)
            self.backward(block, block, frame)
        self.tapes.pop()
        self.needed = outer

    def _sweep_once(self, block: Block, region: Op, frame: Frame, later: dict[Op, set[Value]] | None) -> None:
        """Sweep a block in which an op is swept when the forward sweep comes to it (`joint.py`)."""
        before, behind = [*takewhile(lambda op: op is not region, block)], [*following(region)]
        self.forward(before, frame, later)
        self.backward(block, behind, frame)
        needed = self.needed if region in self.parts else self.needed | self.demand.reversal(region)
        if isinstance(region, ops.While):
            self._while(region, frame, lambda inner: self.sweep(region.body, inner, needed, lasting=True))
        else:
            self._plain(region, frame, lambda side, inner: self.sweep(side, inner, needed, lasting=True))
        self.forward(behind, frame, later)
        self._know(frame)
        self.backward(block, before, frame)

    def _sweep_jointly(self, block: Block, joint: Joint, frame: Frame, later: dict[Op, set[Value]] | None) -> None:
        """Sweep a block with calls that give their values with their adjoints (`joint.py`)."""
        first = next(op for op in block if op in joint.calls)
        before, behind = [*takewhile(lambda op: op is not first, block)], [first, *following(first)]
        self.forward([op for op in block if op not in joint.dependent], frame, later)
        frame.unknown = joint.dependent
        self.backward(block, behind, frame, joint)
        frame.unknown = frozenset()
        self.forward([op for op in behind if op in joint.dependent and op not in joint.calls], frame, later)
        self._know(frame)
        for emit in frame.waiting:
            emit()
        frame.waiting.clear()
        self.backward(block, before, frame)

    def _know(self, frame: Frame) -> None:
        """After the forward sweep of a block: if it is that of a function, load its results."""
        if self.form is not None and frame.outer is None:
            self.form.know(frame)

    # ---- forward -----------------------------------------------------------------------------------------------------

    def forward(
        self, block: Iterable[Op], frame: Frame, later: dict[Op, set[Value]] | None = None, ends: bool = False
    ) -> None:
        """Emit what is needed of a block. `later`: the locals that are read after each op; None: all locals that it
        writes. `ends`: no backward sweep follows. Otherwise, note what that will need."""
        tapes = None if ends else self.tapes[-1]
        for op in block:
            frame.build.span = op.span or frame.build.span
            if op.regions:
                self._region(op, frame, tapes, later)
            elif self.scaling and scales(op, self.demand.acts):
                assert isinstance(op, ops.Atomic)
                scale(frame, op)
            elif op not in self.needed or isinstance(op, (ops.Const, ops.Arg)):
                continue
            elif op in self.demand.recorded:
                self._recorded(op, frame, later)
            elif isinstance(op, (ops.Store, ops.Atomic)):
                if later is None or root_of(op.ptr) in later[op]:
                    made = op.clone({op.ptr: frame.address(op.ptr), op.value: frame.value(op.value)})
                    frame.values[op] = frame.build.add(made)
            elif isinstance(op, ops.Load):
                frame.values[op] = frame.build.add(ops.Load(frame.address(op.ptr), name=op.name))
            elif isinstance(op, ops.Invoke):
                frame.values[op] = frame.build.add(called_again(op, [frame.value(value) for value in op.values]))
            else:
                made = op.clone({value: frame.value(value) for value in op.operands})
                frame.values[op] = frame.build.add(made)
            if op in self.kept:
                slots, row = self.kept[op]
                slots.keep(frame, row, op)

    def _recorded(self, op: Op, frame: Frame, later: dict[Op, set[Value]] | None) -> None:
        """Load a value from the records. An atomic on a local stores to it again."""
        assert self.records is not None
        if isinstance(op, ops.Atomic) and updates_local(op) and (later is None or root_of(op.ptr) in later[op]):
            frame.build.add(op.clone({op.ptr: frame.address(op.ptr), op.value: frame.value(op.value)}))
        frame.values[op] = self.records.load(frame.build, op, frame.value)

    def _read_later(self, block: Block) -> dict[Op, set[Value]]:
        """The locals that needed ops of the block read after each op. The backward sweep of an If or of a loop reads
        locals as they were before it, also if the forward sweep leaves it out."""
        found: dict[Op, set[Value]] = {}
        reads = set[Value]()
        for op in reversed(block):
            found[op] = set(reads)
            swept = op.regions and op in self.demand.acts and op not in self.parts
            again: Set[Value] = self.demand.reversal(op) if swept else frozenset()
            for inner in op.walk():
                if isinstance(inner, (ops.Load, ops.Atomic)) and (inner in self.needed or inner in again):
                    reads.add(root_of(inner.ptr))
        return found

    def _extremes(self, op: Op) -> list[ops.Atomic]:
        """The atomic minima, maxima and products of locals in a parallel loop that act."""
        found, demand = op.all_of(ops.Atomic) if isinstance(op, _PARALLEL) else [], self.demand
        return [one for one in found if one in demand.acts and reads_final(demand, one) and one.ptr in demand.needed]

    def _products(self, op: Op) -> bool:
        return any(scales(inner, self.demand.acts) for inner in op.walk())

    def _region(self, op: Op, frame: Frame, tapes: dict[Op, Tape] | None, later: dict[Op, set[Value]] | None) -> None:
        written = self.demand.written(op, self.needed)
        wanted = bool(written) if later is None or self._extremes(op) else not written.isdisjoint(later[op])
        if tapes is not None and op in self.demand.acts:
            tapes[op] = self.note(op, frame, wanted)
            if isinstance(op, (ops.For, ops.While)) and self._taped_loop(op, frame, tapes[op]):
                return
        wanted = wanted or not self.kept.keys().isdisjoint(op.walk())
        if wanted or (self.scaling and self._products(op)):
            self._plain(op, frame)
        if tapes is not None:
            for extreme in self._extremes(op):  # what a local holds after the loop
                frame.values[extreme] = frame.build.add(ops.Load(frame.value(extreme.ptr)))

    def note(self, op: Op, frame: Frame, wanted: bool) -> Tape:
        """Note the values that locals have before an op, which will run again after other values were stored. `wanted`:
        the forward sweep runs it."""
        block, tape = op.block, Tape()
        assert block is not None
        own = self.demand.written(op)
        changed = set() if isinstance(op, (ops.For, ops.While)) else set(own)
        following = op.next
        while following is not None:
            changed |= self.demand.written(following)
            following = following.next
        if isinstance(op, (ops.For, ops.While)):
            self._choose(op, tape, wanted, self._shares(frame))
        again = self.demand.needed if isinstance(op, _PARALLEL) and self._products(op) else self.demand.reversal(op)
        for local in self.demand.exposed(op, again | tape.advance):
            if local in changed and local not in tape.kept.state:
                value = frame.build.add(ops.Load(frame.value(local), name=local.name))
                tape.saved.append((local, value))
        return tape

    def _choose(self, op: ops.For | ops.While, tape: Tape, wanted: bool, shared: bool) -> None:
        """Choose what is kept of the iterations of a loop."""
        used = self.demand.reversal(op)
        tape.kept = Kept(self.demand.state(op, used), again=used)
        if wanted or tape.kept.state:
            tape.kept = kept_of(self.demand, op, self.memory)
            if not has_slots(op, tape.kept, shared):
                tape.kept = kept_of(self.demand, op, self.memory, leaves=True)
        if tape.kept.scalars and not has_slots(op, tape.kept, shared):
            tape.state, tape.advance = self.demand.advance(op, tape.kept.state, tape.kept.values)

    def _shares(self, frame: Frame) -> bool:
        """Whether the locals here are those of the kernel. (Those of a function are on a stack.)"""
        return not frame.parallel and self.form is None

    def _plain(self, op: Op, frame: Frame, each: Callable[[Block, Frame], None] | None = None) -> None:
        """Emit what is needed of an op with regions. `each`: emits a block, if not only its forward sweep is wanted."""
        each = each or self._advance
        if isinstance(op, ops.If):
            made = frame.build.add(ops.If(self._condition(op, frame), seldom=op.seldom))
            for side, block in ((op.then, made.then), (op.orelse, made.orelse)):
                each(side, frame.inner(block, op.span))
        elif isinstance(op, ops.While):
            self._while(op, frame)
        elif isinstance(op, ops.For):
            index = BlockArg(op.body.args[0].type, op.body.args[0].name)
            bounds = frame.value(op.begin), frame.value(op.end), frame.value(op.step)
            loop = frame.build.add(ops.For(*bounds, body=Block([index])))
            inner = frame.inner(loop.body, op.span)
            inner.values[op.body.args[0]] = index
            each(op.body, inner)
        else:
            each(op.regions[0], self.parallel(op, frame))

    def _advance(self, block: Block, frame: Frame) -> None:
        """Emit what is needed of a block, without its backward sweep."""
        self.forward(block, frame, ends=True)

    def _condition(self, op: ops.If, frame: Frame) -> Value:
        """The condition of an If. It is noted if it may end a loop that is reversed later, and known if that loop runs
        again."""
        known = self.known.get(op)
        if isinstance(known, bool):
            return frame.build.add(ops.Const(known, type=u1))
        if known is not None:
            return frame.build.add(ops.Load(known))
        condition = frame.value(op.condition)
        if op in self.exits:
            frame.build.add(ops.Store(self.exits[op], condition))
        return condition

    def parallel(self, op: Op, frame: Frame) -> Frame:
        """Emit a parallel loop with an empty body, and give the frame of the body."""
        args = [BlockArg(arg.type, arg.name) for arg in op.regions[0].args]
        made: ops.ParallelFor | ops.StructFor
        if isinstance(op, ops.StructFor):
            made = frame.build.add(ops.StructFor(op.field, op.config, op.cells, Block(args)))
        else:
            assert isinstance(op, ops.ParallelFor)
            begins, ends = [*map(frame.value, op.begins)], [*map(frame.value, op.ends)]
            made = frame.build.add(ops.ParallelFor(begins, ends, op.config, Block(args)))
        inner = frame.inner(made.body, op.span, parallel=True)
        inner.values.update(zip(op.regions[0].args, args, strict=True))
        return inner

    def _while(self, op: ops.While, frame: Frame, each: Callable[[Frame], None] | None = None) -> None:
        """Emit a While. `each`: emits an iteration, if more than its forward sweep is wanted."""
        made = frame.build.add(ops.While())
        inner = frame.inner(made.body, op.span)
        test, _ = test_of(op)
        leave = inner.build.add(ops.If(inner.build.add(ops.Load(frame.value(test.ptr)))))
        leave.orelse.append(ops.Break(span=op.span))
        if each is None:
            self._advance(op.body, inner)
        else:
            each(inner)

    def _taped_loop(self, op: ops.For | ops.While, frame: Frame, tape: Tape) -> bool:
        """Emit the forward sweep of a loop that is reversed later. False: it needs no tape."""
        if isinstance(op, ops.For):
            tape.count = counted(op, frame)
        if not tape.kept.scalars:
            if isinstance(op, ops.While):
                self._counted_while(op, frame, tape)
            return isinstance(op, ops.While)
        shared = self._shares(frame)
        if has_slots(op, tape.kept, shared):
            tape.slots = slots_of(op, frame, tape.kept, shared)
        else:
            index = op.body.args[0].type if isinstance(op, ops.For) else i32
            tape.leaves = Leaves.make(frame, tape.kept, tape.state, index, shared)

        def one(inner: Frame, number: Value | None = None) -> None:
            row = number if tape.leaves is None else tape.leaves.begin(inner)
            assert row is not None
            self._row(op, tape, inner, number, row)
            if tape.leaves is not None:
                tape.leaves.end(inner, row)

        if isinstance(op, ops.While):
            self._noted_while(op, frame, tape, one)
        else:
            assert tape.count is not None
            loop_of(frame, tape.count, one)
        return True

    def _row(self, op: ops.For | ops.While, tape: Tape, frame: Frame, number: Value | None, row: Value) -> None:
        """Emit an iteration that writes its row."""
        tape.rows.save(frame, row)
        self.kept |= dict.fromkeys(tape.kept.values, (tape.rows, row))
        self.iteration(op, frame, number)
        for value in tape.kept.values:
            del self.kept[value]

    def _noted_while(self, op: ops.While, frame: Frame, tape: Tape, each: Callable[[Frame], None]) -> None:
        """Emit a While that notes the conditions of its last iteration."""
        exits = self.demand.exits[op]
        tape.outer = outer_exit(op, exits, self.demand.acts)
        for exit in exits:
            if exit is not tape.outer or not is_only_end(op, exits, exit):
                tape.exits[exit] = frame.build.add(ops.Alloca(type=pointer(u1), name="exit"))
        self.exits |= tape.exits
        self._while(op, frame, each)
        for exit in tape.exits:
            del self.exits[exit]

    def _counted_while(self, op: ops.While, frame: Frame, tape: Tape) -> None:
        """Emit a While that counts its iterations."""
        count = local_of(frame, "count", 0)

        def one(inner: Frame) -> None:
            inner.build.add(ops.Store(count, binary(inner, "add", inner.build.add(ops.Load(count)), 1)))
            self._advance(op.body, inner)

        self._noted_while(op, frame, tape, one)
        unswept = tape.unswept(frame, self.demand.exits[op])
        tape.count = binary(frame, "sub", frame.build.add(ops.Load(count)), unswept)

    def iteration(
        self, op: ops.For | ops.While, frame: Frame, number: Value | None, again: Set[Value] | None = None
    ) -> None:
        """Emit iteration `number` of a serial loop: what is needed of it, or its whole sweep with `again` in it."""
        if isinstance(op, ops.For):
            assert number is not None
            frame.values[op.body.args[0]] = index_at(op, frame, number)
        if again is not None:
            self.sweep(op.body, frame, again)
        else:
            self._advance(op.body, frame)

    # ---- backward ----------------------------------------------------------------------------------------------------

    def backward(self, block: Block, some: Iterable[Op], frame: Frame, joint: Joint | None = None) -> None:
        """Emit the adjoints of these ops of a block, the last part of it first, after what they need of its forward
        sweep. `joint`: calls that give their values, and ops that wait for these."""
        demand = self.demand
        for op in block:
            if (
                op in demand.active
                and op not in frame.places
                and (isinstance(op, LOCALS) or self._used_inside(op, block))
            ):
                shared = op in self.shared and not frame.parallel
                frame.places[op] = local_like(frame, op, shared, f"{op.name}.grad" if op.name else "")
                if self.form is not None:
                    self.form.seed(frame, op, self.kernel)
        for op in reversed([*some]):
            frame.build.span = op.span or frame.build.span
            if op not in demand.acts:
                continue
            if op.regions:
                self._back(op, frame)
            elif joint is not None and op in joint.late:
                frame.waiting.append(partial(PULLBACKS[type(op)], demand, frame, op))
            elif joint is not None and op in joint.calls and op in self.needed:
                call_jointly(demand, frame, op)  # type: ignore[arg-type]
            else:
                PULLBACKS[type(op)](demand, frame, op)

    def _used_inside(self, op: Op, block: Block) -> bool:
        return any(user.block is not block and user in self.demand.acts for user in op.users)

    def _back(self, op: Op, frame: Frame) -> None:
        """Emit the sweeps of the blocks of an op, with the locals that it began with."""
        tape = self.tapes[-1][op]
        for local, value in tape.saved:
            frame.build.add(ops.Store(frame.value(local), value))
        if isinstance(op, ops.If):
            made = frame.build.add(ops.If(self._condition(op, frame), seldom=op.seldom))
            needed = self.needed if op in self.parts else self.demand.reversal(op)
            for side, block in ((op.then, made.then), (op.orelse, made.orelse)):
                self.sweep(side, frame.inner(block, op.span), needed)
        elif isinstance(op, (ops.For, ops.While)):
            self._back_loop(op, self._guarded(op, frame), tape)
        else:
            self.sweep(op.regions[0], self.parallel(op, frame), self.demand.reversal(op))
            if self._products(op):
                self._scale(op, frame, tape)

    def _scale(self, op: Op, frame: Frame, tape: Tape) -> None:
        """Emit a loop again that multiplies the adjoints of products by their factors."""
        for local, value in tape.saved:
            frame.build.add(ops.Store(frame.value(local), value))
        outer, self.needed, self.scaling = self.needed, self.demand.needed, True
        self._plain(op, frame)
        self.needed, self.scaling = outer, False

    def _guarded(self, op: ops.For | ops.While, frame: Frame) -> Frame:
        """Where to emit the sweep of a loop: in a branch, if a choice decides whether its results have an adjoint."""
        results = chosen_results(self.demand, op) if self.fast_math else []
        if not results:
            return frame
        add, guard = frame.build.add, None
        for local in results:
            adjoint = add(ops.Load(frame.adjoint(local)))
            differs = add(ops.Binary("ne", adjoint, filled(frame.build, adjoint.type)))
            guard = differs if guard is None else add(ops.Binary("or", guard, differs))
        assert guard is not None
        branch = add(ops.If(guard))
        return frame.inner(branch.then, op.span)

    def _back_loop(self, op: ops.For | ops.While, frame: Frame, tape: Tape) -> None:
        goes_on = self.demand.exits[op] if isinstance(op, ops.While) else {}

        def fill(inner: Frame, number: Value, row: Value) -> None:
            outer, self.needed = self.needed, tape.advance
            self.known |= goes_on
            self._row(op, tape, inner, number, row)
            self.needed = outer

        def sweep(inner: Frame, number: Value) -> None:
            self.known |= {**goes_on, **tape.noted}
            outer, self.parts = self.parts, tape.kept.parts | goes_on.keys()
            self.iteration(op, inner, number, tape.kept.again)
            self.parts = outer
            for exit, place in tape.noted.items():  # all other iterations are before the last one
                value = inner.build.add(ops.Const(goes_on[exit], type=u1))
                inner.build.add(ops.Store(place, value))

        if tape.leaves is not None:
            tape.leaves.reverse(frame, tape.unswept(frame, goes_on), fill, sweep)
        else:
            reverse_each(frame, tape, sweep)
        for exit in goes_on:
            del self.known[exit]
