"""One argument of a direct call, in LLVM IR: recognized by its type's address and read from its own memory.

`call_argument` fills the slots of an argument by a *rule*, a block of words that begins with its kind, and gives how
many slots those are. Where the argument is not of that kind it gives less than 0: a code, MISS, SLOW or RAISED.

    a number    see `number_ir.py`
    exact       that very object, which takes no slot: a compile-time argument
    equal       that object, or another of its type that is the same number
    accepted    what is exactly of that type and a Python function says yes to; it takes no slot
    numpy       an array of that type, dtype, number of axes and flags; its last axes, two at most, are an element's,
                of those extents and strides, and the others' extents fit an i32
    recorded    an object whose record (see `recorded.py`) begins with that word; the others are its slots
    packed      anything, or anything of one type, that a Python function makes bytes of; where it gives something
                else, the argument does not fit
    compound    a struct, vector or matrix, read here (see `compound_ir.py`), or else packed
    pack        an argument pack of exactly that type: its members, by rules of their own. What they hold besides
                numbers is kept until the call is over (see `retired.py`), whoever replaces it meanwhile
"""

from __future__ import annotations

from weft.runtime.compound_ir import COMPOUND_IR
from weft.runtime.number_ir import HEAD, MISS, NUMBER_IR, NUMBER_RULE, SLOW
from weft.runtime.words import Words

__all__ = [
    "ACCEPTED",
    "ACCEPTED_RULE",
    "ARGUMENT_IR",
    "ARGUMENT_WORDS",
    "COMPOUND",
    "COMPOUND_RULE",
    "EQUAL",
    "EQUAL_RULE",
    "EXACT",
    "EXACT_RULE",
    "MISS",
    "NUMBER_RULE",
    "NUMPY",
    "NUMPY_FLAGS",
    "NUMPY_RULE",
    "PACK",
    "PACKED",
    "PACKED_RULE",
    "PACK_MEMBER",
    "PACK_NODE",
    "PACK_RULE",
    "RAISED",
    "RECORDED",
    "RECORDED_RULE",
    "SLOW",
]

# Kinds of rules, besides those of numbers (see `launch_ir.py`).
EXACT, EQUAL, ACCEPTED, NUMPY, RECORDED, PACKED, COMPOUND, PACK = range(32, 40)

EXACT_RULE = Words("rule", "kind", "object")
EQUAL_RULE = Words("rule", "kind", "object", "type", "real", "bits")  # real: 1 for a float, 0 for an int
ACCEPTED_RULE = Words("rule", "kind", "type", "function")
NUMPY_RULE = Words(
    "rule", "kind", "type", "dtype", "axes", "flags", "inner", "extent0", "extent1", "stride0", "stride1"
)
RECORDED_RULE = Words("rule", "kind", "type", "begins", "width")
PACKED_RULE = Words("rule", "kind", "pack", "width", "type", "bytes.type")
COMPOUND_RULE = Words("rule", *PACKED_RULE.names, "node")
PACK_RULE = Words("rule", "kind", "node")
PACK_NODE = Words("node", "class", "type", "entries.name", "type.name", "count")  # and then the members
PACK_MEMBER = Words("member", "name", "inner")  # by the rule at that address
ARGUMENT_WORDS = max(map(len, (NUMBER_RULE, EQUAL_RULE, NUMPY_RULE, RECORDED_RULE, PACKED_RULE, COMPOUND_RULE)))

RAISED = 3  # in place of an answer, besides MISS and SLOW: there is an exception

_TYPE = HEAD - 8  # where an object says its type
_BYTES = bytes.__basicsize__ - 1  # where the contents of a bytes object begin

# numpy's PyArrayObject: these offsets are part of its binary interface.
_DATA, _NDIM, _SHAPE, _STRIDES, _DTYPE, _FLAGS = (HEAD + at for at in (0, 8, 16, 24, 40, 48))
NUMPY_FLAGS = 0x401  # NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE


def _load(kind: str, name: str, offset: int, base: str = "arg") -> str:
    """LLVM IR that loads what lies so many bytes behind the beginning of an object."""
    return f"%{name}.at = getelementptr i8, ptr %{base}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}.at"


