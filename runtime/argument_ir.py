"""One argument of a direct call, in LLVM IR: recognized by its type's address and read from its own memory.

`call_argument` fills the slots of an argument by a *rule* of eight words, and gives how many slots those are. Where the
argument is not of that kind it gives less than 0: a code, MISS or SLOW.

    a number     kind (see `launch_ir.py`), type, another type that is as good; integers: the least, the greatest
    EXACT        the object
    NUMPY        type, dtype, axes, flags, axes of the element, their extents (two at most)
    RECORDED     type, null, what the record begins with, words behind that
    PACKED       a function that gives bytes, null, words
"""

from __future__ import annotations

from weft.runtime.launch_ir import FLOAT32, FLOAT64, TRUTH

__all__ = ["ARGUMENT_IR", "ARGUMENT_WORDS", "EXACT", "MISS", "NUMPY", "NUMPY_FLAGS", "PACKED", "RECORDED", "SLOW"]

ARGUMENT_WORDS = 8
EXACT, NUMPY, RECORDED, PACKED = range(32, 36)

# In place of an answer: try the next plan; let Python decide. (A misfit means the latter where arguments are packed by
# Python code, which may have thrown the next plan away.)
MISS, SLOW = 1, 2

_HEAD = object.__basicsize__
_TYPE = _HEAD - 8  # where an object says its type
_BYTES = bytes.__basicsize__ - 1  # where the contents of a bytes object begin

# numpy's PyArrayObject: these offsets are part of its binary interface.
_DATA, _NDIM, _SHAPE, _STRIDES, _DTYPE, _FLAGS = (_HEAD + at for at in (0, 8, 16, 24, 40, 48))
NUMPY_FLAGS = 0x401  # NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE

