"""Inlines calls of real functions in a kernel that is differentiated, where the derivative of a call would not do.

    real func f(a): x[0] *= a                 x = call f { a = e; x[0] *= a }
    x = invoke f(e)                     =>

The derivative of a real function computes the function again (`autodiff/functions.py`). That is right if the function
has no effect, and memory still holds what it has read. So a call is inlined if the function writes memory or draws
random numbers, or if it accesses memory that the kernel writes. Then its accesses are those of the kernel: reverse mode
finds, records or restores the values that they need, and forward mode sees whether their order matters.

A call may be inlined if the function does not call itself, directly or through others. Arguments are evaluated before
the body, and assigned to variables, as a call passes them. An array is passed as itself. Each copy has variables of its
own. The function draws the same random numbers, because a call counts draws with its caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from weft.ir import tree
from weft.ir.symbols import FieldSymbol
from weft.ir.transforms.lower_tree_facts import walk, writes_of
from weft.ir.types import Array

__all__ = ["with_calls_inlined"]


def with_calls_inlined(root: tree.KernelTree) -> tree.KernelTree:
    """The kernel without calls of functions that have an effect, or access what the kernel writes. Calls of recursive
    functions stay."""
    functions = {function.name: function for function in root.functions}
    if not functions:
        return root
    written = writes_of({"": root} | functions)
    plain = {name: functions[name] for name in functions.keys() - _recursive(functions)}
    return replace(root, body=_Copy(_Calls(plain, _effectful(functions, written), written[""])).each(root.body))


def _effectful(functions: Mapping[str, tree.KernelTree], written: Mapping[str, set[FieldSymbol | int]]) -> set[str]:
    """The functions that write memory or draw random numbers, directly or through those that they call."""
    calls = {name: _calls(made) for name, made in functions.items()}
    kinds = (tree.Random, tree.CellOp)
    found = {name for name, made in functions.items() if any(isinstance(node, kinds) for node in walk(made))}
    found |= {name for name in functions if written[name]}
    while more := {name for name in functions if calls[name] & found} - found:
        found |= more
    return found


def _recursive(functions: Mapping[str, tree.KernelTree]) -> set[str]:
    """The functions that call themselves, directly or through others."""
    reached = {name: _calls(made) for name, made in functions.items()}
    for middle in functions:
        for name in functions:
            if middle in reached[name]:
                reached[name] |= reached[middle]
    return {name for name in functions if name in reached[name]}


def _calls(made: tree.KernelTree) -> set[str]:
    return {node.function for node in walk(made) if isinstance(node, tree.Invoke)}


class _Calls:
    """Which calls are inlined: of these functions, if they have an effect or access what the kernel writes."""

    def __init__(
        self, functions: Mapping[str, tree.KernelTree], effectful: set[str], written: set[FieldSymbol | int]
    ) -> None:
        self.functions, self.effectful = functions, effectful
        self.fields = [one for one in written if not isinstance(one, int)]
        self.arrays = {one for one in written if isinstance(one, int)}

    def inlined(self, node: tree.Invoke, arguments: Sequence[tree.Expr]) -> tree.KernelTree | None:
        """The function, if a call of it with these arguments of the kernel is inlined."""
        function = self.functions.get(node.function)
        if function is None or node.function in self.effectful:
            return function
        if any(isinstance(one, tree.ParamRef) and one.index in self.arrays for one in arguments):
            return function
        shared = any(one.shares_with(other) for one in node.touched for other in self.fields)
        return function if shared else None


class _Copy:
    """Copies nodes, with calls inlined. `values`: what stands for each parameter of the function whose body is copied;
    None: the kernel, which keeps its parameters and variables."""

    def __init__(self, calls: _Calls, values: Sequence[tree.Expr] | None = None) -> None:
        self.calls, self.values = calls, values
        self.made: dict[Any, Any] = {}  # the copies of variables, and of arrays of thread blocks

    def each(self, nodes: Sequence[Any]) -> list[Any]:
        return [self.copy(one) for one in nodes]

    def copy(self, node: Any) -> Any:
        """The copy of a node, or of what a node consists of."""
        if isinstance(node, (list, tuple)):
            return type(node)(self.copy(one) for one in node)
        if isinstance(node, (tree.Variable, tree.Shared)):
            return self.own(node)
        if not isinstance(node, tree.Node):
            return node
        if isinstance(node, tree.ParamRef) and self.values is not None:
            return self.values[node.index]
        if isinstance(node, tree.Invoke):
            return self.call(node)
        return replace(node, **{one.name: self.copy(getattr(node, one.name)) for one in fields(node)})

    def own(self, node: Any) -> Any:
        """The variable, or the array of a thread block, of this copy of the function."""
        if self.values is None:
            return node
        if node not in self.made:
            self.made[node] = replace(node)
        return self.made[node]

    def call(self, node: tree.Invoke) -> tree.Expr:
        """A call, as an inlined one or as it is."""
        arguments = self.each(node.arguments)
        function = self.calls.inlined(node, arguments)
        if function is None:
            return replace(node, arguments=arguments)
        values, given = list[tree.Expr](), list[tuple[tree.Variable, tree.Expr]]()
        for param, argument in zip(function.params, arguments, strict=True):
            if isinstance(param.type, Array):
                values.append(argument)
                continue
            variable = tree.Variable(param.name, param.type)
            given.append((variable, argument))
            values.append(tree.Var(variable, type=param.type))
        body = _Copy(self.calls, values).each(function.body)
        return tree.Call(function.name, given, body, type=node.type, span=node.span)