_ARGUMENT = f"""
define internal i64 @call_argument(ptr %rule, ptr %arg, ptr %slot) {{
entry:
  %kind = load i64, ptr %rule
  switch i64 %kind, label %number [
    i64 {EXACT}, label %exact
    i64 {EQUAL}, label %equal
    i64 {ACCEPTED}, label %accepted
    i64 {NUMPY}, label %numpy
    i64 {RECORDED}, label %recorded
    i64 {PACKED}, label %packed
    i64 {COMPOUND}, label %compound
    i64 {PACK}, label %pack
  ]
number:
  %number.width = call i64 @argument_number(ptr %rule, ptr %arg, ptr %slot)
  ret i64 %number.width
exact:
  {EXACT_RULE.read("ptr object")}
  %is.it = icmp eq ptr %arg, %object
  %exact.width = select i1 %is.it, i64 0, i64 -{MISS}
  ret i64 %exact.width
equal:
  %equal.width = call i64 @argument_equal(ptr %rule, ptr %arg)
  ret i64 %equal.width
accepted:
  %accepted.width = call i64 @argument_accepted(ptr %rule, ptr %arg)
  ret i64 %accepted.width
numpy:
  %numpy.width = call i64 @argument_numpy(ptr %rule, ptr %arg, ptr %slot)
  ret i64 %numpy.width
recorded:
  %recorded.width = call i64 @argument_recorded(ptr %rule, ptr %arg, ptr %slot)
  ret i64 %recorded.width
packed:
  %packed.width = call i64 @argument_packed(ptr %rule, ptr %arg, ptr %slot)
  ret i64 %packed.width
compound:
  %compound.width = call i64 @argument_compound(ptr %rule, ptr %arg, ptr %slot)
  ret i64 %compound.width
pack:
  %pack.width = call i64 @argument_pack(ptr %rule, ptr %arg, ptr %slot)
  ret i64 %pack.width
}}
"""

_EQUAL = f"""
define internal i64 @argument_equal(ptr %rule, ptr %arg) {{
entry:
  %beyond = alloca i32
  {EQUAL_RULE.read("ptr object", "ptr type", "i64 real", "i64 bits")}
  %is.it = icmp eq ptr %arg, %object
  br i1 %is.it, label %same, label %look
look:
  {_load("ptr", "its.type", _TYPE)}
  %is.type = icmp eq ptr %its.type, %type
  br i1 %is.type, label %read, label %misfit
read:
  %is.real = icmp ne i64 %real, 0
  br i1 %is.real, label %float, label %integer
float:
  %number = call double @PyFloat_AsDouble(ptr %arg)
  %number.bits = bitcast double %number to i64
  %is.float = icmp eq i64 %number.bits, %bits
  br i1 %is.float, label %same, label %misfit
integer:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %arg, ptr %beyond)
  %beyond.sign = load i32, ptr %beyond
  %within64 = icmp eq i32 %beyond.sign, 0
  %is.equal = icmp eq i64 %whole, %bits
  %is.whole = and i1 %within64, %is.equal
  br i1 %is.whole, label %same, label %misfit
same:
  ret i64 0
misfit:
  ret i64 -{MISS}
}}
"""

_ACCEPTED = f"""
define internal i64 @argument_accepted(ptr %rule, ptr %arg) {{
entry:
  %box = alloca ptr
  store ptr %arg, ptr %box
  {ACCEPTED_RULE.read("ptr type", "ptr function")}
  %is.type = call i1 @is_of(ptr %arg, ptr %type)
  br i1 %is.type, label %call, label %misfit
misfit:
  ret i64 -{MISS}
call:
  %told = call ptr @PyObject_VectorcallDict(ptr %function, ptr %box, i64 1, ptr null)
  %failed = icmp eq ptr %told, null
  br i1 %failed, label %fail, label %ask
fail:
  ret i64 -{RAISED}
ask:
  %truth = call i32 @PyObject_IsTrue(ptr %told)
  call void @Py_DecRef(ptr %told)
  %yes = icmp eq i32 %truth, 1
  %width = select i1 %yes, i64 0, i64 -{MISS}
  ret i64 %width
}}
"""