ARGUMENT_IR = f"""
define internal i64 @call_argument(ptr %rule, ptr %arg, ptr %slot) {{
entry:
  %beyond = alloca i32
  %kind = load i64, ptr %rule
  %w1.at = getelementptr i64, ptr %rule, i64 1
  %w1 = load ptr, ptr %w1.at
  %w2.at = getelementptr i64, ptr %rule, i64 2
  %w2 = load ptr, ptr %w2.at
  %w3.at = getelementptr i64, ptr %rule, i64 3
  %w3 = load i64, ptr %w3.at
  %w4.at = getelementptr i64, ptr %rule, i64 4
  %w4 = load i64, ptr %w4.at
  %special = icmp uge i64 %kind, {EXACT}
  br i1 %special, label %other, label %typed
typed:
  %type.at = getelementptr i8, ptr %arg, i64 {_TYPE}
  %type = load ptr, ptr %type.at
  %is1 = icmp eq ptr %type, %w1
  %is2 = icmp eq ptr %type, %w2
  %is = or i1 %is1, %is2
  br i1 %is, label %number, label %misfit
misfit:
  ret i64 -{MISS}
odd:
  call void @PyErr_Clear()
  ret i64 -{SLOW}
number:
  switch i64 %kind, label %integer [
    i64 {FLOAT32}, label %float
    i64 {FLOAT64}, label %float
    i64 {TRUTH}, label %truth
  ]
integer:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %arg, ptr %beyond)
  %beyond.sign = load i32, ptr %beyond
  %within64 = icmp eq i32 %beyond.sign, 0
  %above = icmp sge i64 %whole, %w3
  %below = icmp sle i64 %whole, %w4
  %between = and i1 %above, %below
  %fits = and i1 %between, %within64
  br i1 %fits, label %whole.fits, label %slow
whole.fits:
  store i64 %whole, ptr %slot
  ret i64 1
slow:
  ret i64 -{SLOW}
truth:
  %true = call i32 @PyObject_IsTrue(ptr %arg)
  %bit = zext i32 %true to i64
  store i64 %bit, ptr %slot
  ret i64 1
float:
  %real = call double @PyFloat_AsDouble(ptr %arg)
  %odd1 = fcmp oeq double %real, -1.0
  br i1 %odd1, label %ask, label %fine
ask:
  %raised = call ptr @PyErr_Occurred()
  %well = icmp eq ptr %raised, null
  br i1 %well, label %fine, label %odd
fine:
  %is64 = icmp eq i64 %kind, {FLOAT64}
  br i1 %is64, label %double, label %single
double:
  store double %real, ptr %slot
  ret i64 1
single:
  %short = fptrunc double %real to float
  store float %short, ptr %slot
  ret i64 1
other:
  switch i64 %kind, label %packed [
    i64 {EXACT}, label %exact
    i64 {NUMPY}, label %numpy
    i64 {RECORDED}, label %recorded
  ]

exact:
  %is.it = icmp eq ptr %arg, %w1
  br i1 %is.it, label %known, label %misfit
known:
  ret i64 0

numpy:
  %n.type.at = getelementptr i8, ptr %arg, i64 {_TYPE}
  %n.type = load ptr, ptr %n.type.at
  %is.numpy = icmp eq ptr %n.type, %w1
  br i1 %is.numpy, label %numpy.dtype, label %misfit
numpy.dtype:
  %dtype.at = getelementptr i8, ptr %arg, i64 {_DTYPE}
  %dtype = load ptr, ptr %dtype.at
  %is.dtype = icmp eq ptr %dtype, %w2
  %ndim.at = getelementptr i8, ptr %arg, i64 {_NDIM}
  %ndim.32 = load i32, ptr %ndim.at
  %ndim = sext i32 %ndim.32 to i64
  %inner.at = getelementptr i64, ptr %rule, i64 5
  %inner = load i64, ptr %inner.at
  %all.axes = add i64 %w3, %inner
  %is.ndim = icmp eq i64 %ndim, %all.axes
  %flags.at = getelementptr i8, ptr %arg, i64 {_FLAGS}
  %flags.32 = load i32, ptr %flags.at
  %flags = zext i32 %flags.32 to i64
  %flags.of = and i64 %flags, {NUMPY_FLAGS}
  %is.flags = icmp eq i64 %flags.of, %w4
  %shape.at = getelementptr i8, ptr %arg, i64 {_SHAPE}
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %arg, i64 {_STRIDES}
  %strides = load ptr, ptr %strides.at
  %inner.shape = getelementptr i64, ptr %shape, i64 %w3
  %inner.rule = getelementptr i64, ptr %rule, i64 6
  %right1 = and i1 %is.dtype, %is.ndim
  %right2 = and i1 %right1, %is.flags
  br i1 %right2, label %element, label %misfit
element:
  %k = phi i64 [ 0, %numpy.dtype ], [ %k.next, %extent ]
  %k.more = icmp slt i64 %k, %inner
  br i1 %k.more, label %extent, label %numpy.fits
extent:
  %have.at = getelementptr i64, ptr %inner.shape, i64 %k
  %have = load i64, ptr %have.at
  %want.at = getelementptr i64, ptr %inner.rule, i64 %k
  %want = load i64, ptr %want.at
  %k.next = add i64 %k, 1
  %is.extent = icmp eq i64 %have, %want
  br i1 %is.extent, label %element, label %misfit
numpy.fits:
  %data.at = getelementptr i8, ptr %arg, i64 {_DATA}
  %data = load i64, ptr %data.at
  store i64 %data, ptr %slot
  %shape.to = getelementptr i64, ptr %slot, i64 1
  %strides.to = getelementptr i64, ptr %shape.to, i64 %w3
  br label %axis
axis:
  %a = phi i64 [ 0, %numpy.fits ], [ %a.next, %axis.copy ]
  %a.more = icmp slt i64 %a, %w3
  br i1 %a.more, label %axis.copy, label %numpy.done
axis.copy:
  %e.at = getelementptr i64, ptr %shape, i64 %a
  %e = load i64, ptr %e.at
  %e.to = getelementptr i64, ptr %shape.to, i64 %a
  store i64 %e, ptr %e.to
  %s.at = getelementptr i64, ptr %strides, i64 %a
  %s = load i64, ptr %s.at
  %s.to = getelementptr i64, ptr %strides.to, i64 %a
  store i64 %s, ptr %s.to
  %a.next = add i64 %a, 1
  br label %axis
numpy.done:
  %axes2 = shl i64 %w3, 1
  %width = add i64 %axes2, 1
  ret i64 %width

recorded:
  %r.type.at = getelementptr i8, ptr %arg, i64 {_TYPE}
  %r.type = load ptr, ptr %r.type.at
  %is.recorded = icmp eq ptr %r.type, %w1
  br i1 %is.recorded, label %record, label %misfit
record:
  %bytes.at = getelementptr i8, ptr %arg, i64 {_HEAD}
  %bytes = load ptr, ptr %bytes.at
  %unset = icmp eq ptr %bytes, null
  br i1 %unset, label %misfit, label %record.kind
record.kind:
  %words = getelementptr i8, ptr %bytes, i64 {_BYTES}
  %array.kind = load i64, ptr %words
  %is.kind = icmp eq i64 %array.kind, %w3
  br i1 %is.kind, label %record.next, label %misfit
record.next:
  %r = phi i64 [ 0, %record.kind ], [ %r.next, %record.copy ]
  %r.more = icmp slt i64 %r, %w4
  br i1 %r.more, label %record.copy, label %record.done
record.copy:
  %r.next = add i64 %r, 1
  %word.at = getelementptr i64, ptr %words, i64 %r.next
  %word = load i64, ptr %word.at
  %word.to = getelementptr i64, ptr %slot, i64 %r
  store i64 %word, ptr %word.to
  br label %record.next
record.done:
  ret i64 %w4

packed:
  %box = alloca ptr
  store ptr %arg, ptr %box
  %packed.bytes = call ptr @PyObject_VectorcallDict(ptr %w1, ptr %box, i64 1, ptr null)
  %refused = icmp eq ptr %packed.bytes, null
  br i1 %refused, label %odd, label %packed.copy
packed.copy:
  %from = getelementptr i8, ptr %packed.bytes, i64 {_BYTES}
  %size = shl i64 %w3, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %from, i64 %size, i1 false)
  call void @Py_DecRef(ptr %packed.bytes)
  ret i64 %w3
}}
"""
