"""Random sparse trees, and random series of kernels on them, as CHI.

All values are i32, and iterations only add to them, so that no result depends on an order. Deactivations have loops of
their own. The field `sum` of each tree is dense: kernels add there what they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from tests.sparse_trees import Declared, branch, declare, place
from weft.ir.storage.snode import SNode
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.types import i32

__all__ = ["Draw", "drawn_tree", "moved", "twin_tree"]

_EXTENTS = (1, 2, 3, 4)
_FAR = 1000  # cells: axes without bounds have more
_WINDOW = 7  # indices of such an axis are as many, around the middle


Put = Callable[[SNode, str], object]  # places a field of that name


def _integers(node: SNode, name: str) -> object:
    return place(node, name, i32)


def drawn_tree(rng: Random, put: Put = _integers) -> Declared:
    """A tree of up to four nodes above each field, with siblings, on up to three axes."""
    root = SNode("root")
    put(root, "sum")
    names = iter("abcdefghijklmnop")
    for _ in range(rng.randint(1, 2)):
        axes = rng.sample(range(3), rng.randint(1, 3))
        _grow(rng, root, axes, rng.randint(1, 3), names, put)
    return moved(rng, root)


def twin_tree(rng: Random) -> Declared:
    """Two fields of the same shape in cells whose sizes divide one another, or not."""
    root = SNode("root")
    place(root, "sum", i32)
    axes = [(axis, rng.choice((4, 6, 8))) for axis in rng.sample(range(3), rng.randint(1, 2))]
    kinds = rng.choice((("pointer", "pointer"), ("hash", "hash"), ("pointer", "hash"), ("hash", "pointer")))
    for name, kind in zip("ab", kinds, strict=True):
        inner = [(axis, rng.choice([size for size in (1, 2, 3, 4, 6, 8) if total % size == 0])) for axis, total in axes]
        outer = [(axis, total // size) for (axis, total), (_, size) in zip(axes, inner, strict=True)]
        if kind == "hash":
            outer = [(axis, 16) for axis, _ in axes]
        place(branch(branch(root, kind, *outer), "dense", *inner), name, i32)
    return moved(rng, root)


def moved(rng: Random, root: SNode) -> Declared:
    """The tree with offsets of some fields."""
    offsets: dict[str, tuple[int, ...]] = {}
    made = declare(root)
    for symbol in made.fields:
        if symbol.shape and "." not in symbol.name and rng.random() < 0.3:
            offsets[symbol.name] = tuple(rng.choice((-3, 0, 2)) for _ in symbol.shape)
        if any(node.hashed for node, _ in symbol.above()):
            offsets[symbol.name] = tuple(0 if extent < _FAR else -extent // 2 for extent in symbol.shape)
    every = {one.name: offsets[stem] for one in made.fields if (stem := one.name.split(".")[0]) in offsets}
    return declare(root, every)


def _grow(rng: Random, parent: SNode, axes: Sequence[int], depth: int, names: object, put: Put) -> None:
    kinds = [
        "pointer",
        "pointer",
        "pointer",
        "bitmasked",
        "dense",
        "hash",
        *(["hash"] if all(above.kind in ("root", "dense") for above in parent.path()) else []),
    ]
    kind = rng.choice(kinds)
    used = rng.sample(axes, rng.randint(1, len(axes)))
    known = {axis for above in parent.path() for axis in above.axes}
    if kind == "hash" and not known.issuperset(used):
        used = [axis for axis in used if axis not in known]
        if any(above.is_sparse for above in parent.path()):
            kind = "pointer"
    if kind == "hash" and known.isdisjoint(used):
        node = branch(parent, kind, *((axis, (200, 16, 6)[len(used) - 1]) for axis in used))
        _below(rng, node, axes, depth, names, put)
        return
    node = branch(parent, kind, *((axis, rng.choice(_EXTENTS)) for axis in used))
    _below(rng, node, axes, depth, names, put)


def _below(rng: Random, node: SNode, axes: Sequence[int], depth: int, names: object, put: Put) -> None:
    """What a node holds."""
    if depth > 1:
        for _ in range(rng.choice((1, 1, 2))):
            _grow(rng, node, axes, depth - 1, names, put)
    elif rng.random() < 0.4:
        free = [axis for axis in range(4) if axis not in {one for above in node.path() for one in above.axes}]
        node = branch(node, "dynamic", (rng.choice(free), rng.choice((5, 8))), chunk=rng.choice((2, 4)))
    if depth == 1 or rng.random() < 0.4:
        name = next(names)  # type: ignore[call-overload]
        put(node, name)
        if rng.random() < 0.3:
            put(node, f"{name}2")


@dataclass
class Draw:
    """Draws the bodies of kernels on a tree. The numbers %0 to %9 exist."""

    rng: Random
    made: Declared
    names: int = 0
    counts: ClassVar[Sequence[int]] = (0, 1, 6, 15)  # iterations of loops that scatter

    def body(self) -> str:
        """One kernel: a few statements."""
        return "\n".join(self.statement() for _ in range(self.rng.randint(1, 3)))

    def new(self) -> str:
        self.names += 1
        return f"%n{self.names}"

    @property
    def fields(self) -> list[FieldSymbol]:
        return [one for one in self.made.fields if one.shape]

    def statement(self) -> str:
        kinds = [self.scatter, self.scatter, self.visit, self.visit, self.drop, self.serial, self.parents, self.chain]
        return self.rng.choice([*kinds, self.mirror, self.sweep])()

    def number(self, value: int) -> tuple[str, str]:
        name = self.new()
        return name, f"{name} = const {value} : i32\n"

    def index(self, shape: Sequence[int], offset: Sequence[int], of: str) -> tuple[list[str], str]:
        """An index in range that depends on a value which is not negative."""
        text, found = "", list[str]()
        for axis, extent in enumerate(shape):
            factor, line = self.number(self.rng.choice((1, 1, 3, 5, 7)))
            more, line2 = self.number(self.rng.randint(0, 9))
            size, line3 = self.number(extent if extent < _FAR else _WINDOW)
            middle = 0 if extent < _FAR else extent // 2 - _WINDOW // 2
            a, b, c = self.new(), self.new(), self.new()
            text += f"{line}{line2}{line3}{a} = binary mul {of}, {factor} : i32\n{b} = binary add {a}, {more} : i32\n"
            text += f"{c} = binary raw_mod {b}, {size} : i32\n"
            if middle or (offset and offset[axis]):
                start, line4 = self.number(middle + (offset[axis] if offset else 0))
                d = self.new()
                text += f"{line4}{d} = binary add {c}, {start} : i32\n"
                c = d
            found.append(c)
        return found, text

    def add(self, field: FieldSymbol, index: Sequence[str], value: str) -> str:
        p, old = self.new(), self.new()
        return f"{p} = field_ptr @{field.name}[{', '.join(index)}] : *i32\n{old} = atomic add {p}, {value} : i32\n"

    def summed(self, field: FieldSymbol, index: Sequence[str]) -> str:
        """Read an element, and add it to the sum."""
        p, v, s, old = self.new(), self.new(), self.new(), self.new()
        return (
            f"{p} = field_ptr @{field.name}[{', '.join(index)}] : *i32\n{v} = load {p} : i32\n"
            f"{s} = field_ptr @sum[] : *i32\n{old} = atomic add {s}, {v} : i32\n"
        )

    def counted(self, value: str) -> str:
        """Add an integer to the sum."""
        s, old = self.new(), self.new()
        return f"{s} = field_ptr @sum[] : *i32\n{old} = atomic add {s}, {value} : i32\n"

    def scatter(self, field: FieldSymbol | None = None) -> str:
        """Iterations add to elements, which other iterations may add to as well."""
        field, i = field or self.rng.choice(self.fields), self.new()
        count, line = self.number(self.rng.choice(self.counts))
        at, text = self.index(field.shape, field.offset, i)
        inside = text + self.add(field, at, i)
        if self.rng.random() < 0.3:
            inside += self.appended(i, field)
        return f"{line}parallel_for begins=[%0], ends=[{count}] ({i}: i32) {{\n{inside}}}"

    def sweep(self) -> str:
        """A loop over a box that reads all elements there, row by row."""
        field = self.rng.choice(self.fields)
        args, at, ends, lines, inside = list[str](), list[str](), list[str](), "", ""
        for axis, extent in enumerate(field.shape):
            size, line = self.number(min(extent, 2 * _WINDOW))
            start, line2 = self.number((0 if extent < _FAR else extent // 2 - _WINDOW) + field.space.first[axis])
            args.append(self.new())
            at.append(self.new())
            ends.append(size)
            lines += line + line2
            inside += f"{at[-1]} = binary add {args[-1]}, {start} : i32\n"
        listed, begins = ", ".join(f"{arg}: i32" for arg in args), ", ".join(["%0"] * len(args))
        inside += self.summed(field, at)
        return f"{lines}parallel_for begins=[{begins}], ends=[{', '.join(ends)}] ({listed}) {{\n{inside}}}"

    def appended(self, i: str, written: FieldSymbol) -> str:
        """One iteration appends to a list of which others write no element: the length would depend on the order."""
        lists = [node for node in self.made.nodes if node.length is not None and node is not written.node]
        if not lists:
            return ""
        node = self.rng.choice(lists)
        at, text = self.index(node.units, (), i)
        few, length, room, both, j = (self.new() for _ in range(5))
        limit, line = self.number(node.limit - 3)
        listed = ", ".join(at)
        return (
            f"{text}{line}{few} = binary lt {i}, %1 : u1\n{length} = length @{node.name}[{listed}] : i32\n"
            f"{room} = binary lt {length}, {limit} : u1\n{both} = binary and {few}, {room} : u1\n"
            f"if {both} then {{\n{j} = append @{node.name}[{listed}] : i32\n}}\n"
        )

    def visit(self) -> str:
        """A loop over a field, which reads or changes its own element and reads others."""
        field = self.rng.choice(self.fields)
        args = [self.new() for _ in field.shape]
        writes = self.rng.random() < 0.6
        inside = self.add(field, args, self.rng.choice(("%3", args[0]))) if writes else ""
        inside += self.summed(field, args) if not inside else ""
        if self.rng.random() < 0.5 and not writes:
            inside += self.neighbour(field, args)
        if self.rng.random() < 0.6:
            other = self.rng.choice(self.fields)
            if other is not field:
                k, line = self.new(), ""
                nine, line = self.number(1000)
                at, text = self.index(other.shape, other.offset, k)
                inside += f"{line}{k} = binary add {args[0]}, {nine} : i32\n{text}{self.summed(other, at)}"
        listed = ", ".join(f"{arg}: i32" for arg in args)
        return f"struct_for @{field.name} ({listed}) {{\n{inside}}}"

    def mirror(self) -> str:
        """A loop over a field that updates the elements of another field with the same indices, or moved ones. Some add
        what they read around their own element."""
        field, args = self.rng.choice(self.fields), list[str]()
        others = [one for one in self.fields if one is not field and len(one.shape) == len(field.shape)]
        if not others:
            return self.chain()
        larger = [one for one in others if all(a >= b for a, b in zip(one.shape, field.shape, strict=True))]
        other, inside, at = self.rng.choice(larger or others), "", list[str]()
        for a, b in zip(field.space.first, other.space.first, strict=True):
            args.append(self.new())
            step, line = self.number(b - a + self.rng.choice((0, 0, 0, 0, 1, 2)))
            at.append(self.new())
            inside += f"{line}{at[-1]} = binary add {args[-1]}, {step} : i32\n"
        value = self.rng.choice(("%3", args[0]))
        for _ in range(self.rng.choice((0, 0, 1, 3))):
            value, line = self.around(field, args, value)
            inside += line
        if self.rng.random() < 0.5:
            inside += self.add(other, at, value)
        else:
            p = self.new()
            inside += f"{p} = field_ptr @{other.name}[{', '.join(at)}] : *i32\nstore {p}, {value}\n"
        listed = ", ".join(f"{arg}: i32" for arg in args)
        return f"struct_for @{field.name} ({listed}) {{\n{inside}}}"

    def around(self, field: FieldSymbol, args: Sequence[str], value: str) -> tuple[str, str]:
        """The sum of a value and an element near the own one, which may be out of bounds, or is kept in a range."""
        at, text = list[str](), ""
        for arg, first, extent in zip(args, field.space.first, field.shape, strict=True):
            step, line = self.number(self.rng.choice((0, 0, -2, -1, 1, 2)))
            at.append(self.new())
            text += f"{line}{at[-1]} = binary add {arg}, {step} : i32\n"
            inner = self.rng.choice((0, 0, 0, 1, 2))
            for kind, end in (("max", first + inner), ("min", first + extent - 1 - inner)):
                if self.rng.random() < 0.3:
                    limit, line = self.number(end)
                    kept = self.new()
                    text += f"{line}{kept} = binary {kind} {at[-1]}, {limit} : i32\n"
                    at[-1] = kept
        p, v, total = self.new(), self.new(), self.new()
        text += f"{p} = field_ptr @{field.name}[{', '.join(at)}] : *i32\n{v} = load {p} : i32\n"
        return total, f"{text}{total} = binary add {value}, {v} : i32\n"

    def neighbour(self, field: FieldSymbol, args: Sequence[str]) -> str:
        """Read an element beside the own one, which may be out of bounds."""
        axis, beside = self.rng.randrange(len(args)), self.new()
        step, line = self.number(self.rng.choice((-3, -1, -1, 1, 1, 2)))
        at = [beside if other == axis else arg for other, arg in enumerate(args)]
        return f"{line}{beside} = binary add {args[axis]}, {step} : i32\n{self.summed(field, at)}"

    def parents(self) -> str:
        """A loop over the cells of a node."""
        nodes = [node for node in self.made.nodes if node.length is None]
        if not nodes:
            return self.visit()
        node = self.rng.choice(nodes)
        args = [self.new() for _ in node.shape]
        total = self.new()
        inside = f"{total} = binary add {args[-1]}, %7 : i32\n{self.counted(total)}"
        below = [one for one in self.fields if one.node is node]
        if below and self.rng.random() < 0.7:
            field = self.rng.choice(below)
            at, text = self.first(field, node, args)
            inside += text + self.add(field, at, "%5")
        listed = ", ".join(f"{arg}: i32" for arg in args)
        return f"struct_for @{node.name}.table, cells=true ({listed}) {{\n{inside}}}"

    def first(self, field: FieldSymbol, node: NodeSymbol, args: Sequence[str]) -> tuple[list[str], str]:
        """The index of an element of a field in a cell of its node."""
        places = {axis: (k, size) for k, (axis, size) in enumerate(field.block)}
        at, text = list[str](), ""
        for axis in range(len(field.shape)):
            start = field.offset[axis] if field.offset else 0
            k, size = places.get(axis, (-1, 1))
            base, line = self.number(start)
            text += line
            if k >= 0:
                factor, line = self.number(size)
                a, b = self.new(), self.new()
                text += f"{line}{a} = binary mul {args[k]}, {factor} : i32\n{b} = binary add {a}, {base} : i32\n"
                base = b
            at.append(base)
        return at, text

    def drop(self) -> str:
        """A loop that deactivates some cells or lists."""
        if not self.made.nodes:
            return self.scatter()
        node, i = self.rng.choice(self.made.nodes), self.new()
        count, line = self.number(self.rng.choice((1, 2, 5)))
        at, text = self.index(node.units, (), i)
        inside = f"{text}deactivate @{node.name}[{', '.join(at)}]\n"
        return f"{line}parallel_for begins=[%0], ends=[{count}] ({i}: i32) {{\n{inside}}}"

    def serial(self) -> str:
        """Ops on cells and elements, one after another."""
        text = ""
        for _ in range(self.rng.randint(2, 5)):
            field = self.rng.choice(self.fields)
            start, line = self.number(self.rng.randint(0, 30))
            at, more = self.index(field.shape, field.offset, start)
            text += line + more + self.rng.choice((self.summed(field, at), self.add(field, at, "%4")))
            if self.made.nodes and self.rng.random() < 0.6:
                text += self.cell_op(start)
        return text

    def cell_op(self, start: str) -> str:
        node = self.rng.choice(self.made.nodes)
        kinds = ["is_active", "deactivate", *(["length", "append"] if node.length is not None else ["activate"])]
        kind, result = self.rng.choice(kinds), self.new()
        shape = node.asked if kind == "is_active" else node.units
        at, text = self.index(shape, (), start)
        op = f"{kind} @{node.name}[{', '.join(at)}]"
        if kind in ("activate", "deactivate"):
            return f"{text}{op}\n"
        if kind == "append":
            room, n, lim = self.new(), self.new(), self.new()
            limit, line = self.number(node.limit)
            return (
                f"{text}{line}{n} = length @{node.name}[{', '.join(at)}] : i32\n{room} = binary lt {n}, {limit} : u1\n"
                f"if {room} then {{ {lim} = {op} : i32 }}\n"
            )
        wide = self.new()
        return f"{text}{result} = {op}\n{wide} = cast {result} : i32\n{self.counted(wide)}"

    def chain(self) -> str:
        """A loop over a field that activates other elements of it."""
        field = self.rng.choice(self.fields)
        args = [self.new() for _ in field.shape]
        base, line = self.number(1000)
        k = self.new()
        at, text = self.index(field.shape, field.offset, k)
        inside = f"{line}{k} = binary add {args[0]}, {base} : i32\n{text}{self.add(field, at, '%0')}"
        inside += self.counted("%1")
        listed = ", ".join(f"{arg}: i32" for arg in args)
        return f"struct_for @{field.name} ({listed}) {{\n{inside}}}"
