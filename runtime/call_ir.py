"""A call of a kernel from Python, in LLVM IR: the kernel object's own vectorcall, with no Python code in between.

`call` looks through the *plans* of the kernel object (see `direct.py`), each made for one compiled instance. A plan
fits if nothing has happened since to what its program consists of, every name that the instance took from the program
around it still means the same object, and every argument is of the kind that the instance was compiled for. Then the
context is filled on the stack, from the arguments' own memory, and the kernel runs. Where no plan fits, or something is
unusual (keywords, a numpy scalar, a number that does not fit), the object's `__call__`, which is Python, decides.

    plan     0 next plan   1 address of the epoch   2 the epoch that is right   3 owner: keeps all this
             4 check: says, when called, whether something changed; or null   5 conclude: takes a tuple of results, or
             the bytes of an error record   6 what to give: NONE, ONE (a number) or MANY (conclude's answer)
             7 how many arguments   8 trees   9 guards   10 the kernel's entry   11 service table
             12 address of the seeds   13 slots   14 the slot where results begin   15 results   16 None
             17 what a misfit means
             18.. the trees' addresses, then guards, arguments and results
    guard    dictionary or cell, name or null (a cell), the object it must mean
    argument eight words (see `argument_ir.py`)
    result   kind, shift
"""

from __future__ import annotations

from weft.ir.artifact import ERROR_WORDS, SERVICES
from weft.runtime.argument_ir import ARGUMENT_IR, ARGUMENT_WORDS, MISS, SLOW

__all__ = ["CALL_IR", "CELLS", "MANY", "NONE", "ONE", "Callable"]

PLAN_WORDS, GUARD_WORDS = 18, 3
NONE, ONE, MANY = range(3)


class Callable:
    """What native calls are for: subclasses add no slots, so that the cells behind lie where CELLS says."""


CELLS = Callable.__basicsize__  # the vectorcall function, the first plan
_HEAD = object.__basicsize__

