"""A launch, in LLVM IR: a Python function made of native code, with nothing between the call and the kernel.

`launch` is a METH_FASTCALL function. Its `self` is a bytes object, the kernel's *descriptor*: a block of words
(DESCRIPTOR), then per argument its kind, then per result its kind and its shift.

The context lies on the stack, or in malloc's memory if it is large, and the error record behind it. Arguments fill the
slots from 3 on. Integers wrap, floats round; an argument that is no number at all leaves Python's exception set, and
the launch does not happen. Kernels that share memory run one after the other, whatever threads launch them (see
`turn_ir.py`), so that what one loop may do without locks another launch cannot spoil.
An array is anything with Python's buffer protocol; its kind is ARRAY + its number of axes.
Its buffer is given back as soon as it is read: the caller holds the array until the launch is over. Gives the tuple of
results; the bytes of the error record if a fault filled it, or the launch did not happen, because arguments overlap
that must not; no bytes if there are too few arguments, or axes.
"""

from __future__ import annotations

import ctypes

from weft.ir.artifact import ERROR_WORDS, SERVICES
from weft.runtime.interrupts import INTERRUPTS_IR
from weft.runtime.turn_ir import TURN_IR
from weft.runtime.words import Words

__all__ = [
    "ARRAY",
    "DESCRIPTOR",
    "FLOAT32",
    "FLOAT64",
    "INTEGER",
    "LAUNCH_IR",
    "ON_STACK",
    "OVERLAPS",
    "PYTHON_API",
    "TRUTH",
    "UNSIGNED",
]

DESCRIPTOR = Words(
    "descriptor",
    "kernel",  # address of the kernel's entry
    "table",  # address of the service table
    "seeds",  # address of the counter that random seeds are taken from
    "memory",  # what the kernel's run excludes, see `turn_ir.py`
    "slots",  # how many the context has
    "inputs",  # how many arguments: one per tree, then one per scalar or array of the parameters
    "outputs",  # how many results
    "first_result",  # the slot where the results begin
    "overlap",  # address of the function that tells whether arguments overlap, or null
)
OVERLAPS = 4  # the state of an error record: nothing ran, arguments overlap
INTEGER, UNSIGNED, FLOAT32, FLOAT64, TRUTH, ARRAY = range(6)
ON_STACK = 2048  # slots of a context that lies on the stack
_STRIDED = 0x18  # PyBUF_STRIDES

