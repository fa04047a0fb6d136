"""What the demos that learn share: a rule that moves parameters down their gradient, and a line about the progress."""

import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

import weft as ti


@ti.data_oriented
class Adam:
    """Moves fields of floats, vectors or matrices against their gradients; `rate` is about the change in one step.

    A step is in proportion to the mean of the last gradients, divided by the root of the mean of their squares.
    Source: Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015."""

    def __init__(self, fields: Iterable[Any], rate: float, mean: float = 0.9, square: float = 0.99):
        self.fields, self.rate, self.mean, self.square, self.count = list(fields), rate, mean, square, 0
        self.means, self.squares = ([alike(field) for field in self.fields] for _ in range(2))

    @ti.kernel
    def move(self, x: ti.Template, m: ti.Template, s: ti.Template, rate: ti.f32, fade: ti.f32):
        for i in ti.grouped(x):
            m[i] = self.mean * m[i] + (1 - self.mean) * x.grad[i]
            s[i] = self.square * s[i] + (1 - self.square) * x.grad[i] ** 2
            x[i] -= rate * m[i] / (ti.sqrt(s[i] / fade) + 1e-12)

    def step(self, share: float = 1.0) -> None:
        """Change the fields; `share` of the rate."""
        self.count += 1
        rate = share * self.rate / (1 - self.mean**self.count)
        for x, m, s in zip(self.fields, self.means, self.squares):
            self.move(x, m, s, rate, 1 - self.square**self.count)


@ti.data_oriented
class Polyak:
    """Moves each vector of x to where its own loss would be 0 if it were linear, until its loss is `enough`.

    A change is not longer than `far`. After one for the worse, it starts again from the best, and goes half as far.
    Source: Polyak, "Introduction to optimization", 1987."""

    def __init__(self, x: Any, loss: Any, enough: float, far: float):
        self.x, self.loss, self.enough = x, loss, enough
        self.best, self.slope = alike(x), alike(x)  # the element with the least loss so far, and the gradient there
        self.least, self.far = alike(loss), alike(loss)
        self.least.fill(1e30)
        self.far.fill(far)

    @ti.kernel
    def step(self):
        for i in self.x:
            if self.loss[i] < self.least[i]:
                self.least[i], self.best[i], self.slope[i] = self.loss[i], self.x[i], self.x.grad[i]
            else:
                self.far[i] *= 0.5
            if self.least[i] > self.enough:
                change = ti.min(self.far[i], self.least[i] / (self.slope[i].norm() + 1e-9))
                self.x[i] = self.best[i] - change * self.slope[i].normalized(1e-9)


def alike(field: Any) -> Any:
    """A field of the same type and shape."""
    kind = (ti.field, partial(ti.Vector.field, *field.element_shape), partial(ti.Matrix.field, *field.element_shape))
    return kind[len(field.element_shape)](field.dtype, field.shape)


def say(number: int, loss: float, note: str = "") -> None:
    """Print the loss of a round, and what else there is to say, in the place of a bar of progress."""
    clear = "\r\x1b[K" if sys.stdout.isatty() else ""
    print(f"{clear}round {number:3}: loss {loss:.5g}" + (note and f", {note}"), flush=True)
