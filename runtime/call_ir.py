"""A call of a kernel from Python, in LLVM IR: the kernel object's own vectorcall, with no Python code in between.

`call` looks through the *plans* of the kernel object (see `direct.py`), each made for one compiled instance. A plan
fits if nothing has happened since to what its program consists of, every name that the instance took from the program
around it still means the same object, and every argument is of the kind that the instance was compiled for, and, unless
the instance allows for that, overlaps no other (a plan further on may be of the variant that does). Then the
context is filled on the stack, from the arguments' own memory, and the kernel runs. Where no plan fits, or something is
unusual (a name that is no parameter, a number that does not fit), the object's `__call__`, which is Python, decides.

Arguments given by name, and those left out, are put where they belong first, by the kernel's *signature*: how many
parameters, then the name of each, then the default of each, or null. Names are compared as objects: Python interns
those in programs.

A plan is a block of words (PLAN), and behind these

    its trees        address
    its guards       dictionary or cell, name or null (a cell), the object it must mean
    its arguments    ARGUMENT_WORDS each (see `argument_ir.py`)
    its results      kind and shift (see `launch_ir.py`)

Other threads may replace plans meanwhile, and let go of fields and arrays. What a call can find is kept until it is
over (see `retired.py`): plans, the memory of fields, what ndarrays have recorded. Whatever a plan depends on makes the
epoch go on before it goes; so the epoch is looked at first, and once more when everything was found to fit.
"""

from __future__ import annotations

from weft.ir.artifact import ERROR_WORDS
from weft.runtime.argument_ir import ARGUMENT_IR, ARGUMENT_WORDS, MISS, RAISED, SLOW
from weft.runtime.interrupts import INTERRUPTED
from weft.runtime.words import Words

__all__ = ["CALL_IR", "CELLS", "MANY", "MOST_NAMED", "NONE", "ONE", "PLAN", "Callable"]

# What a plan's `gives` says: no answer, a number, or what `conclude` makes of the tuple of results.
NONE, ONE, MANY = range(3)

PLAN = Words(
    "plan",
    "next",  # the plan to try next, or null: the first word
    "epoch",  # address of a counter,
    "right",  # and where that stands as long as the plan is good
    "check",  # null, or what says, when called, whether something changed
    "conclude",  # takes the tuple of results, or the bytes of an error record
    "gives",
    "arguments",  # how many
    "trees",  # how many
    "guards",  # how many
    "kernel",  # address of the kernel's entry
    "table",  # address of the service table
    "seeds",  # address of the seeds
    "memory",  # what the kernel's run excludes, see `turn_ir.py`
    "slots",  # how many the context has
    "first_result",  # the slot where results begin
    "results",  # how many
    "none",  # the object None
    "overlap",  # address of the function that tells whether arguments overlap, or null
)
_GUARD_WORDS = 3


class Callable:
    """What native calls are for: subclasses add no slots, so that the cells behind lie where CELLS says."""


CELLS = Callable.__basicsize__  # the vectorcall function, the first plan, the signature
MOST_NAMED = 64  # parameters of a kernel whose arguments native code finds by name
_HEAD = object.__basicsize__

