"""A builder for the native functions of the runtime: Python code that writes LLVM IR.

    IR = Module()

    @IR.function("i64", "ptr", "i64")
    def total(f: Function, numbers: Value, count: Value) -> None:
        sum = f.variable("i64", 0)
        with f.count(count) as k:
            sum.set(sum.get() + numbers.at(k).load("i64"))
        f.ret(sum.get())

A module calls the decorated function when its text is requested. The parameters are the registers of the arguments. A
`Value` is a register or a constant with its type, and its operators write instructions. Python integers become
constants. Control flow nests as in Python: `with f.when(condition):`, `with f.count(n) as k:`, `with f.loop():`.
Variables are stack slots: the code is compiled without optimization, so slots cost as much as phi nodes.

Globals and functions of other libraries belong to a module, too. Functions refer to them by name:

    IR.global_variable("launches", "i64")
    IR.declare({"strlen": "i64 (ptr)"})
        ...
        count, length = f.symbol("launches").load("i64"), f.call("strlen", text)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import CodeType
from typing import NamedTuple, TypeVar

__all__ = ["Block", "Function", "Module", "Value", "Variable"]

WriteT = TypeVar("WriteT", bound=Callable[..., None])  # writes a function, given it and its arguments

_SIGNATURES: dict[str, tuple[str, tuple[str, ...]]] = {}  # of all functions: type of the result, types of the arguments


class Value:
    """A register or a constant of a function."""

    __slots__ = ("function", "text", "type")

    def __init__(self, function: Function, type: str, text: str) -> None:
        self.function, self.type, self.text = function, type, text

    def _binary(self, op: str, other: Value | int) -> Value:
        return self.function.set(self.type, f"{op} {self.type} {self.text}, {_text(other)}")

    def __add__(self, other: Value | int) -> Value:
        return self._binary("add", other)

    def __sub__(self, other: Value | int) -> Value:
        return self._binary("sub", other)

    def __mul__(self, other: Value | int) -> Value:
        return self._binary("mul", other)

    def __and__(self, other: Value | int) -> Value:
        return self._binary("and", other)

    def __or__(self, other: Value | int) -> Value:
        return self._binary("or", other)

    def __xor__(self, other: Value | int) -> Value:
        return self._binary("xor", other)

    def __lshift__(self, other: Value | int) -> Value:
        return self._binary("shl", other)

    def __rshift__(self, other: Value | int) -> Value:
        """Shift right and fill with zeros. `signed_shift` keeps the sign."""
        return self._binary("lshr", other)

    def __invert__(self) -> Value:
        """Negate a truth value."""
        return self ^ (True if self.type == "i1" else -1)

    def signed_shift(self, other: Value | int) -> Value:
        """Shift right and keep the sign."""
        return self._binary("ashr", other)

    def op(self, name: str, other: Value | int) -> Value:
        """Write any other operator of LLVM, such as `udiv`."""
        return self._binary(name, other)

    def compare(self, how: str, other: Value | float) -> Value:
        """Compare by `icmp` with that condition, such as `slt`; floats by `fcmp`, such as `oeq`."""
        word = "fcmp" if self.type in ("float", "double") else "icmp"
        return self.function.set("i1", f"{word} {how} {self.type} {self.text}, {_text(other, self.type)}")

    def eq(self, other: Value | int) -> Value:
        return self.compare("eq", other)

    def ne(self, other: Value | int) -> Value:
        return self.compare("ne", other)

    def is_one_of(self, *others: int) -> Value:
        """Return whether the value is one of those constants."""
        first, *rest = (self.eq(other) for other in others)
        for one in rest:
            first |= one
        return first

    def select(self, yes: Value, no: Value) -> Value:
        """Return `yes` if this truth value holds, else `no`."""
        texts = f"{yes.type} {yes.text}, {no.type} {no.text}"
        return self.function.set(yes.type, f"select i1 {self.text}, {texts}")

    def cast(self, how: str, type: str) -> Value:
        """Convert by `zext`, `trunc`, `bitcast` and so on."""
        return self.function.set(type, f"{how} {self.type} {self.text} to {type}")

    # -- addresses -----------------------------------------------------------------------------------------------------

    def at(self, index: Value | int, type: str = "i64") -> Value:
        """Return the address of the element with that index in an array of that type that begins at this address."""
        if index == 0:
            return self
        number = index if isinstance(index, Value) else Value(self.function, "i64", str(index))
        return self.function.set("ptr", f"getelementptr {type}, ptr {self.text}, {number.type} {number.text}")

    def behind(self, bytes: Value | int) -> Value:
        """Return the address that many bytes behind this one."""
        return self.at(bytes, "i8")

    def load(self, type: str, order: str = "") -> Value:
        """Load the value at this address; with `order`, atomically."""
        if not order:
            return self.function.set(type, f"load {type}, ptr {self.text}")
        return self.function.set(type, f"load atomic {type}, ptr {self.text} {order}, align {_SIZES[type]}")

    def store(self, value: Value | int, order: str = "", type: str = "i64") -> None:
        """Store a value at this address. `type` is the type of a Python constant."""
        given = value if isinstance(value, Value) else self.function.constant(value, type)
        if not order:
            self.function.do(f"store {given.type} {given.text}, ptr {self.text}")
            return
        self.function.do(f"store atomic {given.type} {given.text}, ptr {self.text} {order}, align {_SIZES[given.type]}")

    def swap_if(self, expected: Value | int, new: Value | int, type: str, orders: str) -> tuple[Value, Value]:
        """Write a `cmpxchg`. Returns the old value, and whether it was the expected one."""
        both = f"{{ {type}, i1 }}"
        texts = f"{type} {_text(expected)}, {type} {_text(new)} {orders}"
        pair = self.function.set(both, f"cmpxchg ptr {self.text}, {texts}")
        found = self.function.set(type, f"extractvalue {both} {pair.text}, 0")
        return found, self.function.set("i1", f"extractvalue {both} {pair.text}, 1")

    def atomic(self, op: str, operand: Value | int, order: str, type: str = "i64") -> Value:
        """Write an `atomicrmw`. Returns the old value."""
        return self.function.set(type, f"atomicrmw {op} ptr {self.text}, {type} {_text(operand)} {order}")


_SIZES = {"i1": 1, "i32": 4, "i64": 8, "ptr": 8}


def _text(value: Value | float, type: str = "") -> str:
    if isinstance(value, Value):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if type == "ptr" and value == 0 else str(value)


class Variable:
    """A slot on the stack."""

    def __init__(self, type: str, address: Value) -> None:
        self.type, self.address = type, address

    def get(self) -> Value:
        return self.address.load(self.type)

    def set(self, value: Value | int) -> None:
        self.address.store(value, type=self.type)


class Function:
    """A function that is being written."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._slots: list[str] = []  # the instructions that allocate stack slots, at the beginning
        self._exits: list[str] = []  # the block that `leave` jumps to, for each open loop
        self._heads: list[str] = []  # the block that `again` jumps to
        self._count = 0
        self._open = True  # whether the current block has no terminator yet

    # -- instructions --------------------------------------------------------------------------------------------------

    def do(self, text: str) -> None:
        """Write an instruction without a result."""
        if self._open:
            self._lines.append(f"  {text}")

    def set(self, type: str, text: str) -> Value:
        """Write an instruction and return the register of its result."""
        name = self._name("%v")
        self.do(f"{name} = {text}")
        return Value(self, type, name)

    def constant(self, value: int | float, type: str = "i64") -> Value:
        """Return a constant; for a pointer type, an address or null."""
        if type == "ptr" and value:
            return Value(self, type, f"inttoptr (i64 {value} to ptr)")
        return Value(self, type, _text(value, type) if isinstance(value, int) else repr(value))

    def symbol(self, name: str) -> Value:
        """Return the address of a function or a global."""
        return Value(self, "ptr", f"@{name}")

    def call(self, name: str | Value, *args: Value | int | None, type: str = "", mark: str = "") -> Value:
        """Call a function by name, or by address with `type` as the type of its result. None becomes a null pointer."""
        types: Sequence[str] = ()
        if isinstance(name, str):
            type, types = _SIGNATURES[name]
        texts: list[str] = []
        for k, one in enumerate(args):
            given = "ptr" if one is None else one.type if isinstance(one, Value) else types[k]
            texts.append(f"{given} {'null' if one is None else _text(one, given)}")
        target = f"@{name}" if isinstance(name, str) else name.text
        signature = f"{type} ({', '.join(types)})" if "..." in types else type
        text = f"call {mark} {signature} {target}({', '.join(texts)})"
        type = type.rpartition(" ")[2]  # without attributes such as zeroext
        if type == "void":
            self.do(text)
            return Value(self, type, "")
        return self.set(type, text)

    def assembly(self, text: str, constraints: str = "", *operands: Value) -> None:
        """Write inline assembly without a result, in the syntax of AT&T, with LLVM's constraints."""
        lines = text.replace("\n", "\\0A")
        given = ", ".join(f"{one.type} {one.text}" for one in operands)
        self.do(f'call void asm sideeffect "{lines}", "{constraints}"({given})')

    def fence(self, order: str) -> None:
        """Write a fence."""
        self.do(f"fence {order}")

    def copy(self, to: Value, source: Value, bytes: Value | int) -> None:
        """Copy memory by `memcpy`."""
        self.call("llvm.memcpy.p0.p0.i64", to, source, bytes, False)

    def clear(self, to: Value, bytes: int, byte: int = 0) -> None:
        """Fill memory with a byte by `memset`."""
        self.call("llvm.memset.p0.i64", to, self.constant(byte, "i8"), bytes, False)

    def room(self, type: str, align: int = 8) -> Value:
        """Allocate stack memory and return its address."""
        name = self._name("%s")
        self._slots.append(f"  {name} = alloca {type}, align {align}")
        return Value(self, "ptr", name)

    def room_of(self, words: Value, align: int) -> Value:
        """Allocate a number of words on the stack that is known at run time only, and return their address."""
        return self.set("ptr", f"alloca i64, {words.type} {words.text}, align {align}")

    def variable(self, type: str, value: Value | int) -> Variable:
        """Return a new stack slot with that initial value."""
        made = Variable(type, self.room(type))
        made.set(value)
        return made

    # -- control flow --------------------------------------------------------------------------------------------------

    def ret(self, value: Value | int | None = None, type: str = "i64") -> None:
        """Return from the function. `type` is the type of a Python constant. None returns nothing."""
        if value is None:
            self.do("ret void")
        else:
            given = value if isinstance(value, Value) else self.constant(value, type)
            self.do(f"ret {given.type} {given.text}")
        self._open = False

    def ret_if(self, condition: Value, value: Value | int | None = None, type: str = "i64") -> None:
        """Return if the condition holds."""
        with self.when(condition):
            self.ret(value, type)

    @contextmanager
    def when(self, condition: Value, holds: bool = True) -> Generator[None, None, None]:
        """Run the body of the `with` block if the condition holds; with `holds=False`, if it does not."""
        inside, after = self._name("then"), self._name("after")
        self._branch(condition, *((inside, after) if holds else (after, inside)))
        self._start(inside)
        yield
        self._start(after, fall=True)

    def unless(self, condition: Value) -> AbstractContextManager[None]:
        """Run the body of the `with` block if the condition does not hold."""
        return self.when(condition, holds=False)

    def dispatch(self, number: Value, cases: Mapping[int, Callable[[], None]]) -> None:
        """Run the case of a number, or nothing if there is no such case."""
        labels = [(key, self._name("case")) for key in cases]
        after = self._name("after")
        table = " ".join(f"{number.type} {key}, label %{label}" for key, label in labels)
        self.do(f"switch {number.type} {number.text}, label %{after} [ {table} ]")
        self._open = False
        for (_, label), body in zip(labels, cases.values(), strict=True):
            self._start(label)
            body()
            if self._open:
                self._jump(after)
        self._start(after)

    @contextmanager
    def loop(self) -> Generator[None, None, None]:
        """Repeat the body until `leave` or a return."""
        head, after = self._name("loop"), self._name("after")
        self._start(head, fall=True)
        self._heads.append(head)
        self._exits.append(after)
        yield
        if self._open:
            self._jump(head)
        self._heads.pop()
        self._exits.pop()
        self._start(after)

    @contextmanager
    def count(self, end: Value | int, begin: Value | int = 0, type: str = "i64") -> Generator[Value, None, None]:
        """Repeat the body for each number from `begin` to before `end`. Both are signed."""
        k = self.variable(type, begin)
        with self.loop():
            now = k.get()
            self.leave_if(now.compare("sge", end))
            yield now
            k.set(now + 1)

    @contextmanager
    def once(self) -> Generator[None, None, None]:
        """Run the body once. `leave` jumps to its end."""
        after = self._name("after")
        self._exits.append(after)
        yield
        self._exits.pop()
        self._start(after, fall=True)

    def unreachable(self) -> None:
        """End the current block at a place that no thread reaches."""
        self.do("unreachable")
        self._open = False

    def leave(self) -> None:
        """Leave the innermost loop."""
        self._jump(self._exits[-1])

    def leave_if(self, condition: Value) -> None:
        """Leave the innermost loop if the condition holds."""
        on = self._name("on")
        self._branch(condition, self._exits[-1], on)
        self._start(on)

    def again(self) -> None:
        """Continue with the next iteration of the innermost `loop`."""
        self._jump(self._heads[-1])

    def _branch(self, condition: Value, yes: str, no: str) -> None:
        self.do(f"br i1 {condition.text}, label %{yes}, label %{no}")
        self._open = False

    def _jump(self, label: str) -> None:
        self.do(f"br label %{label}")
        self._open = False

    def _start(self, label: str, fall: bool = False) -> None:
        if fall and self._open:
            self._jump(label)
        self._lines.append(f"{label}:")
        self._open = True

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def body(self) -> str:
        """Return the text between the braces."""
        end = ["  unreachable"] if self._open else []
        return "\n".join(["entry:", *self._slots, *self._lines, *end])


