"""Which threads are inside of native calls, in LLVM IR. `retired.py` has the prose.

A thread counts its calls in one of PLACES words, which lie on cache lines of their own; a hash of the thread's number
chooses the word. Its low bits say how many calls are under way, the others how often there were none any more. A call
costs two locked instructions on a line that hardly any other thread touches.
"""

from __future__ import annotations

__all__ = ["COUNT", "PLACES", "RETIRED_IR"]

_BITS = 6
PLACES = 1 << _BITS
COUNT = (1 << 16) - 1
_LINE = 8  # words
_MIX = -7046029254386353131  # 2^64 / golden ratio: neighbouring numbers go far apart

_CALLS = f"""
@calls = internal global [{PLACES * _LINE} x i64] zeroinitializer, align 64
@sweeper = internal global ptr null

; Gives the word that `call_end` takes.
define internal ptr @call_begin() {{
  %me = call i64 @PyThread_get_thread_ident()
  %mixed = mul i64 %me, {_MIX}
  %number = lshr i64 %mixed, {64 - _BITS}
  %line = mul i64 %number, {_LINE}
  %word = getelementptr i64, ptr @calls, i64 %line
  %ignored = atomicrmw add ptr %word, i64 1 seq_cst
  ret ptr %word
}}

; Gives the result; or null, with an exception set, where Ctrl-C came while retired things were looked after. (A child
; that was forked during a call finds that there is none.)
define internal ptr @call_end(ptr %word, ptr %result) {{
entry:
  %first = load atomic i64, ptr %word monotonic, align 8
  br label %try
try:
  %old = phi i64 [ %first, %entry ], [ %found, %leave ]
  %count = and i64 %old, {COUNT}
  %none = icmp eq i64 %count, 0
  br i1 %none, label %look, label %leave
leave:
  %last = icmp eq i64 %count, 1
  %step = select i1 %last, i64 {COUNT}, i64 -1
  %new = add i64 %old, %step
  %pair = cmpxchg ptr %word, i64 %old, i64 %new seq_cst seq_cst
  %found = extractvalue {{ i64, i1 }} %pair, 0
  %left = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %left, label %look, label %try
look:
  %sweep = load atomic ptr, ptr @sweeper seq_cst, align 8
  %clean = icmp eq ptr %sweep, null
  br i1 %clean, label %done, label %ask
done:
  ret ptr %result
ask:
  %swept = call ptr @call_sweep(ptr %sweep, ptr %result)
  ret ptr %swept
}}

define internal ptr @call_sweep(ptr %sweep, ptr %result) {{
entry:
  %exception = alloca [3 x ptr]
  %value.at = getelementptr ptr, ptr %exception, i64 1
  %trace.at = getelementptr ptr, ptr %exception, i64 2
  call void @PyErr_Fetch(ptr %exception, ptr %value.at, ptr %trace.at)
  %swept = call ptr @PyObject_VectorcallDict(ptr %sweep, ptr null, i64 0, ptr null)
  %stopped = icmp eq ptr %swept, null
  %raised = load ptr, ptr %exception
  %well = icmp eq ptr %raised, null
  %stops = and i1 %stopped, %well
  br i1 %stops, label %stop, label %go
stop:
  %object = icmp ugt ptr %result, inttoptr (i64 {COUNT} to ptr)
  br i1 %object, label %drop, label %give
drop:
  call void @Py_DecRef(ptr %result)
  br label %give
give:
  ret ptr null
go:
  %value = load ptr, ptr %value.at
  %trace = load ptr, ptr %trace.at
  call void @PyErr_Restore(ptr %raised, ptr %value, ptr %trace)
  br i1 %stopped, label %kept, label %release
release:
  call void @Py_DecRef(ptr %swept)
  br label %kept
kept:
  ret ptr %result
}}

; All words, as they are after everything that this thread did.
define void @calls_now(ptr %to) {{
entry:
  fence seq_cst
  br label %each
each:
  %k = phi i64 [ 0, %entry ], [ %next, %copy ]
  %more = icmp ult i64 %k, {PLACES}
  br i1 %more, label %copy, label %done
copy:
  %line = mul i64 %k, {_LINE}
  %word = getelementptr i64, ptr @calls, i64 %line
  %now = load atomic i64, ptr %word seq_cst, align 8
  %slot = getelementptr i64, ptr %to, i64 %k
  store i64 %now, ptr %slot
  %next = add i64 %k, 1
  br label %each
done:
  ret void
}}

; What is called at the end of each call from now on; null: nothing.
define void @calls_sweeper(ptr %function) {{
  store atomic ptr %function, ptr @sweeper seq_cst, align 8
  fence seq_cst
  ret void
}}

; In a forked child: no other thread is here.
define void @calls_forget() {{
  call void @llvm.memset.p0.i64(ptr @calls, i8 0, i64 {8 * PLACES * _LINE}, i1 false)
  call void @forget_banks()
  ret void
}}
"""

RETIRED_IR = _CALLS
