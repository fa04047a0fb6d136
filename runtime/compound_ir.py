"""Structs, vectors and matrices as arguments of a direct call, in LLVM IR: read from the memory of Python's objects.

`compound_read` fills the slots of a value as a tree of *nodes* describes it, one for each struct, tensor and number in
it, and gives how many slots those are; less than 0 where the value is not plainly of that kind. Then Python packs it,
or says what is wrong with it.

    scalar    a member of a struct: numpy's scalar of exactly that type
    tensor    a vector or matrix whose numbers lie in a numpy array of that shape; they are cast as kernels cast them
    struct    a struct of exactly that type; members are found by name in its dictionary
"""

from __future__ import annotations

from weft.runtime.launch_ir import FLOAT32, FLOAT64, PYTHON_API
from weft.runtime.words import Words

__all__ = ["COMPOUND_IR", "HEAD", "MEMBER", "SCALAR", "SCALAR_NODE", "STRUCT", "STRUCT_NODE", "TENSOR", "TENSOR_NODE"]

SCALAR, TENSOR, STRUCT = range(3)

SCALAR_NODE = Words("node", "kind", "type", "size")
TENSOR_NODE = Words(
    "node",
    "kind",
    "matrix",  # the class of matrices,
    "vector",  # and that of vectors
    "array",  # numpy's class
    "axes",
    "rows",
    "columns",  # 1 of a vector
    "f32",  # the dtypes that are read here
    "f64",
    "i32",
    "i64",
    "to",  # what they become, by the kinds of numbers in `launch_ir.py`
    "least",
    "greatest",
)
STRUCT_NODE = Words("node", "kind", "class", "type", "entries.name", "type.name", "count")  # and then the members
MEMBER = Words("member", "name", "inner")

HEAD = object.__basicsize__  # where the contents of an object begin: a matrix's array, the number of a numpy scalar
_TYPE = HEAD - 8
# numpy's PyArrayObject: these offsets are part of its binary interface.
_DATA, _NDIM, _SHAPE, _STRIDES, _DTYPE = (HEAD + at for at in (0, 8, 16, 24, 40))

_READ = f"""
define internal i64 @compound_read(ptr %node, ptr %value, ptr %slot) {{
entry:
  %kind = load i64, ptr %node
  switch i64 %kind, label %struct [ i64 {SCALAR}, label %scalar i64 {TENSOR}, label %tensor ]
scalar:
  %scalar.width = call i64 @compound_scalar(ptr %node, ptr %value, ptr %slot)
  ret i64 %scalar.width
tensor:
  %tensor.width = call i64 @compound_tensor(ptr %node, ptr %value, ptr %slot)
  ret i64 %tensor.width
struct:
  %struct.width = call i64 @compound_struct(ptr %node, ptr %value, ptr %slot)
  ret i64 %struct.width
}}

define internal i1 @is_of(ptr %value, ptr %type) {{
  %at = getelementptr i8, ptr %value, i64 {_TYPE}
  %its = load ptr, ptr %at
  %is = icmp eq ptr %its, %type
  ret i1 %is
}}

define internal i64 @compound_scalar(ptr %node, ptr %value, ptr %slot) {{
entry:
  {SCALAR_NODE.read("ptr type", "i64 size")}
  %is = call i1 @is_of(ptr %value, ptr %type)
  br i1 %is, label %take, label %misfit
misfit:
  ret i64 -1
take:
  %number = getelementptr i8, ptr %value, i64 {HEAD}
  store i64 0, ptr %slot
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %number, i64 %size, i1 false)
  ret i64 1
}}
"""

