"""The functions that the derivative of a random program calls: those of the program, and derivatives of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.ir.autodiff.functions import derived, mode_in, params_in
from weft.ir.calls import called
from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.text import print_ir

__all__ = ["functions_of"]


def functions_of(
    made: Kernel,
    functions: Sequence[Kernel],
    config: CompileConfig,
    with_fields: Callable[[Kernel], Kernel],
) -> list[Kernel]:
    """Those that the differentiated kernel `made` calls, not differentiated yet. `with_fields` gives a function the
    companions of fields that the program has."""
    names, found = sorted(called(made)), list[Kernel]()
    for name in names:  # grows
        function, derivative = derived(name)
        own = next(one for one in functions if one.symbol == function)
        copy = with_fields(parse(print_ir(own)))
        copy.symbol, copy.mode = name, mode_in(derivative)
        copy.params = params_in(own.params, own.results, derivative) if derivative else own.params
        found.append(copy)
        inner = run_passes(parse(print_ir(copy)), ("differentiate",), config)
        names += sorted(called(inner) - {*names})
    return found
