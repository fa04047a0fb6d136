"""A call of a kernel from Python: the kernel object's own vectorcall, with no Python code in between. (Native code, see
`native.py`.)

`call` looks through the *plans* of the kernel object (see `direct.py`), each made for one compiled instance. A plan
fits if the epoch of its program is the same, every name that the instance took from the program around it still means
the same object, and every argument is of the kind that the instance was compiled for, and, unless the instance allows
for that, overlaps no other (a plan further on may be of the variant that does). Then the context is filled on the
stack, from the arguments' own memory, and the kernel runs. If no plan fits, or something is unusual (a name that is no
parameter, a number that does not fit), the object's `__call__`, which is Python, decides.

`call` first looks whether launches are watched. Then the object's `__call__` decides, unless a tape is the only watch
and expects this launch (`repeat_ir.py`). `call_through` does not look: it
is the call of the objects that watches launch by. `bind` looks for a plan as a call does. It does not run the kernel,
but returns the pair of the plan's token and the bytes of the filled context (up to the results), for `launch_bound`. A
plan without a token does not bind: the context would refer to memory that nobody keeps.

Arguments given by name, and those left out, are put in order first, by the kernel's *signature*: how many parameters,
then the name of each, then the default of each, or null. Names are compared as objects: Python interns those in
programs.

A plan is a block of words (PLAN), and behind these

    its trees        address
    its guards       dictionary or cell, name or null (a cell), the object it must mean
    its arguments    ARGUMENT_WORDS each (see `argument_ir.py`)
    its results      kind and shift (see `launch_ir.py`)

Other threads may replace plans meanwhile, and drop fields and arrays. What a call can find is kept until it is over
(see `epochs.py`): plans, the memory of fields, records of ndarrays. Whatever a plan depends on advances the epoch
before it goes. So a call compares the epoch first, and once more when everything was found to fit.
"""

from __future__ import annotations

from weft.ir.artifact import ERROR_WORDS
from weft.runtime.argument_ir import ARGUMENT_IR, ARGUMENT_WORDS, MISS, RAISED, SLOW
from weft.runtime.interrupts import INTERRUPTED
from weft.runtime.native import Block, Function, Module, Value
from weft.runtime.repeat_ir import REPEAT_IR

__all__ = ["CELLS", "MANY", "MOST_NAMED", "NONE", "ONE", "PLAN", "Callable", "call_ir"]

# What a plan's `gives` says: no answer, a number, or what `conclude` makes of the tuple of results.
NONE, ONE, MANY = range(3)

PLAN = Block(
    "ptr next",  # the plan to try next, or null: the first word
    "ptr epoch",  # address of a counter,
    "i64 right",  # and where that stands as long as the plan is good
    "ptr check",  # null, or what says, when called, whether something changed
    "ptr conclude",  # takes the tuple of results, or the bytes of an error record
    "i64 gives",
    "i64 arguments",  # how many
    "i64 trees",  # how many
    "i64 guards",  # how many
    "ptr kernel",  # address of the kernel's entry
    "ptr table",  # address of the service table
    "ptr seeds",  # address of the seeds
    "i64 memory",  # what the kernel's run excludes, see `launch_locks.py`
    "i64 slots",  # how many the context has
    "i64 first_result",  # the slot where results begin
    "i64 results",  # how many
    "ptr none",  # the object None
    "ptr overlap",  # address of the function that tells whether arguments overlap, or null
    "ptr token",  # the first of the pair that `bind` gives, or null
)
_GUARD = Block("ptr space", "ptr name", "ptr expected")


class Callable:
    """What native calls are for: subclasses add no slots, so that the cells behind lie where CELLS says."""


CELLS = Callable.__basicsize__  # the vectorcall function, the first plan, the signature
MOST_NAMED = 64  # parameters of a kernel whose arguments native code finds by name
_HEAD = object.__basicsize__
_COUNT = 2**63 - 1  # the bits of a vectorcall's flags that are the number of arguments
_RUN, _BIND = range(2)  # what to do with the context of a plan that fits; else compare it with the EXPECTED there

_IR = Module()
_IR.global_text("weft_call", b"__call__\0")
_IR.global_variable("watched", "i64")