_CALL = f"""
@weft_call = internal constant [9 x i8] c"__call__\\00"

define ptr @call(ptr %self, ptr %args, i64 %flags, ptr %names) {{
entry:
  %n = and i64 %flags, {2**63 - 1}
  %signature.at = getelementptr i8, ptr %self, i64 {CELLS + 16}
  %signature = load ptr, ptr %signature.at
  %unknown = icmp eq ptr %signature, null
  br i1 %unknown, label %plain, label %count
count:
  %parameters = load i64, ptr %signature
  %fewer = icmp slt i64 %n, %parameters
  br i1 %fewer, label %fill, label %plain
fill:
  %filled = call ptr @call_filled(ptr %signature, ptr %self, ptr %args, i64 %n, ptr %names)
  %odd = icmp eq ptr %filled, inttoptr (i64 {SLOW} to ptr)
  br i1 %odd, label %slow, label %done
plain:
  %nameless = icmp eq ptr %names, null
  br i1 %nameless, label %begin, label %slow
begin:
  %result = call ptr @call_with_all(ptr %self, ptr %args, i64 %n)
  %unfit = icmp eq ptr %result, inttoptr (i64 {SLOW} to ptr)
  br i1 %unfit, label %slow, label %done
done:
  %answer = phi ptr [ %result, %begin ], [ %filled, %fill ]
  ret ptr %answer
slow:
  %slow.answer = call ptr @call_slowly(ptr %self, ptr %args, i64 %n, ptr %names)
  ret ptr %slow.answer
}}

define internal ptr @call_with_all(ptr %self, ptr %args, i64 %n) {{
  %mark = call ptr @call_begin()
  %result = call ptr @call_plans(ptr %self, ptr %args, i64 %n)
  %answer = call ptr @call_end(ptr %mark, ptr %result)
  ret ptr %answer
}}

; A call with less arguments in order than there are parameters.
define internal ptr @call_filled(ptr %signature, ptr %self, ptr %args, i64 %n, ptr %names) {{
entry:
  %all = alloca [{MOST_NAMED} x ptr]
  %count = load i64, ptr %signature
  %known = getelementptr i64, ptr %signature, i64 1
  %defaults = getelementptr i64, ptr %known, i64 %count
  %bytes = shl i64 %count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %all, ptr %defaults, i64 %bytes, i1 false)
  %given = shl i64 %n, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %all, ptr %args, i64 %given, i1 false)
  %nameless = icmp eq ptr %names, null
  br i1 %nameless, label %check, label %size
size:
  %named = call i64 @PyTuple_Size(ptr %names)
  br label %name
name:
  %k = phi i64 [ 0, %size ], [ %k.next, %put ]
  %more = icmp slt i64 %k, %named
  br i1 %more, label %look, label %check
look:
  %wanted = call ptr @PyTuple_GetItem(ptr %names, i64 %k)
  br label %search
search:
  %p = phi i64 [ %n, %look ], [ %p.next, %compare ]
  %p.more = icmp slt i64 %p, %count
  br i1 %p.more, label %compare, label %slow
compare:
  %name.at = getelementptr ptr, ptr %known, i64 %p
  %name.p = load ptr, ptr %name.at
  %p.next = add i64 %p, 1
  %is = icmp eq ptr %name.p, %wanted
  br i1 %is, label %put, label %search
put:
  %from = add i64 %n, %k
  %from.at = getelementptr ptr, ptr %args, i64 %from
  %value = load ptr, ptr %from.at
  %to.at = getelementptr ptr, ptr %all, i64 %p
  store ptr %value, ptr %to.at
  %k.next = add i64 %k, 1
  br label %name
check:
  %c = phi i64 [ %n, %entry ], [ %n, %name ], [ %c.next, %some ]
  %c.more = icmp slt i64 %c, %count
  br i1 %c.more, label %some, label %go
some:
  %c.at = getelementptr ptr, ptr %all, i64 %c
  %there = load ptr, ptr %c.at
  %c.next = add i64 %c, 1
  %missing = icmp eq ptr %there, null
  br i1 %missing, label %slow, label %check
go:
  %answer = call ptr @call_with_all(ptr %self, ptr %all, i64 %count)
  ret ptr %answer
slow:
  ret ptr inttoptr (i64 {SLOW} to ptr)
}}

define internal ptr @call_plans(ptr %self, ptr %args, i64 %n) {{
first:
  %head.at = getelementptr i8, ptr %self, i64 {CELLS + 8}
  %head = load atomic ptr, ptr %head.at acquire, align 8
  br label %each
each:
  %plan = phi ptr [ %head, %first ], [ %next, %try ]
  %none = icmp eq ptr %plan, null
  br i1 %none, label %slow, label %try
try:
  %next = load atomic ptr, ptr %plan acquire, align 8  ; its first word
  %result = call ptr @call_plan(ptr %plan, ptr %args, i64 %n)
  %miss = icmp eq ptr %result, inttoptr (i64 {MISS} to ptr)
  br i1 %miss, label %each, label %done
done:
  ret ptr %result
slow:
  ret ptr inttoptr (i64 {SLOW} to ptr)
}}

; self.__call__(*args, **names): the arguments again, with self before them. (They may be more than a stack holds.)
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
  %bytes = shl i64 %given, 3
  %room = add i64 %bytes, 8
  %frame = call ptr @PyMem_RawMalloc(i64 %room)
  %full = icmp eq ptr %frame, null
  br i1 %full, label %poor, label %fill
poor:
  %exception = call ptr @PyErr_NoMemory()
  ret ptr %exception
fill:
  store ptr %self, ptr %frame
  %rest = getelementptr ptr, ptr %frame, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr %rest, ptr %args, i64 %bytes, i1 false)
  %method = call ptr @PyUnicode_InternFromString(ptr @weft_call)
  %nameless = icmp eq ptr %method, null
  br i1 %nameless, label %done, label %go
go:
  %positional = add i64 %n, 1
  %result = call ptr @PyObject_VectorcallMethod(ptr %method, ptr %frame, i64 %positional, ptr %names)
  call void @Py_DecRef(ptr %method)
  br label %done
done:
  %answer = phi ptr [ null, %fill ], [ %result, %go ]
  call void @PyMem_RawFree(ptr %frame)
  ret ptr %answer
}}

define internal ptr @call_plan(ptr %plan, ptr %args, i64 %n) {{
entry:
  {PLAN.read("i64 arguments")}
  %current = call i1 @call_current(ptr %plan)
  %enough = icmp eq i64 %n, %arguments
  %may = and i1 %current, %enough
  br i1 %may, label %names, label %miss
miss:
  ret ptr inttoptr (i64 {MISS} to ptr)
names:
  {PLAN.read("i64 trees", "i64 guards")}
  %behind = getelementptr i64, ptr %plan, i64 {len(PLAN)}
  %first = getelementptr i64, ptr %behind, i64 %trees
  %rules = call ptr @call_guards(ptr %first, i64 %guards)
  %other = icmp eq ptr %rules, null
  br i1 %other, label %miss, label %fits
fits:
  %result = call ptr @call_with(ptr %plan, ptr %behind, ptr %rules, ptr %args)
  ret ptr %result
}}

; Whether nothing has happened since to what the plan depends on.
define internal i1 @call_current(ptr %plan) {{
  {PLAN.read("ptr epoch", "i64 right")}
  %now = load atomic i64, ptr %epoch seq_cst, align 8
  %is = icmp eq i64 %now, %right
  ret i1 %is
}}

; What is behind the guards; null if a name means another object.
define internal ptr @call_guards(ptr %first, i64 %guards) {{
entry:
  br label %each
each:
  %g = phi i64 [ 0, %entry ], [ %g.next, %compare ]
  %at = phi ptr [ %first, %entry ], [ %at.next, %compare ]
  %more = icmp slt i64 %g, %guards
  br i1 %more, label %look, label %same
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
  %g.next = add i64 %g, 1
  %at.next = getelementptr i64, ptr %at, i64 {_GUARD_WORDS}
  %is.same = icmp eq ptr %now, %expected
  br i1 %is.same, label %each, label %other
other:
  call void @PyErr_Clear()
  ret ptr null
same:
  ret ptr %at
}}

; The arguments into a context on the stack, and go.
define internal ptr @call_with(ptr %plan, ptr %behind, ptr %rules, ptr %args) {{
entry:
  {PLAN.read("i64 slots", "i64 trees", "i64 arguments", "ptr check", "i64 first_result")}
  %words = add i64 %slots, {ERROR_WORDS}
  %ctx = alloca i64, i64 %words, align 64
  %record = getelementptr i64, ptr %ctx, i64 %slots
  %ctx3 = getelementptr i64, ptr %ctx, i64 3
  br label %tree
tree:
  %t = phi i64 [ 0, %entry ], [ %t.next, %base ]
  %base.slot = phi ptr [ %ctx3, %entry ], [ %base.next, %base ]
  %base.at = phi ptr [ %behind, %entry ], [ %base.after, %base ]
  %tree.more = icmp slt i64 %t, %trees
  br i1 %tree.more, label %base, label %each
base:
  %address = load i64, ptr %base.at
  store i64 %address, ptr %base.slot
  %t.next = add i64 %t, 1
  %base.next = getelementptr i64, ptr %base.slot, i64 1
  %base.after = getelementptr i64, ptr %base.at, i64 1
  br label %tree
each:
  %i = phi i64 [ 0, %tree ], [ %i.next, %read ]
  %slot = phi ptr [ %base.slot, %tree ], [ %slot.next, %read ]
  %rule = phi ptr [ %rules, %tree ], [ %rule.next, %read ]
  %more = icmp slt i64 %i, %arguments
  br i1 %more, label %read, label %compare
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
  %raised = icmp eq i64 %width, -{RAISED}
  br i1 %raised, label %fail, label %unfit
fail:
  ret ptr null
unfit:
  %how = sub i64 0, %width
  %answer = inttoptr i64 %how to ptr
  ret ptr %answer
compare:
  {PLAN.read("ptr overlap")}
  %met = call i1 @overlaps(ptr %overlap, ptr %ctx)
  br i1 %met, label %overlapping, label %asks
overlapping:
  ret ptr inttoptr (i64 {MISS} to ptr)
asks:
  %unchecked = icmp eq ptr %check, null
  br i1 %unchecked, label %fitting, label %ask
ask:
  %changed = call ptr @PyObject_VectorcallDict(ptr %check, ptr null, i64 0, ptr null)
  %failed = icmp eq ptr %changed, null
  br i1 %failed, label %fail, label %told
told:
  %truth = call i32 @PyObject_IsTrue(ptr %changed)
  call void @Py_DecRef(ptr %changed)
  %same = icmp eq i32 %truth, 0
  br i1 %same, label %fitting, label %slow
fitting:
  %still = call i1 @call_current(ptr %plan)
  br i1 %still, label %run, label %slow
slow:
  ret ptr inttoptr (i64 {SLOW} to ptr)
run:
  {PLAN.read("ptr kernel", "ptr table", "ptr seeds", "i64 memory")}
  %state = call i64 @run_kernel(ptr %kernel, ptr %ctx, ptr %record, ptr %table, ptr %seeds, i64 %memory)
  %sound = icmp eq i64 %state, 0
  br i1 %sound, label %collect, label %faulty
faulty:
  %interrupted = icmp eq i64 %state, {INTERRUPTED}
  br i1 %interrupted, label %interrupt, label %wrong
interrupt:
  %null = call ptr @raise_interrupt()
  ret ptr %null
wrong:
  %fault = call ptr @PyBytes_FromStringAndSize(ptr %record, i64 {8 * ERROR_WORDS})
  %never = call ptr @call_conclude(ptr %plan, ptr %fault)
  ret ptr %never
collect:
  %values = getelementptr i64, ptr %ctx, i64 %first_result
  %result = call ptr @call_result(ptr %plan, ptr %rule, ptr %values)
  ret ptr %result
}}
"""

