"""Structs, vectors and matrices as arguments of a direct call, read from the memory of Python's objects. (Native code,
see `native.py`.)

`compound_read` fills the slots of a value as a tree of *nodes* describes it, one for each struct, tensor and number in
it, and gives how many slots those are; less than 0 if the value is of another kind. Then Python packs it, or says what
is wrong with it.

    scalar    a member of a struct: numpy's scalar of exactly that type
    tensor    a vector or matrix whose numbers lie in a numpy array of that shape; they are cast as kernels cast them
    struct    a struct of exactly that type; members are found by name in its dictionary
"""

from __future__ import annotations

from weft.runtime.launch_ir import PYTHON_API
from weft.runtime.native import Block, Function, Module, Value
from weft.runtime.number_ir import HEAD, REAL, SIGNED, TYPE

__all__ = ["ARRAY", "COMPOUND_IR", "MEMBER", "SCALAR", "SCALAR_NODE", "STRUCT", "STRUCT_NODE", "TENSOR", "TENSOR_NODE"]

SCALAR, TENSOR, STRUCT = range(3)

SCALAR_NODE = Block("i64 kind", "ptr type", "i64 size")
TENSOR_NODE = Block(
    "i64 kind",
    "ptr matrix",  # the class of matrices,
    "ptr vector",  # and that of vectors
    "ptr array",  # numpy's class
    "i64 axes",
    "i64 rows",
    "i64 columns",  # 1 of a vector
    "ptr f32",  # the dtypes that are read here
    "ptr f64",
    "ptr i32",
    "ptr i64",
    "i64 to",  # what they become, by the kinds of numbers in `launch_ir.py`
    "i64 least",
    "i64 greatest",
)
STRUCT_NODE = Block("i64 kind", "ptr class", "ptr type", "ptr entries.name", "ptr type.name", "i64 count")  # + members
MEMBER = Block("ptr name", "ptr inner")

# numpy's PyArrayObject behind its head: these offsets are part of its binary interface.
ARRAY = {"data": HEAD, "ndim": HEAD + 8, "shape": HEAD + 16, "strides": HEAD + 24, "dtype": HEAD + 40}
ARRAY["flags"] = HEAD + 48
_READ_AS = {"f32": (REAL, 4), "f64": (REAL, 8), "i32": (SIGNED, 4), "i64": (SIGNED, 8)}  # how, and how many bytes

COMPOUND_IR = Module()


@COMPOUND_IR.function("i64", "ptr", "ptr", "ptr")
def compound_read(f: Function, node: Value, value: Value, slot: Value) -> None:
    """The slots of a value, by a node of any kind."""
    kind = node.load("i64")
    with f.when(kind.eq(TENSOR)):
        f.ret(f.call("compound_tensor", node, value, slot))
    with f.when(kind.eq(STRUCT)):
        f.ret(f.call("compound_struct", node, value, slot))
    type, size = SCALAR_NODE.read(node, "type", "size")
    f.ret_if(~f.call("is_of", value, type), -1)
    slot.store(0)
    f.copy(slot, value.behind(HEAD), size)
    f.ret(1)


@COMPOUND_IR.function("i1", "ptr", "ptr")
def is_of(f: Function, value: Value, type: Value) -> None:
    """Whether an object is exactly of that class."""
    f.ret(value.behind(TYPE).load("ptr").eq(type))


