"""Run kernels as ordinary Python, line by line, with the semantics of the language (`arch=python`).

The body of a kernel, and of every `@func` that it calls, is rewritten once (see `rewrite.py`). Operators become calls
of the functions in `values.py`. Names, lines and the variables around the function stay the same, so `breakpoint()`,
pdb, prints and tracebacks show the user's own lines and values.
"""

from __future__ import annotations

import ast
import builtins
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from weft.ir.python_tree import python_tree
from weft.lang.data.writes import LISTENERS
from weft.lang.functions.annotations import annotation_of, is_template
from weft.lang.functions.source import source_of
from weft.lang.interpret.debugger import trimmed
from weft.lang.interpret.faults import indices, placed
from weft.lang.interpret.random import draws
from weft.lang.interpret.rewrite import HELPER, Rewriter
from weft.lang.interpret.sparse import wake
from weft.lang.interpret.values import Semantics
from weft.lang.values.scope import choices, with_types
from weft.runtime.errors import KernelFault, RecursionFault

__all__ = ["InterpretedKernel", "interpret_kernel", "interpreted"]

N = TypeVar("N", bound=ast.AST)


@dataclass
class InterpretedKernel:
    """What `interpret_kernel` reads of a kernel: the plain function; the (name, annotation) of each parameter except
    `self`; the object of a method, or None; and the types of choices between values, see `Translation`."""

    function: Callable[..., Any]
    params: Sequence[tuple[str, Any]]
    class_instance: Any
    choices: Mapping[Any, Any]


_rewritten: weakref.WeakKeyDictionary[Callable[..., Any], FunctionType] = weakref.WeakKeyDictionary()
_inside: weakref.WeakSet[CodeType] = weakref.WeakSet()  # code of inner functions, rewritten with the outer ones


def interpret_kernel(kernel: InterpretedKernel, args: Sequence[Any]) -> Any:
    """Run the body of the kernel on `args` as Python and return its result, cast to the annotated types. Scalars become
    Python numbers, several results become a tuple."""
    run = interpreted(kernel.function, dict(kernel.params), top=True)
    draws().launch()
    wake()
    owner = () if kernel.class_instance is None else (kernel.class_instance,)
    code = kernel.function.__code__
    positional = code.co_argcount - len(owner)  # the others are keyword-only
    keywords = dict(zip(code.co_varnames[code.co_argcount :], args[positional:]))
    token, heard = choices.set(kernel.choices), LISTENERS.set(())  # what the kernel writes, Python does not
    try:
        result = with_types(run, *owner, *args[:positional], **keywords)
    except KernelFault as fault:
        raise placed(fault, HELPER).with_traceback(trimmed(fault.__traceback__, HELPER)) from None
    except RecursionError as error:
        raise RecursionFault(
            f"functions of kernel '{kernel.function.__name__}' call one another more deeply than Python's "
            f"recursion limit of {sys.getrecursionlimit()} allows; if the recursion ends, raise the limit with "
            "sys.setrecursionlimit()"
        ) from error
    except (Exception, KeyboardInterrupt) as error:
        where = indices(error.__traceback__, HELPER)
        if where and sys.version_info >= (3, 11):
            error.add_note(where)
        raise
    finally:
        choices.reset(token)
        LISTENERS.reset(heard)
    return tuple(map(_plain, result)) if isinstance(result, tuple) else _plain(result)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def interpreted(
    function: Callable[..., Any], known: Mapping[str, Any] | None = None, top: bool = False
) -> Callable[..., Any]:
    """Return the rewritten form of the Python function of a kernel (`top`) or `@func`. `known` holds annotations that
    are evaluated already. Raises CompilationError if its source is not available."""
    if getattr(function, "__code__", None) in _inside:
        return function
    found = _rewritten.get(function)
    if found is None:
        assert isinstance(function, FunctionType)
        unknown = [name for name in function.__annotations__ if known is None or name not in known]
        annotations = {name: annotation_of(function, name) for name in unknown}
        found = _rewritten[function] = _rewrite(function, annotations | dict(known or {}), top)
    return found


def _rewrite(function: FunctionType, annotations: Mapping[str, Any], top: bool) -> FunctionType:
    """Return a function of the rewritten code, with the globals, closure and defaults of the original."""
    name, free = function.__name__, function.__code__.co_freevars
    cells = dict(zip(free, function.__closure__ or ()))
    file = source_of(function).file
    semantics = Semantics(dict(annotations), interpreted, function.__code__, file)
    templates = [known for known, annotation in annotations.items() if is_template(annotation)]
    rewriter = Rewriter(lambda node: _resolve(node, function, cells), templates, top)
    body = rewriter.function(_definition(function))
    semantics.loops = rewriter.loops
    module = python_tree(f"def __weft_closure__({', '.join((HELPER, *free))}): pass")
    factory = module.body[0]
    assert isinstance(factory, ast.FunctionDef)
    own: list[ast.stmt] = [] if name in free else [ast.Global([name])]  # a recursive function refers to the global
    factory.body = [*own, body, ast.copy_location(ast.Return(ast.Name(name, ast.Load())), body)]
    ast.fix_missing_locations(ast.copy_location(factory, body))
    _keep_to_first_lines(factory)
    code = _inner(_inner(compile(module, file, "exec"), "__weft_closure__"), name)
    _inside.update(_nested(code))
    cells[HELPER] = CellType(semantics)
    closure = tuple(cells[known] for known in code.co_freevars)
    made = FunctionType(code, function.__globals__, name, function.__defaults__, closure)
    made.__weft_references__ = semantics  # type: ignore[attr-defined]
    made.__kwdefaults__, made.__doc__, made.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    made.__qualname__ = function.__qualname__
    return made


def _keep_to_first_lines(root: ast.AST) -> None:
    """Set the line of each call that Weft adds to the first line of its statement. Python takes the line where `a.b`
    ends as the line of the call `a.b()`, which would lead pdb to the end of the statement."""
    for node in ast.walk(root):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == HELPER:
            node.end_lineno, node.end_col_offset = node.lineno, node.col_offset


def _definition(function: FunctionType) -> ast.FunctionDef:
    """Return a copy of the `def` of the function, with its original lines and columns. The copy may be changed."""
    source = source_of(function)
    return ast.increment_lineno(_copied(source.node), source.shift)


def _copied(node: N) -> N:
    """A copy of a tree. (`deepcopy` takes five times as long.)"""
    made = type(node).__new__(type(node))
    for name, value in vars(node).items():
        if isinstance(value, list):
            value = [_copied(one) if isinstance(one, ast.AST) else one for one in value]
        setattr(made, name, _copied(value) if isinstance(value, ast.AST) else value)
    return made


def _inner(code: CodeType, name: str) -> CodeType:
    return next(inner for inner in code.co_consts if isinstance(inner, CodeType) and inner.co_name == name)


def _nested(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _nested(inner)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _resolve(node: ast.expr, function: FunctionType, cells: dict[str, CellType]) -> Any:
    """Return the object that a name outside of the function, or an attribute of a module or class, refers to; None for
    any other expression."""
    if isinstance(node, ast.Name):
        if node.id in cells:
            return _content(cells[node.id])
        if node.id in function.__code__.co_varnames or node.id in function.__code__.co_cellvars:
            return None
        return function.__globals__.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Attribute):
        owner = _resolve(node.value, function, cells)
        return getattr(owner, node.attr, None) if isinstance(owner, (ModuleType, type)) else None
    return None
