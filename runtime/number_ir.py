"""A number as an argument of a direct call, in LLVM IR: one of Python's, or of numpy's.

What is exactly of one of the two types of its rule is read by Python's own functions; for a whole number, so are
subclasses of `int`, as members of an `IntEnum` are. A numpy scalar is read from its memory, by the row that a table has
for its type (`numpy_scalars`). A number that does not fit is Python's, which says so.
"""

from __future__ import annotations

from weft.runtime.launch_ir import FLOAT32, FLOAT64, TRUTH
from weft.runtime.words import Words

__all__ = ["HEAD", "MISS", "NUMBER_IR", "NUMBER_RULE", "REAL", "SCALAR_ROW", "SIGNED", "SLOW", "UNSIGNED_WORD"]

# In place of an answer: try the next plan; let Python decide.
MISS, SLOW = 1, 2

NUMBER_RULE = Words("rule", "kind", "type", "alike", "least", "greatest", "scalars")
SCALAR_ROW = Words("row", "type", "size", "how")  # the last row has no type
SIGNED, UNSIGNED_WORD, REAL = range(3)  # how a numpy scalar's bytes are read

HEAD = object.__basicsize__  # where the contents of an object begin
_TYPE = HEAD - 8  # where an object says its type
_INT_SUBCLASS = 1 << 24  # CPython's Py_TPFLAGS_LONG_SUBCLASS

_NUMBER = f"""
define internal i64 @argument_number(ptr %rule, ptr %arg, ptr %slot) {{
entry:
  {NUMBER_RULE.read("i64 kind", "ptr type", "ptr alike")}
  %its.type.at = getelementptr i8, ptr %arg, i64 {_TYPE}
  %its.type = load ptr, ptr %its.type.at
  %is1 = icmp eq ptr %its.type, %type
  %is2 = icmp eq ptr %its.type, %alike
  %is = or i1 %is1, %is2
  br i1 %is, label %number, label %other
other:
  %other.width = call i64 @argument_other_number(ptr %rule, ptr %arg, ptr %its.type, ptr %slot)
  ret i64 %other.width
number:
  switch i64 %kind, label %integer [
    i64 {FLOAT32}, label %float
    i64 {FLOAT64}, label %float
    i64 {TRUTH}, label %truth
  ]
integer:
  %integer.width = call i64 @argument_integer(ptr %rule, ptr %arg, ptr %slot)
  ret i64 %integer.width
truth:
  %true = call i32 @PyObject_IsTrue(ptr %arg)
  %bit = zext i32 %true to i64
  store i64 %bit, ptr %slot
  ret i64 1
float:
  %real = call double @PyFloat_AsDouble(ptr %arg)
  %odd = fcmp oeq double %real, -1.0
  br i1 %odd, label %ask, label %fine
ask:
  %raised = call ptr @PyErr_Occurred()
  %well = icmp eq ptr %raised, null
  br i1 %well, label %fine, label %too.large
too.large:
  call void @PyErr_Clear()
  ret i64 -{SLOW}
fine:
  %real.width = call i64 @store_real(i64 %kind, double %real, ptr %slot)
  ret i64 %real.width
}}

define internal i64 @store_real(i64 %kind, double %real, ptr %slot) {{
entry:
  %is64 = icmp eq i64 %kind, {FLOAT64}
  br i1 %is64, label %double, label %single
double:
  store double %real, ptr %slot
  ret i64 1
single:
  %short = fptrunc double %real to float
  store float %short, ptr %slot
  ret i64 1
}}
"""

_INTEGER = f"""
define internal i64 @argument_integer(ptr %rule, ptr %arg, ptr %slot) {{
entry:
  %beyond = alloca i32
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %arg, ptr %beyond)
  %beyond.sign = load i32, ptr %beyond
  %within64 = icmp eq i32 %beyond.sign, 0
  br i1 %within64, label %compare, label %large
compare:
  %width = call i64 @store_whole(ptr %rule, i64 %whole, ptr %slot)
  ret i64 %width
large:
  {NUMBER_RULE.read("i64 least", "i64 greatest")}
  %unsigned = icmp eq i64 %least, 0
  %all = icmp eq i64 %greatest, {2**63 - 1}
  %is.u64 = and i1 %unsigned, %all
  %above = icmp sgt i32 %beyond.sign, 0
  %may = and i1 %is.u64, %above
  br i1 %may, label %read, label %slow
read:
  %word = call i64 @PyLong_AsUnsignedLongLong(ptr %arg)
  %raised = call ptr @PyErr_Occurred()
  %well = icmp eq ptr %raised, null
  br i1 %well, label %fits, label %too.large
too.large:
  call void @PyErr_Clear()
  br label %slow
fits:
  store i64 %word, ptr %slot
  ret i64 1
slow:
  ret i64 -{SLOW}
}}

; A whole number, if the rule allows it.
define internal i64 @store_whole(ptr %rule, i64 %whole, ptr %slot) {{
  {NUMBER_RULE.read("i64 least", "i64 greatest")}
  %above = icmp sge i64 %whole, %least
  %below = icmp sle i64 %whole, %greatest
  %fits = and i1 %above, %below
  store i64 %whole, ptr %slot
  %width = select i1 %fits, i64 1, i64 -{SLOW}
  ret i64 %width
}}
"""