_RESULT = f"""
define internal ptr @call_result(ptr %plan, ptr %rules, ptr %values) {{
entry:
  {PLAN.read("i64 gives", "i64 results", "ptr none")}
  switch i64 %gives, label %many [ i64 {NONE}, label %nothing i64 {ONE}, label %one ]
nothing:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
one:
  %single = call ptr @result_object(ptr %rules, ptr %values)
  ret ptr %single
many:
  %tuple = call ptr @result_tuple(i64 %results, ptr %rules, ptr %values)
  %answer = call ptr @call_conclude(ptr %plan, ptr %tuple)
  ret ptr %answer
}}

; Consumes the outcome, which may be null.
define internal ptr @call_conclude(ptr %plan, ptr %outcome) {{
entry:
  %none = icmp eq ptr %outcome, null
  br i1 %none, label %fail, label %go
fail:
  ret ptr null
go:
  {PLAN.read("ptr conclude")}
  %box = alloca ptr
  store ptr %outcome, ptr %box
  %answer = call ptr @PyObject_VectorcallDict(ptr %conclude, ptr %box, i64 1, ptr null)
  call void @Py_DecRef(ptr %outcome)
  ret ptr %answer
}}
"""

CALL_IR = _CALL + ARGUMENT_IR + _RESULT