class Module:
    """A sequence of native functions, with the globals and declarations that they need."""

    def __init__(self) -> None:
        self._globals: list[str] = []  # lines of text
        self._functions: list[_Written] = []

    def function(
        self, result: str, *types: str, exported: bool = False, name: str = "", convention: str = "", marks: str = ""
    ) -> Callable[[WriteT], WriteT]:
        """Register a writer for a function of its name, or of that `name`, with the types of the result and of the
        arguments. `convention` is LLVM's calling convention; `marks` are attributes of the function."""

        def register(write: WriteT) -> WriteT:
            called = name or write.__name__
            _SIGNATURES[called] = result.rpartition(" ")[2], types
            head = " ".join(word for word in ("" if exported else "internal", convention, result) if word)
            self._functions.append(_Written(head, called, marks, write))
            return write

        return register

    def declare(self, signatures: Mapping[str, str]) -> None:
        """Declare functions of other libraries, by name, with signatures such as `i64 (ptr, ptr)`."""
        for name, signature in signatures.items():
            result, _, types = signature.partition(" (")
            _SIGNATURES[name] = result, tuple(types.rstrip(")").split(", ")) if types != ")" else ()
            self._globals.append(f"declare {result} @{name}({types}")

    def global_variable(self, name: str, type: str, value: int = 0, align: int = 0) -> None:
        """Define a global variable that only native code sees. `align` is in bytes; 0 is that of the type."""
        written = f", align {align}" if align else ""
        self._globals.append(f"@{name} = internal global {type} {value or 'zeroinitializer'}{written}")

    def global_text(self, name: str, text: bytes) -> None:
        """Define a constant with these bytes."""
        plain = range(ord(" "), ord("~") + 1)
        escaped = "".join(chr(byte) if byte in plain and byte not in b'"\\' else f"\\{byte:02X}" for byte in text)
        self._globals.append(f'@{name} = internal constant [{len(text)} x i8] c"{escaped}"')

    def text(self) -> str:
        """Return the LLVM IR."""
        return "\n".join([*self._globals, *(one.text() for one in self._functions)])