@_IR.function("void", "i64", exported=True)
def set_watched(f: Function, watched: Value) -> None:
    """How many watches of launches there are from now on."""
    f.symbol("watched").store(watched, "seq_cst")
    f.ret()


@_IR.function("ptr", "ptr", "ptr", "i64", "ptr", exported=True)
def call(f: Function, self: Value, args: Value, flags: Value, names: Value) -> None:
    """The vectorcall function of kernel objects."""
    watched = f.symbol("watched").load("i64", "monotonic")
    with f.unless(watched.eq(0)):
        with f.when(watched.eq(1) & names.eq(0)):
            answer = f.call("call_repeated", self, args, flags & _COUNT)
            f.ret_if(answer.ne(f.constant(SLOW, "ptr")), answer)
        f.ret(f.call("call_slowly", self, args, flags & _COUNT, names))
    f.ret(f.call("call_how", self, args, flags, names, _RUN))


@_IR.function("ptr", "ptr", "ptr", "i64", "ptr", exported=True)
def call_through(f: Function, self: Value, args: Value, flags: Value, names: Value) -> None:
    """The vectorcall function of objects that watches launch by."""
    f.ret(f.call("call_how", self, args, flags, names, _RUN))


@_IR.function("ptr", "ptr", "ptr", "i64", "ptr", exported=True)
def bind(f: Function, self: Value, args: Value, flags: Value, names: Value) -> None:
    """The vectorcall function of objects that bind arguments."""
    f.ret(f.call("call_how", self, args, flags, names, _BIND))


@_IR.function("ptr", "ptr", "ptr", "i64", "ptr", "i64")
def call_how(f: Function, self: Value, args: Value, flags: Value, names: Value, how: Value) -> None:
    """A call, or a binding."""
    n = flags & _COUNT
    answer = f.call("call_try", self, args, n, names, how)
    f.ret_if(answer.ne(f.constant(SLOW, "ptr")), answer)
    f.ret(f.call("call_slowly", self, args, n, names))


@_IR.function("ptr", "ptr", "ptr", "i64", "ptr", "i64")
def call_try(f: Function, self: Value, args: Value, n: Value, names: Value, how: Value) -> None:
    """A call or a binding by a plan; SLOW if Python has to make it."""
    signature = self.behind(CELLS + 16).load("ptr")
    with f.unless(signature.eq(0)), f.when(n.compare("slt", signature.load("i64"))):
        f.ret(f.call("call_filled", signature, self, args, n, names, how))
    f.ret_if(names.ne(0), f.constant(SLOW, "ptr"))
    f.ret(f.call("call_with_all", self, args, n, how))


@_IR.function("ptr", "ptr", "ptr", "i64", "i64")
def call_with_all(f: Function, self: Value, args: Value, n: Value, how: Value) -> None:
    """A call with an argument for each parameter, between its begin and its end."""
    mark = f.call("call_begin")
    f.ret(f.call("call_end", mark, f.call("call_plans", self, args, n, how)))


@_IR.function("ptr", "ptr", "ptr", "ptr", "i64", "ptr", "i64")
def call_filled(f: Function, signature: Value, self: Value, args: Value, n: Value, names: Value, how: Value) -> None:
    """A call with less arguments in order than there are parameters."""
    slow = f.constant(SLOW, "ptr")
    all = f.room(f"[{MOST_NAMED} x ptr]")
    count, known = signature.load("i64"), signature.at(1)
    f.copy(all, known.at(count), count << 3)
    f.copy(all, args, n << 3)
    with f.unless(names.eq(0)), f.count(f.call("PyTuple_Size", names)) as k:
        wanted, p = f.call("PyTuple_GetItem", names, k), f.variable("i64", n)
        with f.loop():
            f.ret_if(p.get().compare("sge", count), slow)
            f.leave_if(known.at(p.get()).load("ptr").eq(wanted))
            p.set(p.get() + 1)
        all.at(p.get()).store(args.at(n + k).load("ptr"))
    with f.count(count, n) as c:
        f.ret_if(all.at(c).load("ptr").eq(0), slow)
    f.ret(f.call("call_with_all", self, all, count, how))