_OTHER = f"""
; A number of a type that the rule does not name.
define internal i64 @argument_other_number(ptr %rule, ptr %arg, ptr %its.type, ptr %slot) {{
entry:
  {NUMBER_RULE.read("i64 kind", "ptr scalars")}
  %unread = icmp eq ptr %scalars, null
  br i1 %unread, label %int, label %each
each:
  %row = phi ptr [ %scalars, %entry ], [ %row.next, %next ]
  {SCALAR_ROW.read("ptr type")}
  %end = icmp eq ptr %type, null
  br i1 %end, label %int, label %look
look:
  %is = icmp eq ptr %its.type, %type
  br i1 %is, label %scalar, label %next
next:
  %row.next = getelementptr i64, ptr %row, i64 {len(SCALAR_ROW)}
  br label %each
int:
  %real.kind = icmp eq i64 %kind, {FLOAT32}
  %double.kind = icmp eq i64 %kind, {FLOAT64}
  %truth.kind = icmp eq i64 %kind, {TRUTH}
  %either = or i1 %real.kind, %double.kind
  %other.kind = or i1 %either, %truth.kind
  br i1 %other.kind, label %misfit, label %flags
flags:
  %flags.of = call i32 @PyType_GetFlags(ptr %its.type)
  %int.flag = and i32 %flags.of, {_INT_SUBCLASS}
  %is.int = icmp ne i32 %int.flag, 0
  br i1 %is.int, label %read.int, label %misfit
read.int:
  %int.width = call i64 @argument_integer(ptr %rule, ptr %arg, ptr %slot)
  ret i64 %int.width
misfit:
  ret i64 -{MISS}
scalar:
  {SCALAR_ROW.read("i64 size", "i64 how")}
  %scalar.width = call i64 @argument_scalar(ptr %rule, ptr %arg, i64 %size, i64 %how, ptr %slot)
  ret i64 %scalar.width
}}

; A numpy scalar of so many bytes.
define internal i64 @argument_scalar(ptr %rule, ptr %arg, i64 %size, i64 %how, ptr %slot) {{
entry:
  {NUMBER_RULE.read("i64 kind", "i64 least")}
  %box = alloca i64
  store i64 0, ptr %box
  %number = getelementptr i8, ptr %arg, i64 {HEAD}
  call void @llvm.memcpy.p0.p0.i64(ptr %box, ptr %number, i64 %size, i1 false)
  %bits = load i64, ptr %box
  %is.real = icmp eq i64 %how, {REAL}
  br i1 %is.real, label %real, label %whole
real:
  %short = icmp eq i64 %size, 4
  %narrow = load float, ptr %box
  %widened = fpext float %narrow to double
  %double = load double, ptr %box
  %number.real = select i1 %short, double %widened, double %double
  switch i64 %kind, label %misfit [ i64 {FLOAT32}, label %from.real i64 {FLOAT64}, label %from.real ]
from.real:
  %real.width = call i64 @store_real(i64 %kind, double %number.real, ptr %slot)
  ret i64 %real.width
misfit:
  ret i64 -{MISS}
whole:
  %bytes = shl i64 %size, 3
  %shift = sub i64 64, %bytes
  %left = shl i64 %bits, %shift
  %signed = ashr i64 %left, %shift
  %is.signed = icmp eq i64 %how, {SIGNED}
  %word = select i1 %is.signed, i64 %signed, i64 %bits
  %beyond.sign = icmp slt i64 %word, 0
  %is.unsigned = xor i1 %is.signed, true
  %large = and i1 %beyond.sign, %is.unsigned
  br i1 %large, label %slow, label %read
slow:
  ret i64 -{SLOW}
read:
  switch i64 %kind, label %integer [
    i64 {FLOAT32}, label %to.real
    i64 {FLOAT64}, label %to.real
    i64 {TRUTH}, label %truth
  ]
to.real:
  %as.real = sitofp i64 %word to double
  %as.real.width = call i64 @store_real(i64 %kind, double %as.real, ptr %slot)
  ret i64 %as.real.width
truth:
  %true = icmp ne i64 %word, 0
  %bit = zext i1 %true to i64
  store i64 %bit, ptr %slot
  ret i64 1
integer:
  %whole.width = call i64 @store_whole(ptr %rule, i64 %word, ptr %slot)
  ret i64 %whole.width
}}
"""

NUMBER_IR = _NUMBER + _INTEGER + _OTHER
