"""Facts about a tree that `lower_tree` needs: which locals need memory, and where a function returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from weft.ir import tree
from weft.ir.nodes import lies_below
from weft.ir.symbols import FieldSymbol

__all__ = [
    "CHILD_FIELDS",
    "always_returns",
    "cost",
    "drawing",
    "emptied",
    "has_return",
    "memory_variables",
    "reads_of",
    "returns_at_tail",
    "walk",
    "writes_of",
    "written_arrays",
]

CHILD_FIELDS: dict[type[tree.Node], tuple[str, ...]] = {
    cls: tuple(f.name for f in fields(cls) if "Expr" in str(f.type) or "Stmt" in str(f.type))
    for cls in (*tree.EXPRESSIONS, *tree.STATEMENTS, tree.KernelTree)
}
CHILD_FIELDS[tree.Print] = ("parts",)
_PLAIN = frozenset((tree.Var, tree.Const, tree.Binary, tree.Let, tree.ParamRef))  # most nodes


def walk(root: tree.Node) -> Iterator[tree.Node]:
    """`root` and every node below it, in an unspecified but deterministic order."""
    stack: list[object] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, (list, tuple)):
            stack.extend(node)
        elif isinstance(node, tree.Node):
            yield node
            for name in CHILD_FIELDS[type(node)]:
                stack.append(getattr(node, name))


def memory_variables(root: tree.Node) -> set[tree.Variable]:
    """The locals that cannot be plain values: locals that are assigned again, and tensors that are
    indexed at run time."""
    found: set[tree.Variable] = set()
    for node in walk(root):
        target: tree.Expr | None = None
        if type(node) in _PLAIN:
            continue
        if isinstance(node, (tree.Assign, tree.AugAssign, tree.Atomic)):
            target = node.target
        elif isinstance(node, tree.Element) and not all(isinstance(i, tree.Const) for i in node.indices):
            target = node.base
        while isinstance(target, (tree.Element, tree.Member)):
            target = target.base
        if isinstance(target, tree.Var):
            found.add(target.variable)
    return found


def written_arrays(root: tree.KernelTree) -> set[int]:
    """The numbers of the array parameters that the kernel writes, directly or through the functions it calls."""
    written = writes_of({"": root} | {function.name: function for function in root.functions})
    return {one for one in written[""] if isinstance(one, int)}


def writes_of(trees: Mapping[str, tree.KernelTree]) -> dict[str, set[FieldSymbol | int]]:
    """What each of these trees writes, directly or through those that it calls: fields, and the numbers of array
    parameters."""
    written: dict[str, set[FieldSymbol | int]] = {name: set() for name in trees}
    for name, made in trees.items():
        for node in walk(made):
            if isinstance(node, tree.CellOp):
                written[name].update(emptied(node, made.fields))
            elif isinstance(node, (tree.Assign, tree.AugAssign, tree.Atomic)):
                written[name].update(_memory(_target(node)))
    return _with_calls(trees, written)


def reads_of(trees: Mapping[str, tree.KernelTree]) -> dict[str, set[FieldSymbol | int]]:
    """Of what each of these trees uses the values, directly or through those that it calls: fields, and the numbers of
    array parameters. A store does not use the old value, nor does a sum whose result is dropped."""
    read: dict[str, set[FieldSymbol | int]] = {name: set() for name in trees}
    for name, made in trees.items():
        nodes = [*walk(made)]
        left = Counter(map(id, nodes))  # a statement may read the element that it stores to by the same node
        left.subtract(id(_target(node)) for node in map(_without_result, nodes) if node is not None)
        for node in nodes:
            if isinstance(node, tree.CellOp):
                read[name].update(made.fields)
            elif isinstance(node, tree.StructFor) and isinstance(node.over, FieldSymbol):
                read[name].add(node.over)
            elif left[id(node)]:
                read[name].update(_memory(node))
    return _with_calls(trees, read)


def _without_result(node: tree.Node) -> tree.Assign | tree.AugAssign | tree.Atomic | None:
    """What a statement does to memory, if it does not use the old value."""
    if isinstance(node, tree.Eval):
        one = node.value
        return one if isinstance(one, tree.Atomic) and one.kind in _SUMS else None
    if isinstance(node, tree.AugAssign):
        return node if node.kind in _SUMS else None
    return node if isinstance(node, tree.Assign) else None


_SUMS = ("add", "sub")


def _target(node: tree.Assign | tree.AugAssign | tree.Atomic) -> tree.Expr:
    """The variable or the element of memory of which it changes all or a part."""
    target = node.target
    while isinstance(target, (tree.Element, tree.Member)):
        target = target.base
    return target


def _memory(node: tree.Node) -> Iterator[FieldSymbol | int]:
    """The field, or the number of the array parameter, of an element."""
    if isinstance(node, tree.FieldElement):
        yield node.field
    elif isinstance(node, tree.ArrayElement) and isinstance(node.array, tree.ParamRef):
        yield node.array.index


def _with_calls(
    trees: Mapping[str, tree.KernelTree], found: dict[str, set[FieldSymbol | int]]
) -> dict[str, set[FieldSymbol | int]]:
    """What was found of each tree, and of those that it calls."""
    handed = [(name, node) for name, made in trees.items() for node in walk(made) if isinstance(node, tree.Invoke)]
    growing = True
    while growing:
        growing = False
        for name, call in handed:
            before = len(found[name])
            found[name].update(_handed(call, found[call.function]))
            growing |= len(found[name]) > before
    return found


def drawing(functions: Sequence[tree.KernelTree]) -> frozenset[str]:
    """The functions that draw random numbers, directly or through those that they call."""
    calls = {one.name: {node.function for node in walk(one) if isinstance(node, tree.Invoke)} for one in functions}
    found = {one.name for one in functions if any(isinstance(node, tree.Random) for node in walk(one))}
    while more := {name for name in calls if calls[name] & found} - found:
        found |= more
    return frozenset(found)


def emptied(node: tree.CellOp, fields: Sequence[FieldSymbol]) -> list[FieldSymbol]:
    """The fields whose elements an operation on a cell may make 0."""
    return [field for field in fields if node.kind == "deactivate" and lies_below(field, node.node)]


def _handed(call: tree.Invoke, found: set[FieldSymbol | int]) -> Iterator[FieldSymbol | int]:
    """What a call accesses, if the called tree accesses this."""
    for one in found:
        if not isinstance(one, int):
            yield one
        elif isinstance(argument := call.arguments[one], tree.ParamRef):
            yield argument.index


_PRICE: dict[type[tree.Expr], int] = {
    tree.Const: 0,
    tree.Var: 1,
    tree.ParamRef: 0,
    tree.ArrayShape: 1,
    tree.Unary: 1,
    tree.Binary: 1,
    tree.Select: 1,
    tree.Cast: 1,
    tree.BitCast: 1,
    tree.BoolOp: 1,
    tree.Element: 1,
    tree.Member: 1,
}
NEVER = 1000


def cost(expr: tree.Expr) -> int:
    """The approximate number of instructions of `expr`. It is at least NEVER if `expr` must not run unless the program
    reaches it: it has a side effect, may fault (an element that a condition guards), or is expensive."""
    total = 0
    for node in walk(expr):
        if isinstance(node, tree.Element) and not all(isinstance(i, tree.Const) for i in node.indices):
            return NEVER
        total += _PRICE.get(type(node), NEVER)  # type: ignore[arg-type]
        if total >= NEVER:
            break
    return total


def has_return(stmt: tree.Stmt) -> bool:
    """Whether `stmt` contains a `return` of the enclosing function. Inlined calls are expressions and
    are not examined."""
    if isinstance(stmt, tree.Return):
        return True
    if isinstance(stmt, tree.If):
        return any(map(has_return, stmt.then)) or any(map(has_return, stmt.orelse))
    if isinstance(stmt, (tree.While, tree.RangeFor, tree.BoxFor, tree.StructFor)):
        return any(map(has_return, stmt.body))
    return False


def always_returns(body: Sequence[tree.Stmt]) -> bool:
    """Whether every path through `body` ends in a `return`."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, tree.If):
        return always_returns(last.then) and always_returns(last.orelse)
    return isinstance(last, tree.Return)


def returns_at_tail(body: Sequence[tree.Stmt]) -> bool:
    """Whether `body` can be rewritten with each `return` last in its block, with the code after an early one in an
    `else`."""
    for position, stmt in enumerate(body):
        if isinstance(stmt, tree.Return):
            return True
        if not has_return(stmt):
            continue
        if not isinstance(stmt, tree.If):
            return False
        rest = list(body[position + 1 :])
        if always_returns(stmt.then):
            return returns_at_tail(stmt.then) and returns_at_tail([*stmt.orelse, *rest])
        if always_returns(stmt.orelse):
            return returns_at_tail(stmt.orelse) and returns_at_tail([*stmt.then, *rest])
        return not rest and returns_at_tail(stmt.then) and returns_at_tail(stmt.orelse)
    return True
