"""Control flow, and ops with effects outside of the task: prints, failed assertions, the end of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from weft.codegen.llvm.code import Code
from weft.codegen.llvm.cold_versions import write_apart
from weft.codegen.llvm.function import AfterIteration, FunctionWriter, Jump, emits
from weft.codegen.llvm.interrupts import counted, hold, look, stretches
from weft.codegen.llvm.memory_ops import read_slot, service
from weft.codegen.llvm.spelling import in_memory
from weft.codegen.llvm.vector_loops import vector_loop
from weft.ir.artifact import Site
from weft.ir.core import Value
from weft.ir.errors import InternalError
from weft.ir.mapping.stretches import LIKELY, NEVER, may_overflow
from weft.ir.ops import Assert, Break, Const, Continue, Exit, For, HoldInterrupts, If, Print, RunRoutine, Warn, While
from weft.ir.tasks import is_masked
from weft.ir.types import Prim, Type, u1

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["counted_check", "has_next_iteration", "last_but_one", "put_scalars", "site_types", "stretch_of"]

_PATIENCE = 8  # stretches without a test, if a test prevents vectorization


@emits(If)
def _if(f: FunctionWriter, op: If) -> None:
    then, orelse, done = f.fresh_label("then"), f.fresh_label("else"), f.fresh_label("done")
    empty = op.orelse.first is None
    f.branch(f.use(op.condition), then, done if empty else orelse, f.module.odds(True) if is_masked(op) else "")
    f.start(then)
    f.block(op.then)
    f.jump(done)
    if not empty:
        f.start(orelse)
        if op.versioned and not f.in_lanes:
            write_apart(f, op.orelse, done)
        else:
            f.block(op.orelse)
            f.jump(done)
    f.start(done)


def stretch_of(op: For | While) -> int:
    """The number of iterations of the loop between two tests whether the launch must end (see `LoopSchedule`)."""
    return op.stretch if isinstance(op, While) else op.schedule.stretch


def counted_check(f: FunctionWriter, iterations: int) -> AfterIteration | None:
    """Start a countdown before a loop and return what emits the check after each iteration. `iterations` is the number
    of iterations between two tests, as a number below 0. Return None if the loop needs no test."""
    return counted(f, -iterations) if iterations < NEVER else None


@emits(While)
def _while(f: FunctionWriter, op: While) -> None:
    body, done, after_iteration = f.fresh_label("while"), f.fresh_label("done"), counted_check(f, op.stretch)
    f.start(body)
    with _iteration(f, after_iteration, body, done):
        f.block(op.body)
    f.jump(body)
    f.start(done)


@contextmanager
def _iteration(
    f: FunctionWriter, after_iteration: AfterIteration | None, latch: str, stop: str
) -> Generator[None, None, None]:
    """Emit the body of a loop, followed by what comes after each iteration."""
    after = f.fresh_label("check") if after_iteration else latch
    f.jumps.append(Jump(stop, after))
    yield
    f.jumps.pop()
    if after_iteration:
        f.start(after)
        after_iteration(f)


@emits(For)
def _for(f: FunctionWriter, op: For) -> None:
    iterations, begin, end = op.schedule.stretch, f.use(op.begin), f.use(op.end)
    if op.schedule.lanes > 1:
        span, after_iteration = op.schedule.lanes * op.schedule.vectors, counted_check(f, -abs(iterations))
        with vector_loop(f, begin, end, span, after_iteration) as found:
            f.values.update(zip(op.body.args, found, strict=True))
            f.block(op.body)
        return
    if op.schedule.short and isinstance(op.step, Const) and f.twice and not f.cold.inside:
        _write_twice(f, op, begin, end, iterations, int(op.step.value))
    else:
        _looking_loop(f, op, begin, end, iterations)


def _write_twice(f: FunctionWriter, op: For, begin: str, end: str, iterations: int, step: int) -> None:
    """A loop that tests only if it is long."""
    some, long, short, done = (f.fresh_label(hint) for hint in ("some", "long", "short", "done"))
    type = op.begin.type
    assert isinstance(type, Prim)
    name = f.spell(type)
    distance = f.set(f"sub {name} {end}, {begin}" if step > 0 else f"sub {name} {begin}, {end}")  # without a sign

    def within(iterations: int) -> str:
        """Whether there is at least one iteration and at most this many."""
        most = min(iterations * abs(step), (1 << type.bits) - 1)
        return f.set(f"icmp ult {name} {less}, {most}")

    less = f.set(f"sub {name} {distance}, 1")
    f.branch(within(LIKELY), short, some, f.module.odds(True))
    f.start(some)
    f.branch(has_next_iteration(f, op, begin, end), long, done)
    f.start(long)
    if may_overflow(op):  # LLVM would make no vectors of its stretches: that must pay
        look(f)
        very = f.fresh_label("very")
        f.branch(within(max(LIKELY, _PATIENCE * abs(iterations))), short, very)
        f.start(very)
    _looking_loop(f, op, begin, end, iterations)
    f.jump(done)
    f.start(short)
    (_loop_to_the_last if may_overflow(op) else _loop)(f, op, begin, end, "", None)
    f.start(done)


def _looking_loop(f: FunctionWriter, op: For, begin: str, end: str, iterations: int) -> None:
    """The index is compared before each iteration. If a step may leave its type, it is compared before the step."""
    write, type = _loop_to_the_last if may_overflow(op) else _loop, op.begin.type
    assert isinstance(type, Prim)
    size = _stretch(op, iterations, type)
    if not size:
        write(f, op, begin, end, "", counted_check(f, -abs(iterations)))
        return
    with stretches(f, begin, end, size, f.spell(type)) as (first, last, stop):
        write(f, op, first, last, stop, None)


def _stretch(op: For, iterations: int, type: Prim) -> int:
    """The distance of an index in a stretch of this many iterations, or 0 if there are no stretches."""
    if iterations <= NEVER or not type.is_signed or not isinstance(op.step, Const):
        return 0
    step = int(op.step.value)
    return min(iterations, (1 << type.bits - 2) // abs(step)) * step


def _loop(f: FunctionWriter, op: For, begin: str, end: str, stop: str, after_iteration: AfterIteration | None) -> None:
    type = op.begin.type
    assert isinstance(type, Prim)
    head, body, latch, done = (f.fresh_label(hint) for hint in ("head", "body", "latch", "done"))
    here, following, step = f.register("i"), f.register("n"), f.use(op.step)
    f.jump(head)
    before = f.label
    f.lines.append(f"{head}:")
    f.lines.append(f"  {here} = phi {f.spell(type)} [ {begin}, %{before} ], [ {following}, %{latch} ]")
    f.label, f.open = head, True
    f.branch(has_next_iteration(f, op, here, end), body, done)
    f.start(body)
    f.values[op.body.args[0]] = here
    with _iteration(f, after_iteration, latch, stop or done):
        f.block(op.body)
    f.start(latch)
    unit = isinstance(op.step, Const) and op.step.value in (1, -1)
    f.lines.append(f"  {following} = add {'nsw ' if unit and type.is_signed else ''}{f.spell(type)} {here}, {step}")
    f.jump(head, _hints(f, op))
    f.start(done)


def _loop_to_the_last(
    f: FunctionWriter, op: For, begin: str, end: str, stop: str, after_iteration: AfterIteration | None
) -> None:
    type = op.begin.type
    assert isinstance(type, Prim)
    enter, body, latch, done = (f.fresh_label(hint) for hint in ("enter", "body", "latch", "done"))
    here, following = f.register("i"), f.register("n")
    step, last = f.use(op.step), last_but_one(f, op, end)
    f.branch(has_next_iteration(f, op, begin, end), enter, done)
    f.start(enter)
    f.jump(body)
    f.lines.append(f"{body}:")
    f.lines.append(f"  {here} = phi {f.spell(type)} [ {begin}, %{enter} ], [ {following}, %{latch} ]")
    f.label, f.open = body, True
    f.values[op.body.args[0]] = here
    with _iteration(f, after_iteration, latch, stop or done):
        f.block(op.body)
    f.start(latch)
    f.lines.append(f"  {following} = add n{_sign(type)}w {f.spell(type)} {here}, {step}")
    f.branch(has_next_iteration(f, op, here, last), body, done, _hints(f, op))
    f.start(done)


def _hints(f: FunctionWriter, op: For) -> str:
    """What marks the branch back to the head of a loop."""
    if op.schedule.around:
        return f.module.rows_inside(copies=not op.schedule.single)
    return f.module.loop_hints(copies=False) if op.schedule.single else ""


def last_but_one(f: FunctionWriter, op: For, end: str = "") -> str:
    """`end - step`, or as near as the type comes: an index has one that follows it if it is short of this."""
    type = op.end.type
    assert isinstance(type, Prim)
    name = f.spell(type)
    intrinsic = f.module.declare(f"{name} @llvm.{_sign(type)}sub.sat.{f.suffix(type)}({name}, {name})")
    return f.set(f"call {name} @{intrinsic}({name} {end or f.use(op.end)}, {name} {f.use(op.step)})")


def has_next_iteration(f: FunctionWriter, op: For, index: str, end: str) -> str:
    """Return whether there is an iteration with that index: it is below `end`, or above it if the step is negative."""
    step, type = op.step, op.step.type
    assert isinstance(type, Prim)
    name, signed = f.spell(type), _sign(type)
    if isinstance(step, Const):
        return f.set(f"icmp {signed}{'lt' if step.value > 0 else 'gt'} {name} {index}, {end}")
    below = f.set(f"icmp {signed}lt {name} {index}, {end}")
    if not type.is_signed:
        return below
    up = f.set(f"icmp sgt {name} {f.use(step)}, {f.literal(0, type)}")
    above = f.set(f"icmp {signed}gt {name} {index}, {end}")
    return f.set(f"select {f.truth} {up}, {f.truth} {below}, {f.truth} {above}")


def _sign(type: Prim) -> str:
    return "s" if type.is_signed else "u"


@emits(Break)
def _break(f: FunctionWriter, op: Break) -> None:
    f.jump(f.jumps[-1].stop)


@emits(Continue)
def _continue(f: FunctionWriter, op: Continue) -> None:
    f.jump(f.jumps[-1].next)


@emits(Exit)
def _exit(f: FunctionWriter, op: Exit) -> None:
    f.jump(f.exit_label)


def put_scalars(f: FunctionWriter, base: str, first: int, values: Sequence[Value]) -> None:
    """Store scalars into 8-byte words from `base[first]` on."""
    for position, value in enumerate(values):
        assert isinstance(value.type, Prim)
        text = f.use(value)
        if value.type is u1:
            text = f.set(f"zext i1 {text} to i8")
        word = f.set(f"getelementptr inbounds i8, ptr {base}, i64 {8 * (first + position)}")
        f.do(f"store {in_memory(value.type)} {text}, ptr {word}, align 8")


def site_types(op: Print | Assert | Warn) -> tuple[Type, ...]:
    """The types of the values as the user wrote them."""
    given: tuple[Type, ...] = getattr(op, "types", ())
    return given or tuple(value.type for value in op.values)


@emits(Print)
def _print(f: FunctionWriter, op: Print) -> None:
    site = f.module.site(Site("print", op.parts, site_types(op), op.span))
    words = f.stack(f"[{max(1, len(op.values))} x i64]")
    put_scalars(f, words, 0, op.values)
    f.do(f"call void {service(f, 'print')}(i64 {site}, ptr {words})")


def _tell() -> str:
    """The function that warns, unless the module has done so. (Each part of a kernel in several parts does so once;
    `console.py` shows the first.)"""
    f = Code(exit_label="done")
    seen = f.set("load atomic i32, ptr %told monotonic, align 4")
    f.branch(f.set(f"icmp ne i32 {seen}, 0"), "done", "ask")
    f.start("ask")
    before = f.set("atomicrmw xchg ptr %told, i32 1 monotonic")
    f.branch(f.set(f"icmp ne i32 {before}, 0"), "done", "tell")
    f.start("tell")
    f.do("call void %print(i64 %site, ptr %values)")
    takes = "ptr %told, ptr %print, i64 %site, ptr %values"
    return f.text(f"define internal void @weft_tell({takes}) cold noinline nounwind")


@emits(Warn)
def _warn(f: FunctionWriter, op: Warn) -> None:
    site, told = warning_site(f, op)
    words = f.scratch(max(1, len(op.values)))
    put_scalars(f, words, 0, op.values)
    if "weft_tell" not in f.module.declarations:
        f.module.declarations["weft_tell"] = _tell()
    f.do(f"call void @weft_tell(ptr {told}, ptr {service(f, 'print')}, i64 {site}, ptr {words})")


def warning_site(f: FunctionWriter, op: Warn, space: str = "") -> tuple[int, str]:
    """The number of its site, and a variable of the module that is 0 until this or its like has warned."""
    sites = f.module.sites
    number = f.module.site(Site(op.kind, (op.message,), site_types(op), op.span))
    first = next(k for k, site in enumerate(sites) if site.told_with == sites[number].told_with)
    told = f"weft_told_{first}"
    f.module.declarations.setdefault(told, f"@{told} = internal {space}global i32 0, align 4")
    return number, f"@{told}"


@emits(RunRoutine)
def _run_routine(f: FunctionWriter, op: RunRoutine) -> None:
    raise InternalError(f"routine '{op.kind}' of '{op.node.name}' is not compiled")  # it is called instead of its task


@emits(HoldInterrupts)
def _hold_interrupts(f: FunctionWriter, op: HoldInterrupts) -> None:
    hold(f, op.held)


@emits(Assert)
def _assert(f: FunctionWriter, op: Assert) -> None:
    """The first failure of a launch fills the error record. Every thread that fails leaves the task."""
    fail, first, after = f.fresh_label("fail"), f.fresh_label("first"), f.fresh_label("holds")
    site = f.module.site(Site(op.kind, (op.message,), site_types(op), op.span))
    f.branch(f.use(op.condition), after, fail)
    f.start(fail)
    record = read_slot(f, 1, "ptr")
    pair = f.set(f"cmpxchg ptr {record}, i32 0, i32 1 acq_rel acquire")
    won = f.set(f"extractvalue {{ i32, i1 }} {pair}, 1")
    f.branch(won, first, f.exit_label)
    f.start(first)
    word = f.set(f"getelementptr inbounds i8, ptr {record}, i64 8")
    f.do(f"store i64 {site}, ptr {word}, align 8")
    put_scalars(f, record, 2, op.values[:14])
    f.do(f"store atomic i32 2, ptr {record} release, align 8")
    f.jump(f.exit_label)
    f.start(after)