_TENSOR_IR = f"""
define internal i64 @compound_tensor(ptr %node, ptr %value, ptr %slot) {{
entry:
  {TENSOR_NODE.read("ptr matrix", "ptr vector", "ptr array", "i64 axes", "i64 rows", "i64 columns")}
  {TENSOR_NODE.read("ptr f32", "ptr f64", "ptr i32", "ptr i64")}
  %is.matrix = call i1 @is_of(ptr %value, ptr %matrix)
  %is.vector = call i1 @is_of(ptr %value, ptr %vector)
  %is.either = or i1 %is.matrix, %is.vector
  br i1 %is.either, label %look, label %misfit
look:
  %numbers.at = getelementptr i8, ptr %value, i64 {HEAD}
  %numbers = load ptr, ptr %numbers.at
  %unset = icmp eq ptr %numbers, null
  br i1 %unset, label %misfit, label %kind
kind:
  %is.array = call i1 @is_of(ptr %numbers, ptr %array)
  br i1 %is.array, label %measure, label %misfit
measure:
  %data.at = getelementptr i8, ptr %numbers, i64 {_DATA}
  %data = load ptr, ptr %data.at
  %ndim.at = getelementptr i8, ptr %numbers, i64 {_NDIM}
  %ndim = load i32, ptr %ndim.at
  %dtype.at = getelementptr i8, ptr %numbers, i64 {_DTYPE}
  %dtype = load ptr, ptr %dtype.at
  %shape.at = getelementptr i8, ptr %numbers, i64 {_SHAPE}
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %numbers, i64 {_STRIDES}
  %strides = load ptr, ptr %strides.at
  %ndim.64 = sext i32 %ndim to i64
  %is.ndim = icmp eq i64 %ndim.64, %axes
  br i1 %is.ndim, label %down, label %misfit
down:
  %height = load i64, ptr %shape
  %stride.down = load i64, ptr %strides
  %is.height = icmp eq i64 %height, %rows
  %flat = icmp eq i64 %axes, 1
  br i1 %is.height, label %flat.too, label %misfit
flat.too:
  br i1 %flat, label %rows.begin, label %across
across:
  %width.at = getelementptr i64, ptr %shape, i64 1
  %width = load i64, ptr %width.at
  %across.at = getelementptr i64, ptr %strides, i64 1
  %stride.across = load i64, ptr %across.at
  %is.width = icmp eq i64 %width, %columns
  br i1 %is.width, label %rows.begin, label %misfit
rows.begin:
  %step = phi i64 [ 0, %flat.too ], [ %stride.across, %across ]
  %count = mul i64 %rows, %columns
  br label %each
each:
  %k = phi i64 [ 0, %rows.begin ], [ %k.next, %next ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %one, label %done
one:
  %row = udiv i64 %k, %columns
  %column = urem i64 %k, %columns
  %behind = mul i64 %row, %stride.down
  %beside = mul i64 %column, %step
  %offset = add i64 %behind, %beside
  %place = getelementptr i8, ptr %data, i64 %offset
  %to = getelementptr i64, ptr %slot, i64 %k
  %well = call i1 @compound_number(ptr %node, ptr %dtype, ptr %place, ptr %to)
  br i1 %well, label %next, label %misfit
next:
  %k.next = add i64 %k, 1
  br label %each
misfit:
  ret i64 -1
done:
  ret i64 %count
}}

; One number of a tensor, cast; whether that was possible.
define internal i1 @compound_number(ptr %node, ptr %dtype, ptr %place, ptr %slot) {{
entry:
  {TENSOR_NODE.read("ptr f32", "ptr f64", "ptr i32", "ptr i64", "i64 to", "i64 least", "i64 greatest")}
  %is.f64 = icmp eq ptr %dtype, %f64
  br i1 %is.f64, label %double, label %maybe.f32
maybe.f32:
  %is.f32 = icmp eq ptr %dtype, %f32
  br i1 %is.f32, label %single, label %maybe.i64
maybe.i64:
  %is.i64 = icmp eq ptr %dtype, %i64
  br i1 %is.i64, label %long, label %maybe.i32
maybe.i32:
  %is.i32 = icmp eq ptr %dtype, %i32
  br i1 %is.i32, label %short, label %misfit
double:
  %read.f64 = load double, ptr %place
  br label %float
single:
  %read.f32 = load float, ptr %place
  %wide.f32 = fpext float %read.f32 to double
  br label %float
float:
  %real = phi double [ %read.f64, %double ], [ %wide.f32, %single ]
  switch i64 %to, label %misfit [ i64 {FLOAT32}, label %real.f32 i64 {FLOAT64}, label %real.f64 ]
real.f32:
  %narrow = fptrunc double %real to float
  store float %narrow, ptr %slot
  ret i1 true
real.f64:
  store double %real, ptr %slot
  ret i1 true
long:
  %read.i64 = load i64, ptr %place
  br label %integer
short:
  %read.i32 = load i32, ptr %place
  %wide.i32 = sext i32 %read.i32 to i64
  br label %integer
integer:
  %whole = phi i64 [ %read.i64, %long ], [ %wide.i32, %short ]
  switch i64 %to, label %whole.int [ i64 {FLOAT32}, label %whole.f32 i64 {FLOAT64}, label %whole.f64 ]
whole.f32:
  %as.f32 = sitofp i64 %whole to float
  store float %as.f32, ptr %slot
  ret i1 true
whole.f64:
  %as.f64 = sitofp i64 %whole to double
  store double %as.f64, ptr %slot
  ret i1 true
whole.int:
  %above = icmp sge i64 %whole, %least
  %below = icmp sle i64 %whole, %greatest
  %within = and i1 %above, %below
  store i64 %whole, ptr %slot
  ret i1 %within
misfit:
  ret i1 false
}}
"""

