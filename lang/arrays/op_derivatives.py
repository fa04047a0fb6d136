"""The derivatives of operators of other libraries that are made of kernels: `ti.torch.op` and `ti.jax.op`.

An operator computes new arrays y from arrays x and numbers. Its derivatives are operators, too. They run derivatives of
the kernel, with arrays that the operator makes as gradients and duals:

    gradient            x, y, v                 v J              the kernel in mode "vjp"
    second gradient     x, y, v, and weights w  J w              in mode "jvp"
                        of v J                  d(v J w)/dx      in mode "vjp.jvp": the Hessian of v y, times w
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weft.ir import tree
from weft.ir.errors import WeftError
from weft.ir.transforms.lower_tree_facts import walk
from weft.lang.kernels.kernel import Kernel

__all__ = ["OpDerivatives", "draws_random_numbers"]

Arrays = Mapping[str, Any]  # arrays by the names of parameters; some may be missing


def draws_random_numbers(root: tree.KernelTree) -> bool:
    """Whether a kernel draws random numbers, so that a later launch of its gradient would draw others."""
    return any(isinstance(node, tree.Random) for node in walk(root))


class OpDerivatives:
    """The derivatives of a kernel whose parameters have these names. `zeros` makes an array of zeros like another
    one."""

    def __init__(self, kernel: Kernel, names: Sequence[str], zeros: Callable[[Any], Any]) -> None:
        self._kernels = {mode: _derivative(kernel, mode) for mode in ("vjp", "jvp", "vjp.jvp")}
        self._names, self._zeros = list(names), zeros

    def gradient(
        self, given: Arrays, before: Callable[[], Arrays], weights: Arrays, wanted: Sequence[str]
    ) -> dict[str, Any]:
        """The product of `weights`, arrays like results, which it changes, with the Jacobian: an array for each name in
        `wanted`. `given` are all arguments and results, and `before` makes the results as they were before the
        kernel ran."""
        kernel, made = self._kernels["vjp"], {name: self._zeros(given[name]) for name in wanted}
        hidden = self._hidden(kernel, {"grad": {**made, **weights}})
        kernel.call_with(self._values(kernel, given, before, hidden), hidden)
        return made

    def along(self, given: Arrays, made: Arrays, directions: Arrays) -> dict[str, Any]:
        """The derivatives of the results along `directions`, arrays like arguments. `made` are results as they are
        before the kernel runs. It runs with them."""
        kernel, duals = self._kernels["jvp"], {name: self._zeros(one) for name, one in made.items()}
        hidden = self._hidden(kernel, {"dual": {**directions, **duals}})
        kernel.call_with(self._ordered({**given, **made}), hidden)
        return duals

    def second(
        self,
        given: Arrays,
        before: Callable[[], Arrays],
        weights: Arrays,
        duals: Arrays,
        directions: Arrays,
        wanted: Sequence[str],
    ) -> dict[str, Any]:
        """The derivatives of `gradient` along `directions`, with constant weights, which it changes: an array for each
        name in `wanted`. `duals` are the derivatives of the results along the directions."""
        kernel = self._kernels["vjp.jvp"]
        made, first = ({name: self._zeros(given[name]) for name in wanted} for _ in range(2))
        still = {name: self._zeros(one) for name, one in weights.items()}
        rows = {"grad": {**first, **weights}, "grad.dual": {**made, **still}, "dual": {**directions, **duals}}
        hidden = self._hidden(kernel, rows)
        values = self._values(kernel, given, before, hidden)
        for k, (position, kind) in enumerate(kernel.hidden):
            name = self._names[position]
            if kind == "dual" and name in duals and values[position] is not given[name]:
                hidden[k] = self._zeros(duals[name])  # results as they were before do not depend on arguments
        kernel.call_with(values, hidden)
        return made

    def _hidden(self, kernel: Kernel, arrays: Mapping[str, Arrays]) -> list[Any]:
        return [arrays[kind].get(self._names[position]) for position, kind in kernel.hidden]

    def _ordered(self, given: Arrays) -> list[Any]:
        return [given[name] for name in self._names]

    def _values(self, kernel: Kernel, given: Arrays, before: Callable[[], Arrays], hidden: Sequence[Any]) -> list[Any]:
        """The arguments of a derivative. Where it needs the values of results from before the kernel ran, they are made
        again."""
        values = self._ordered(given)
        facts = kernel._instance(kernel._program(), None, [*values, *hidden]).facts
        places = () if facts is None else facts.saved
        saved = {self._names[int(place.removeprefix("param:"))] for place in places if place.startswith("param:")}
        if not saved:
            return values
        again = before()
        if not saved <= again.keys():
            raise WeftError(f"{kernel.__name__}() needs values of {', '.join(sorted(saved))} that were overwritten")
        return self._ordered({**given, **{name: again[name] for name in saved}})


def _derivative(kernel: Kernel, mode: str) -> Kernel:
    """A derivative that does not warn of old values, because its callers give them. It adds to the gradients of fields,
    too, and no tape runs it."""
    made = type(kernel)(kernel.function, mode)
    made.primal, made.restores, made.given = kernel, True, "vjp" in mode
    return made
