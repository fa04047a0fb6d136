"""Where a function's text is, as `ast`, and spans into it.

The text is parsed once per code object, with lines and columns as they are in the file: an indented function is
parsed under an `if 1:`, which costs one line and no column.
"""

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
    """A function's tree. `shift` is what to add to the tree's line numbers."""

    file: str
    name: str
    node: ast.FunctionDef
    shift: int

    def span(self, node: ast.AST, caller: Span | None = None) -> Span:
        """The place of `node` (an expression, statement, argument or keyword)."""
        if caller is not None and self.file.startswith(LIBRARY):
            return caller  # inside Weft's own functions the user has nothing to look for
        place: Any = node
        end = place.end_lineno or place.lineno
        line = place.lineno + self.shift
        return Span(self.file, line, place.col_offset, end + self.shift, place.end_col_offset or 0, self.name, caller)

    def header(self) -> Span:
        """The place of the function's `def`."""
        return Span(self.file, self.node.lineno + self.shift, self.node.col_offset, function=self.name)


def reads(node: ast.AST, name: str) -> bool:
    """Whether the variable of that name is read anywhere in `node`."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name) and inner.target.id == name:
            return True
        if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load):
            return True
    return False


def source_of(function: Callable[..., Any]) -> Source:
    """The tree of a Python function; CompilationError where its text cannot be found."""
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        raise CompilationError(f"{function!r} is not a Python function")
    known = _PARSED.get(id(code))
    if known is not None:
        return known[1]
    source = _parse(code)
    _PARSED[id(code)] = code, source
    for oldest in list(_PARSED)[:-_MOST_PARSED]:  # another thread may be at the same
        _PARSED.pop(oldest, None)
    return source


_WHY_LOST = {
    "<stdin>": " (what comes through a pipe, Python does not keep)",
    "<string>": " (of what `exec` runs, it is found in a variable)",
}

# By identity, the code kept alive: equal code objects may stand for different text (`return` and `global x` are one).
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
    """A lambda stands anywhere in a line, and ends where nothing tells: it is found in the tree of the whole text."""
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
    """The lines of a function, decorators included, and the number of the first. OSError where they are not known."""
    lines, first, _, _ = _text_of(code)
    return lines, first


def text_of(code: CodeType) -> str:
    """The lines of a function, not parsed. What may be missing at its end has no code, and so no meaning. OSError where
    they are not known."""
    lines = _lines_from(code)
    return "".join(_deeper(code, lines) if lines else inspect.getsourcelines(code)[0])


def _text_of(code: CodeType) -> tuple[list[str], int, int, ast.Module | None]:
    """The lines of a function; the number of the first; their tree, if they are one, and what to add to its lines."""
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
    """The lines of the file that a function is in; none if the file has none."""
    lines = lines_of_lost(code)
    if lines is None:  # `inspect.getsourcelines` would look into every module there is
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename)
    return lines


def _lines_from(code: CodeType) -> list[str]:
    """The lines of its file from the first of a function on; none if the file has none."""
    lines = _whole_text(code)
    if lines and code.co_firstlineno > len(lines):
        raise OSError(f"{code.co_filename} has no line {code.co_firstlineno}")
    return lines[code.co_firstlineno - 1 :]


def _deeper(code: CodeType, lines: list[str]) -> list[str]:
    """Those of the lines, of which a function's is the first, up to what is behind its code and indented no further.
    If that is not all of it, since a string or a bracket came back to the margin, it is not Python. (`inspect` would
    know, but goes through each token: it takes as long as all of the translation.)"""
    margin = _indent(lines[0])
    end = _last_line(code) - code.co_firstlineno + 1
    while end < len(lines) and (_is_empty(lines[end]) or _indent(lines[end]) > margin):
        end += 1
    while end > 1 and _is_empty(lines[end - 1]):
        end -= 1
    return lines[:end]


def _last_line(code: CodeType) -> int:
    """The last line that some instruction of a function comes from."""
    own = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return max((own, *(_last_line(inner) for inner in code.co_consts if isinstance(inner, CodeType))))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_empty(line: str) -> bool:
    return line.lstrip()[:1] in ("", "#")


def _tree(lines: list[str], first: int) -> tuple[int, ast.Module | None]:
    """What to add to the lines of the tree of that text, and the tree."""
    text, shift = "".join(lines), first - 1
    if text[:1].isspace():
        text, shift = "if 1:\n" + text, shift - 1
    try:
        return shift, python_tree(text)
    except SyntaxError:
        return shift, None


_MISSING = object()


def captured(function: Callable[..., Any], name: str) -> tuple[Any, Any]:
    """What a free name of `function` means now: from its closure, its globals, or Python's builtins; and the cell or
    namespace that says so. KeyError if it means nothing."""
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
