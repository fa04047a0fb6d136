"""`ti.ad`: derivatives of kernels, and of programs that launch kernels.

    x = ti.field(ti.f32, 100, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    with ti.ad.Tape(loss):      # records the kernels, and runs their gradients in reverse order at its end
        energy()
    x.grad                      # the derivative of loss by each element of x

The compiler makes the derivatives (`ir/transforms/differentiate.py`). A kernel's `grad` runs them. This room decides
which kernels run, and when."""

from __future__ import annotations

from weft.lang.autodiff.checking import Check, check
from weft.lang.autodiff.clearing import clear_all_gradients
from weft.lang.autodiff.custom import Custom, custom
from weft.lang.autodiff.derivative import derivative
from weft.lang.autodiff.forward_mode import FwdMode
from weft.lang.autodiff.jacobians import jacobian
from weft.lang.autodiff.replacing import grad_for, grad_replaced, no_grad
from weft.lang.autodiff.solve import solve
from weft.lang.autodiff.steps import steps
from weft.lang.autodiff.tape import Tape
from weft.lang.autodiff.transforms import grad, hvp, jvp, value_and_grad, vjp

__all__ = [
    "Check",
    "Custom",
    "FwdMode",
    "Tape",
    "check",
    "clear_all_gradients",
    "custom",
    "derivative",
    "grad",
    "grad_for",
    "grad_replaced",
    "hvp",
    "jacobian",
    "jvp",
    "no_grad",
    "solve",
    "steps",
    "value_and_grad",
    "vjp",
]