_CALL = f"""
@weft_call = internal constant [9 x i8] c"__call__\\00"

define ptr @call(ptr %self, ptr %args, i64 %flags, ptr %names) {{
entry:
  %n = and i64 %flags, {2**63 - 1}
  %plain = icmp eq ptr %names, null
  br i1 %plain, label %first, label %slow
first:
  %head.at = getelementptr i8, ptr %self, i64 {CELLS + 8}
  %head = load ptr, ptr %head.at
  br label %each
each:
  %plan = phi ptr [ %head, %first ], [ %next, %try ]
  %none = icmp eq ptr %plan, null
  br i1 %none, label %slow, label %try
try:
  %next = load ptr, ptr %plan
  %result = call ptr @call_plan(ptr %plan, ptr %args, i64 %n)
  %code = ptrtoint ptr %result to i64
  switch i64 %code, label %done [ i64 {MISS}, label %each i64 {SLOW}, label %slow ]
done:
  ret ptr %result
slow:
  %answer = call ptr @call_slowly(ptr %self, ptr %args, i64 %n, ptr %names)
  ret ptr %answer
}}

; self.__call__(*args, **names): the arguments again, with self before them.
define internal ptr @call_slowly(ptr %self, ptr %args, i64 %n, ptr %names) {{
entry:
  %plain = icmp eq ptr %names, null
  br i1 %plain, label %copy, label %count
count:
  %named = call i64 @PyTuple_Size(ptr %names)
  br label %copy
copy:
  %more = phi i64 [ 0, %entry ], [ %named, %count ]
  %given = add i64 %n, %more
  %all = add i64 %given, 1
  %frame = alloca ptr, i64 %all
  store ptr %self, ptr %frame
  %rest = getelementptr ptr, ptr %frame, i64 1
  %bytes = shl i64 %given, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %args, i64 %bytes, i1 false)
  %method = call ptr @PyUnicode_InternFromString(ptr @weft_call)
  %positional = add i64 %n, 1
  %answer = call ptr @PyObject_VectorcallMethod(ptr %method, ptr %frame, i64 %positional, ptr %names)
  call void @Py_DecRef(ptr %method)
  ret ptr %answer
}}

define internal ptr @call_plan(ptr %plan, ptr %args, i64 %n) {{
entry:
  %epoch.at.at = getelementptr i64, ptr %plan, i64 1
  %epoch.at = load ptr, ptr %epoch.at.at
  %epoch = load i64, ptr %epoch.at
  %right.at = getelementptr i64, ptr %plan, i64 2
  %right = load i64, ptr %right.at
  %count.at = getelementptr i64, ptr %plan, i64 7
  %count = load i64, ptr %count.at
  %current = icmp eq i64 %epoch, %right
  %enough = icmp eq i64 %n, %count
  %may = and i1 %current, %enough
  br i1 %may, label %begin, label %miss
miss:
  ret ptr inttoptr (i64 {MISS} to ptr)
begin:
  %trees.at = getelementptr i64, ptr %plan, i64 8
  %trees = load i64, ptr %trees.at
  %guards.at = getelementptr i64, ptr %plan, i64 9
  %guards = load i64, ptr %guards.at
  %tail = getelementptr i64, ptr %plan, i64 {PLAN_WORDS}
  %first = getelementptr i64, ptr %tail, i64 %trees
  br label %guard
guard:
  %g = phi i64 [ 0, %begin ], [ %g.next, %same ]
  %at = phi ptr [ %first, %begin ], [ %at.next, %same ]
  %more = icmp slt i64 %g, %guards
  br i1 %more, label %look, label %fits
look:
  %space = load ptr, ptr %at
  %name.at = getelementptr ptr, ptr %at, i64 1
  %name = load ptr, ptr %name.at
  %expected.at = getelementptr ptr, ptr %at, i64 2
  %expected = load ptr, ptr %expected.at
  %is.cell = icmp eq ptr %name, null
  br i1 %is.cell, label %cell, label %dictionary
cell:
  %content.at = getelementptr i8, ptr %space, i64 {_HEAD}
  %content = load ptr, ptr %content.at
  br label %compare
dictionary:
  %entry.now = call ptr @PyDict_GetItemWithError(ptr %space, ptr %name)
  br label %compare
compare:
  %now = phi ptr [ %content, %cell ], [ %entry.now, %dictionary ]
  %is.same = icmp eq ptr %now, %expected
  br i1 %is.same, label %same, label %other
other:
  call void @PyErr_Clear()
  br label %miss
same:
  %g.next = add i64 %g, 1
  %at.next = getelementptr i64, ptr %at, i64 {GUARD_WORDS}
  br label %guard
fits:
  %owner.at = getelementptr i64, ptr %plan, i64 3
  %owner = load ptr, ptr %owner.at
  call void @Py_IncRef(ptr %owner)
  %result = call ptr @call_with(ptr %plan, ptr %tail, ptr %at, ptr %args)
  call void @Py_DecRef(ptr %owner)
  ret ptr %result
}}

; The arguments into a context on the stack, and go.
define internal ptr @call_with(ptr %plan, ptr %trees, ptr %rules, ptr %args) {{
entry:
  %slots.at = getelementptr i64, ptr %plan, i64 13
  %slots = load i64, ptr %slots.at
  %words = add i64 %slots, {ERROR_WORDS}
  %ctx = alloca i64, i64 %words, align 64
  %record = getelementptr i64, ptr %ctx, i64 %slots
  %tree.count.at = getelementptr i64, ptr %plan, i64 8
  %tree.count = load i64, ptr %tree.count.at
  %ctx3 = getelementptr i64, ptr %ctx, i64 3
  br label %tree
tree:
  %t = phi i64 [ 0, %entry ], [ %t.next, %tree.copy ]
  %tree.more = icmp slt i64 %t, %tree.count
  br i1 %tree.more, label %tree.copy, label %arguments
tree.copy:
  %base.at = getelementptr i64, ptr %trees, i64 %t
  %base = load i64, ptr %base.at
  %base.to = getelementptr i64, ptr %ctx3, i64 %t
  store i64 %base, ptr %base.to
  %t.next = add i64 %t, 1
  br label %tree
arguments:
  %first.slot = getelementptr i64, ptr %ctx3, i64 %tree.count
  %count.at = getelementptr i64, ptr %plan, i64 7
  %count = load i64, ptr %count.at
  br label %each
each:
  %i = phi i64 [ 0, %arguments ], [ %i.next, %read ]
  %slot = phi ptr [ %first.slot, %arguments ], [ %slot.next, %read ]
  %rule = phi ptr [ %rules, %arguments ], [ %rule.next, %read ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %read, label %check
read:
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %width = call i64 @call_argument(ptr %rule, ptr %arg, ptr %slot)
  %i.next = add i64 %i, 1
  %slot.next = getelementptr i64, ptr %slot, i64 %width
  %rule.next = getelementptr i64, ptr %rule, i64 {ARGUMENT_WORDS}
  %fits = icmp sge i64 %width, 0
  br i1 %fits, label %each, label %refuse
refuse:
  %misfit.at = getelementptr i64, ptr %plan, i64 17
  %misfit = load i64, ptr %misfit.at
  %how = sub i64 0, %width
  %code = call i64 @llvm.umax.i64(i64 %how, i64 %misfit)
  %answer = inttoptr i64 %code to ptr
  ret ptr %answer
check:
  %check.at = getelementptr i64, ptr %plan, i64 4
  %check.call = load ptr, ptr %check.at
  %unchecked = icmp eq ptr %check.call, null
  br i1 %unchecked, label %run, label %ask
ask:
  %changed = call ptr @PyObject_VectorcallDict(ptr %check.call, ptr null, i64 0, ptr null)
  %failed = icmp eq ptr %changed, null
  br i1 %failed, label %fail, label %told
fail:
  ret ptr null
told:
  %truth = call i32 @PyObject_IsTrue(ptr %changed)
  call void @Py_DecRef(ptr %changed)
  %same = icmp eq i32 %truth, 0
  br i1 %same, label %run, label %slow
slow:
  ret ptr inttoptr (i64 {SLOW} to ptr)
run:
  call void @call_run(ptr %plan, ptr %ctx, ptr %record)
  %state = load i64, ptr %record
  %sound = icmp eq i64 %state, 0
  br i1 %sound, label %collect, label %faulty
faulty:
  %fault = call ptr @PyBytes_FromStringAndSize(ptr %record, i64 {8 * ERROR_WORDS})
  %never = call ptr @call_conclude(ptr %plan, ptr %fault)
  ret ptr %never
collect:
  %result = call ptr @call_result(ptr %plan, ptr %ctx, ptr %rule)
  ret ptr %result
}}
"""

