"""`@real_func`: functions that are compiled once and called, not inlined. They may call themselves.

Such a function becomes a kernel tree of its own. Its arguments become the parameters of the tree, and its loops are
serial. A call is a `tree.Invoke` of it. `passing.py` says how each argument is passed. The function has one instance
for each combination of compile-time values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from weft.ir import tree
from weft.ir.errors import CompilationError
from weft.ir.symbols import FieldSymbol
from weft.ir.transforms.lower_tree_facts import emptied, reads_of, walk, writes_of
from weft.ir.types import VOID, Type, struct
from weft.lang.functions.annotations import annotation_of, result_annotations
from weft.lang.functions.source import Source, source_of
from weft.lang.translate.endings import refuse_open_end
from weft.lang.translate.functions import Call
from weft.lang.translate.inlining import DEEPEST, matched
from weft.lang.translate.names import Names
from weft.lang.translate.passing import Passed, Passing
from weft.lang.translate.translator import Translator, Unit
from weft.lang.translate.values import wrap
from weft.lang.values.types import to_ir

__all__ = ["finish_functions", "invoke"]

_SHARED = (
    *("symbols", "trees", "declared", "kept", "fixed", "captures", "functions", "warned", "choices", "exposed"),
    *("mode", "stopped"),
)


@dataclass(eq=False)
class Instance:
    """A real function for one combination of compile-time arguments. `touched`, `only_read` and `only_written` are
    filled in when all functions are translated. `passed` keeps alive the objects that its key identifies by
    identity."""

    name: str
    results: tuple[Any, ...]
    passed: list[Passed]
    touched: list[FieldSymbol] = field(default_factory=list[FieldSymbol])
    only_read: list[FieldSymbol | int] = field(default_factory=list["FieldSymbol | int"])
    only_written: list[FieldSymbol | int] = field(default_factory=list["FieldSymbol | int"])
    tree: tree.KernelTree | None = None


def invoke(t: Translator, function: Callable[..., Any], c: Call, bound: bool = False) -> Any:
    """The meaning of a call of `function`. If `bound`, the first argument is `self`."""
    source = source_of(function)
    passing = Passing(t, source.name, c)
    passed: list[Passed] = []
    for position, (name, value) in enumerate(matched(t, function, source, c)):
        passed.append(passing.take(name, value, annotation_of(function, name), bound and position == 0))
    key = (function, t.unit.stopped, *(one.key for one in passed))
    instance = t.unit.functions.get(key)
    if instance is None:
        results = result_annotations(annotation_of(function, "return"))
        instance = Instance(f"{source.name}_{len(t.unit.functions)}", results, passed)
        t.unit.functions[key] = instance
        _translate(t, function, source, instance, c)
    return _result(t, instance, passing, source, c)


def _result(t: Translator, instance: Instance, passing: Passing, source: Source, c: Call) -> Any:
    """Emit the call. Assign the new values to variables that were passed by reference, and return the result."""
    results = instance.results
    parts = [*map(to_ir, results), *(place.type for place in passing.returned)]
    touched, span = (instance.touched, instance.only_read, instance.only_written), t.span(c.node)
    call = tree.Invoke(instance.name, passing.given, *touched, type=_whole(parts), span=span)
    if not parts:
        t.emit(tree.Eval(call, span=call.span))
        return None
    if len(results) == 1 and len(parts) == 1:
        return wrap(results[0], call)
    place = t.local(call, source.name)
    values = [place] if len(parts) == 1 else [_member(place, k, part) for k, part in enumerate(parts)]
    for target, value in zip(passing.returned, values[len(results) :], strict=True):
        t.emit(tree.Assign(target, value, span=call.span))
    found = [wrap(result, value) for result, value in zip(results, values)]
    return found[0] if len(found) == 1 else tuple(found) or None


def _whole(parts: list[Type]) -> Type:
    if not parts:
        return VOID
    return parts[0] if len(parts) == 1 else struct(tuple((f"_{k}", part) for k, part in enumerate(parts)))


def _member(place: tree.Expr, position: int, part: Type) -> tree.Expr:
    return tree.Member(place, f"_{position}", type=part)


def _translate(t: Translator, function: Callable[..., Any], source: Source, instance: Instance, c: Call) -> None:
    """Translate the function to a tree of its own."""
    if len(t.unit.open_calls) >= DEEPEST:
        raise t.error(
            f"'{source.name}' calls itself with different compile-time arguments each time, so it would have "
            "to be compiled without end: make the arguments that change ordinary parameters, or end the "
            "recursion with ti.static",
            c.node,
        )
    unit = Unit(instance.name, t.unit.config, results=instance.results, is_function=True)
    for shared in _SHARED:
        setattr(unit, shared, getattr(t.unit, shared))
    unit.open_calls = [("a real call",)] * (len(t.unit.open_calls) + 1)  # functions may be inlined again inside of it
    child = Translator(unit, source, Names(function))
    child.is_kernel = True
    for one in instance.passed:
        one.bind(child)
    child.body(source.node.body)
    if instance.results and not unit.returned:
        raise CompilationError(
            f"function '{source.name}' is annotated to return a value ('-> ...'), but has no 'return'", source.header()
        )
    if instance.results:
        refuse_open_end(child)
    elif unit.handed_back and not child.jump:
        child.emit(tree.Return(unit.current(), span=source.header()))
    made = replace(child.finish(source.header()), mode="")  # a derivative of it is made where one calls it
    instance.tree = replace(made, results=(*made.results, *(variable.type for variable in unit.handed_back)))


def finish_functions(unit: Unit) -> list[tree.KernelTree]:
    """The trees of all functions that the kernel calls. This also records in each call which fields the function
    accesses, which it does not write, and which it does nothing else to."""
    instances: dict[str, Instance] = {instance.name: instance for instance in unit.functions.values()}
    trees = {name: instance.tree for name, instance in instances.items() if instance.tree is not None}
    reached: dict[str, set[FieldSymbol]] = {}
    called: dict[str, set[str]] = {}
    for name, made in trees.items():
        made.fields, made.nodes, made.called = unit.fields, tuple(unit.nodes), True
        nodes = [*walk(made)]
        reached[name] = {symbol for node in nodes for symbol in _fields(node)}
        reached[name] |= {one for node in nodes if isinstance(node, tree.CellOp) for one in emptied(node, made.fields)}
        called[name] = {node.function for node in nodes if isinstance(node, tree.Invoke)}
    growing = True
    while growing:
        growing = False
        for name in trees:
            before = len(reached[name])
            reached[name].update(*(reached[other] for other in called[name]))
            growing |= len(reached[name]) > before
    written, read = writes_of(trees), reads_of(trees)
    for name, made in trees.items():
        instance = instances[name]
        instance.touched += [symbol for symbol in made.fields if symbol in reached[name]]
        every = (*instance.touched, *range(len(made.params)))
        instance.only_read += [one for one in every if one not in written[name]]
        instance.only_written += [one for one in every if one in written[name] and not _is_read(one, read[name])]
    return [*trees.values()]


def _is_read(one: FieldSymbol | int, read: set[FieldSymbol | int]) -> bool:
    """Whether values of a field, or of the array parameter with that number, are used, or those of a field with which
    it shares components."""
    if isinstance(one, int):
        return one in read
    return any(one.shares_with(other) for other in read if not isinstance(other, int))


def _fields(node: tree.Node) -> Iterator[FieldSymbol]:
    if isinstance(node, tree.FieldElement):
        yield node.field
    elif isinstance(node, tree.StructFor) and isinstance(node.over, FieldSymbol):
        yield node.over
