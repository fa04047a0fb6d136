"""`ti.ad.jacobian`: the Jacobian matrix of a function, by forward mode or reverse mode.

Forward mode computes a column for each run of the function. Columns that have no row in common can share a run. Where
the indices in the kernels tell that (`sparsity.py`), they get the same colour: in y[i] = x[i + 1] - x[i - 1], three
runs give all columns. Reverse mode computes a row for each gradient."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.lang.autodiff.colours import Colours, Triplets
from weft.lang.autodiff.propagation import Propagation
from weft.lang.autodiff.recording import Recording
from weft.lang.autodiff.selection import Call, Number, Selection, is_memory, shape_of_memory
from weft.lang.autodiff.sparsity import Tracing
from weft.lang.autodiff.transforms import Outputs, alone, named
from weft.lang.autodiff.variables import numbers_in, places_of
from weft.lang.autodiff.versions import Overwritten
from weft.lang.kernels.draws import next_key, numbers_from
from weft.lang.program.init import program

__all__ = ["jacobian"]


def jacobian(function: Callable[..., Any], wrt: Any, out: Any = None, sparse: bool = False) -> Callable[..., Any]:
    """The function that computes a Jacobian matrix.

    Example:
        x, y = ti.field(ti.f64, 3), ti.field(ti.f64, 2)

        @ti.kernel
        def difference():
            for i in y:
                y[i] = x[i + 1] - x[i]

        ti.ad.jacobian(difference, x, y)().tolist()     # [[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]
        rows, columns, values = ti.ad.jacobian(difference, x, y, sparse=True)()
        values.tolist()                                 # [-1.0, -1.0, 1.0, 1.0]

    `function`, `wrt` and `out` are as in `ti.ad.vjp`. The result takes the arguments of `function`. It returns a numpy
    array with the axes of `out.to_numpy()` and then those of `wrt.to_numpy()`. Below a hash node, there is an axis of
    the active elements instead, in the order of `x.active()`: those of `wrt` before the call, and of `out` after it. A
    list of outputs gives a tuple, and a list for `wrt` a tuple in it. With `sparse`, a matrix is the rows, columns and
    values of its numbers that are not 0, by the positions of the numbers in memory order:
    `scipy.sparse.coo_array((values, (rows, columns)), shape)`.

    It uses forward mode, which runs the function once for each *colour*, or reverse mode, which runs it once and
    computes a gradient for each number of the outputs, whichever needs fewer runs. Columns have the same colour if
    the indices in the kernels prove that no number depends on both. Each run begins with the same memory and draws the
    same random numbers. At the end, memory is as after one call.

    Raises what `ti.ad.grad` raises."""
    chosen, outputs = Selection(function, wrt), Outputs(out)

    def jacobian_matrix(*args: Any, **keywords: Any) -> Any:
        with alone("jacobian"):
            blocks = _Jacobian(Call(function, args, keywords), chosen, outputs).blocks()
        made = [chosen.joined([_shaped(block, sparse) for block in row]) for row in blocks.rows]
        return outputs.joined(made, blocks.returned)

    return named(jacobian_matrix, function, "Jacobian matrix")


@dataclass
class _Block:
    """The derivatives of an output by a variable: a matrix (output numbers x variable numbers), or triplets of it."""

    shape: tuple[int, ...]  # of the output, then of the variable
    matrix: Any = None
    triplets: Triplets | None = None


@dataclass
class _Blocks:
    rows: list[list[_Block]]
    returned: Any


def _shaped(block: _Block, sparse: bool) -> Any:
    if sparse:
        if block.triplets is not None:
            kept = block.triplets[2] != 0
            rows, columns, values = (part[kept] for part in block.triplets)
        else:
            rows, columns = np.nonzero(block.matrix)
            values = block.matrix[rows, columns]
        return rows, columns, values
    if block.triplets is None:
        return block.matrix.reshape(block.shape)
    rows, columns, values = block.triplets
    matrix = np.zeros(block.matrix, values.dtype)
    matrix[rows, columns] = values
    return matrix.reshape(block.shape)


class _Jacobian:
    """One computation."""

    def __init__(self, call: Call, chosen: Selection, outputs: Outputs) -> None:
        self.call, self.outputs = call, outputs
        self.variables = chosen.variables(call)
        self.sizes = [shape_of_memory(one) for one in self.variables]  # before the call, which may activate elements
        self.key = next_key(program())
        self.tracing = Tracing([one for one in self.variables if not isinstance(one, Number)])
        self.memories: list[Any] = []  # of the outputs; a number for one that a kernel returned
        self.shapes: list[tuple[int, ...]] = []
        self.places: list[Any] = []  # of the elements that stand for outputs after the call, see `places_of`

    def blocks(self) -> _Blocks:
        """Run the function, and compute all blocks."""
        with self.tracing:
            returned = self._run()
        self.memories = list(self.outputs.listed(returned))
        self.outputs.of(returned, lambda number: number, self.call.function)  # raises an error for what is no output
        self.places = [places_of(one) if is_memory(one) else None for one in self.memories]
        self.shapes = [shape_of_memory(one) if is_memory(one) else _array(one).shape for one in self.memories]
        colours = [self._colours(k) for k in range(len(self.variables))]
        forward, reverse = sum(one.count for one in colours), sum(map(math.prod, self.shapes))
        if forward > reverse or self.tracing.operated:
            try:
                return self._reverse()
            except Overwritten:  # a gradient in the function, which keeps old values in forward mode only
                if self.tracing.operated:
                    raise
        columns = [self._columns(k, colours[k]) for k in range(len(self.variables))]
        if any(one.merged for one in colours) and not self._agrees(colours, columns):
            colours = [Colours.each(size) for size in self.sizes]
            columns = [self._columns(k, colours[k]) for k in range(len(self.variables))]
        rows = [[self._block(o, k, colours[k], columns[k][o]) for k in range(len(colours))] for o in self._outputs()]
        return _Blocks(rows, returned)

    def _outputs(self) -> range:
        return range(len(self.memories))

    def _run(self) -> Any:
        with numbers_from(program(), self.key):
            return self.call.run()

    def _colours(self, number: int) -> Colours:
        """The colours of the numbers of a variable. (Active elements have no bands.)"""
        variable, shape = self.variables[number], self.sizes[number]
        if isinstance(variable, Number) or not all(map(is_memory, self.memories)):
            return Colours.each(shape)
        if any(places is not None for places in (*self.places, places_of(variable))):
            return Colours.each(shape)
        place = [one for one in self.variables if not isinstance(one, Number)].index(variable)
        found = [self.tracing.bands(place, memory) for memory in self.memories]
        return Colours.of(shape, len(variable.shape), [one for one in found if one is not None])

    # -- forward mode --------------------------------------------------------------------------------------------------

    def _columns(self, number: int, colours: Colours) -> list[Any]:
        """For each output, an array with a row for each colour: the derivatives along the sum of its columns."""
        made = [list[Any]() for _ in self._outputs()]
        for direction in colours.directions():
            for k, dual in enumerate(self._along({number: direction})):
                made[k].append(dual)
        return [np.stack(rows) if rows else np.zeros((0, *shape)) for rows, shape in zip(made, self.shapes)]

    def _along(self, directions: dict[int, Any]) -> list[Any]:
        """Run the function along a direction, and return the derivative of each output."""
        self.tracing.restart()
        forward = Propagation(self.call.kernel)
        for number, direction in directions.items():
            forward.seed(self.variables[number], direction)
        with forward:
            returned = self._run()
        found, _ = self.outputs.of(returned, forward.dual_of_result, self.call.function)
        pairs = zip(found, self.places, strict=True)
        return [numbers_in(forward.dual(one), places) if is_memory(one) else _array(one) for one, places in pairs]

    def _agrees(self, colours: Sequence[Colours], columns: Sequence[list[Any]]) -> bool:
        """Whether the matrix gives the derivative along another direction: colours that share a row would show."""
        random = np.random.default_rng(0)
        chosen = {k: random.uniform(0.5, 1.5, size) for k, size in enumerate(self.sizes)}
        wanted = self._along(chosen)
        for o in self._outputs():
            total, size = np.zeros(math.prod(self.shapes[o])), np.zeros(math.prod(self.shapes[o]))
            for k, along in chosen.items():
                block = self._block(o, k, colours[k], columns[k][o])
                rows, columns_of, values = block.triplets or _triplets_of(block.matrix)
                terms = values * along.ravel()[columns_of]
                np.add.at(total, rows, terms)
                np.add.at(size, rows, np.abs(terms))
            allowed = 1e4 * np.finfo(wanted[o].dtype).eps * (size + 1e-30)
            close = np.abs(total - wanted[o].ravel()) <= allowed
            if not np.all(close | ~np.isfinite(wanted[o].ravel())):
                return False
        return True

    def _block(self, output: int, number: int, colours: Colours, columns: Any) -> _Block:
        rows, shape = math.prod(self.shapes[output]), self.sizes[number]
        block = _Block((*self.shapes[output], *shape), (rows, math.prod(shape)))
        if not colours.merged:
            block.matrix = np.ascontiguousarray(columns.reshape(-1, rows).T)
            return block
        memory, variable = self.memories[output], self.variables[number]
        place = [one for one in self.variables if not isinstance(one, Number)].index(variable)
        bands = self.tracing.bands(place, memory)
        block.triplets = (
            _nothing(columns.dtype) if bands is None else colours.triplets(bands, memory, variable, columns)
        )
        return block

    # -- reverse mode --------------------------------------------------------------------------------------------------

    def _reverse(self) -> _Blocks:
        self.tracing.restart()
        recording = Recording(self.call.kernel, [one.name for one in self.variables if isinstance(one, Number)])
        for one in self.variables:
            recording.choose(one)
        with recording:
            returned = self._run()
        memories, _ = self.outputs.of(returned, recording.box_of_result, self.call.function)
        for memory in memories:
            recording.meet(memory)
        rows = list[list[_Block]]()
        for memory, shape in zip(memories, self.shapes, strict=True):
            made = [list[Any]() for _ in self.variables]
            for weights in np.eye(math.prod(shape)):
                recording.pull([(memory, weights.reshape(shape))])
                for k, one in enumerate(self.variables):
                    made[k].append(np.asarray(recording.gradient(one)).ravel())
            blocks = zip(self.sizes, made, strict=True)
            rows.append([_Block((*shape, *size), np.stack(found)) for size, found in blocks])
        return _Blocks(rows, returned)


def _array(number: Any) -> Any:
    """What a kernel returned, as an array."""
    return np.asarray(getattr(number, "values", number), np.float64)


def _triplets_of(matrix: Any) -> Triplets:
    rows, columns = np.indices(matrix.shape)
    return rows.ravel(), columns.ravel(), matrix.ravel()


def _nothing(dtype: Any) -> Triplets:
    return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, dtype)
