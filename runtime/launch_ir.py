"""A launch: a Python function made of native code, with nothing between the call and the kernel. (See `native.py`.)

`launch` is a METH_FASTCALL function. Its `self` is a bytes object, the kernel's *descriptor*: a block of words
(DESCRIPTOR), then per argument its kind, then per result its kind and its shift.

The context lies on the stack, or in malloc's memory if it is large, and the error record behind it. Arguments fill the
slots from 3 on. Integers wrap, floats round; an argument that is no number at all leaves Python's exception set, and
the launch does not happen. Kernels that share memory run one after the other, whatever threads launch them (see
`launch_locks.py`), so that another launch cannot spoil what a loop does without locks.

An array is anything with Python's buffer protocol; its kind is ARRAY + its number of axes. Its buffer is given back as
soon as it is read: the caller holds the array until the launch is over. `launch` gives the tuple of results; the bytes
of the error record if a fault filled it, or the launch did not happen, because arguments overlap that must not; no
bytes if there are too few arguments, or axes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial

from weft.ir.artifact import ERROR_WORDS, SERVICES
from weft.runtime.native import Block, Function, Module, Value

__all__ = [
    "ARRAY",
    "DESCRIPTOR",
    "FLOAT32",
    "FLOAT64",
    "INTEGER",
    "ON_STACK",
    "OVERLAPS",
    "PYTHON_API",
    "TRUTH",
    "UNSIGNED",
    "launch_ir",
]

DESCRIPTOR = Block(
    "ptr kernel",  # address of the kernel's entry
    "ptr table",  # address of the service table
    "ptr seeds",  # address of the counter that random seeds are taken from
    "i64 memory",  # what the kernel's run excludes, see `launch_locks.py`
    "i64 slots",  # how many the context has
    "i64 inputs",  # how many arguments: one per tree, then one per scalar or array of the parameters
    "i64 outputs",  # how many results
    "i64 first_result",  # the slot where the results begin
    "ptr overlap",  # address of the function that tells whether arguments overlap, or null
)
OVERLAPS = 4  # the state of an error record: nothing ran, arguments overlap
INTEGER, UNSIGNED, FLOAT32, FLOAT64, TRUTH, ARRAY = range(6)
ON_STACK = 2048  # slots of a context that lies on the stack
_STRIDED = 0x18  # PyBUF_STRIDES

# The C functions of Python that native code calls.
_API = {
    "PyBytes_AsString": "ptr (ptr)",
    "PyBytes_AsStringAndSize": "i32 (ptr, ptr, ptr)",
    "PyBytes_FromStringAndSize": "ptr (ptr, i64)",
    "PyLong_AsUnsignedLongLongMask": "i64 (ptr)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)",
    "PyLong_AsUnsignedLongLong": "i64 (ptr)",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyLong_FromUnsignedLongLong": "ptr (i64)",
    "PyFloat_AsDouble": "double (ptr)",
    "PyFloat_FromDouble": "ptr (double)",
    "PyBool_FromLong": "ptr (i64)",
    "PyObject_IsTrue": "i32 (ptr)",
    "PyErr_Occurred": "ptr ()",
    "PyErr_NoMemory": "ptr ()",
    "PyErr_Clear": "void ()",
    "PyErr_CheckSignals": "i32 ()",
    "PyErr_Fetch": "void (ptr, ptr, ptr)",
    "PyErr_Restore": "void (ptr, ptr, ptr)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_Size": "i64 (ptr)",
    "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyObject_GetBuffer": "i32 (ptr, ptr, i32)",
    "PyBuffer_Release": "void (ptr)",
    "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
    "PyThread_get_thread_ident": "i64 ()",
    "PyContextVar_Get": "i32 (ptr, ptr, ptr)",
    "PyDict_GetItemWithError": "ptr (ptr, ptr)",
    "PyDict_GetItemRef": "i32 (ptr, ptr, ptr)",
    "PyObject_GetAttr": "ptr (ptr, ptr)",
    "PyObject_VectorcallDict": "ptr (ptr, ptr, i64, ptr)",
    "PyObject_VectorcallMethod": "ptr (ptr, ptr, i64, ptr)",
    "PyUnicode_InternFromString": "ptr (ptr)",
    "PyType_GetFlags": "i32 (ptr)",  # the low word of what some platforms give
    "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)",
    "PyMem_RawMalloc": "ptr (i64)",
    "PyMem_RawFree": "void (ptr)",
}
if not hasattr(ctypes.pythonapi, "PyDict_GetItemRef"):  # before Python 3.13
    del _API["PyDict_GetItemRef"]
PYTHON_API: tuple[str, ...] = tuple(_API)

# The struct Py_buffer: how large it is, and where its parts are.
_VIEW, _NDIM, _VIEW_SHAPE, _VIEW_STRIDES = "[10 x i64]", 36, 48, 56

_IR = Module()
_IR.declare(_API)


@_IR.function("ptr", "ptr", "ptr", "i64", exported=True)
def launch(f: Function, self: Value, args: Value, n: Value) -> None:
    """Reserve a context, and launch in it."""
    descriptor = f.call("PyBytes_AsString", self)
    inputs, slots = DESCRIPTOR.read(descriptor, "inputs", "slots")
    with f.unless(n.eq(inputs)):
        f.ret(f.call("PyBytes_FromStringAndSize", None, 0))
    words = slots + ERROR_WORDS
    with f.when(slots.compare("ule", ON_STACK)):
        frame = f.room_of(words, 64)
        f.ret(f.call("launch_in", descriptor, args, frame))
    block = f.call("PyMem_RawMalloc", words << 3)
    with f.when(block.eq(0)):
        f.ret(f.call("PyErr_NoMemory"))
    result = f.call("launch_in", descriptor, args, block)
    f.call("PyMem_RawFree", block)
    f.ret(result)


@_IR.function("ptr", "ptr", "ptr", "ptr")
def launch_in(f: Function, descriptor: Value, args: Value, ctx: Value) -> None:
    """Fill the context at `ctx`, run the kernel, and give its results."""
    slots, inputs = DESCRIPTOR.read(descriptor, "slots", "inputs")
    record, kinds = ctx.at(slots), descriptor.at(len(DESCRIPTOR))
    slot = f.variable("ptr", ctx.at(3))
    with f.count(inputs) as k:
        width = f.call("launch_argument", args.at(k).load("ptr"), kinds.at(k).load("i64"), slot.get())
        with f.when(width.eq(_TOO_FEW)):
            f.ret(f.call("PyBytes_FromStringAndSize", None, 0))
        f.ret_if(width.eq(_FAILED), 0, "ptr")
        slot.set(slot.get().at(width))
    with f.when(f.call("overlaps", *DESCRIPTOR.read(descriptor, "overlap"), ctx)):
        record.store(OVERLAPS)
        f.ret(f.call("PyBytes_FromStringAndSize", record, 8 * ERROR_WORDS))
    f.ret(f.call("launch_filled", descriptor, ctx))


@_IR.function("ptr", "ptr", "ptr")
def launch_filled(f: Function, descriptor: Value, ctx: Value) -> None:
    """Run the kernel in a context that is filled, and give its results."""
    slots, inputs, outputs, first = DESCRIPTOR.read(descriptor, "slots", "inputs", "outputs", "first_result")
    kernel, table, seeds, memory = DESCRIPTOR.read(descriptor, "kernel", "table", "seeds", "memory")
    record, kinds = ctx.at(slots), descriptor.at(len(DESCRIPTOR))
    with f.unless(f.call("run_kernel", kernel, ctx, record, table, seeds, memory).eq(0)):
        f.ret(f.call("PyBytes_FromStringAndSize", record, 8 * ERROR_WORDS))
    f.ret(f.call("result_tuple", outputs, kinds.at(inputs), ctx.at(first)))


@_IR.function("ptr", "ptr", "ptr", "i64", exported=True)
def launch_bound(f: Function, self: Value, args: Value, n: Value) -> None:
    """Launch with the bytes of a context that `bind` has filled (see `call_ir.py`). (A METH_FASTCALL function, as
    `launch`. The context fits the stack.)"""
    descriptor = f.call("PyBytes_AsString", self)
    slots, first = DESCRIPTOR.read(descriptor, "slots", "first_result")
    with f.unless(n.eq(1)):
        f.ret(f.call("PyBytes_FromStringAndSize", None, 0))
    context, size = f.room("ptr"), f.room("i64")
    with f.unless(f.call("PyBytes_AsStringAndSize", args.load("ptr"), context, size).eq(0)):
        f.ret(0, "ptr")
    with f.unless(size.load("i64").eq(first << 3)):
        f.ret(f.call("PyBytes_FromStringAndSize", None, 0))
    frame = f.room_of(slots + ERROR_WORDS, 64)
    f.copy(frame, context.load("ptr"), first << 3)
    f.ret(f.call("launch_filled", descriptor, frame))


@_IR.function("ptr", "ptr", "ptr", "i64", exported=True)
def launch_each(f: Function, self: Value, args: Value, n: Value) -> None:
    """Make launches as `launch_bound` does, one after another. Each one has three arguments: its descriptor, its
    context, and the key of its random numbers. Gives how many ran without a fault. If that is not all, gives the pair
    of this number and the bytes of the error record. Python handles signals between two launches: the watcher of
    `interrupts.py` sees long ones only. (A METH_FASTCALL function.)"""
    k, number = f.variable("i64", 0), f.variable("i64", 0)
    with f.loop():
        f.leave_if(k.get().compare("sge", n))
        f.ret_if(f.call("PyErr_CheckSignals").ne(0), 0, "ptr")
        fault = f.call("launch_kept", args.at(k.get()))
        with f.unless(fault.eq(0)):
            pair, count = f.call("PyTuple_New", 2), f.call("PyLong_FromLongLong", number.get())
            with f.when(pair.eq(0) | count.eq(0)):
                f.ret(f.call("PyErr_NoMemory"))
            f.call("PyTuple_SetItem", pair, 0, count)
            f.call("PyTuple_SetItem", pair, 1, fault)
            f.ret(pair)
        f.ret_if(f.call("PyErr_Occurred").ne(0), 0, "ptr")
        k.set(k.get() + 3)
        number.set(number.get() + 1)
    f.ret(f.call("PyLong_FromLongLong", number.get()))


@_IR.function("ptr", "ptr")
def launch_kept(f: Function, args: Value) -> None:
    """Launch with these three arguments. Gives the bytes of the error record, or null; then there may be an
    exception."""
    descriptor, context = (f.call("PyBytes_AsString", args.at(k).load("ptr")) for k in range(2))
    with f.when(descriptor.eq(0) | context.eq(0)):
        f.ret(0, "ptr")
    key = f.room("i64")
    key.store(f.call("PyLong_AsUnsignedLongLongMask", args.at(2).load("ptr")))
    f.ret_if(f.call("PyErr_Occurred").ne(0), 0, "ptr")
    slots, first = DESCRIPTOR.read(descriptor, "slots", "first_result")
    kernel, table, memory = DESCRIPTOR.read(descriptor, "kernel", "table", "memory")
    ctx = f.room_of(slots + ERROR_WORDS, 64)
    f.copy(ctx, context, first << 3)
    record = ctx.at(slots)
    f.ret_if(f.call("run_kernel", kernel, ctx, record, table, key, memory).eq(0), 0, "ptr")
    f.ret(f.call("PyBytes_FromStringAndSize", record, 8 * ERROR_WORDS))


_FAILED, _TOO_FEW = -1, -2  # in place of how many slots an argument took: there is an exception; it has too few axes


@_IR.function("i64", "ptr", "i64", "ptr")
def launch_argument(f: Function, arg: Value, kind: Value, slot: Value) -> None:
    """An argument of that kind into its slots; gives how many."""
    axes = kind - ARRAY
    with f.when(axes.compare("sge", 0)):
        view = f.room(_VIEW)
        f.ret_if(f.call("PyObject_GetBuffer", arg, view, _STRIDED).ne(0), _FAILED)
        width = f.variable("i64", _TOO_FEW)
        with f.when(view.behind(_NDIM).load("i32").cast("sext", "i64").compare("sge", axes)):
            shape, strides = view.behind(_VIEW_SHAPE).load("ptr"), view.behind(_VIEW_STRIDES).load("ptr")
            width.set(f.call("array_slots", slot, view.load("i64"), shape, strides, axes))
        f.call("PyBuffer_Release", view)
        f.ret(width.get())
    odd = f.variable("i1", False)

    def real() -> None:
        number = f.call("PyFloat_AsDouble", arg)
        odd.set(number.compare("oeq", -1.0))
        with f.when(kind.eq(FLOAT64)):
            slot.store(number)
        with f.when(kind.eq(FLOAT32)):
            slot.store(number.cast("fptrunc", "float"))

    def truth() -> None:
        true = f.call("PyObject_IsTrue", arg)
        odd.set(true.compare("slt", 0))
        slot.store(true.cast("trunc", "i8"))

    def whole() -> None:
        number = f.call("PyLong_AsUnsignedLongLongMask", arg)
        odd.set(number.eq(-1))
        slot.store(number)

    f.dispatch(kind, {FLOAT32: real, FLOAT64: real, TRUTH: truth, INTEGER: whole, UNSIGNED: whole})
    with f.when(odd.get()):
        f.ret_if(f.call("PyErr_Occurred").ne(0), _FAILED)
    f.ret(1)


@_IR.function("i64", "ptr", "i64", "ptr", "ptr", "i64")
def array_slots(f: Function, slot: Value, address: Value, shape: Value, strides: Value, axes: Value) -> None:
    """The slots of an array; gives how many."""
    slot.store(address)
    shape_to = slot.at(1)
    f.copy(shape_to, shape, axes << 3)
    f.copy(shape_to.at(axes), strides, axes << 3)
    f.ret((axes << 1) + 1)


@_IR.function("i1", "ptr", "ptr")
def overlaps(f: Function, check: Value, ctx: Value) -> None:
    """Whether arguments overlap, by that function, if there is one."""
    f.ret_if(check.eq(0), False, "i1")
    f.ret(f.call(check, ctx, type="zeroext i1"))


@_IR.function("i64", "ptr", "ptr", "ptr", "ptr", "ptr", "i64")
def run_kernel(
    f: Function, kernel: Value, ctx: Value, record: Value, table: Value, seeds: Value, memory: Value
) -> None:
    """Fill the first slots of a context, and run the kernel when it may run, without Python's lock. Gives the state of
    the error record. Launches of the main thread are watched (see `interrupts.py`), but for those within another."""
    ctx.store(table)
    key = seeds.atomic("add", 1, "monotonic")
    ctx.at(2).store(key)
    table.at(SERVICES.index("drawn")).store(key)
    pool = table.at(SERVICES.index("pool")).load("ptr")
    thread, watched = f.call("PyEval_SaveThread"), f.variable("i1", True)
    main = f.symbol("main.watched").load("ptr", "monotonic")
    with f.unless(thread.eq(main)):
        watched.set(False)
        with f.when(main.eq(0)):
            watched.set(f.call("watch_begin", thread))
    launches, number = f.symbol("launches"), f.variable("i64", 0)
    with f.when(watched.get()):
        number.set(launches.load("i64", "monotonic"))
        watched.set(~number.get().cast("trunc", "i1"))
    with f.unless(watched.get()):
        ctx.at(1).store(record)
        record.store(0)
        f.call("run_exclusively", kernel, ctx, pool, memory, f.call("PyThread_get_thread_ident"))
        f.call("PyEval_RestoreThread", thread)
        f.ret(record.load("i64"))
    its_record = f.symbol("main.record")
    ctx.at(1).store(its_record)
    its_record.store(0, "monotonic")
    launches.store(number.get() + 1, "monotonic")
    f.call("run_exclusively", kernel, ctx, pool, memory, f.symbol("main.ident").load("i64", "monotonic"))
    launches.store(number.get() + 2, "monotonic")
    f.call("PyEval_RestoreThread", thread)
    f.ret_if(its_record.load("i32").eq(0), 0)
    f.ret(f.call("end_watched", record))


@_IR.function("ptr", "i64", "ptr", "ptr")
def result_tuple(f: Function, outputs: Value, rules: Value, results: Value) -> None:
    """Null, with Python's exception set, if there is no memory."""
    tuple = f.call("PyTuple_New", outputs)
    f.ret_if(tuple.eq(0), 0, "ptr")
    with f.count(outputs) as k:
        object = f.call("result_object", rules.at(k, "[2 x i64]"), results.at(k))
        with f.when(object.eq(0)):
            f.call("Py_DecRef", tuple)
            f.ret(0, "ptr")
        f.call("PyTuple_SetItem", tuple, k, object)
    f.ret(tuple)


@_IR.function("ptr", "ptr", "ptr")
def result_object(f: Function, rule: Value, place: Value) -> None:
    """A result as a Python number, by its kind and shift."""
    value, kind, shift = place.load("i64"), rule.load("i64"), rule.at(1).load("i64")
    shifted = value << shift
    makers: dict[int, Callable[[], Value]] = {
        UNSIGNED: lambda: f.call("PyLong_FromUnsignedLongLong", shifted >> shift),
        FLOAT32: lambda: f.call("PyFloat_FromDouble", place.load("float").cast("fpext", "double")),
        FLOAT64: lambda: f.call("PyFloat_FromDouble", place.load("double")),
        TRUTH: lambda: f.call("PyBool_FromLong", shifted >> shift),
    }
    f.dispatch(kind, {which: partial(_return, f, make) for which, make in makers.items()})
    f.ret(f.call("PyLong_FromLongLong", shifted.signed_shift(shift)))


def _return(f: Function, make: Callable[[], Value]) -> None:
    f.ret(make())


def launch_ir() -> str:
    """LLVM IR of launches, and the declarations of Python's functions."""
    return _IR.text()