_NUMPY = f"""
define internal i64 @argument_numpy(ptr %rule, ptr %arg, ptr %slot) {{
entry:
  {NUMPY_RULE.read("ptr type", "ptr dtype", "i64 axes", "i64 flags", "i64 inner")}
  {_load("ptr", "its.type", _TYPE)}
  %is.numpy = icmp eq ptr %its.type, %type
  br i1 %is.numpy, label %look, label %misfit
look:
  {_load("ptr", "its.dtype", _DTYPE)}
  {_load("i32", "its.ndim", _NDIM)}
  {_load("i32", "its.flags", _FLAGS)}
  {_load("ptr", "shape", _SHAPE)}
  {_load("ptr", "strides", _STRIDES)}
  %is.dtype = icmp eq ptr %its.dtype, %dtype
  %ndim = sext i32 %its.ndim to i64
  %all.axes = add i64 %axes, %inner
  %is.ndim = icmp eq i64 %ndim, %all.axes
  %flags.wide = zext i32 %its.flags to i64
  %flags.of = and i64 %flags.wide, {NUMPY_FLAGS}
  %is.flags = icmp eq i64 %flags.of, %flags
  %extents = getelementptr i64, ptr %shape, i64 %axes
  %steps = getelementptr i64, ptr %strides, i64 %axes
  %wanted = getelementptr i64, ptr %rule, i64 {NUMPY_RULE.names.index("extent0")}
  %wanted.steps = getelementptr i64, ptr %rule, i64 {NUMPY_RULE.names.index("stride0")}
  %right1 = and i1 %is.dtype, %is.ndim
  %right2 = and i1 %right1, %is.flags
  br i1 %right2, label %element, label %misfit
element:
  %k = phi i64 [ 0, %look ], [ %k.next, %extent ]
  %k.more = icmp slt i64 %k, %inner
  br i1 %k.more, label %extent, label %narrow
extent:
  %have.at = getelementptr i64, ptr %extents, i64 %k
  %have = load i64, ptr %have.at
  %want.at = getelementptr i64, ptr %wanted, i64 %k
  %want = load i64, ptr %want.at
  %step.at = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %step.at
  %want.step.at = getelementptr i64, ptr %wanted.steps, i64 %k
  %want.step = load i64, ptr %want.step.at
  %k.next = add i64 %k, 1
  %is.extent = icmp eq i64 %have, %want
  %is.step = icmp eq i64 %step, %want.step
  %is.alike = and i1 %is.extent, %is.step
  br i1 %is.alike, label %element, label %misfit
narrow:
  %a = phi i64 [ 0, %element ], [ %a.next, %axis ]
  %a.more = icmp slt i64 %a, %axes
  br i1 %a.more, label %axis, label %fits
axis:
  %length.at = getelementptr i64, ptr %shape, i64 %a
  %length = load i64, ptr %length.at
  %a.next = add i64 %a, 1
  %is.narrow = icmp ule i64 %length, {2**31 - 1}
  br i1 %is.narrow, label %narrow, label %misfit
misfit:
  ret i64 -{MISS}
fits:
  {_load("i64", "data", _DATA)}
  %width = call i64 @array_slots(ptr %slot, i64 %data, ptr %shape, ptr %strides, i64 %axes)
  ret i64 %width
}}
"""

_RECORDED = f"""
define internal i64 @argument_recorded(ptr %rule, ptr %arg, ptr %slot) {{
entry:
  {RECORDED_RULE.read("ptr type", "i64 begins", "i64 width")}
  {_load("ptr", "its.type", _TYPE)}
  %is.recorded = icmp eq ptr %its.type, %type
  br i1 %is.recorded, label %look, label %misfit
look:
  %bytes.at = getelementptr i8, ptr %arg, i64 {HEAD}
  %bytes = load atomic ptr, ptr %bytes.at acquire, align 8
  %unset = icmp eq ptr %bytes, null
  br i1 %unset, label %misfit, label %compare
compare:
  {_load("i64", "word", _BYTES, "bytes")}
  %is.kind = icmp eq i64 %word, %begins
  br i1 %is.kind, label %take, label %misfit
misfit:
  ret i64 -{MISS}
take:
  %from = getelementptr i8, ptr %bytes, i64 {_BYTES + 8}
  %size = shl i64 %width, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %from, i64 %size, i1 false)
  ret i64 %width
}}
"""