@COMPOUND_IR.function("i64", "ptr", "ptr", "ptr")
def compound_tensor(f: Function, node: Value, value: Value, slot: Value) -> None:
    """A vector or matrix."""
    matrix, vector, array = TENSOR_NODE.read(node, "matrix", "vector", "array")
    axes, rows, columns = TENSOR_NODE.read(node, "axes", "rows", "columns")
    its_type = value.behind(TYPE).load("ptr")
    f.ret_if(~(its_type.eq(matrix) | its_type.eq(vector)), -1)
    numbers = value.behind(HEAD).load("ptr")
    f.ret_if(numbers.eq(0), -1)
    f.ret_if(~f.call("is_of", numbers, array), -1)
    f.ret_if(numbers.behind(ARRAY["ndim"]).load("i32").cast("sext", "i64").ne(axes), -1)
    shape, strides = (numbers.behind(ARRAY[name]).load("ptr") for name in ("shape", "strides"))
    f.ret_if(shape.load("i64").ne(rows), -1)
    down, across = strides.load("i64"), f.variable("i64", 0)
    with f.when(axes.ne(1)):
        f.ret_if(shape.at(1).load("i64").ne(columns), -1)
        across.set(strides.at(1).load("i64"))

    dtype, how, size = numbers.behind(ARRAY["dtype"]).load("ptr"), f.variable("i64", 0), f.variable("i64", 0)
    for name, (as_what, bytes) in _READ_AS.items():
        with f.when(dtype.eq(*TENSOR_NODE.read(node, name))):
            how.set(as_what)
            size.set(bytes)
    f.ret_if(size.get().eq(0), -1)
    to, least, greatest = TENSOR_NODE.read(node, "to", "least", "greatest")
    data, position = numbers.behind(ARRAY["data"]).load("ptr"), f.variable("ptr", slot)
    with f.count(rows) as row:
        begin = data.behind(row * down)
        with f.count(columns) as column:
            place, now = begin.behind(column * across.get()), position.get()
            width = f.call("read_number", to, least, greatest, how.get(), size.get(), place, now)
            f.ret_if(width.compare("slt", 0), -1)
            position.set(now.at(1))
    f.ret(rows * columns)


@COMPOUND_IR.function("ptr", "ptr", "ptr", "ptr", "ptr", "ptr")
def entries_of(f: Function, value: Value, plain: Value, type: Value, type_name: Value, name: Value) -> None:
    """A reference to the dictionary `name` of an object of that class, whose attribute `type_name` is that object;
    null, without an exception, if it is another."""
    f.ret_if(~f.call("is_of", value, plain), 0, "ptr")
    its_type = f.call("PyObject_GetAttr", value, type_name)
    with f.when(its_type.eq(0)):
        f.call("PyErr_Clear")
        f.ret(0, "ptr")
    f.call("Py_DecRef", its_type)  # the object keeps it
    f.ret_if(its_type.ne(type), 0, "ptr")
    entries = f.call("PyObject_GetAttr", value, name)
    with f.when(entries.eq(0)):
        f.call("PyErr_Clear")
    f.ret(entries)


@COMPOUND_IR.function("i64", "ptr", "ptr", "ptr")
def compound_struct(f: Function, node: Value, value: Value, slot: Value) -> None:
    """A struct, member by member."""
    plain, type, name, type_name, count = STRUCT_NODE.read(node, "class", "type", "entries.name", "type.name", "count")
    entries = f.call("entries_of", value, plain, type, type_name, name)
    f.ret_if(entries.eq(0), -1)
    member, used = f.variable("ptr", node.at(len(STRUCT_NODE))), f.variable("i64", 0)
    with f.count(count):
        name, inner = MEMBER.read(member.get(), "name", "inner")
        held, width = f.call("member_of", entries, name), f.variable("i64", -1)
        with f.when(held.ne(0)):
            width.set(f.call("compound_read", inner, held, slot.at(used.get())))
            f.call("Py_DecRef", held)
        with f.when(width.get().compare("slt", 0)):
            f.call("PyErr_Clear")
            f.call("Py_DecRef", entries)
            f.ret(-1)
        used.set(used.get() + width.get())
        member.set(member.get().at(len(MEMBER)))
    f.call("Py_DecRef", entries)
    f.ret(used.get())


@COMPOUND_IR.function("ptr", "ptr", "ptr")
def member_of(f: Function, entries: Value, name: Value) -> None:
    """A reference to what a dictionary has under a name; null if there is nothing, perhaps with an exception. (Where no
    lock protects Python, another thread may replace it meanwhile. Older Pythons have that lock.)"""
    if "PyDict_GetItemRef" in PYTHON_API:
        box = f.variable("ptr", 0)
        f.call("PyDict_GetItemRef", entries, name, box.address)
        f.ret(box.get())
        return
    member = f.call("PyDict_GetItemWithError", entries, name)
    f.call("Py_IncRef", member)  # which takes null, too
    f.ret(member)
