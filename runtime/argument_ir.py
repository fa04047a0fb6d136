"""One argument of a direct call, recognized by the address of its type and read from its own memory. (Native code, see
`native.py`.)

`call_argument` fills the slots of an argument. It follows a *rule*, a block of words that begins with its kind, and
returns the number of slots. If the argument does not fit the rule, it returns a negative code: MISS, SLOW or RAISED.

    number      a number, see `number_ir.py`
    exact       one particular object, which takes no slot: a compile-time argument
    equal       that object, or another one of its type that is the same number
    numpy       an array of a given type, dtype, number of axes and flags. Its last axes, at most two, are those of an
                element and have given extents and strides. The other extents fit an i32
    recorded    an object whose record (see `recorded.py`) begins with a given word; the other words are its slots
    packed      any object, or any object of one type, that a Python function converts to bytes. If the function returns
                something else, the argument does not fit. Compile-time arguments that Python compares take no slot
    compound    a struct, vector or matrix, which is read here (see `compound_ir.py`), or else packed
    pack        an argument pack of exactly one type: its members follow their own rules. Code that replaces a member
                that is not a number keeps the old member until the call is over (see `epochs.py`)
"""

from __future__ import annotations

from weft.runtime.compound_ir import ARRAY, COMPOUND_IR
from weft.runtime.native import Block, Function, Module, Value
from weft.runtime.number_ir import HEAD, MISS, NUMBER_IR, NUMBER_RULE, SLOW, TYPE

