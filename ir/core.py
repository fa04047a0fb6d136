"""The base of all ops: values with def-use chains, ops declared by their fields, blocks, and a builder.

An op is a class whose annotated fields define it completely:

    class Binary(Op, name="binary", pure=True):
        kind: str = attr()
        lhs: Value = operand()
        rhs: Value = operand()

The constructor follows from these fields (positional in that order, then `type=`, `name=`, `span=`). So do the printer,
the parser, cloning, and the structural part of the verifier. An op is its own (single) result value. There are no phi
nodes and no CFG: regions are `Block`s inside `If`, `For`, `While`, `Task` ...
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from weft.ir.errors import Span
from weft.ir.types import VOID, Pointer, Type

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
elif sys.version_info >= (3, 11):
    from typing import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        return lambda cls: cls


__all__ = [
    "LEVELS",
    "OPS",
    "Block",
    "BlockArg",
    "Builder",
    "Field",
    "Op",
    "Value",
    "attr",
    "classes_with",
    "operand",
    "operands",
    "ops_at",
    "ops_of",
    "pointee",
    "region",
]


@dataclass(frozen=True)
class Field:
    """One declared field of an op class. `role`: "operand", "operands" (any number), "attr" or "region"."""

    name: str
    role: str
    default: Any = ...
    annotation: str = ""


def operand() -> Any:
    """One value that the op uses."""
    return Field("", "operand")


def operands() -> Any:
    """Any number of values that the op uses. An op may have several such groups."""
    return Field("", "operands")


def attr(default: Any = ...) -> Any:
    """A compile-time constant: a string, a number, a tuple, a type, or a symbol of the kernel (see `text.py`)."""
    return Field("", "attr", default)


def region(default: None = None) -> Any:
    """A block of ops inside the op. It is empty if none is given. (`default=None` tells type checkers so.)"""
    return Field("", "region", default or ...)


class Value:
    """A typed value that ops can use. `users` counts the operand slots of each op that uses it."""

    def __init__(self, type: Type, name: str = "", span: Span | None = None) -> None:
        self.type, self.name, self.span = type, name, span
        self.users: dict[Op, int] = {}

    def replace_uses(self, new: Value) -> None:
        """Make every user of this value use `new` instead."""
        for user in list(self.users):
            for position, value in enumerate(user.operands):
                if value is self:
                    user.set_operand(position, new)


def pointee(value: Value) -> Type:
    """The type that a pointer value points to."""
    assert isinstance(value.type, Pointer), value
    return value.type.elem


class BlockArg(Value):
    """A value that the owner of a block defines, such as the index of a loop."""

    def __init__(self, type: Type, name: str = "", span: Span | None = None) -> None:
        super().__init__(type, name, span)
        self.block: Block | None = None


OPS: dict[str, type[Op]] = {}
LEVELS = ("chi", "tasks", "lowered", "mapped", "vectors")  # of the IR, the first one first
OpT = TypeVar("OpT", bound="Op")


def common(*, default: Any = None, kw_only: bool = True) -> Any:
    """A keyword argument of every constructor, for type checkers only."""
    raise NotImplementedError(default, kw_only)


@dataclass_transform(eq_default=False, field_specifiers=(operand, operands, attr, region, common))
class _Declared:
    """Turns the annotated fields of subclasses into operands, attributes and regions."""

    declared: ClassVar[tuple[Field, ...]] = ()
    region_names: ClassVar[tuple[str, ...]] = ()
    attribute_names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, name: str = "", **traits: bool | str) -> None:
        super().__init_subclass__()
        if not name:
            return
        cls.opname = name  # type: ignore[attr-defined]
        if shadowed := sorted({*cls.__annotations__} & {*vars(Op)}):
            raise TypeError(f"op '{name}': the field '{shadowed[0]}' has the name of a trait")
        for trait, value in traits.items():
            if type(getattr(cls, trait, None)) is not type(value):
                raise TypeError(f"op '{name}': the trait {trait}={value!r} does not exist")
            setattr(cls, trait, value)
        _check_traits(cls)
        cls.declared = tuple(_named(cls, field, note) for field, note in cls.__annotations__.items())
        cls.region_names = tuple(field.name for field in cls.declared if field.role == "region")
        cls.attribute_names = tuple(field.name for field in cls.declared if field.role == "attr")
        for field in cls.declared:
            if field.role in ("operand", "operands"):
                setattr(cls, field.name, _accessor(cls.declared, field))
            elif hasattr(cls, field.name):
                delattr(cls, field.name)
        cls.__init__ = _constructor(cls.declared)  # type: ignore[method-assign]
        OPS[name] = cls  # type: ignore[assignment]


def _check_traits(cls: Any) -> None:
    """The traits of an op must be consistent: an op with an effect says where, so that no pass has to guess."""
    if (cls.reads or cls.writes) != (cls.effect != ""):
        raise TypeError(
            f"op '{cls.opname}': an op that reads or writes must have an `effect`, and other ops must not have one"
        )
    if cls.effect not in ("", "address", "elsewhere", "anywhere"):
        raise TypeError(f"op '{cls.opname}': {cls.effect!r} is not one of the four effects")
    if cls.pure and (cls.effect or cls.terminator or cls.exits or cls.fails):
        raise TypeError(f"op '{cls.opname}': a pure op must not have an effect and must not jump")
    if cls.lanes not in ("", "operands", "own", "rule"):
        raise TypeError(f"op '{cls.opname}': {cls.lanes!r} is not a valid value of `lanes`")
    if not cls.levels or not set(cls.levels.split()) <= set(LEVELS):
        raise TypeError(f"op '{cls.opname}': its levels must be from {', '.join(LEVELS)}, not {cls.levels!r}")


def _named(cls: type, name: str, note: Any) -> Field:
    declared = cls.__dict__[name]
    return Field(name, declared.role, declared.default, str(note))


def _accessor(fields: tuple[Field, ...], field: Field) -> property:
    """Reads an operand (or a group) from `self.operands`. `self.groups` holds the sizes of the variadic groups."""
    before = [f for f in fields[: fields.index(field)] if f.role in ("operand", "operands")]
    group = sum(f.role == "operands" for f in before)
    singles = len(before) - group
    if field.role == "operand" and group == 0:
        return property(lambda self: self.operands[singles])
    if field.role == "operand":
        return property(lambda self: self.operands[singles + sum(self.groups[:group])])

    def read(self: Op) -> list[Value]:
        start = singles + sum(self.groups[:group])
        return self.operands[start : start + self.groups[group]]

    return property(read)


def _constructor(fields: tuple[Field, ...]) -> Callable[..., None]:
    """Compiles `__init__` for these fields, as dataclasses do: positional in declaration order, then type/name/span."""
    required = [f.name for f in fields if f.default is ... and f.role != "region"]
    optional = [f for f in fields if f.default is not ...]
    regions = [f.name for f in fields if f.role == "region"]
    signature = [*required, *(f"{f.name}=_default_{f.name}" for f in optional), *(f"{name}=None" for name in regions)]
    lines = [f"def __init__(self, {', '.join([*signature, '*', 'type=None', 'name=_empty', 'span=None'])}):"]
    lines += ["    self.name, self.span, self.users = name, span, {}", "    self.block = self.prev = self.next = None"]
    lines += [f"    self.{f.name} = {f.name}" for f in fields if f.role == "attr"]
    values = [f.name if f.role == "operand" else f"*{f.name}" for f in fields if f.role in ("operand", "operands")]
    lines.append(f"    self.operands = [{', '.join(values)}]")
    groups = "".join(f"len({f.name}), " for f in fields if f.role == "operands")
    lines += [f"    self.groups = ({groups})", "    for value in self.operands:"]
    lines.append("        value.users[self] = value.users.get(self, 0) + 1")
    for name in regions:
        lines += [f"    self.{name} = _Block() if {name} is None else {name}", f"    self.{name}.owner = self"]
    lines.append("    self.type = self.result_type() if type is None else type")
    scope: dict[str, Any] = {f"_default_{f.name}": f.default for f in optional}
    scope |= {"_Block": Block, "_empty": ""}
    exec("\n".join(lines), scope)  # noqa: S102 - the text is ours, from the op's declaration
    made: Callable[..., None] = scope["__init__"]
    return made


_INCLUDED = {"mapped": ("lowered", "mapped"), "vectors": ("lowered", "mapped", "vectors")}


def ops_at(level: str) -> frozenset[str]:
    """The names of the ops that a level may hold."""
    wanted = set(_INCLUDED.get(level, (level,)))
    return frozenset(name for name, op in OPS.items() if not wanted.isdisjoint(op.levels.split()))


class _Linked(Value):
    """The attributes of every op besides its declared fields. They are separate so that type checkers do not take them
    for fields."""

    operands: list[Value]
    groups: tuple[int, ...]
    block: Block | None
    prev: Op | None
    next: Op | None


class Op(_Linked, _Declared):
    """An instruction. The class line gives its traits. Passes test traits and have no lists of classes."""

    opname: ClassVar[str] = ""
    pure: ClassVar[bool] = False  # no effect, and no memory read: it may be moved, merged with an equal op, dropped
    reads: ClassVar[bool] = False  # its value depends on memory or other state
    writes: ClassVar[bool] = False  # it changes memory or other state
    # The location of the effect of an op that reads or writes. "address": at the address that is its first operand,
    # `ptr`. "elsewhere": on state without an address (prints, the state of random numbers). "anywhere": on any memory.
    # An op that writes "anywhere" is a barrier for passes: see `orders`.
    effect: ClassVar[str] = ""
    terminator: ClassVar[bool] = False  # it ends its block's control flow
    exits: ClassVar[bool] = False  # it ends the whole kernel
    fails: ClassVar[bool] = False  # it may stop the task
    droppable: ClassVar[bool] = False  # not pure, but it may be dropped if nothing uses it or anything inside it
    local: ClassVar[bool] = False  # it makes a mutable local of the kernel or of one iteration
    steps_into: ClassVar[bool] = False  # it computes an address from the address that is its first operand
    place: ClassVar[bool] = False  # it is an address, or a part of one: equal ops of equal operands are one value
    elementwise: ClassVar[bool] = False  # on tensors it computes each element by itself
    # Its value if iterations run in SIMD lanes. "": it cannot run in lanes. "operands": all lanes have the same value
    # if they have the same value of each operand. "own": each lane has its own value. "rule": see `uniform.py`.
    lanes: ClassVar[str] = ""
    # The levels of the IR, from LEVELS, that may contain it. `verify.py` has the other rules of a level. An op of
    # "lowered" is an op of "mapped" too, and an op of "mapped" one of "vectors".
    levels: ClassVar[str] = "chi tasks lowered"

    if TYPE_CHECKING:
        type: Type = common(default=None, kw_only=True)
        name: str = common(default="", kw_only=True)
        span: Span | None = common(default=None, kw_only=True)

    def result_type(self) -> Type:
        """The type of the result if no `type=` is given. Ops with a value override this."""
        return VOID

    def orders(self) -> bool:
        """Whether the op orders memory, so that no access moves across it."""
        return self.effect == "anywhere"

    @property
    def regions(self) -> list[Block]:
        """The blocks inside, in declaration order."""
        return [getattr(self, name) for name in self.region_names]

    @property
    def parent(self) -> Op | None:
        """The op whose region holds this one."""
        return self.block.owner if self.block is not None else None

    def set_operand(self, position: int, value: Value) -> None:
        """Use `value` in that operand slot."""
        old = self.operands[position]
        if old is value:
            return
        _forget(old, self)
        self.operands[position] = value
        value.users[self] = value.users.get(self, 0) + 1

    def set_operands(self, values: Sequence[Value], groups: tuple[int, ...]) -> None:
        """Replace all operands at once. `groups` gives the new sizes of the variadic groups."""
        for old in self.operands:
            _forget(old, self)
        self.operands, self.groups = list(values), groups
        for value in values:
            value.users[self] = value.users.get(self, 0) + 1

    def erase(self) -> None:
        """Remove the op and its nested ops from the program. Nothing outside may use their values any more."""
        for name in self.region_names:
            for op in reversed(getattr(self, name)):
                op.erase()
        for value in self.operands:
            _forget(value, self)
        self.operands, self.groups = [], (0,) * len(self.groups)
        if self.block is not None:
            self.block.unlink(self)

    def unlink(self) -> None:
        """Remove the op from its block but keep it alive, so that it can be inserted elsewhere."""
        if self.block is not None:
            self.block.unlink(self)

    def replace(self, new: Value) -> None:
        """Replace all uses by `new`, then erase this op."""
        self.replace_uses(new)
        self.erase()

    def within(self, outer: Op) -> bool:
        """Whether this op is `outer` or is nested in it at any depth."""
        op: Op | None = self
        while op is not None and op is not outer:
            op = op.parent
        return op is outer

    def around(self) -> Iterator[Op]:
        """The ops that this op is nested in, the innermost first."""
        outer = self.parent
        while outer is not None:
            yield outer
            outer = outer.parent

    def walk(self) -> Iterator[Op]:
        """This op and every nested op, in program order. The op yielded last may be erased during the walk."""
        yield self
        for name in self.region_names:
            op = getattr(self, name).first
            while op is not None:
                following = op.next
                if op.region_names:
                    yield from op.walk()
                else:  # most of them: no generator for each
                    yield op
                op = following

    def all_of(self, *kinds: builtins.type[OpT]) -> list[OpT]:
        """The nested ops of these classes, in program order."""
        inside: list[Any] = ops_of(*self.regions)
        return [op for op in inside if type(op) in kinds]

    def clone(self, values: dict[Value, Value]) -> Op:
        """A copy with operands mapped through `values`; results and block arguments are added to `values`."""
        made = object.__new__(type(self))
        Value.__init__(made, self.type, self.name, self.span)
        made.block = made.prev = made.next = None
        made.operands = [values.get(value, value) for value in self.operands]
        made.groups = self.groups
        for value in made.operands:
            value.users[made] = value.users.get(made, 0) + 1
        for name in self.attribute_names:
            setattr(made, name, getattr(self, name))
        for name in self.region_names:
            inner = getattr(self, name).clone(values)
            inner.owner = made
            setattr(made, name, inner)
        values[self] = made
        return made

    def __repr__(self) -> str:
        return f"<{self.opname} {self.name or hex(id(self))}: {self.type}>"


def _forget(value: Value, user: Op) -> None:
    count = value.users[user] - 1
    if count:
        value.users[user] = count
    else:
        del value.users[user]


class Block:
    """An ordered list of ops, with arguments. It is doubly linked, so insertion and removal take constant time."""

    def __init__(self, args: Iterable[BlockArg] = ()) -> None:
        self.args: list[BlockArg] = list(args)
        for arg in self.args:
            arg.block = self
        self.owner: Op | None = None
        self.first: Op | None = None
        self.last: Op | None = None

    def __iter__(self) -> Iterator[Op]:
        op = self.first
        while op is not None:
            following = op.next
            yield op
            op = following

    def __reversed__(self) -> Iterator[Op]:
        op = self.last
        while op is not None:
            before = op.prev
            yield op
            op = before

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def insert(self, op: Op, before: Op | None = None) -> Op:
        """Insert `op` before that op of this block, or at the end."""
        op.block, op.next = self, before
        op.prev = self.last if before is None else before.prev
        if op.prev is None:
            self.first = op
        else:
            op.prev.next = op
        if before is None:
            self.last = op
        else:
            before.prev = op
        return op

    append = insert

    def unlink(self, op: Op) -> None:
        """Remove `op` from this block."""
        if op.prev is None:
            self.first = op.next
        else:
            op.prev.next = op.next
        if op.next is None:
            self.last = op.prev
        else:
            op.next.prev = op.prev
        op.block = op.prev = op.next = None

    def take(self, other: Block) -> None:
        """Move every op of `other` to the end of this block."""
        for op in other:
            other.unlink(op)
            self.insert(op)

    def clone(self, values: dict[Value, Value]) -> Block:
        """A copy; see `Op.clone`."""
        made = Block()
        for arg in self.args:
            copy = BlockArg(arg.type, arg.name, arg.span)
            copy.block = made
            made.args.append(copy)
            values[arg] = copy
        for op in self:
            made.insert(op.clone(values))
        return made


def classes_with(trait: str) -> frozenset[type[Op]]:
    """The declared op classes that have a trait."""
    return frozenset(cls for cls in OPS.values() if getattr(cls, trait))


def ops_of(*blocks: Block) -> list[Op]:
    """Every op in these blocks and every nested op, in program order."""
    found: list[Op] = []
    for block in blocks:
        op = block.first
        while op is not None:
            found.append(op)
            if op.region_names:
                found += ops_of(*op.regions)
            op = op.next
    return found


class Builder:
    """Inserts ops at a point (the end of `block`, or before the op `before`) and gives them the current span."""

    def __init__(self, block: Block, before: Op | None = None, span: Span | None = None) -> None:
        self.block, self.before, self.span = block, before, span

    @staticmethod
    def at(op: Op) -> Builder:
        """A builder that inserts just before `op`, with its span."""
        assert op.block is not None
        return Builder(op.block, op, op.span)

    def add(self, op: OpT) -> OpT:
        """Insert `op` at the point and return it."""
        if op.span is None:
            op.span = self.span
        self.block.insert(op, self.before)
        return op