# The C functions of Python that the code below calls, and that of `call_ir.py`.
_API = {
    "PyBytes_AsString": "ptr (ptr)",
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

_DECLARATIONS = "\n".join(f"declare {type.replace(' (', f' @{name}(', 1)}" for name, type in _API.items())

_LAUNCH = f"""
define ptr @launch(ptr %self, ptr %args, i64 %n) {{
entry:
  %descriptor = call ptr @PyBytes_AsString(ptr %self)
  {DESCRIPTOR.read("i64 inputs", "i64 slots")}
  %fits = icmp eq i64 %n, %inputs
  br i1 %fits, label %memory, label %misfit
misfit:
  %nothing = call ptr @PyBytes_FromStringAndSize(ptr null, i64 0)
  ret ptr %nothing
memory:
  %words = add i64 %slots, {ERROR_WORDS}
  %small = icmp ule i64 %slots, {ON_STACK}
  br i1 %small, label %stack, label %heap
stack:
  %frame = alloca i64, i64 %words, align 64
  %result = call ptr @launch_in(ptr %descriptor, ptr %args, ptr %frame)
  ret ptr %result
heap:
  %bytes = shl i64 %words, 3
  %block = call ptr @PyMem_RawMalloc(i64 %bytes)
  %full = icmp eq ptr %block, null
  br i1 %full, label %poor, label %rich
poor:
  %exception = call ptr @PyErr_NoMemory()
  ret ptr %exception
rich:
  %result2 = call ptr @launch_in(ptr %descriptor, ptr %args, ptr %block)
  call void @PyMem_RawFree(ptr %block)
  ret ptr %result2
}}

define internal ptr @launch_in(ptr %descriptor, ptr %args, ptr %ctx) {{
entry:
  %view = alloca [10 x i64]
  {DESCRIPTOR.read("i64 slots", "i64 inputs", "i64 outputs", "i64 first_result")}
  %record = getelementptr i64, ptr %ctx, i64 %slots
  %kinds = getelementptr i64, ptr %descriptor, i64 {len(DESCRIPTOR)}
  %first.slot = getelementptr i64, ptr %ctx, i64 3
  br label %each
each:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %slot = phi ptr [ %first.slot, %entry ], [ %slot.next, %next ]
  %more = icmp slt i64 %i, %inputs
  br i1 %more, label %read, label %check.overlap
read:
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %kind.at = getelementptr i64, ptr %kinds, i64 %i
  %kind = load i64, ptr %kind.at
  %axes = sub i64 %kind, {ARRAY}
  %is.array = icmp sge i64 %axes, 0
  br i1 %is.array, label %array, label %scalar
scalar:
  switch i64 %kind, label %integer [ i64 {FLOAT32}, label %float i64 {FLOAT64}, label %float i64 {TRUTH}, label %truth ]
integer:
  %whole = call i64 @PyLong_AsUnsignedLongLongMask(ptr %arg)
  store i64 %whole, ptr %slot
  %whole.odd = icmp eq i64 %whole, -1
  br i1 %whole.odd, label %check, label %next
float:
  %real = call double @PyFloat_AsDouble(ptr %arg)
  %short = fptrunc double %real to float
  %is64 = icmp eq i64 %kind, {FLOAT64}
  br i1 %is64, label %double, label %single
double:
  store double %real, ptr %slot
  br label %floated
single:
  store float %short, ptr %slot
  br label %floated
floated:
  %real.odd = fcmp oeq double %real, -1.0
  br i1 %real.odd, label %check, label %next
truth:
  %true = call i32 @PyObject_IsTrue(ptr %arg)
  %bit = trunc i32 %true to i8
  store i8 %bit, ptr %slot
  %true.odd = icmp slt i32 %true, 0
  br i1 %true.odd, label %check, label %next
array:
  %refused = call i32 @PyObject_GetBuffer(ptr %arg, ptr %view, i32 {_STRIDED})
  %held = icmp eq i32 %refused, 0
  br i1 %held, label %measure, label %refuse
measure:
  %base = load i64, ptr %view
  %ndim.at = getelementptr i8, ptr %view, i64 36
  %ndim.32 = load i32, ptr %ndim.at
  %ndim = sext i32 %ndim.32 to i64
  %shape.at = getelementptr i8, ptr %view, i64 48
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %view, i64 56
  %strides = load ptr, ptr %strides.at
  %deep = icmp sge i64 %ndim, %axes
  br i1 %deep, label %copy, label %shallow
shallow:
  call void @PyBuffer_Release(ptr %view)
  %nothing = call ptr @PyBytes_FromStringAndSize(ptr null, i64 0)
  ret ptr %nothing
copy:
  %array.width = call i64 @array_slots(ptr %slot, i64 %base, ptr %shape, ptr %strides, i64 %axes)
  call void @PyBuffer_Release(ptr %view)
  br label %next
check:
  %raised = call ptr @PyErr_Occurred()
  %well = icmp eq ptr %raised, null
  br i1 %well, label %next, label %refuse
refuse:
  ret ptr null
next:
  %width = phi i64 [ 1, %integer ], [ 1, %floated ], [ 1, %truth ], [ 1, %check ], [ %array.width, %copy ]
  %slot.next = getelementptr i64, ptr %slot, i64 %width
  %i.next = add i64 %i, 1
  br label %each

check.overlap:
  {DESCRIPTOR.read("ptr overlap")}
  %met = call i1 @overlaps(ptr %overlap, ptr %ctx)
  br i1 %met, label %overlapping, label %run
overlapping:
  store i64 {OVERLAPS}, ptr %record
  br label %faulty
run:
  {DESCRIPTOR.read("ptr kernel", "ptr table", "ptr seeds", "i64 memory")}
  %state = call i64 @run_kernel(ptr %kernel, ptr %ctx, ptr %record, ptr %table, ptr %seeds, i64 %memory)
  %sound = icmp eq i64 %state, 0
  br i1 %sound, label %collect, label %faulty
faulty:
  %fault = call ptr @PyBytes_FromStringAndSize(ptr %record, i64 {8 * ERROR_WORDS})
  ret ptr %fault
collect:
  %results = getelementptr i64, ptr %ctx, i64 %first_result
  %rules = getelementptr i64, ptr %kinds, i64 %inputs
  %tuple = call ptr @result_tuple(i64 %outputs, ptr %rules, ptr %results)
  ret ptr %tuple
}}
"""

_SHARED = f"""
; The slots of an array; gives how many.
define internal i64 @array_slots(ptr %slot, i64 %address, ptr %shape, ptr %strides, i64 %axes) {{
entry:
  store i64 %address, ptr %slot
  %shape.to = getelementptr i64, ptr %slot, i64 1
  %strides.to = getelementptr i64, ptr %shape.to, i64 %axes
  %bytes = shl i64 %axes, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %shape.to, ptr %shape, i64 %bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %strides.to, ptr %strides, i64 %bytes, i1 false)
  %axes2 = shl i64 %axes, 1
  %width = add i64 %axes2, 1
  ret i64 %width
}}

; Whether arguments overlap, by that function, if there is one.
define internal i1 @overlaps(ptr %check, ptr %ctx) {{
entry:
  %none = icmp eq ptr %check, null
  br i1 %none, label %apart, label %ask
apart:
  ret i1 false
ask:
  %met = call zeroext i1 %check(ptr %ctx)
  ret i1 %met
}}

; Fill the first slots of a context, and run the kernel when it may run, without Python's lock. Gives the state of the
; error record. Launches of the main thread are watched (see `interrupts.py`), but for those within another.
define internal i64 @run_kernel(ptr %kernel, ptr %ctx, ptr %record, ptr %table, ptr %seeds, i64 %memory) {{
entry:
  %seed = atomicrmw add ptr %seeds, i64 1 monotonic
  %ctx1 = getelementptr i64, ptr %ctx, i64 1
  %ctx2 = getelementptr i64, ptr %ctx, i64 2
  store ptr %table, ptr %ctx
  store i64 %seed, ptr %ctx2
  %pool.at = getelementptr ptr, ptr %table, i64 {SERVICES.index("pool")}
  %pool = load ptr, ptr %pool.at
  %thread = call ptr @PyEval_SaveThread()
  %main = load atomic ptr, ptr @main.watched monotonic, align 8
  %is.main = icmp eq ptr %thread, %main
  br i1 %is.main, label %look, label %other
other:
  %asleep = icmp eq ptr %main, null
  br i1 %asleep, label %begin, label %plain
begin:
  %begun = call i1 @watch_begin(ptr %thread)
  br i1 %begun, label %look, label %plain
plain:
  store ptr %record, ptr %ctx1
  store i64 0, ptr %record
  %me = call i64 @PyThread_get_thread_ident()
  call void @run_in_turn(ptr %kernel, ptr %ctx, ptr %pool, i64 %memory, i64 %me)
  call void @PyEval_RestoreThread(ptr %thread)
  %plain.state = load i64, ptr %record
  ret i64 %plain.state
look:
  %number = load atomic i64, ptr @launches monotonic, align 8
  %within = trunc i64 %number to i1
  br i1 %within, label %plain, label %watched
watched:
  store ptr @main.record, ptr %ctx1
  store atomic i64 0, ptr @main.record monotonic, align 8
  %odd = add i64 %number, 1
  store atomic i64 %odd, ptr @launches monotonic, align 8
  %main.ident = load atomic i64, ptr @main.ident monotonic, align 8
  call void @run_in_turn(ptr %kernel, ptr %ctx, ptr %pool, i64 %memory, i64 %main.ident)
  %even = add i64 %number, 2
  store atomic i64 %even, ptr @launches monotonic, align 8
  call void @PyEval_RestoreThread(ptr %thread)
  %state = load i32, ptr @main.record
  %sound = icmp eq i32 %state, 0
  br i1 %sound, label %done, label %copy
done:
  ret i64 0
copy:
  %watched.state = call i64 @end_watched(ptr %record)
  ret i64 %watched.state
}}
"""

_RESULTS = f"""
; Null, with Python's exception set, if there is no memory.
define internal ptr @result_tuple(i64 %outputs, ptr %rules, ptr %results) {{
entry:
  %tuple = call ptr @PyTuple_New(i64 %outputs)
  %none = icmp eq ptr %tuple, null
  br i1 %none, label %fail, label %each
fail:
  ret ptr null
each:
  %r = phi i64 [ 0, %entry ], [ %r.next, %put ]
  %more = icmp slt i64 %r, %outputs
  br i1 %more, label %write, label %done
write:
  %value.at = getelementptr i64, ptr %results, i64 %r
  %rule.at = getelementptr [2 x i64], ptr %rules, i64 %r
  %object = call ptr @result_object(ptr %rule.at, ptr %value.at)
  %lacking = icmp eq ptr %object, null
  br i1 %lacking, label %drop, label %put
drop:
  call void @Py_DecRef(ptr %tuple)
  ret ptr null
put:
  %ignored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %r, ptr %object)
  %r.next = add i64 %r, 1
  br label %each
done:
  ret ptr %tuple
}}

; A result as a Python number, by its kind and shift.
define internal ptr @result_object(ptr %rule.at, ptr %value.at) {{
entry:
  %value = load i64, ptr %value.at
  %rule = load i64, ptr %rule.at
  %shift.at = getelementptr i64, ptr %rule.at, i64 1
  %shift = load i64, ptr %shift.at
  %shifted = shl i64 %value, %shift
  %signed = ashr i64 %shifted, %shift
  %unsigned = lshr i64 %shifted, %shift
  switch i64 %rule, label %from.signed [
    i64 {UNSIGNED}, label %from.unsigned
    i64 {FLOAT32}, label %from.single
    i64 {FLOAT64}, label %from.double
    i64 {TRUTH}, label %from.truth
  ]
from.signed:
  %object1 = call ptr @PyLong_FromLongLong(i64 %signed)
  ret ptr %object1
from.unsigned:
  %object2 = call ptr @PyLong_FromUnsignedLongLong(i64 %unsigned)
  ret ptr %object2
from.single:
  %narrow = load float, ptr %value.at
  %wide = fpext float %narrow to double
  %object3 = call ptr @PyFloat_FromDouble(double %wide)
  ret ptr %object3
from.double:
  %full = load double, ptr %value.at
  %object4 = call ptr @PyFloat_FromDouble(double %full)
  ret ptr %object4
from.truth:
  %object5 = call ptr @PyBool_FromLong(i64 %unsigned)
  ret ptr %object5
}}
"""

LAUNCH_IR = _DECLARATIONS + _LAUNCH + _SHARED + _RESULTS + TURN_IR + INTERRUPTS_IR
