"""Which memory a launch reads and writes, as far as its arguments tell.

    x[t + 1, i] = x[t, i] * v[i]        step(t=4) reads x[4, *] and v[*], and writes x[5, *]

The accesses come from the tree of the kernel. An index that depends only on numbers that the call passes is known for
each launch, and an access is a *box*: a number for each axis, or None for all indices of the axis. Boxes may be larger
than what is accessed, never smaller."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.ir import tree
from weft.ir.errors import Span
from weft.ir.transforms.lower_tree_facts import memory_variables, walk
from weft.ir.types import Array, Prim, flatten
from weft.lang.autodiff.memory import Memory, memory_of
from weft.lang.calls.compile import Instance

__all__ = ["Box", "Touch", "Uses", "uses_of"]

Box = tuple[int | None, ...]
Index = Callable[[Sequence[Any]], int] | None  # computes an index from the arguments; None: it is not known


@dataclass(frozen=True)
class Access:
    """An element that a kernel reads or writes: the memory ("field:2" or "param:0"), and its indices. `stopped`: what
    is read carries no derivative, because the kernel says so."""

    place: str
    indices: tuple[Index, ...]
    span: Span | None
    stopped: bool = False


@dataclass(frozen=True)
class Touch:
    """What a launch reads or writes: the elements in a box of `memory`, and where its source says so. `saved`: the
    gradient of the launch needs the values from before it, of this memory."""

    memory: Memory
    box: Box
    span: Span | None
    saved: bool


class Uses:
    """The accesses of an instance. `kept` are its fields."""

    def __init__(self, instance: Instance) -> None:
        translation = instance.recipe.translate()
        finder = _Finder(translation.tree)
        facts = instance.facts
        self.saved = frozenset(() if facts is None else facts.saved)
        needed = None if facts is None else frozenset(facts.reads)
        self.every_read = finder.reads
        self.reads = [one for one in finder.reads if needed is None or one.place in needed]
        self.writes = finder.writes
        self._symbols, self._params = translation.tree.fields, translation.tree.params
        self._fields = [weakref.ref(one) for one in translation.kept]
        self._positions = instance.positions

    def touched(self, accesses: Sequence[Access], flat: Sequence[Any]) -> list[Touch]:
        """What a launch with these arguments touches."""
        found: dict[tuple[str, Box], Touch] = {}
        numbers = [flat[position] for position in self._positions]
        saved = {self.memory(place, flat).key for place in self.saved}  # two places may have one memory
        for access in accesses:
            memory = self.memory(access.place, flat)
            box = () if memory.whole else tuple(None if k is None else _number(k, numbers) for k in access.indices)
            found.setdefault((access.place, box), Touch(memory, box, access.span, memory.key in saved))
        return list(found.values())

    def fields(self) -> list[Any]:
        """The fields that a launch uses, and the gradients and duals of them that it uses."""
        return [made for made in (one() for one in self._fields) if made is not None]

    def named(self, name: str) -> list[str]:
        """The fields and parameters of that name."""
        fields = [f"field:{k}" for k, symbol in enumerate(self._symbols) if symbol.name == name]
        return fields + [f"param:{k}" for k, param in enumerate(self._params) if param.name == name]

    def is_constant(self, place: str) -> bool:
        """Whether a field or parameter has no gradient, but could have one."""
        kind, number = place.split(":")
        if kind == "field":
            symbol = self._symbols[int(number)]
            return symbol.grad is None and symbol.dual is None and any(prim.is_float for prim in flatten(symbol.dtype))
        param = self._params[int(number)]
        assert isinstance(param.type, Array)
        own = any(prim.is_float for prim in flatten(param.type.elem))
        return own and not any(one.name in (f"{param.name}.grad", f"{param.name}.dual") for one in self._params)

    def has_gradient(self, place: str) -> bool:
        """Whether a field or parameter has a gradient, or in forward mode a dual."""
        kind, number = place.split(":")
        if kind == "field":
            symbol = self._symbols[int(number)]
            return symbol.grad is not None or symbol.dual is not None
        name = self._params[int(number)].name
        return any(one.name in (f"{name}.grad", f"{name}.dual") for one in self._params)

    def name(self, place: str) -> str:
        """What the kernel calls a field or parameter."""
        kind, number = place.split(":")
        found: str = self._symbols[int(number)].name if kind == "field" else self._params[int(number)].name
        return found

    def memory(self, place: str, flat: Sequence[Any]) -> Memory:
        """The memory of a field or an argument."""
        kind, number = place.split(":")
        if kind == "field":
            field = self._fields[int(number)]()
            assert field is not None, "the tape calls this while the kernel is called"
            return memory_of(field)
        return memory_of(flat[self._positions[int(number)]])


def uses_of(instance: Instance) -> Uses:
    """The accesses of an instance, found at the first call."""
    if instance.recorded is None:
        instance.recorded = Uses(instance)
    found: Uses = instance.recorded
    return found


def _number(index: Callable[[Sequence[Any]], int], numbers: Sequence[Any]) -> int | None:
    try:
        return index(numbers)
    except (ArithmeticError, TypeError, ValueError):  # a division by zero, or an argument that is no number of Python
        return None


class _Finder:
    """Collects the accesses in the tree of a kernel."""

    def __init__(self, root: tree.KernelTree) -> None:
        self.reads, self.writes = list[Access](), list[Access]()
        self._fields = {symbol: f"field:{number}" for number, symbol in enumerate(root.fields)}
        self._assigned = memory_variables(root)
        self._known: dict[tree.Variable, tree.Expr] = {}
        self._arrays = {f"param:{k}": p.type for k, p in enumerate(root.params) if isinstance(p.type, Array)}
        nodes = list(walk(root))
        for node in nodes:
            if isinstance(node, tree.Let):
                self._known[node.variable] = node.value
            elif isinstance(node, tree.Call):
                self._known.update(node.arguments)
        targets = set[int]()
        for node in nodes:
            if isinstance(node, (tree.Assign, tree.AugAssign, tree.Atomic)):
                self._write(node, targets)
            elif isinstance(node, tree.Invoke):
                self._invoke(node)
        for node in nodes:
            if isinstance(node, (tree.FieldElement, tree.ArrayElement)) and id(node) not in targets:
                self._add(self.reads, node)

    def _write(self, node: tree.Assign | tree.AugAssign | tree.Atomic, targets: set[int]) -> None:
        target = node.target
        while isinstance(target, (tree.Element, tree.Member)):
            target = target.base
        if not isinstance(target, (tree.FieldElement, tree.ArrayElement)):
            return
        self._add(self.writes, target)
        only = isinstance(node, tree.Assign) or (isinstance(node, tree.AugAssign) and node.kind in ("add", "sub"))
        if only:
            targets.add(id(target))

    def _invoke(self, node: tree.Invoke) -> None:
        """A called function may read and write everything that it is given."""
        places = [f"param:{a.index}" for a in node.arguments if isinstance(a, tree.ParamRef)]
        places = [place for place in places if place in self._arrays]
        for place in (*places, *(self._fields[symbol] for symbol in node.touched)):
            for found in (self.reads, self.writes):
                found.append(Access(place, (), node.span))

    def _add(self, found: list[Access], node: tree.FieldElement | tree.ArrayElement) -> None:
        if isinstance(node, tree.FieldElement):
            place = self._fields[node.field]
        elif isinstance(node.array, tree.ParamRef):
            place = f"param:{node.array.index}"
        else:
            return  # memory of a thread block
        stopped = isinstance(node, tree.FieldElement) and node.stopped
        found.append(Access(place, tuple(map(self._index, node.indices)), node.span, stopped))

    def _index(self, node: tree.Expr) -> Index:
        """The function that computes an integer from the arguments. None if other things matter."""
        if isinstance(node, tree.Const) and type(node.value) is int:
            value = node.value
            return lambda numbers: value
        if not isinstance(node.type, Prim) or not node.type.is_int:
            return None
        if isinstance(node, tree.Var):
            known = None if node.variable in self._assigned else self._known.get(node.variable)
            return None if known is None else self._index(known)
        compute = self._computed(node)
        if compute is None:
            return None
        highest = (1 << (node.type.bits - node.type.is_signed)) - 1
        lowest = -highest - 1 if node.type.is_signed else 0
        return lambda numbers: _in_range(compute(numbers), lowest, highest)

    def _computed(self, node: tree.Expr) -> Index:
        """The function that computes a number as if integers had no bounds."""
        if isinstance(node, tree.ParamRef):
            index = node.index
            return lambda numbers: int(numbers[index])
        if isinstance(node, tree.Cast):
            return self._index(node.x)
        compute = _OPERATORS.get(node.kind) if isinstance(node, tree.Binary) else None
        if compute is None or not isinstance(node, tree.Binary):
            return None
        left, right = self._index(node.lhs), self._index(node.rhs)
        if left is None or right is None:
            return None
        return lambda numbers: compute(left(numbers), right(numbers))


def _in_range(number: int, lowest: int, highest: int) -> int:
    """The number. Raises ArithmeticError if its type cannot hold it, so that it has wrapped around."""
    if not lowest <= number <= highest:
        raise ArithmeticError
    return number


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "min": min,
    "max": max,
}