@_IR.function("ptr", "ptr", "ptr", "i64", "i64")
def call_plans(f: Function, self: Value, args: Value, n: Value, how: Value) -> None:
    """Try one plan after the other; SLOW if none fits."""
    plan = f.variable("ptr", self.behind(CELLS + 8).load("ptr", "acquire"))
    with f.loop():
        now = plan.get()
        f.ret_if(now.eq(0), f.constant(SLOW, "ptr"))
        plan.set(PLAN.at(now, "next").load("ptr", "acquire"))
        result = f.call("call_plan", now, args, n, how)
        f.ret_if(result.ne(f.constant(MISS, "ptr")), result)


@_IR.function("ptr", "ptr", "ptr", "i64", "ptr")
def call_slowly(f: Function, self: Value, args: Value, n: Value, names: Value) -> None:
    """self.__call__(*args, **names): the arguments again, with self before them. (They may be more than a stack
    holds.)"""
    given = f.variable("i64", n)
    with f.unless(names.eq(0)):
        given.set(n + f.call("PyTuple_Size", names))
    bytes = given.get() << 3
    frame = f.call("PyMem_RawMalloc", bytes + 8)
    with f.when(frame.eq(0)):
        f.ret(f.call("PyErr_NoMemory"))
    frame.store(self)
    f.copy(frame.at(1), args, bytes)
    method, answer = f.call("PyUnicode_InternFromString", f.symbol("weft_call")), f.variable("ptr", 0)
    with f.unless(method.eq(0)):
        answer.set(f.call("PyObject_VectorcallMethod", method, frame, n + 1, names))
        f.call("Py_DecRef", method)
    f.call("PyMem_RawFree", frame)
    f.ret(answer.get())


@_IR.function("ptr", "ptr", "ptr", "i64", "i64")
def call_plan(f: Function, plan: Value, args: Value, n: Value, how: Value) -> None:
    """Follow a plan, if it is good and the names that it watches mean the same; else MISS."""
    miss = f.constant(MISS, "ptr")
    arguments, trees, guards = PLAN.read(plan, "arguments", "trees", "guards")
    f.ret_if(~(f.call("call_current", plan) & n.eq(arguments)), miss)
    behind = plan.at(len(PLAN))
    rules = f.call("call_guards", behind.at(trees), guards)
    f.ret_if(rules.eq(0), miss)
    f.ret(f.call("call_with", plan, behind, rules, args, how))


@_IR.function("i1", "ptr")
def call_current(f: Function, plan: Value) -> None:
    """Whether nothing has happened since to what the plan depends on."""
    epoch, right = PLAN.read(plan, "epoch", "right")
    f.ret(epoch.load("i64", "seq_cst").eq(right))


@_IR.function("ptr", "ptr", "i64")
def call_guards(f: Function, first: Value, guards: Value) -> None:
    """What is behind the guards; null if a name means another object."""
    guard = f.variable("ptr", first)
    with f.count(guards):
        space, name, expected = _GUARD.read(guard.get(), "space", "name", "expected")
        now = f.variable("ptr", 0)
        with f.when(name.eq(0)):
            now.set(space.behind(_HEAD).load("ptr"))
        with f.unless(name.eq(0)):
            now.set(f.call("PyDict_GetItemWithError", space, name))
        with f.unless(now.get().eq(expected)):
            f.call("PyErr_Clear")
            f.ret(0, "ptr")
        guard.set(guard.get().at(len(_GUARD)))
    f.ret(guard.get())