__all__ = [
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
EXACT, EQUAL, NUMPY, RECORDED, PACKED, COMPOUND, PACK = range(32, 39)

EXACT_RULE = Block("i64 kind", "ptr object")
EQUAL_RULE = Block("i64 kind", "ptr object", "ptr type", "i64 real", "i64 bits")  # real: 1 for a float, 0 for an int
NUMPY_RULE = Block(
    *("i64 kind", "ptr type", "ptr dtype", "i64 axes", "i64 flags", "i64 inner"),
    *("i64 extent0", "i64 extent1", "i64 stride0", "i64 stride1"),
)
RECORDED_RULE = Block("i64 kind", "ptr type", "i64 begins", "i64 width")
_PACKED = ("i64 kind", "ptr pack", "i64 width", "ptr type", "ptr bytes.type")
PACKED_RULE = Block(*_PACKED)
COMPOUND_RULE = Block(*_PACKED, "ptr node")
PACK_RULE = Block("i64 kind", "ptr node")
PACK_NODE = Block("ptr class", "ptr type", "ptr entries.name", "ptr type.name", "i64 count")  # and then the members
PACK_MEMBER = Block("ptr name", "ptr inner")  # by the rule at that address
ARGUMENT_WORDS = max(map(len, (NUMBER_RULE, EQUAL_RULE, NUMPY_RULE, RECORDED_RULE, PACKED_RULE, COMPOUND_RULE)))

RAISED = 3  # in place of an answer, besides MISS and SLOW: there is an exception

_BYTES = bytes.__basicsize__ - 1  # where the contents of a bytes object begin
NUMPY_FLAGS = 0x401  # NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE

_IR = Module()


@_IR.function("i64", "ptr", "ptr", "ptr")
def call_argument(f: Function, rule: Value, arg: Value, slot: Value) -> None:
    """The slots of an argument, by a rule of any kind."""

    def exact() -> None:
        (object,) = EXACT_RULE.read(rule, "object")
        f.ret(arg.eq(object).select(f.constant(0), f.constant(-MISS)))

    readers = {
        EQUAL: "argument_equal",
        NUMPY: "argument_numpy",
        RECORDED: "argument_recorded",
        PACKED: "argument_packed",
        COMPOUND: "argument_compound",
        PACK: "argument_pack",
    }
    called = {kind: lambda name=name: f.ret(f.call(name, rule, arg, slot)) for kind, name in readers.items()}
    f.dispatch(rule.load("i64"), {EXACT: exact, **called})
    f.ret(f.call("argument_number", rule, arg, slot))


@_IR.function("i64", "ptr", "ptr", "ptr")
def argument_equal(f: Function, rule: Value, arg: Value, slot: Value) -> None:
    """A compile-time argument that is that number."""
    del slot
    beyond = f.room("i32")
    object, type, real, bits = EQUAL_RULE.read(rule, "object", "type", "real", "bits")
    f.ret_if(arg.eq(object), 0)
    f.ret_if(arg.behind(TYPE).load("ptr").ne(type), -MISS)
    with f.when(real.ne(0)):
        same = f.call("PyFloat_AsDouble", arg).cast("bitcast", "i64").eq(bits)
        f.ret(same.select(f.constant(0), f.constant(-MISS)))
    same = f.call("PyLong_AsLongLongAndOverflow", arg, beyond).eq(bits) & beyond.load("i32").eq(0)
    f.ret(same.select(f.constant(0), f.constant(-MISS)))


@_IR.function("i64", "ptr", "ptr", "ptr")
def argument_numpy(f: Function, rule: Value, arg: Value, slot: Value) -> None:
    """A numpy array."""
    type, dtype, axes, flags, inner = NUMPY_RULE.read(rule, "type", "dtype", "axes", "flags", "inner")
    f.ret_if(arg.behind(TYPE).load("ptr").ne(type), -MISS)
    is_dtype = arg.behind(ARRAY["dtype"]).load("ptr").eq(dtype)
    is_ndim = arg.behind(ARRAY["ndim"]).load("i32").cast("sext", "i64").eq(axes + inner)
    is_flags = (arg.behind(ARRAY["flags"]).load("i32").cast("zext", "i64") & NUMPY_FLAGS).eq(flags)
    f.ret_if(~(is_dtype & is_ndim & is_flags), -MISS)
    shape, strides = (arg.behind(ARRAY[name]).load("ptr") for name in ("shape", "strides"))
    with f.count(inner) as k:
        is_extent = shape.at(axes).at(k).load("i64").eq(NUMPY_RULE.at(rule, "extent0").at(k).load("i64"))
        is_stride = strides.at(axes).at(k).load("i64").eq(NUMPY_RULE.at(rule, "stride0").at(k).load("i64"))
        f.ret_if(~(is_extent & is_stride), -MISS)
    with f.count(axes) as k:
        f.ret_if(shape.at(k).load("i64").compare("ugt", 2**31 - 1), -MISS)
    data = arg.behind(ARRAY["data"]).load("i64")
    f.ret(f.call("array_slots", slot, data, shape, strides, axes))


@_IR.function("i64", "ptr", "ptr", "ptr")
def argument_recorded(f: Function, rule: Value, arg: Value, slot: Value) -> None:
    """An object with a record."""
    type, begins, width = RECORDED_RULE.read(rule, "type", "begins", "width")
    f.ret_if(arg.behind(TYPE).load("ptr").ne(type), -MISS)
    record = arg.behind(HEAD).load("ptr", "acquire")
    f.ret_if(record.eq(0), -MISS)
    f.ret_if(record.behind(_BYTES).load("i64").ne(begins), -MISS)
    f.copy(slot, record.behind(_BYTES + 8), width << 3)
    f.ret(width)


@_IR.function("i64", "ptr", "ptr", "ptr")
def argument_packed(f: Function, rule: Value, arg: Value, slot: Value) -> None:
    """What Python packs."""
    pack, width, type, bytes_type = PACKED_RULE.read(rule, "pack", "width", "type", "bytes.type")
    f.ret_if(type.ne(0) & arg.behind(TYPE).load("ptr").ne(type), -MISS)
    box = f.variable("ptr", arg)
    bytes = f.call("PyObject_VectorcallDict", pack, box.address, 1, None)
    f.ret_if(bytes.eq(0), -RAISED)
    with f.unless(f.call("is_of", bytes, bytes_type)):
        f.call("Py_DecRef", bytes)
        f.ret(-MISS)
    f.copy(slot, bytes.behind(_BYTES), width << 3)
    f.call("Py_DecRef", bytes)
    f.ret(width)


@_IR.function("i64", "ptr", "ptr", "ptr")
def argument_compound(f: Function, rule: Value, arg: Value, slot: Value) -> None:
    """A struct, vector or matrix."""
    width = f.call("compound_read", *COMPOUND_RULE.read(rule, "node"), arg, slot)
    f.ret_if(width.compare("sge", 0), width)
    f.ret(f.call("argument_packed", rule, arg, slot))


@_IR.function("i64", "ptr", "ptr", "ptr")
def argument_pack(f: Function, rule: Value, arg: Value, slot: Value) -> None:
    """An argument pack, member by member."""
    (node,) = PACK_RULE.read(rule, "node")
    plain, type, name, type_name, count = PACK_NODE.read(node, "class", "type", "entries.name", "type.name", "count")
    entries = f.call("entries_of", arg, plain, type, type_name, name)
    f.ret_if(entries.eq(0), -MISS)
    member, used = f.variable("ptr", node.at(len(PACK_NODE))), f.variable("i64", 0)
    with f.count(count):
        name, inner = PACK_MEMBER.read(member.get(), "name", "inner")
        held, width = f.call("member_of", entries, name), f.variable("i64", -SLOW)
        with f.unless(held.eq(0)):
            width.set(f.call("call_argument", inner, held, slot.at(used.get())))
            f.call("Py_DecRef", held)
        with f.when(held.eq(0)):
            f.call("PyErr_Clear")
        with f.when(width.get().compare("slt", 0)):
            f.call("Py_DecRef", entries)
            f.ret(width.get())
        used.set(used.get() + width.get())
        member.set(member.get().at(len(PACK_MEMBER)))
    f.call("Py_DecRef", entries)
    f.ret(used.get())


ARGUMENT_IR = (_IR, NUMBER_IR, COMPOUND_IR)
