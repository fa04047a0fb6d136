"""PyTorch on the CPU, without its compiler: programs with derivatives."""

from __future__ import annotations

import os

import array_peers
import inputs
import torch
from inputs import Program, sample

if os.environ.get("OMP_NUM_THREADS") == "1":
    torch.set_num_threads(1)


def _program(function, order, x, *others):
    """`order`: 0 for the loss, 1 for the loss and its gradient by `x`, 2 for the product of its Hessian and the last
    of the others."""
    given, found = torch.from_numpy(x).requires_grad_(order > 0), []
    rest = [torch.from_numpy(one) for one in others]

    def step():
        if order == 2:
            (slope,) = torch.autograd.grad(function(given), given, create_graph=True)
            (found[:],) = (torch.autograd.grad(slope, given, rest[0]),)
        elif order:
            loss = function(given, *rest)
            found[:] = [loss, *torch.autograd.grad(loss, given)]
        else:
            found[:] = [function(given, *rest)]

    return Program(step, lambda: sample(*(one.detach().numpy() for one in found)))


def _smoke(start, ink, target):
    def integers(x):
        return x.to(torch.int64)

    def roll(x, shift, axis):
        return torch.roll(x, shift, axis)

    def repeat(step, state, count):
        for _ in range(count):
            state = step(state)
        return state

    return array_peers.smoke(torch, integers, roll, repeat, start, ink, target)


def _energy(x):
    return array_peers.energy(torch, x)


def energy(order):
    """The energy of bodies."""
    along = [inputs.floats(8193, 3)[1:].copy()] if order == 2 else []
    return _program(_energy, order, inputs.floats(8192, 3), *along)


PROGRAMS = {
    "smoke_110": lambda: _program(_smoke, 0, *array_peers.smoke_inputs()),
    "smoke_110_gradient": lambda: _program(_smoke, 1, *array_peers.smoke_inputs()),
    "energy_8192": lambda: energy(0),
    "energy_8192_gradient": lambda: energy(1),
    "energy_8192_hvp": lambda: energy(2),
}
