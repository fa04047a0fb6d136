"""JAX on the CPU: programs with derivatives. One program is one function, compiled as a whole."""

from __future__ import annotations

import os

if os.environ.get("OMP_NUM_THREADS") == "1":  # set by the worker, which is imported first
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import array_peers
import inputs
import jax
import jax.numpy as jnp
from inputs import Program, sample


def _program(function, *args):
    run, found = jax.jit(function), []

    def step():
        found[:] = jax.block_until_ready(run(*args))

    return Program(step, lambda: sample(*found))


def smoke(differentiate):
    """The smoke, with or without its gradient."""

    def repeat(step, state, count):
        return jax.lax.scan(lambda state, _: (step(state), None), state, length=count)[0]

    def loss(start, ink, target):
        return array_peers.smoke(jnp, lambda x: x.astype(jnp.int32), jnp.roll, repeat, start, ink, target)

    given = array_peers.smoke_inputs()
    if differentiate:
        return _program(jax.value_and_grad(loss), *given)
    return _program(lambda *args: (loss(*args),), *given)


def energy(order):
    """The energy of bodies, with its gradient, or with the product of its Hessian and a direction."""

    def loss(x):
        return array_peers.energy(jnp, x)

    x, along = inputs.floats(8192, 3), inputs.floats(8193, 3)[1:].copy()
    if order == 2:
        return _program(lambda x, d: (jax.jvp(jax.grad(loss), (x,), (d,))[1],), x, along)
    return _program(jax.value_and_grad(loss) if order else lambda x: (loss(x),), x)


PROGRAMS = {
    "smoke_110": lambda: smoke(False),
    "smoke_110_gradient": lambda: smoke(True),
    "energy_8192": lambda: energy(0),
    "energy_8192_gradient": lambda: energy(1),
    "energy_8192_hvp": lambda: energy(2),
}
