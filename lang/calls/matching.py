"""The parameters of a kernel, and the arguments of a call in their order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from weft.ir.errors import WeftError
from weft.ir.types import Array
from weft.lang.calls.parameters import Parameter, make_parameter
from weft.lang.errors import ArgumentError
from weft.lang.functions.annotations import MISSING
from weft.lang.translate.entry import Argument, Translation
from weft.lang.values.argpack import ArgPackType
from weft.lang.values.types import to_ir

__all__ = ["check_signature", "checked_results", "is_method", "matched", "parameters_of", "refuse_writes"]


def matched(kernel: Any, owner: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call of a kernel, in the order of its parameters, with defaults, and without `owner`, the
    object of a method. Raises ArgumentError if they are not its parameters."""
    signature = kernel.signature
    try:
        bound = signature.bind(*([owner] if kernel.has_self else []), *args, **keywords)
    except TypeError as error:
        wanted = ", ".join(name for name, _ in kernel.params) or "no arguments"
        for name in keywords:
            if name not in signature.parameters:
                raise ArgumentError(
                    f"kernel '{kernel.__name__}' has no parameter '{name}'; its parameters are {wanted}"
                ) from None
        raise ArgumentError(f"kernel '{kernel.__name__}' takes {wanted}: {error}") from None
    bound.apply_defaults()
    return tuple(bound.arguments.values())[1 if kernel.has_self else 0 :]


def parameters_of(kernel: Any) -> list[Parameter]:
    """The parameters of a kernel, with the members of argument packs one by one. Raises CompilationError."""
    made: list[Parameter] = []
    flat = [((n, a),) if not isinstance(a, ArgPackType) else a.leaves(n) for n, a in kernel.params]
    for name, annotation in chain.from_iterable(flat):
        if annotation is MISSING:
            kernel.fail(f"parameter '{name}' of kernel '{kernel.__name__}' has no type")
        try:
            made.append(make_parameter(name, annotation))
        except WeftError as error:
            kernel.fail(f"parameter '{name}' of kernel '{kernel.__name__}': {error}")
    return made


def is_method(function: Callable[..., Any]) -> bool:
    """Whether a function is defined in the body of a class."""
    parts = function.__qualname__.split(".")
    first = next(iter(inspect.signature(function).parameters), "")
    return first == "self" or (len(parts) > 1 and parts[-2] != "<locals>" and first != "")


def check_signature(kernel: Any) -> None:
    """Raise CompilationError unless each parameter has an annotation, and their number is fixed."""
    for position, (name, parameter) in enumerate(kernel.signature.parameters.items()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            kernel.fail(f"kernel '{kernel.__name__}' cannot take '*{name}': a kernel has a fixed number of parameters")
        if parameter.annotation is parameter.empty and not (position == 0 and kernel.has_self):
            kernel.fail(
                f"parameter '{name}' of kernel '{kernel.__name__}' has no type: annotate it, as in '{name}: ti.f32', "
                f"'{name}: ti.Template' or '{name}: ti.Array'"
            )


def checked_results(kernel: Any, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The annotations of the results of a kernel. Raises CompilationError for a type that it cannot return."""
    for result in results:
        try:
            to_ir(result)
        except WeftError as error:
            kernel.fail(f"kernel '{kernel.__name__}' cannot return {result!r}: {error}")
    return results


def refuse_writes(translation: Translation, arguments: Sequence[Argument]) -> None:
    """Raise an error if the kernel writes to an array that numpy marks as read-only."""
    frozen = {
        position
        for position, argument in enumerate(a for a in arguments if a.type is not None)
        if isinstance(argument.type, Array) and argument.value == "read-only"
    }
    if not frozen:
        return
    from weft.ir.transforms.lower_tree_facts import written_arrays

    for index in sorted(frozen & written_arrays(translation.tree)):
        name = translation.tree.params[index].name
        raise ArgumentError(f"argument '{name}' is a read-only array, and the kernel writes to it")