_PACKED = f"""
define internal i64 @argument_packed(ptr %rule, ptr %arg, ptr %slot) {{
entry:
  %box = alloca ptr
  store ptr %arg, ptr %box
  {PACKED_RULE.read("ptr pack", "i64 width", "ptr type", "ptr bytes.type")}
  {_load("ptr", "its.type", _TYPE)}
  %any = icmp eq ptr %type, null
  %is.type = icmp eq ptr %its.type, %type
  %fits = or i1 %any, %is.type
  br i1 %fits, label %ask, label %misfit
misfit:
  ret i64 -{MISS}
ask:
  %bytes = call ptr @PyObject_VectorcallDict(ptr %pack, ptr %box, i64 1, ptr null)
  %refused = icmp eq ptr %bytes, null
  br i1 %refused, label %fail, label %look
fail:
  ret i64 -{RAISED}
look:
  {_load("ptr", "made.type", _TYPE, "bytes")}
  %is.bytes = icmp eq ptr %made.type, %bytes.type
  br i1 %is.bytes, label %take, label %other
other:
  call void @Py_DecRef(ptr %bytes)
  ret i64 -{MISS}
take:
  %from = getelementptr i8, ptr %bytes, i64 {_BYTES}
  %size = shl i64 %width, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %from, i64 %size, i1 false)
  call void @Py_DecRef(ptr %bytes)
  ret i64 %width
}}
"""

_COMPOUND = f"""
define internal i64 @argument_compound(ptr %rule, ptr %arg, ptr %slot) {{
entry:
  {COMPOUND_RULE.read("ptr node")}
  %width = call i64 @compound_read(ptr %node, ptr %arg, ptr %slot)
  %read = icmp sge i64 %width, 0
  br i1 %read, label %done, label %ask
done:
  ret i64 %width
ask:
  %packed.width = call i64 @argument_packed(ptr %rule, ptr %arg, ptr %slot)
  ret i64 %packed.width
}}
"""

_PACK = f"""
define internal i64 @argument_pack(ptr %rule, ptr %arg, ptr %slot) {{
entry:
  {PACK_RULE.read("ptr node")}
  {PACK_NODE.read("ptr class", "ptr type", "ptr entries.name", "ptr type.name", "i64 count")}
  %is.pack = call i1 @is_of(ptr %arg, ptr %class)
  br i1 %is.pack, label %look, label %misfit
misfit:
  ret i64 -{MISS}
look:
  %its.type = call ptr @PyObject_GetAttr(ptr %arg, ptr %type.name)
  %typeless = icmp eq ptr %its.type, null
  br i1 %typeless, label %odd, label %compare
compare:
  call void @Py_DecRef(ptr %its.type)  ; the pack has it
  %is.type = icmp eq ptr %its.type, %type
  br i1 %is.type, label %open, label %misfit
open:
  %entries = call ptr @PyObject_GetAttr(ptr %arg, ptr %entries.name)
  %empty = icmp eq ptr %entries, null
  br i1 %empty, label %odd, label %begin
odd:
  call void @PyErr_Clear()
  ret i64 -{SLOW}
begin:
  %members = getelementptr i64, ptr %node, i64 {len(PACK_NODE)}
  br label %each
each:
  %k = phi i64 [ 0, %begin ], [ %k.next, %next ]
  %used = phi i64 [ 0, %begin ], [ %used.next, %next ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %find, label %done
find:
  %words = mul i64 %k, {len(PACK_MEMBER)}
  %member = getelementptr i64, ptr %members, i64 %words
  {PACK_MEMBER.read("ptr name", "ptr inner")}
  %held = call ptr @member_of(ptr %entries, ptr %name)
  %absent = icmp eq ptr %held, null
  br i1 %absent, label %lacking, label %take
lacking:
  call void @PyErr_Clear()
  br label %stop
take:
  %to = getelementptr i64, ptr %slot, i64 %used
  %width = call i64 @call_argument(ptr %inner, ptr %held, ptr %to)
  call void @Py_DecRef(ptr %held)
  %fits = icmp sge i64 %width, 0
  br i1 %fits, label %next, label %stop
stop:
  %how = phi i64 [ -{SLOW}, %lacking ], [ %width, %take ]
  call void @Py_DecRef(ptr %entries)
  ret i64 %how
next:
  %k.next = add i64 %k, 1
  %used.next = add i64 %used, %width
  br label %each
done:
  call void @Py_DecRef(ptr %entries)
  ret i64 %used
}}
"""

_KINDS = _ARGUMENT + NUMBER_IR + _EQUAL + _ACCEPTED + _NUMPY + _RECORDED + _PACKED + _COMPOUND + _PACK
ARGUMENT_IR = _KINDS + COMPOUND_IR