@_IR.function("ptr", "ptr", "ptr", "ptr", "ptr", "i64")
def call_with(f: Function, plan: Value, behind: Value, rules: Value, args: Value, how: Value) -> None:
    """The arguments into a context on the stack, and go."""
    slow, (token,) = f.constant(SLOW, "ptr"), PLAN.read(plan, "token")
    f.ret_if(how.ne(_RUN) & token.eq(0), slow)
    slots, trees, arguments = PLAN.read(plan, "slots", "trees", "arguments")
    ctx = f.room_of(slots + ERROR_WORDS, 64)
    record, first = ctx.at(slots), ctx.at(3)
    with f.count(trees) as k:
        first.at(k).store(behind.at(k).load("i64"))
    slot, rule = f.variable("ptr", first.at(trees)), f.variable("ptr", rules)
    with f.count(arguments) as k:
        width = f.call("call_argument", rule.get(), args.at(k).load("ptr"), slot.get())
        with f.when(width.compare("slt", 0)):
            f.ret_if(width.eq(-RAISED), 0, "ptr")
            f.ret((f.constant(0) - width).cast("inttoptr", "ptr"))
        slot.set(slot.get().at(width))
        rule.set(rule.get().at(ARGUMENT_WORDS))
    overlap, check = PLAN.read(plan, "overlap", "check")
    f.ret_if(f.call("overlaps", overlap, ctx), f.constant(MISS, "ptr"))
    with f.unless(check.eq(0)):
        changed = f.call("PyObject_VectorcallDict", check, None, 0, None)
        f.ret_if(changed.eq(0), 0, "ptr")
        truth = f.call("PyObject_IsTrue", changed)
        f.call("Py_DecRef", changed)
        f.ret_if(truth.ne(0), slow)
    f.ret_if(~f.call("call_current", plan), slow)
    with f.unless(how.eq(_RUN)):
        with f.when(how.eq(_BIND)):
            f.ret(f.call("call_bound", plan, ctx))
        f.ret(f.call("repeat_fits", how.cast("inttoptr", "ptr"), token, ctx, *PLAN.read(plan, "first_result")))
    state = f.call("run_kernel", *PLAN.read(plan, "kernel"), ctx, record, *PLAN.read(plan, "table", "seeds", "memory"))
    with f.unless(state.eq(0)):
        with f.when(state.eq(INTERRUPTED)):
            f.ret(f.call("raise_interrupt"))
        fault = f.call("PyBytes_FromStringAndSize", record, 8 * ERROR_WORDS)
        f.ret(f.call("call_conclude", plan, fault))
    (first_result,) = PLAN.read(plan, "first_result")
    f.ret(f.call("call_result", plan, rule.get(), ctx.at(first_result)))


@_IR.function("ptr", "ptr", "ptr")
def call_bound(f: Function, plan: Value, ctx: Value) -> None:
    """The pair of the token and the bytes of the context."""
    token, first_result = PLAN.read(plan, "token", "first_result")
    f.clear(ctx, 3 * 8)  # a launch fills them
    bytes, pair = f.call("PyBytes_FromStringAndSize", ctx, first_result << 3), f.call("PyTuple_New", 2)
    with f.when(bytes.eq(0) | pair.eq(0)):
        with f.unless(bytes.eq(0)):
            f.call("Py_DecRef", bytes)
        with f.unless(pair.eq(0)):
            f.call("Py_DecRef", pair)
        f.ret(0, "ptr")
    f.call("Py_IncRef", token)
    f.call("PyTuple_SetItem", pair, 0, token)
    f.call("PyTuple_SetItem", pair, 1, bytes)
    f.ret(pair)


@_IR.function("ptr", "ptr", "ptr", "ptr")
def call_result(f: Function, plan: Value, rules: Value, values: Value) -> None:
    """The answer of a call whose kernel ran."""
    gives, results, none = PLAN.read(plan, "gives", "results", "none")
    with f.when(gives.eq(NONE)):
        f.call("Py_IncRef", none)
        f.ret(none)
    with f.when(gives.eq(ONE)):
        f.ret(f.call("result_object", rules, values))
    f.ret(f.call("call_conclude", plan, f.call("result_tuple", results, rules, values)))


@_IR.function("ptr", "ptr", "ptr")
def call_conclude(f: Function, plan: Value, outcome: Value) -> None:
    """Consumes the outcome, which may be null."""
    f.ret_if(outcome.eq(0), 0, "ptr")
    box = f.variable("ptr", outcome)
    answer = f.call("PyObject_VectorcallDict", *PLAN.read(plan, "conclude"), box.address, 1, None)
    f.call("Py_DecRef", outcome)
    f.ret(answer)


def call_ir() -> str:
    """LLVM IR of calls and the readers of their arguments."""
    return "\n".join(module.text() for module in (_IR, REPEAT_IR, *ARGUMENT_IR))
