"""`ti.warm`: compiles several kernels in parallel."""

from __future__ import annotations

from typing import Any

from weft.lang.errors import ArgumentError

__all__ = ["warm"]


def warm(*calls: Any) -> None:
    """Compile several kernels in parallel, before their first use: `ti.warm(step, (draw, image), (solver.solve, 0.1))`.

    Each of `calls` is a kernel without parameters, or a tuple of a kernel and arguments as in `Kernel.compile`. Returns
    when all of them are compiled. Raises the first error in the order of `calls`.

    Example:
        x = ti.field(ti.f32, 100)

        @ti.kernel
        def clear():
            for i in x:
                x[i] = 0

        @ti.kernel
        def add(amount: ti.f32):
            for i in x:
                x[i] += amount

        ti.warm(clear, (add, 1.0))
        add(2.5)  # does not compile
        x[0]  # 2.5
    """
    asked = [call if isinstance(call, tuple) else (call,) for call in calls]
    for one, *_ in asked:
        if not getattr(one, "is_kernel", False):
            raise ArgumentError(f"warm takes kernels, and tuples of a kernel and its arguments, not {one!r}")
    futures = [one.compile_async(*args) for one, *args in asked]
    for error in [future.exception() for future in futures]:  # waits for all of them
        if error is not None:
            raise error