_RUN = f"""
define internal void @call_run(ptr %plan, ptr %ctx, ptr %record) {{
entry:
  %table.at = getelementptr i64, ptr %plan, i64 11
  %table = load ptr, ptr %table.at
  %seeds.at = getelementptr i64, ptr %plan, i64 12
  %seeds = load ptr, ptr %seeds.at
  %seed = atomicrmw add ptr %seeds, i64 1 monotonic
  %ctx1 = getelementptr i64, ptr %ctx, i64 1
  %ctx2 = getelementptr i64, ptr %ctx, i64 2
  store ptr %table, ptr %ctx
  store ptr %record, ptr %ctx1
  store i64 %seed, ptr %ctx2
  store i64 0, ptr %record
  %kernel.at = getelementptr i64, ptr %plan, i64 10
  %kernel = load ptr, ptr %kernel.at
  %pool.at = getelementptr ptr, ptr %table, i64 {SERVICES.index("pool")}
  %pool = load ptr, ptr %pool.at
  %thread = call ptr @PyEval_SaveThread()
  %nested = call i1 @take_turn(ptr %pool)
  call void %kernel(ptr %ctx)
  call void @give_turn(ptr %pool, i1 %nested)
  call void @PyEval_RestoreThread(ptr %thread)
  ret void
}}

define internal ptr @call_conclude(ptr %plan, ptr %outcome) {{
entry:
  %none = icmp eq ptr %outcome, null
  br i1 %none, label %fail, label %go
fail:
  ret ptr null
go:
  %box = alloca ptr
  store ptr %outcome, ptr %box
  %conclude.at = getelementptr i64, ptr %plan, i64 5
  %conclude = load ptr, ptr %conclude.at
  %answer = call ptr @PyObject_VectorcallDict(ptr %conclude, ptr %box, i64 1, ptr null)
  call void @Py_DecRef(ptr %outcome)
  ret ptr %answer
}}

define internal ptr @call_result(ptr %plan, ptr %ctx, ptr %rules) {{
entry:
  %mode.at = getelementptr i64, ptr %plan, i64 6
  %mode = load i64, ptr %mode.at
  %first.at = getelementptr i64, ptr %plan, i64 14
  %first = load i64, ptr %first.at
  %values = getelementptr i64, ptr %ctx, i64 %first
  %count.at = getelementptr i64, ptr %plan, i64 15
  %count = load i64, ptr %count.at
  switch i64 %mode, label %many [ i64 {NONE}, label %none i64 {ONE}, label %one ]
none:
  %nothing.at = getelementptr i64, ptr %plan, i64 16
  %nothing = load ptr, ptr %nothing.at
  call void @Py_IncRef(ptr %nothing)
  ret ptr %nothing
one:
  %single = call ptr @result_object(ptr %rules, ptr %values)
  ret ptr %single
many:
  %tuple = call ptr @result_tuple(i64 %count, ptr %rules, ptr %values)
  %answer = call ptr @call_conclude(ptr %plan, ptr %tuple)
  ret ptr %answer
}}
"""

_DECLARATIONS = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
"""

CALL_IR = _DECLARATIONS + _CALL + ARGUMENT_IR + _RUN
