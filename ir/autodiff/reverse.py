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

from collections.abc import Callable, Set

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.adjoints import Frame, filled, local_like
from weft.ir.autodiff.checkpoints import (
    Spaced,
    Tape,
    counted,
    has_slots,
    index_at,
    loop_of,
    reverse_each,
    reverse_spaced,
    slots_of,
)
from weft.ir.autodiff.choices import chosen_results
from weft.ir.autodiff.clobbers import Clobbers
from weft.ir.autodiff.companions import Companions
from weft.ir.autodiff.demand import LOCALS, Demand, reads_final
from weft.ir.autodiff.draws import number_draws
from weft.ir.autodiff.functions import form_of
from weft.ir.autodiff.keeping import Kept, kept_of
from weft.ir.autodiff.lost import lost_derivatives
from weft.ir.autodiff.products import scale, scales
from weft.ir.autodiff.promotion import promote
from weft.ir.autodiff.pullbacks import PULLBACKS
from weft.ir.autodiff.refusals import refuse_reverse
from weft.ir.autodiff.structure import split_atomics, structure, test_of
from weft.ir.core import Block, BlockArg, Builder, Op, Value, ops_of
from weft.ir.types import Pointer

__all__ = ["Reverse"]

_PARALLEL = (ops.ParallelFor, ops.StructFor)