class _Written(NamedTuple):
    """A function of a module."""

    head: str  # linkage, calling convention and type of the result
    name: str
    marks: str  # attributes
    write: Callable[..., None]

    def text(self) -> str:
        """The LLVM IR."""
        function, (_, types) = Function(), _SIGNATURES[self.name]
        code: CodeType = getattr(self.write, "__code__")  # noqa: B009 (a function, of which checkers do not know it)
        names = code.co_varnames[1 : code.co_argcount]
        args = [Value(function, type, f"%{one}") for one, type in zip(names, types, strict=True)]
        self.write(function, *args)
        given = ", ".join(f"{one.type} {one.text}" for one in args)
        return f"define {self.head} @{self.name}({given}) {self.marks} {{\n{function.body()}\n}}\n"


class Block:
    """The layout of a block of 8-byte words that Python writes and native code reads. Both access a word by its name:
    `Block("ptr entry", "i64 count")`."""

    def __init__(self, *words: str) -> None:
        self.types = {name: type for type, name in (word.split() for word in words)}
        self.names = tuple(self.types)

    def __len__(self) -> int:
        return len(self.names)

    def words(self, **values: int) -> list[int]:
        """Return a block with those values, one for each name."""
        assert values.keys() == self.types.keys(), sorted(values.keys() ^ self.types.keys())
        return [values[name] for name in self.names]

    def at(self, block: Value, name: str) -> Value:
        """Return the address of a word in a block."""
        return block.at(self.names.index(name))

    def read(self, block: Value, *names: str) -> list[Value]:
        """Load words of a block."""
        return [self.at(block, name).load(self.types[name]) for name in names]
