"""A number as an argument of a direct call: one of Python's, or of numpy's. (Native code, see `native.py`.)

Python's own functions read what is exactly of one of the two types of its rule; for a whole number, also what is of a
subclass of `int`, such as a member of an `IntEnum`. A numpy scalar is read from its memory, by the row that a table has
for its type. A number that does not fit is left to Python, which raises the error.
"""

from __future__ import annotations

from weft.runtime.launch_ir import FLOAT32, FLOAT64, TRUTH
from weft.runtime.native import Block, Function, Module, Value

__all__ = ["HEAD", "MISS", "NUMBER_IR", "NUMBER_RULE", "REAL", "SCALAR_ROW", "SIGNED", "SLOW", "TYPE", "UNSIGNED_WORD"]

# In place of an answer: try the next plan; let Python decide.
MISS, SLOW = 1, 2

NUMBER_RULE = Block("i64 kind", "ptr type", "ptr alike", "i64 least", "i64 greatest", "ptr scalars")
SCALAR_ROW = Block("ptr type", "i64 size", "i64 how")  # the last row has no type
SIGNED, UNSIGNED_WORD, REAL = range(3)  # how the bytes of a number are read

HEAD = object.__basicsize__  # where the contents of an object begin
TYPE = HEAD - 8  # where an object says its type
_INT_SUBCLASS = 1 << 24  # CPython's Py_TPFLAGS_LONG_SUBCLASS
_GREATEST = 2**63 - 1

NUMBER_IR = Module()


@NUMBER_IR.function("i64", "ptr", "ptr", "ptr")
def argument_number(f: Function, rule: Value, arg: Value, slot: Value) -> None:
    """A number, by its rule."""
    kind, type, alike = NUMBER_RULE.read(rule, "kind", "type", "alike")
    its_type = arg.behind(TYPE).load("ptr")
    with f.unless(its_type.eq(type) | its_type.eq(alike)):
        f.ret(f.call("argument_other_number", rule, arg, its_type, slot))

    def real() -> None:
        number = f.call("PyFloat_AsDouble", arg)
        with f.when(number.compare("oeq", -1.0)), f.unless(f.call("PyErr_Occurred").eq(0)):
            f.call("PyErr_Clear")
            f.ret(-SLOW)
        f.ret(f.call("store_real", kind, number, slot))

    def truth() -> None:
        slot.store(f.call("PyObject_IsTrue", arg).cast("zext", "i64"))
        f.ret(1)

    f.dispatch(kind, {FLOAT32: real, FLOAT64: real, TRUTH: truth})
    f.ret(f.call("argument_integer", rule, arg, slot))


@NUMBER_IR.function("i64", "i64", "double", "ptr")
def store_real(f: Function, kind: Value, real: Value, slot: Value) -> None:
    """A float into a slot, in the precision of that kind."""
    with f.when(kind.eq(FLOAT64)):
        slot.store(real)
        f.ret(1)
    slot.store(real.cast("fptrunc", "float"))
    f.ret(1)


@NUMBER_IR.function("i64", "ptr", "ptr", "ptr")
def argument_integer(f: Function, rule: Value, arg: Value, slot: Value) -> None:
    """A Python int, if it is in the rule's range."""
    beyond = f.room("i32")
    whole = f.call("PyLong_AsLongLongAndOverflow", arg, beyond)
    sign = beyond.load("i32")
    least, greatest = NUMBER_RULE.read(rule, "least", "greatest")
    with f.when(sign.eq(0)):
        f.ret(f.call("store_whole", least, greatest, whole, slot))
    f.ret_if(~(least.eq(0) & greatest.eq(_GREATEST) & sign.compare("sgt", 0)), -SLOW)  # else it is for a u64
    word = f.call("PyLong_AsUnsignedLongLong", arg)
    with f.unless(f.call("PyErr_Occurred").eq(0)):
        f.call("PyErr_Clear")
        f.ret(-SLOW)
    slot.store(word)
    f.ret(1)


@NUMBER_IR.function("i64", "i64", "i64", "i64", "ptr")
def store_whole(f: Function, least: Value, greatest: Value, whole: Value, slot: Value) -> None:
    """A whole number, if it is in that range."""
    slot.store(whole)
    fits = whole.compare("sge", least) & whole.compare("sle", greatest)
    f.ret(fits.select(f.constant(1), f.constant(-SLOW)))


@NUMBER_IR.function("i64", "ptr", "ptr", "ptr", "ptr")
def argument_other_number(f: Function, rule: Value, arg: Value, its_type: Value, slot: Value) -> None:
    """A number of a type that the rule does not name."""
    kind, least, greatest, scalars = NUMBER_RULE.read(rule, "kind", "least", "greatest", "scalars")
    row = f.variable("ptr", scalars)
    with f.loop():
        now = row.get()
        (type,) = SCALAR_ROW.read(now, "type")
        f.leave_if(type.eq(0))
        with f.when(type.eq(its_type)):
            size, how = SCALAR_ROW.read(now, "size", "how")
            f.ret(f.call("read_number", kind, least, greatest, how, size, arg.behind(HEAD), slot))
        row.set(now.at(len(SCALAR_ROW)))
    f.ret_if(kind.is_one_of(FLOAT32, FLOAT64, TRUTH), -MISS)
    f.ret_if((f.call("PyType_GetFlags", its_type) & _INT_SUBCLASS).eq(0), -MISS)
    f.ret(f.call("argument_integer", rule, arg, slot))


@NUMBER_IR.function("i64", "i64", "i64", "i64", "i64", "i64", "ptr", "ptr")
def read_number(
    f: Function, kind: Value, least: Value, greatest: Value, how: Value, size: Value, place: Value, slot: Value
) -> None:
    """The number of so many bytes at a place, as a number of that kind and range."""
    is_real, to_real = how.eq(REAL), kind.is_one_of(FLOAT32, FLOAT64)
    with f.when(is_real):
        f.ret_if(~to_real, -MISS)
        with f.when(size.eq(4)):
            f.ret(f.call("store_real", kind, place.load("float").cast("fpext", "double"), slot))
        f.ret(f.call("store_real", kind, place.load("double"), slot))
    word, signed = f.variable("i64", 0), how.eq(SIGNED)

    def narrow(type: str) -> None:
        bits = place.load(type)
        word.set(bits.cast("sext", "i64"))
        with f.unless(signed):
            word.set(bits.cast("zext", "i64"))

    def wide() -> None:
        word.set(place.load("i64"))
        f.ret_if(word.get().compare("slt", 0) & ~signed, -SLOW)

    f.dispatch(size, {8: wide, 4: lambda: narrow("i32"), 2: lambda: narrow("i16"), 1: lambda: narrow("i8")})
    with f.when(to_real):
        f.ret(f.call("store_real", kind, word.get().cast("sitofp", "double"), slot))
    with f.when(kind.eq(TRUTH)):
        slot.store(word.get().ne(0).cast("zext", "i64"))
        f.ret(1)
    f.ret(f.call("store_whole", least, greatest, word.get(), slot))