class Reverse:
    """One run over a kernel. `shared`: values and locals that parallel loops use from outside. `needed`: what the
    forward sweep that is being emitted computes."""

    def __init__(self, kernel: ops.Kernel, fast_math: bool) -> None:
        self.kernel, self.fast_math = kernel, fast_math
        self.form = form_of(kernel)
        number_draws(kernel)
        self.returned = structure(kernel)
        self.companions = Companions(kernel)
        self.demand, self.clobbers = self._settled()
        self.shared = self._shared()
        self.needed: Set[Value] = self.demand.needed
        self.tapes: list[dict[Op, Tape]] = []
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
        self.sweep(old, frame, self.demand.needed)
        for op in reversed(old):
            op.erase()
        kernel.results = ()
        if self.form is not None:
            self.form.finish(frame, kernel)

    def _settled(self) -> tuple[Demand, Clobbers]:
        """The demand, after memory that would be overwritten too early has become locals."""
        demand = Demand(self.kernel, self.companions, self.fast_math, self.form)
        clobbers = Clobbers(self.kernel, demand)
        if clobbers.torn and promote(self.kernel, clobbers.promotable):
            split_atomics(self.kernel)
            demand = Demand(self.kernel, self.companions, self.fast_math, self.form)
            clobbers = Clobbers(self.kernel, demand)
        return demand, clobbers

    def _shared(self) -> set[Value]:
        found = set[Value]()
        for loop in self.kernel.all_of(ops.ParallelFor, ops.StructFor):
            for op in loop.walk():
                found.update(op.operands)
                found.update(root_of(value) for value in op.operands if isinstance(value.type, Pointer))
        return found

    def sweep(self, block: Block, frame: Frame, needed: Set[Value]) -> None:
        """Emit the forward and the backward sweep of a block, of which its adjoints need these ops."""
        outer, self.needed = self.needed, needed
        self.tapes.append({})
        self.forward(block, frame, self.tapes[-1])
        self.backward(block, frame)
        self.tapes.pop()
        self.needed = outer

    # ---- forward -----------------------------------------------------------------------------------------------------

    def forward(self, block: Block, frame: Frame, tapes: dict[Op, Tape] | None = None) -> None:
        """Emit what is needed of a block. `tapes`: where to note what the backward sweep of this block will need; None:
        no backward sweep follows."""
        later = self._read_later(block) if tapes is not None else None
        for op in block:
            frame.build.span = op.span or frame.build.span
            if op.regions:
                self._region(op, frame, tapes, later)
            elif self.scaling and scales(op, self.demand.acts):
                assert isinstance(op, ops.Atomic)
                scale(frame, op)
            elif op not in self.needed or isinstance(op, (ops.Const, ops.Arg)):
                continue
            elif isinstance(op, (ops.Store, ops.Atomic)):
                if later is None or root_of(op.ptr) in later[op]:
                    made = op.clone({op.ptr: frame.address(op.ptr), op.value: frame.value(op.value)})
                    frame.values[op] = frame.build.add(made)
            elif isinstance(op, ops.Load):
                frame.values[op] = frame.build.add(ops.Load(frame.address(op.ptr), name=op.name))
            else:
                made = op.clone({value: frame.value(value) for value in op.operands})
                frame.values[op] = frame.build.add(made)

    def _read_later(self, block: Block) -> dict[Op, set[Value]]:
        """The locals that needed ops of the block read after each op."""
        found: dict[Op, set[Value]] = {}
        reads = set[Value]()
        for op in reversed(block):
            found[op] = set(reads)
            for inner in op.walk():
                if isinstance(inner, (ops.Load, ops.Atomic)) and inner in self.needed:
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
            self._choose(op, tape, wanted, not frame.parallel)
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
        if isinstance(op, ops.For) and (wanted or tape.kept.state):
            cheapest = kept_of(self.demand, op)
            if has_slots(op, cheapest, shared):
                tape.kept = cheapest
        if tape.kept.state and not (isinstance(op, ops.For) and has_slots(op, tape.kept, shared)):
            state, tape.advance = self.demand.advance(op, tape.kept.state)
            tape.kept = Kept(state, again=used)

    def _plain(self, op: Op, frame: Frame) -> None:
        """Emit what is needed of an op with regions."""
        if isinstance(op, ops.If):
            made = frame.build.add(ops.If(frame.value(op.condition)))
            self.forward(op.then, frame.inner(made.then, op.span))
            self.forward(op.orelse, frame.inner(made.orelse, op.span))
        elif isinstance(op, ops.While):
            self._while(op, frame)
        elif isinstance(op, ops.For):
            index = BlockArg(op.body.args[0].type, op.body.args[0].name)
            bounds = frame.value(op.begin), frame.value(op.end), frame.value(op.step)
            loop = frame.build.add(ops.For(*bounds, body=Block([index])))
            inner = frame.inner(loop.body, op.span)
            inner.values[op.body.args[0]] = index
            self.forward(op.body, inner)
        else:
            self.forward(op.regions[0], self.parallel(op, frame))

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
        made = frame.build.add(ops.While())
        inner = frame.inner(made.body, op.span)
        test, _ = test_of(op)
        leave = inner.build.add(ops.If(inner.build.add(ops.Load(frame.value(test.ptr)))))
        leave.orelse.append(ops.Break(span=op.span))
        if each is not None:
            each(inner)
        self.forward(op.body, inner)

    def _taped_loop(self, op: ops.For | ops.While, frame: Frame, tape: Tape) -> bool:
        """Emit the forward sweep of a loop that is reversed later. False: it needs no tape."""
        if isinstance(op, ops.While):
            spaced = Spaced(frame, tape.kept)
            self._while(op, frame, spaced.step)
            spaced.tape(frame, tape)
            return True
        tape.count = counted(op, frame)
        if not tape.kept.scalars:
            return False
        if has_slots(op, tape.kept, not frame.parallel):
            slots = tape.slots = slots_of(op, frame, tape.kept)

            def saved(inner: Frame, number: Value) -> None:
                slots.save(inner, number)
                self.iteration(op, inner, number)
                slots.keep(inner, number)

            loop_of(frame, tape.count, saved)
            return True
        spaced = Spaced(frame, tape.kept)

        def one(inner: Frame, number: Value) -> None:
            spaced.step(inner)
            self.iteration(op, inner, number)

        loop_of(frame, tape.count, one)
        spaced.tape(frame, tape)
        return True

    def iteration(self, op: ops.For | ops.While, frame: Frame, number: Value, again: Set[Value] | None = None) -> None:
        """Emit iteration `number` of a serial loop: what is needed of it, or its whole sweep with `again` in it."""
        if isinstance(op, ops.For):
            frame.values[op.body.args[0]] = index_at(op, frame, number)
        if again is not None:
            self.sweep(op.body, frame, again)
        else:
            self.forward(op.body, frame)

    # ---- backward ----------------------------------------------------------------------------------------------------

    def backward(self, block: Block, frame: Frame) -> None:
        """Emit the adjoints of the ops of a block, after its forward sweep."""
        demand = self.demand
        for op in block:
            if op in demand.active and (isinstance(op, LOCALS) or self._used_inside(op, block)):
                shared = op in self.shared and not frame.parallel
                frame.places[op] = local_like(frame, op, shared, f"{op.name}.grad" if op.name else "")
                if self.form is not None:
                    self.form.seed(frame, op, self.kernel)
        for op in reversed(block):
            frame.build.span = op.span or frame.build.span
            if op not in demand.acts:
                continue
            if op.regions:
                self._back(op, frame)
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
            made = frame.build.add(ops.If(frame.value(op.condition)))
            for side, block in ((op.then, made.then), (op.orelse, made.orelse)):
                self.sweep(side, frame.inner(block, op.span), self.demand.reversal(op))
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
        def run(inner: Frame, number: Value) -> None:
            outer, self.needed = self.needed, tape.advance
            self.iteration(op, inner, number)
            self.needed = outer

        def sweep(inner: Frame, number: Value) -> None:
            self.iteration(op, inner, number, tape.kept.again)

        if tape.shift is None:
            reverse_each(frame, tape, sweep)
        elif any(isinstance(inner, (ops.For, ops.While)) for inner in ops_of(op.body)):
            reverse_spaced(frame, tape, run, sweep)
        else:  # twice the code for innermost loops: most of them have few iterations
            zero = frame.build.add(ops.Const(0, type=tape.shift.type))
            few = frame.build.add(ops.If(frame.build.add(ops.Binary("eq", tape.shift, zero))))
            reverse_each(frame.inner(few.then, op.span), tape, sweep)
            reverse_spaced(frame.inner(few.orelse, op.span), tape, run, sweep)
