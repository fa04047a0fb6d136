"""The mutants of a module: copies in which one condition always holds, or never."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mutant", "mutants", "watched"]


@dataclass(frozen=True)
class Mutant:
    """One copy. `name` tells it from the others of its module and stays the same while the function around does."""

    name: str
    line: int
    source: str


def mutants(source: str) -> list[Mutant]:
    """All mutants of a module. A condition is a leaf: an operand of `and`, `or` and `not` in what an `if`, a
    conditional expression or a comprehension asks, what `all` and `any` are asked of, and what a function `-> bool`
    returns."""
    root = ast.parse(source)
    found: list[Mutant] = []
    seen: dict[str, int] = {}
    for function, leaf in _conditions(root):
        text = ast.unparse(leaf)
        for value in (True, False):
            name = f"{function}: {text} -> {value}"
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:
                name += f" #{seen[name]}"
            found.append(Mutant(name, leaf.lineno, _with(source, leaf, str(value))))
    return found


def watched(source: str, call: str) -> ast.Module:
    """The module with `call(number, condition)` in place of each condition. The mutants of condition `number` are
    `2 * number`, where it always holds, and the next."""
    root = ast.parse(source)
    numbers = {leaf: number for number, (_, leaf) in enumerate(_conditions(root))}
    return ast.fix_missing_locations(_Watch(numbers, call).visit(root))


class _Watch(ast.NodeTransformer):
    def __init__(self, numbers: dict[ast.expr, int], call: str) -> None:
        self.numbers, self.call = numbers, call

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node, ast.expr) or node not in self.numbers:
            return node
        call = ast.Call(ast.Name(self.call, ast.Load()), [ast.Constant(self.numbers[node]), node], [])
        return ast.copy_location(call, node)


def _conditions(root: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    functions = [node for node in ast.walk(root) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for function in functions:
        returns = isinstance(function.returns, ast.Name) and function.returns.id == "bool"
        for node in _own(function):
            for test in _tests(node, returns):
                for leaf in _leaves(test):
                    yield function.name, leaf


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions in it, in the order of the text."""
    for child in ast.iter_child_nodes(function):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        yield child
        yield from _own(child)


def _tests(node: ast.AST, returns: bool) -> list[ast.expr]:
    if isinstance(node, (ast.If, ast.IfExp)):
        return [node.test]
    if isinstance(node, ast.comprehension):
        return list(node.ifs)
    if isinstance(node, ast.Return) and returns and node.value is not None:
        return [node.value]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("all", "any") and node.args:
        asked = node.args[0]
        return [asked.elt] if isinstance(asked, (ast.GeneratorExp, ast.ListComp)) else []
    return []


def _leaves(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _leaves(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _leaves(test.operand)
    elif not isinstance(test, ast.Constant):
        yield test


def _with(source: str, leaf: ast.expr, text: str) -> str:
    """The source with `text` in place of `leaf`; lines keep their numbers."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    assert leaf.end_lineno is not None
    first, last = leaf.lineno - 1, leaf.end_lineno - 1
    before, after = lines[first][: leaf.col_offset], lines[last][leaf.end_col_offset :]
    lines[first : last + 1] = [before + f"({text}".encode() + b"\n" * (last - first) + b")" + after]
    return b"".join(lines).decode()