_STRUCT_IR = f"""
define internal i64 @compound_struct(ptr %node, ptr %value, ptr %slot) {{
entry:
  {STRUCT_NODE.read("ptr class", "ptr type", "ptr entries.name", "ptr type.name", "i64 count")}
  %members = getelementptr i64, ptr %node, i64 {len(STRUCT_NODE)}
  %is = call i1 @is_of(ptr %value, ptr %class)
  br i1 %is, label %look, label %misfit
look:
  %its.type = call ptr @PyObject_GetAttr(ptr %value, ptr %type.name)
  %typeless = icmp eq ptr %its.type, null
  br i1 %typeless, label %failed, label %compare
compare:
  call void @Py_DecRef(ptr %its.type)
  %is.type = icmp eq ptr %its.type, %type
  br i1 %is.type, label %open, label %misfit
open:
  %entries = call ptr @PyObject_GetAttr(ptr %value, ptr %entries.name)
  %empty = icmp eq ptr %entries, null
  br i1 %empty, label %failed, label %each
failed:
  call void @PyErr_Clear()
  ret i64 -1
misfit:
  ret i64 -1
each:
  %k = phi i64 [ 0, %open ], [ %k.next, %next ]
  %used = phi i64 [ 0, %open ], [ %used.next, %next ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %find, label %done
find:
  %words = mul i64 %k, {len(MEMBER)}
  %member = getelementptr i64, ptr %members, i64 %words
  {MEMBER.read("ptr name", "ptr inner")}
  %held = call ptr @member_of(ptr %entries, ptr %name)
  %absent = icmp eq ptr %held, null
  br i1 %absent, label %odd, label %take
odd:
  call void @PyErr_Clear()
  call void @Py_DecRef(ptr %entries)
  ret i64 -1
take:
  %to = getelementptr i64, ptr %slot, i64 %used
  %width = call i64 @compound_read(ptr %inner, ptr %held, ptr %to)
  call void @Py_DecRef(ptr %held)
  %fits = icmp sge i64 %width, 0
  br i1 %fits, label %next, label %odd
next:
  %k.next = add i64 %k, 1
  %used.next = add i64 %used, %width
  br label %each
done:
  call void @Py_DecRef(ptr %entries)
  ret i64 %used
}}
"""

# What a dictionary has under a name, to be let go of; null if there is nothing, perhaps with an exception. (Another
# thread may replace it meanwhile, if there is no lock that all Python runs under; older Pythons have that.)
_MEMBER_OF = """
define internal ptr @member_of(ptr %entries, ptr %name) {
  %box = alloca ptr
  store ptr null, ptr %box
  %found = call i32 @PyDict_GetItemRef(ptr %entries, ptr %name, ptr %box)
  %member = load ptr, ptr %box
  ret ptr %member
}
"""
_MEMBER_OF_OLDER = """
define internal ptr @member_of(ptr %entries, ptr %name) {
  %member = call ptr @PyDict_GetItemWithError(ptr %entries, ptr %name)
  call void @Py_IncRef(ptr %member)
  ret ptr %member
}
"""  # (Py_IncRef takes null, too)

_MEMBER = _MEMBER_OF if "PyDict_GetItemRef" in PYTHON_API else _MEMBER_OF_OLDER
COMPOUND_IR = _MEMBER + _READ + _TENSOR_IR + _STRUCT_IR
