"""Cuts a kernel into kernels that run one after another: a tape can keep values between them.

    for i in x: m[g(i)] += x[i]              piece 0
    for j in m: m[j] = m[j] / (m[j] + 1)     piece 1
    for i in x: x[i] *= m[g(i)]              piece 2

A gradient kernel reads memory as it is before or after its kernel. Between two loops of one kernel, memory may have
values that are gone after it, as `m` has before piece 1. Each piece has a gradient of its own, and a tape copies what
the next piece overwrites.

A cut is beside a parallel loop at the top level. The pieces compute what the kernel computes, because

    (1) no statement before the cut returns, and nothing draws random numbers or uses the memory of thread blocks
    (2) a variable from before the cut that is used after it is assigned once, from constants, parameters, such
        variables and memory that the kernel does not write: the piece computes it again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weft.ir import tree
from weft.ir.symbols import FieldSymbol
from weft.ir.transforms.lower_tree_facts import has_return, memory_variables, walk, written_arrays
from weft.ir.types import Array

__all__ = ["pieces_of"]

_LOOPS = (tree.RangeFor, tree.BoxFor, tree.StructFor)
_NEVER = (tree.Random, tree.Simt, tree.Shared)  # a kernel with one is not cut
_ONCE = (tree.Atomic, tree.CellOp, tree.Invoke, tree.Print, tree.Assert)  # what is not computed again


def pieces_of(root: tree.KernelTree) -> list[tree.KernelTree]:
    """The pieces of a kernel in their order; only the kernel itself if it cannot be cut."""
    if any(isinstance(node, _NEVER) for made in (root, *root.functions) for node in walk(made)):
        return [root]
    cuts = _Cuts(root)
    edges = [0]
    for place in range(1, len(root.body)):
        does = any(not isinstance(one, tree.Let) for one in root.body[edges[-1] : place])
        if does and cuts.legal(place):
            edges.append(place)
    spans = list(zip(edges, [*edges[1:], len(root.body)], strict=True))
    return [cuts.piece(number, *span) for number, span in enumerate(spans)] if len(spans) > 1 else [root]


class _Cuts:
    """The statements of one kernel. `lets`: the top-level statement that declares a variable, and where it is. `used`:
    the variables in each statement. `declared`: the statement in which each variable is declared."""

    def __init__(self, root: tree.KernelTree) -> None:
        self.root = root
        self.assigned = memory_variables(root)
        self.fields, self.arrays = _written(root)
        self.lets = {one.variable: one for one in root.body if isinstance(one, tree.Let)}
        self.used = [{node.variable for node in walk(one) if isinstance(node, tree.Var)} for one in root.body]
        self.declared = {variable: k for k, one in enumerate(root.body) for variable in _declared(one)}
        self.known: dict[tree.Variable, bool] = {}

    def legal(self, place: int) -> bool:
        """Whether the kernel may be cut before that statement."""
        before, after = self.root.body[place - 1 : place + 1]
        if not any(isinstance(one, _LOOPS) and one.parallel for one in (before, after)):
            return False
        if any(has_return(one) for one in self.root.body[:place]):
            return False
        return all(self.repeatable(variable) for variable in self.crossing(place))

    def crossing(self, place: int) -> set[tree.Variable]:
        """The variables from before that statement that it or a later one uses."""
        return {v for used in self.used[place:] for v in used if self.declared.get(v, place) < place}

    def repeatable(self, variable: tree.Variable) -> bool:
        """Whether a later piece may compute the variable again."""
        if variable not in self.known:
            let = self.lets.get(variable)
            self.known[variable] = False  # (a variable does not depend on itself)
            self.known[variable] = let is not None and variable not in self.assigned and self._constant(let)
        return self.known[variable]

    def _constant(self, let: tree.Let) -> bool:
        own = _declared(let)
        for node in walk(let.value):
            if isinstance(node, _ONCE):
                return False
            if isinstance(node, tree.Var) and node.variable not in own and not self.repeatable(node.variable):
                return False
            if isinstance(node, (tree.FieldElement, tree.ArrayElement)) and self._may_change(node):
                return False
        return True

    def _may_change(self, node: tree.FieldElement | tree.ArrayElement) -> bool:
        """Whether the kernel may write an element of that field or array."""
        if any(isinstance(param.type, Array) and param.type.exposed for param in self.root.params):
            return bool(self.fields or self.arrays)
        if isinstance(node, tree.FieldElement):
            return any(node.field.shares_with(one) for one in self.fields)
        return not isinstance(node.array, tree.ParamRef) or node.array.index in self.arrays

    def piece(self, number: int, begin: int, end: int) -> tree.KernelTree:
        """The piece with the statements `begin` .. `end - 1`."""
        wanted, pending = set[tree.Variable](), self.crossing(begin) & set[tree.Variable]().union(*self.used[begin:end])
        while pending:
            variable = pending.pop()
            wanted.add(variable)
            pending |= {v for v in self.used[self.declared[variable]] if v in self.lets} - wanted
        again: Sequence[tree.Stmt] = [one for one in self.root.body[:begin] if _variable(one) in wanted]
        results = self.root.results if end == len(self.root.body) else ()
        body = [*again, *self.root.body[begin:end]]
        return replace(self.root, name=f"{self.root.name}_{number}", results=results, body=body)


def _variable(stmt: tree.Stmt) -> tree.Variable | None:
    return stmt.variable if isinstance(stmt, tree.Let) else None


def _declared(root: tree.Node) -> set[tree.Variable]:
    """The variables that are declared in a statement."""
    found = set[tree.Variable]()
    for node in walk(root):
        if isinstance(node, (tree.Let, tree.RangeFor)):
            found.add(node.variable)
        elif isinstance(node, (tree.BoxFor, tree.StructFor)):
            found.update(node.variables)
        elif isinstance(node, tree.Call):
            found.update(variable for variable, _ in node.arguments)
    return found


def _written(root: tree.KernelTree) -> tuple[set[FieldSymbol], set[int]]:
    """The fields and the array parameters that a kernel writes."""
    fields = set[FieldSymbol]()
    for node in walk(root):
        if isinstance(node, tree.Invoke):
            fields.update(symbol for symbol in node.touched if symbol not in node.only_read)
        elif isinstance(node, (tree.Assign, tree.AugAssign, tree.Atomic)):
            target = node.target
            while isinstance(target, (tree.Element, tree.Member)):
                target = target.base
            if isinstance(target, tree.FieldElement):
                fields.add(target.field)
    return fields, written_arrays(root)
