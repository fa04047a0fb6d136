"""Finds the source text of a function, as `ast`, and spans in it.

The text is parsed once for each code object. Lines and columns are those of the file: an indented function is parsed
under an `if 1:`, which shifts it by one line and no column."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from weft.ir.errors import LIBRARY, CompilationError, Span
from weft.ir.python_tree import python_tree
from weft.lang.functions.lambdas import LAMBDA, lambda_of
from weft.lang.functions.lost_source import file_of, lines_of_lost

__all__ = ["LIBRARY", "Source", "captured", "reads", "source_lines", "source_of", "text_of"]


@dataclass(eq=False, slots=True)
class Source:
    """The tree of a function. Add `shift` to the line numbers of the tree."""

    file: str
    name: str
    node: ast.FunctionDef
    shift: int

    def span(self, node: ast.AST, caller: Span | None = None) -> Span:
        """The place of `node` in the file. The node is an expression, statement, argument or keyword."""
        if caller is not None and self.file.startswith(LIBRARY):
            return caller  # report a place inside of Weft's own functions as the user's call
        place: Any = node
        end = place.end_lineno or place.lineno
        line = place.lineno + self.shift
        return Span(self.file, line, place.col_offset, end + self.shift, place.end_col_offset or 0, self.name, caller)

    def header(self) -> Span:
        """The place of the function's `def`."""
        return Span(self.file, self.node.lineno + self.shift, self.node.col_offset, function=self.name)


def reads(node: ast.AST, name: str) -> bool:
    """Whether any part of `node` reads the variable of this name."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name) and inner.target.id == name:
            return True
        if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load):
            return True
    return False


def source_of(function: Callable[..., Any]) -> Source:
    """The tree of a Python function. Raises CompilationError if its text cannot be found."""
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        raise CompilationError(f"{function!r} is not a Python function")
    known = _PARSED.get(id(code))
    if known is not None:
        return known[1]
    source = _parse(code)
    _PARSED[id(code)] = code, source
    for oldest in list(_PARSED)[:-_MOST_PARSED]:  # another thread may do the same
        _PARSED.pop(oldest, None)
    return source


_WHY_LOST = {
    "<stdin>": " (Python does not keep the source of a program that it reads from a pipe)",
    "<string>": " (the source of code that `exec` runs is found only if a variable holds it)",
}

# Keyed by identity, with the code kept alive: equal code objects may have different texts (`return` and `global x`).
_PARSED: dict[int, tuple[CodeType, Source]] = {}
_MOST_PARSED = 4096


def _parse(code: CodeType) -> Source:
    if code.co_name == LAMBDA:
        return _parse_lambda(code)
    try:
        _, first, shift, tree = _text_of(code)
    except (OSError, TypeError):
        raise _lost(code) from None
    statement: Any = tree.body[0] if tree is not None and tree.body else None
    if isinstance(statement, ast.If):
        statement = statement.body[0]
    if not isinstance(statement, ast.FunctionDef):
        raise CompilationError(
            f"'{code.co_name}' is not an ordinary function: write it with 'def'",
            Span(file_of(code), first),
        )
    return Source(file_of(code), code.co_name, statement, shift)


def _parse_lambda(code: CodeType) -> Source:
    """Parse a lambda. Neither its column nor its end is known, so it is searched in the tree of the whole text."""
    try:
        found = lambda_of(code, _whole_text(code))
    except (OSError, TypeError):
        raise _lost(code) from None
    if found is None:
        raise _lost(code)
    return Source(file_of(code), code.co_name, found, 0)


def _lost(code: CodeType) -> CompilationError:
    why = _WHY_LOST.get(code.co_filename, "")
    what = f"'{code.co_name}'" if code.co_name != LAMBDA else f"the lambda in line {code.co_firstlineno}"
    return CompilationError(f"the source of {what} cannot be found{why}: define it in a file or a notebook cell")


def source_lines(code: CodeType) -> tuple[list[str], int]:
    """The lines of a function with its decorators, and the number of the first. Raises OSError if they are not
    known."""
    lines, first, _, _ = _text_of(code)
    return lines, first


def text_of(code: CodeType) -> str:
    """The lines of a function, without parsing them. Lines at the end that are missing contain no code. Raises OSError
    if the lines are not known."""
    lines = _lines_from(code)
    return "".join(_deeper(code, lines) if lines else inspect.getsourcelines(code)[0])


def _text_of(code: CodeType) -> tuple[list[str], int, int, ast.Module | None]:
    """The lines of a function, the number of the first, their tree if they can be parsed, and what to add to the tree's
    lines."""
    first, lines = code.co_firstlineno, _lines_from(code)
    if not lines:
        lines, first = inspect.getsourcelines(code)
        return lines, first, *_tree(lines, first)
    block = _deeper(code, lines)
    shift, tree = _tree(block, first)
    if tree is None:
        block = inspect.getblock(lines)
        shift, tree = _tree(block, first)
    return block, first, shift, tree


def _whole_text(code: CodeType) -> list[str]:
    """The lines of the file that contains a function. Empty if the file has none."""
    lines = lines_of_lost(code)
    if lines is None:  # `inspect.getsourcelines` would search every loaded module
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename)
    return lines


def _lines_from(code: CodeType) -> list[str]:
    """The lines of the file from the first line of a function on. Empty if the file has none."""
    lines = _whole_text(code)
    if lines and code.co_firstlineno > len(lines):
        raise OSError(f"{code.co_filename} has no line {code.co_firstlineno}")
    return lines[code.co_firstlineno - 1 :]


def _deeper(code: CodeType, lines: list[str]) -> list[str]:
    """The lines of a function. `lines` begins with its first line.

    They end at the first line after the function's code that is not indented further than its first line. If a string
    or a bracket continues at the margin, lines are missing and the result is not valid Python. (`inspect` would find
    the end, but it reads each token, which takes as long as the whole translation.)"""
    margin = _indent(lines[0])
    end = _last_line(code) - code.co_firstlineno + 1
    while end < len(lines) and (_is_empty(lines[end]) or _indent(lines[end]) > margin):
        end += 1
    while end > 1 and _is_empty(lines[end - 1]):
        end -= 1
    return lines[:end]


def _last_line(code: CodeType) -> int:
    """The last line of the file that an instruction of the function comes from."""
    own = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return max((own, *(_last_line(inner) for inner in code.co_consts if isinstance(inner, CodeType))))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_empty(line: str) -> bool:
    return line.lstrip()[:1] in ("", "#")


def _tree(lines: list[str], first: int) -> tuple[int, ast.Module | None]:
    """What to add to the line numbers of the text's tree, and the tree. None if the text is not valid Python."""
    text, shift = "".join(lines), first - 1
    if text[:1].isspace():
        text, shift = "if 1:\n" + text, shift - 1
    try:
        return shift, python_tree(text)
    except SyntaxError:
        return shift, None


_MISSING = object()


def captured(function: Callable[..., Any], name: str) -> tuple[Any, Any]:
    """The current value of a free variable of `function`, from its closure, its globals or Python's builtins, and the
    cell or namespace that contains it. Raises KeyError if the name has no value."""
    code: CodeType = function.__code__
    if name in code.co_freevars:
        cells: Any = function.__closure__
        cell = cells[code.co_freevars.index(name)]
        try:
            return cell.cell_contents, cell
        except ValueError:
            raise KeyError(name) from None
    for space in (function.__globals__, vars(builtins)):
        value = space.get(name, _MISSING)
        if value is not _MISSING:
            return value, space
    raise KeyError(name)
