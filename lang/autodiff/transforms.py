"""`ti.ad.grad`, `value_and_grad`, `jvp`, `vjp` and `hvp`: functions that compute derivatives of functions.

    energy()                                computes loss[None] of the field x
    ti.ad.grad(energy, x, loss)()           the gradient of it by x, as a numpy array

The function is a kernel, or a Python function that launches kernels. They compute the derivative of the whole
function: all memory of floats that it uses carries derivatives, whether or not it has `needs_grad`."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import update_wrapper
from threading import RLock
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch, WeftError
from weft.lang.autodiff.contexts import active
from weft.lang.autodiff.nesting import hand_out
from weft.lang.autodiff.propagation import Propagation
from weft.lang.autodiff.recording import Recording
from weft.lang.autodiff.selection import (
    Call,
    Made,
    Number,
    Selection,
    check_memory,
    direction_of,
    is_memory,
    name_of,
    numbers_of,
)
from weft.lang.autodiff.variables import called, elements_of
from weft.lang.autodiff.versions import Latest
from weft.lang.errors import ArgumentError
from weft.lang.values.matrix import Matrix
from weft.runtime.forks import forkable

__all__ = ["Outputs", "alone", "grad", "hvp", "jvp", "named", "value_and_grad", "vjp"]

_lock = forkable(RLock())  # the memory of derivatives belongs to one call at a time


def grad(function: Callable[..., Any], wrt: Any, loss: Any = None) -> Callable[..., Any]:
    """The function that computes the gradient of a loss.

    Example:
        x, total = ti.field(ti.f64, 3), ti.field(ti.f64, ())

        @ti.kernel
        def energy(k: ti.f64):
            for i in x:
                total[None] += k * x[i] ** 2

        x.fill(2.0)
        ti.ad.grad(energy, x, total)(0.5)       # array([2., 2., 2.])
        ti.ad.grad(energy, "k", total)(0.5)     # 12.0

    `function` is a kernel, or a Python function that launches kernels. `wrt` is what to differentiate by: a field, an
    ndarray, or the name or position of a parameter. A parameter of a kernel may be a float, vector or matrix that is
    passed by value. A list of several gives a tuple. `loss` is a field or ndarray of floats with one number, which is
    set to 0 first. Without it, the loss is what the function returns: a float that a kernel returned, or such a field
    or ndarray.

    The result takes the arguments of `function`. It runs the function, with all its effects, and returns a numpy array
    of the shape of `wrt.to_numpy()`, or a Python number for one number. Fields need no `needs_grad`. Where memory has a
    gradient, `x.grad` is used and holds the gradient afterwards.

    Raises TypeMismatch or ArgumentError for a `wrt` or a loss that does not fit, CompilationError with the line of a
    kernel that cannot be differentiated, and WeftError in the block of a tape."""
    both = value_and_grad(function, wrt, loss)
    return named(lambda *args, **keywords: both(*args, **keywords)[1], function, "gradient")


def value_and_grad(function: Callable[..., Any], wrt: Any, loss: Any = None) -> Callable[..., Any]:
    """As `grad`. The result gives the loss and the gradient.

    Example:
        x = ti.field(ti.f64, 2)

        @ti.kernel
        def energy() -> ti.f64:
            return x[0] ** 2 * x[1]

        x.fill(3.0)
        ti.ad.value_and_grad(energy, x)()       # (27.0, array([18.,  9.]))

    Raises what `grad` raises."""
    chosen = Selection(function, wrt)
    if loss is not None:
        _check_loss(loss)

    def value_and_gradient(*args: Any, **keywords: Any) -> Any:
        with alone("grad", nests=True):
            call, variables, recording = _prepared(function, chosen, loss, args, keywords)
            with recording:
                returned = call.run()
            output = _output(recording, loss, returned, function)
            recording.warn_of_results([returned])
            recording.pull([(output, 1.0)])
            return _value(loss, returned), chosen.joined([recording.gradient(one) for one in variables])

    return named(value_and_gradient, function, "value and the gradient")


def vjp(function: Callable[..., Any], wrt: Any, out: Any = None) -> Callable[..., Any]:
    """The function that gives the outputs of a function, and the product of weights with its Jacobian.

    Example:
        x, y = ti.field(ti.f64, 3), ti.field(ti.f64, 2)

        @ti.kernel
        def multiply(k: ti.f64):
            for i in y:
                y[i] = k * x[i] * x[i + 1]

        x.from_numpy(np.array([1.0, 2.0, 3.0]))
        value, pull = ti.ad.vjp(multiply, x, y)(10.0)
        value                   # array([20., 60.])
        pull([1.0, 0.0])        # array([20., 10.,  0.])

    `function` and `wrt` are as in `grad`. `out` is a field or ndarray of floats, or a list of them. Without it, the
    outputs are what the function returns. Nothing is set to 0 first. `pull` takes weights of the shape of the outputs,
    and returns arrays of the shape of `wrt`. It may be called again, also after memory has changed: it keeps copies of
    the values that it needs.

    Raises what `grad` raises."""
    chosen, outputs = Selection(function, wrt), Outputs(out)

    def value_and_pull(*args: Any, **keywords: Any) -> Any:
        with alone("vjp"):
            call = Call(function, args, keywords)
            variables = chosen.variables(call)
            recording = Recording(call.kernel, [one.name for one in variables if isinstance(one, Number)])
            for one in variables:
                recording.choose(one)
            with recording:
                returned = call.run()
            memories, values = outputs.of(returned, recording.box_of_result, function)
            for memory in memories:
                recording.meet(memory)
            recording.warn_of_results(outputs.listed(returned))
            kept = recording.values()

        def pull(weights: Any) -> Any:
            with alone("vjp"):
                every = outputs.split(weights, returned)
                latest = Latest()
                for copy in kept:
                    latest.put_back(copy)
                try:
                    given = [direction_of(w, m, "the weights") for w, m in zip(every, memories, strict=True)]
                    recording.pull(list(zip(memories, given, strict=True)))
                    return chosen.joined([recording.gradient(one) for one in variables])
                finally:
                    latest.restore()

        return outputs.joined(values, returned), pull

    return named(value_and_pull, function, "product of weights and the Jacobian")


def jvp(function: Callable[..., Any], wrt: Any, out: Any = None) -> Callable[..., Any]:
    """The function that gives the outputs of a function, and its derivative along a direction.

    Example:
        x, y = ti.field(ti.f64, 3), ti.field(ti.f64, 2)

        @ti.kernel
        def multiply(k: ti.f64):
            for i in y:
                y[i] = k * x[i] * x[i + 1]

        x.from_numpy(np.array([1.0, 2.0, 3.0]))
        ti.ad.jvp(multiply, x, y)([1.0, 0.0, 0.0], 10.0)        # (array([20., 60.]), array([20.,  0.]))

    `function`, `wrt` and `out` are as in `vjp`. The result takes a direction, with the shape of `wrt`, and then the
    arguments of the function. It returns the outputs, and the derivative of each of their numbers along the direction.
    It uses forward mode, which costs about as much as the function. Fields need no `needs_dual`.

    Raises what `grad` raises."""
    chosen, outputs = Selection(function, wrt, "jvp*"), Outputs(out)

    def value_and_derivative(direction: Any, *args: Any, **keywords: Any) -> Any:
        with alone("jvp", nests=True):
            call = Call(function, args, keywords)
            forward = _forward(call, chosen, direction)
            with forward:
                returned = call.run()
            found, values = outputs.of(returned, forward.dual_of_result, function)
            for one in active():
                one.consume(outputs.listed(returned))
            duals = [_given(forward.dual(one)) if is_memory(one) else one for one in found]
            return outputs.joined(values, returned), outputs.joined(duals, returned)

    return named(value_and_derivative, function, "derivative along a direction", first=1)


def hvp(function: Callable[..., Any], wrt: Any, loss: Any = None) -> Callable[..., Any]:
    """The function that computes the product of the Hessian of a loss with a direction.

    Example:
        x = ti.field(ti.f64, 2)

        @ti.kernel
        def energy(k: ti.f64) -> ti.f64:
            return k * x[0] ** 2 * x[1]

        x.fill(3.0)
        ti.ad.hvp(energy, x)([1.0, 0.0], 0.5)       # array([3., 3.])

    `function`, `wrt` and `loss` are as in `grad`. The result takes a direction, with the shape of `wrt`, and then the
    arguments of the function. It returns an array of the shape of `wrt`. It uses forward mode over reverse mode: no
    Hessian is stored, and the cost is a small multiple of that of the gradient.

    Raises what `grad` raises."""
    chosen = Selection(function, wrt, "vjp.jvp*")
    if loss is not None:
        _check_loss(loss)

    def hessian_vector_product(direction: Any, *args: Any, **keywords: Any) -> Any:
        with alone("hvp", nests=not any(one.records for one in active())):
            duals = _forward(Call(function, args, keywords), chosen, direction)
            call, variables, recording = _prepared(function, chosen, loss, args, keywords, duals)
            with recording:
                returned = call.run()
            output = _output(recording, loss, returned, function)
            recording.warn_of_results([returned])
            recording.pull([(output, 1.0)])
            return chosen.joined([recording.gradient(one, "grad.dual") for one in variables])

    return named(hessian_vector_product, function, "product of the Hessian and a direction", first=1)


# ---- the parts -------------------------------------------------------------------------------------------------------


@contextmanager
def alone(name: str, nests: bool = False) -> Generator[None]:
    """Let no other call use the memory of derivatives. Raises WeftError in the block of a tape, and unless it `nests`
    in a function that is differentiated."""
    if not all(nests and one.nests for one in active()):
        where = "" if nests else ", or in a function that is differentiated"
        raise WeftError(f"a function of ti.ad.{name} is called in a block of ti.ad{where}: call it outside")
    with _lock:
        yield


def named(made: Callable[..., Any], function: Any, what: str, first: int = 0) -> Callable[..., Any]:
    """Give a function that was made of another one its name. It takes the arguments of that one, after so many that
    come `first`."""
    update_wrapper(made, function, assigned=("__name__", "__module__"), updated=())
    made.made_of = Made(function, first)  # type: ignore[attr-defined]
    made.__doc__ = f"The {what} of {name_of(function)}."
    return made


def _prepared(
    function: Any, chosen: Selection, loss: Any, args: Any, keywords: Any, duals: Propagation | None = None
) -> tuple[Call, list[Any], Recording]:
    """The call, what it is differentiated by, and the recording of it."""
    call = Call(function, args, keywords)
    variables = chosen.variables(call)
    if loss is not None:
        if any(one is loss for one in variables):
            raise ArgumentError("wrt is the loss itself")
        if duals is not None:
            duals.seed(loss, np.zeros(elements_of(loss)))
        loss.fill(0)
    recording = Recording(call.kernel, [one.name for one in variables if isinstance(one, Number)], duals)
    for one in variables:
        recording.choose(one)
    if loss is not None:
        recording.meet(loss)
    return call, variables, recording


def _forward(call: Call, chosen: Selection, direction: Any) -> Propagation:
    """Forward mode along a direction."""
    forward = Propagation(call.kernel)
    variables = chosen.variables(call)
    for one, given in zip(variables, chosen.split(direction, "the direction"), strict=True):
        forward.seed(one, direction_of(given, one, "the direction"))
    return forward


def _check_loss(loss: Any) -> None:
    check_memory(loss, "the loss")
    count = math.prod(elements_of(loss))
    if count != 1:
        raise ArgumentError(f"the loss {called(loss)} must be one number, but it has {count}: add them up in a kernel")


def _output(recording: Recording, loss: Any, returned: Any, function: Any) -> Any:
    """The memory of the loss."""
    if loss is not None:
        return loss
    if _is_number(returned):
        box = recording.box_of_result(returned)
        if box is None:
            raise _foreign(returned, function)
        if math.prod(elements_of(box)) != 1:
            raise ArgumentError(f"'{name_of(function)}' returns {returned}, but a loss must be one number")
        return box
    if not is_memory(returned):
        raise TypeMismatch(
            f"'{name_of(function)}' returns {returned!r}, which is no loss: name one, as in loss=total, or return a "
            "float of a kernel, or a field or ndarray with one number"
        )
    _check_loss(returned)
    recording.meet(returned)
    return returned


def _value(loss: Any, returned: Any) -> Any:
    if loss is None and _is_number(returned):
        return returned
    memory = returned if loss is None else loss
    return hand_out(np.asarray(memory.to_numpy()).reshape(()).item(), memory)


def _given(memory: Any) -> Any:
    """The numbers in memory, whose derivative the blocks around know."""
    return hand_out(numbers_of(memory), memory)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.generic, np.ndarray, Matrix)) and not isinstance(value, bool)


def _foreign(returned: Any, function: Any) -> TypeMismatch:
    return TypeMismatch(
        f"'{name_of(function)}' returns {returned!r}, which Python has computed, so its derivative is not known: "
        "return what a kernel has returned, or let a kernel store it in a field"
    )


class Outputs:
    """The outputs of a function: memory that the user names, or what it returns."""

    def __init__(self, out: Any) -> None:
        self._out = out
        for one in self.listed(None) if out is not None else []:
            check_memory(one, "out")

    def listed(self, returned: Any) -> Sequence[Any]:
        """The outputs, one after another."""
        out = returned if self._out is None else self._out
        return list(out) if isinstance(out, (list, tuple)) else [out]

    def of(self, returned: Any, of_number: Callable[[Any], Any], function: Any) -> tuple[list[Any], list[Any]]:
        """The memory of each output, or for a number what `of_number` gives, and the value of each output."""
        memories, values = list[Any](), list[Any]()
        for one in self.listed(returned):
            if _is_number(one):
                known = of_number(one)
                if known is None:
                    raise _foreign(one, function)
                memories.append(known)
                values.append(one)
                continue
            if one is None:
                raise TypeMismatch(f"'{name_of(function)}' returns nothing: name its output, as in out=y")
            check_memory(one, "an output")
            memories.append(one)
            values.append(numbers_of(one))
        return memories, values

    def joined(self, values: Sequence[Any], returned: Any) -> Any:
        """A value for each output, as the user wants them."""
        out = returned if self._out is None else self._out
        return tuple(values) if isinstance(out, (list, tuple)) else values[0]

    def split(self, weights: Any, returned: Any) -> Sequence[Any]:
        """The weights of each output."""
        out = returned if self._out is None else self._out
        if not isinstance(out, (list, tuple)):
            return [weights]
        if not isinstance(weights, (list, tuple)) or len(weights) != len(out):
            raise ArgumentError(f"the weights must be a list of {len(out)} arrays, one for each output")
        return weights
