"""Gradients of `ti.torch.op`: those of the kernel, or those that another kernel computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.ir.errors import CompilationError, WeftError
from weft.lang.arrays.op_derivatives import OpDerivatives
from weft.lang.calls.parameters import ArrayParameter

__all__ = ["register_backward", "register_derived"]


def register_backward(torch: Any, name: str, operator: Any, forward: Any, backward: Any) -> None:
    """Let the plan `backward` compute the gradients of the operator in autograd. It becomes an operator itself."""
    inputs = [p.name for p in forward.inputs]
    results = [p.name for p in forward.parameters if p.name in forward.makers]
    tensors = [p.name for p in forward.inputs if isinstance(p, ArrayParameter)]
    wanted = {f"grad_{one}": one for one in tensors if f"grad_{one}" in backward.mutated}
    _check_backward(backward, wanted, {*inputs, *results, *(f"grad_{one}" for one in results)})
    gradients = torch.library.custom_op(
        f"{name}_backward", backward.run, mutates_args=backward.mutated, schema=backward.schema()
    )
    gradients.register_fake(backward.fake)
    asked = [p.name for p in backward.inputs]

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        outputs = output if isinstance(output, tuple) else (output,)
        given = dict(zip([*(p.name for p in forward.inputs), *results], [*inputs, *outputs]))
        needed = {one: given[one] for one in given if one in asked or f"grad_{one}" in wanted}
        ctx.names = [one for one, value in needed.items() if isinstance(value, torch.Tensor)]
        ctx.numbers = {one: value for one, value in needed.items() if one not in ctx.names}
        ctx.save_for_backward(*(needed[one] for one in ctx.names))

    def flow(ctx: Any, *coming: Any) -> Any:
        given = {**ctx.numbers, **dict(zip(ctx.names, ctx.saved_tensors))}
        given.update({f"grad_{one}": gradient for one, gradient in zip(results, coming)})
        made = {one: torch.zeros_like(given[of], memory_format=torch.contiguous_format) for one, of in wanted.items()}
        gradients(*(made[one] if one in made else given[one] for one in asked))
        return tuple(made.get(f"grad_{one}") for one in inputs)

    operator.register_autograd(flow, setup_context=keep)


def _check_backward(backward: Any, wanted: dict[str, str], given: set[str]) -> None:
    """Raise CompilationError if the kernel has a parameter that does not exist, or writes to its inputs."""
    for one in backward.inputs:
        if one.name not in given and one.name not in wanted:
            known = ", ".join(sorted({*given, *wanted}))
            raise CompilationError(
                f"{backward.label} cannot have the parameter '{one.name}'; the parameters that it may have are {known}"
            )
    for name in backward.mutated:
        if name not in wanted:
            raise CompilationError(f"{backward.label} writes to '{name}', which is not a gradient of a parameter")
    if not wanted:
        raise CompilationError(
            f"{backward.label} does not write to any gradient: the name of a gradient array is 'grad_' and the "
            "name of a tensor"
        )


# ---- derived gradients -----------------------------------------------------------------------------------------------


class _Derived:
    """The gradient of an operator, and the gradient of that, as operators. Tensors that are not wanted are empty."""

    def __init__(self, torch: Any, forward: Any) -> None:
        self._torch, self._forward = torch, forward
        self.inputs = [p.name for p in forward.inputs]
        self.results = [p.name for p in forward.parameters if p.name in forward.makers]
        self.tensors = [p.name for p in forward.inputs if isinstance(p, ArrayParameter)]
        self._derivatives = OpDerivatives(forward.kernel, [p.name for p in forward.parameters], self._zeros)

    def schemas(self) -> tuple[str, str]:
        """The schemas of both operators."""
        weights = [f"Tensor? grad_{name}" for name in self.results]
        given = [*weights, *self._forward.listed(), *(f"Tensor {name}" for name in self.results)]
        first = ", ".join(["Tensor"] * len(self.tensors))
        second = ", ".join(["Tensor"] * (len(self.results) + len(self.tensors)))
        directions = [f"Tensor? along_{name}" for name in self.tensors]
        return (
            f"({', '.join([*given, 'bool[] wanted'])}) -> {first if len(self.tensors) == 1 else f'({first})'}",
            f"({', '.join([*directions, *given, 'bool[] wanted'])}) -> ({second})",
        )

    def gradient(self, *args: Any) -> Any:
        """The gradients of the tensors, as far as they are wanted."""
        weights, given, wanted = self._split(args)
        chosen = [name for name, is_wanted in zip(self.tensors, wanted, strict=True) if is_wanted]
        made = self._derivatives.gradient(given, lambda: self._again(given), self._clones(weights), chosen)
        return _answer([made[name] if name in made else self._empty(given[name]) for name in self.tensors])

    def gradient_fake(self, *args: Any) -> Any:
        """Return what `gradient` returns, without computing it."""
        _, given, wanted = self._split(args)
        pairs = zip(self.tensors, wanted, strict=True)
        return _answer([(self._zeros if is_wanted else self._empty)(given[name]) for name, is_wanted in pairs])

    def second(self, *args: Any) -> tuple[Any, ...]:
        """The gradients of the gradient: by the gradients of the results, and by the tensors that are wanted."""
        count = len(self.tensors)
        weights, given, wanted = self._split(args[count:])
        directions = {name: one for name, one in zip(self.tensors, args[:count], strict=True) if one is not None}
        directions = {name: one.detach().contiguous() for name, one in directions.items()}
        chosen = [name for name, is_wanted in zip(self.tensors, wanted, strict=True) if is_wanted]
        results = {name: one for name, one in self._again(given).items() if _is_float(one)}
        others = {name: one for name, one in self._again(given).items() if name not in results}
        duals = self._derivatives.along({**given, **others}, results, directions)
        by_tensors = {}
        if chosen:
            by_tensors = self._derivatives.second(
                given, lambda: self._again(given), self._clones(weights), duals, directions, chosen
            )
        first = [duals[name] if name in duals else self._empty(given[name]) for name in self.results]
        return (*first, *(by_tensors.get(name, self._empty(given[name])) for name in self.tensors))

    def second_fake(self, *args: Any) -> tuple[Any, ...]:
        """Return what `second` returns, without computing it."""
        _, given, wanted = self._split(args[len(self.tensors) :])
        first = [(self._zeros if _is_float(given[name]) else self._empty)(given[name]) for name in self.results]
        pairs = zip(self.tensors, wanted, strict=True)
        return (*first, *((self._zeros if is_wanted else self._empty)(given[name]) for name, is_wanted in pairs))

    def _split(self, args: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any], Sequence[bool]]:
        """The gradients of the results, the arguments and results, and which gradients are wanted."""
        count = len(self.results)
        names = [*self.inputs, *self.results]
        given = {
            name: one.detach() if isinstance(one, self._torch.Tensor) else one
            for name, one in zip(names, args[count : count + len(names)], strict=True)
        }
        return dict(zip(self.results, args[:count], strict=True)), given, args[-1]

    def _again(self, given: dict[str, Any]) -> dict[str, Any]:
        """New tensors for the results, as they are before the kernel runs."""
        made: dict[str, Any] = self._forward.results({name: given[name] for name in self.inputs})
        return made

    def _clones(self, weights: dict[str, Any]) -> dict[str, Any]:
        form = self._torch.contiguous_format
        return {name: one.detach().clone(memory_format=form) for name, one in weights.items() if one is not None}

    def _zeros(self, like: Any) -> Any:
        return self._torch.zeros_like(like, memory_format=self._torch.contiguous_format)

    def _empty(self, like: Any) -> Any:
        return like.new_empty((0,))


def register_derived(torch: Any, name: str, operator: Any, forward: Any) -> None:
    """Let autograd compute the gradients of the operator by those of its kernel."""
    derived = _Derived(torch, forward)
    if not derived.tensors:
        return
    schema, second_schema = derived.schemas()
    gradient = torch.library.custom_op(f"{name}_gradient", derived.gradient, mutates_args=(), schema=schema)
    second = torch.library.custom_op(f"{name}_second", derived.second, mutates_args=(), schema=second_schema)
    gradient.register_fake(derived.gradient_fake)
    second.register_fake(derived.second_fake)
    results, tensors, inputs = len(derived.results), derived.tensors, derived.inputs

    def wanted(given: Sequence[Any], needed: Sequence[bool]) -> list[bool]:
        """Which tensors need a gradient, by the arguments of the operator."""
        rows = zip(inputs, given, needed)
        return [needs and _is_float(one) for name, one, needs in rows if name in tensors]

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        _save(torch, ctx, [*inputs, *(output if isinstance(output, tuple) else (output,))])

    def flow(ctx: Any, *coming: Any) -> Any:
        if forward.draws:
            raise WeftError(
                f"{forward.label} draws random numbers, which its gradient cannot draw again: pass them as a tensor"
            )
        given = _saved(ctx)
        asked = wanted(given, ctx.needs_input_grad)
        weights = [one if _is_float(of) else None for one, of in zip(coming, given[len(inputs) :], strict=True)]
        made = gradient(*weights, *given, asked)
        every = made if isinstance(made, tuple) else (made,)
        found = dict(zip(tensors, zip(every, asked, strict=True), strict=True))
        return tuple(found[one][0] if one in found and found[one][1] else None for one in inputs)

    def keep_gradient(ctx: Any, inputs: Any, output: Any) -> None:
        _save(torch, ctx, inputs)

    def flow_gradient(ctx: Any, *coming: Any) -> Any:
        *given, asked = _saved(ctx)
        directions = [one if is_asked else None for one, is_asked in zip(coming, asked, strict=True)]
        again = wanted(given[results : results + len(inputs)], ctx.needs_input_grad[results:])
        found = second(*directions, *given, again)
        weights = [one if of is not None else None for one, of in zip(found[:results], given[:results], strict=True)]
        by_tensors = dict(zip(tensors, zip(found[results:], again, strict=True), strict=True))
        others = [by_tensors[one][0] if one in by_tensors and by_tensors[one][1] else None for one in inputs]
        return (*weights, *others, *[None] * results, None)

    operator.register_autograd(flow, setup_context=keep)
    gradient.register_autograd(flow_gradient, setup_context=keep_gradient)


def _answer(made: list[Any]) -> Any:
    """What an operator returns: one tensor, or a tuple."""
    return made[0] if len(made) == 1 else tuple(made)


def _is_float(value: Any) -> bool:
    return bool(value.is_floating_point())


def _save(torch: Any, ctx: Any, values: Sequence[Any]) -> None:
    """Keep tensors as autograd wants it, and other values beside them."""
    ctx.places = [k for k, one in enumerate(values) if isinstance(one, torch.Tensor)]
    ctx.others = [None if k in ctx.places else one for k, one in enumerate(values)]
    ctx.save_for_backward(*(values[k] for k in ctx.places))


def _saved(ctx: Any) -> list[Any]:
    values = list(ctx.others)
    for k, one in zip(ctx.places, ctx.saved_tensors, strict=True):
        values[k] = one
    return values
