"""Elements of sparse fields in Python scope: a window that looks like the numpy array of a dense field.

Only kernels know where an element of a sparse field lies. The functions of SPARSE launch such kernels.
`lang/sparse_fields` sets them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.ir.scalar import cast_value
from weft.lang.data.elements import FieldIndexError
from weft.lang.values.numbers import array_of
from weft.lang.values.types import cast_numbers

__all__ = ["DORMANT", "SPARSE", "Active", "ActiveCells", "ActiveNumbers", "CellsOf", "SparseAccess", "SparseWindow"]


class SparseAccess:
    """Functions on sparse fields (x, y) and on nodes of a tree. An index counts from `x.offset`."""

    load: Callable[[Any, tuple[int, ...]], Any]  # (x, index): the element as a numpy array
    store: Callable[[Any, tuple[int, ...], Any], None]  # (x, index, numpy array): activates the element
    # (operation, node, index): `activate`, `deactivate`, `is_active` or `length` of a cell or a list
    on_cell: Callable[[str, Any, Sequence[int]], Any]
    gather: Callable[[Any], Any]  # (x): all elements as a numpy array
    scatter: Callable[[Any, Any], None]  # (x, numpy array): sets all elements; activates those that are not 0
    fill: Callable[[Any, Any], None]  # (x, numpy array of one element): sets the active elements
    copy: Callable[[Any, Any], None]  # (x, y): sets x to y, and activates what is active in y
    active: Callable[[Any], Any]  # (x): the indices (n, axes) of the active elements, in order
    visits: Callable[[Any], tuple[Any, Any]]  # (x, or a node): these in the order of loops, and their numbers
    read: Callable[[Any, Any], Any]  # (x, indices): the elements with these indices as a numpy array
    write: Callable[[Any, Any, Any], None]  # (x, indices, numpy array): sets them, which activates them
    assign: Callable[[Any, Any, Any], None]  # the same, which blocks of `ti.ad` record
    to_nanovdb: Callable[..., None]  # (x, path, name, voxel_size, origin, codec): see `Active`
    from_nanovdb: Callable[[Any, Any, str, int], None]  # (x, path, name, index)
    to_coo: Callable[[Any], Any]  # (x): a matrix of scipy
    to_torch_sparse: Callable[[Any, Any], Any]  # (x, device): a tensor of torch
    describe: Callable[[Any], str]  # (tree): its nodes, how many cells are active, and their bytes
    deactivate_all: Callable[[Any, Sequence[Any]], None]  # (tree, its nodes)
    count: Callable[[Any, Any], int]  # (tree, node): the number of active cells
    put_active: Callable[[Any, Any], None]  # (x, numpy array): sets the active elements to those of the array
    cells: Callable[[Any], Any]  # (tree): its `ActiveCells`
    among: Callable[[Any, Any], Any]  # (indices, indices): which of the first ones are among the others
    set_cells: Callable[[Any, Any], None]  # (tree, ActiveCells): makes these active, and no others
    check_room: Callable[
        [Any, Any], None
    ]  # (pairs of x and indices, nodes that will be empty): OutOfMemory if too many
    gradients: Callable[[Any], Any]  # (tree): the gradients that lie in its cells
    put_gradients: Callable[[Any], None]  # (what `gradients` has returned): sets those whose cells are active
    contents: Callable[[Any], Any]  # (tree): which cells are active, and all elements
    put_contents: Callable[[Any, Any], None]  # (tree, what `contents` has returned): the same again
    dropped: Callable[[Any, Any, str], Any]  # (tree, ActiveCells, kind): a field whose companions would be lost


SPARSE = SparseAccess()

# In a kernel that runs as Python: the nodes below which the running loop activates nothing (`no_activate`).
DORMANT: ContextVar[frozenset[Any]] = ContextVar("dormant", default=frozenset())


class ActiveCells:
    """Which cells of a tree are active: by node, their indices, an array of shape (n, axes). Of lists, the indices of
    their elements."""

    def __init__(self, indices: dict[Any, Any]) -> None:
        self._indices = indices

    def of(self, node: Any) -> Any:
        """The indices of the active cells of a node."""
        return self._indices.get(node, np.zeros((0, len(node.shape())), np.int64))

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        return sum(one.nbytes for one in self._indices.values())


class CellsOf:
    """The cells of a tree as memory that a block of `ti.ad` saves and restores."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def chosen(self, index: Any) -> CellsOf:
        """All of them."""
        assert index == ()
        return self

    def saved(self) -> ActiveCells:
        """Which are active now."""
        found: ActiveCells = SPARSE.cells(self.tree)
        return found

    def put(self, cells: ActiveCells) -> None:
        """Make these active, and no others."""
        SPARSE.set_cells(self.tree, cells)


@dataclass(frozen=True)
class ActiveNumbers:
    """The active elements of a field: their indices and their values."""

    indices: Any
    values: Any

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        return int(self.indices.nbytes + self.values.nbytes)


class Active:
    """What a field says about its active elements."""

    shape: Any
    offset: Any

    def active(self) -> tuple[Any, Any]:
        """The indices of the active elements, an int64 array of shape (n, axes), and their values, an array of shape
        `(n, *element_shape)`; of a field of structs, a dict of such arrays by members. The order is that of the
        indices, the last axis fastest. All elements of a dense field are active.

            indices, values = x.active()
        """
        indices = SPARSE.active(self._leader())
        return indices, self._read_at(indices)

    def from_active(self, indices: Any, values: Any) -> None:
        """Set the elements with these indices, which activates them. `indices` has shape (n, axes), and `values` what
        `active` returns, or one value for all. Other elements keep their values. If an index occurs several times, one
        of its values is stored. Raises ValueError for arrays of other shapes, and FieldIndexError for an index outside
        of the field."""
        places = np.asarray(indices)
        axes = len(self.shape)
        if places.ndim != 2 or places.shape[1] != axes or places.dtype.kind not in "iu":
            raise ValueError(f"indices must be integers of shape (n, {axes}), not {places.dtype} of {places.shape}")
        self._check_inside(places)
        self._write_at(places, values)

    def to_nanovdb(
        self,
        path: Any,
        name: str = "",
        voxel_size: float = 1.0,
        origin: Sequence[float] = (0.0, 0.0, 0.0),
        codec: str = "none",
    ) -> None:
        """Write the active elements of a field with 3 axes to a NanoVDB file (`.nvdb`), which Blender, Warp and the
        tools of OpenVDB read. Element (i, j, k) is the voxel from `origin + voxel_size * (i, j, k)` on, in units of the
        scene.

        `name`: that of the grid ("": the name of the field). `codec`: "none" or "zip". Elements may be f32, f64, i16,
        i32, i64 or u32, vectors of 3 or 4 f32 or f64. All elements of a dense field are active. Raises VolumeError (a
        ValueError) for other fields, for one without active elements, and for other options.

            smoke.to_nanovdb("smoke.nvdb", voxel_size=0.01)
        """
        SPARSE.to_nanovdb(self, path, name, voxel_size, origin, codec)

    def from_nanovdb(self, path: Any, name: str = "", index: int = 0) -> None:
        """Set the elements that are active in a grid of a NanoVDB file, as `from_active` does. What is not active in
        the file keeps its value. `name` and `index` choose the grid: number `index`, from 0 on, among the grids of that
        name, or ("") among all grids of all segments of the file. Raises VolumeError (a ValueError) if the file is
        damaged (its checksums are verified, where it has some, and its counts of voxels and tiles), compressed with
        blosc, has no such grid, or holds other values than the field, also an integer that is out of its range;
        FieldIndexError for a voxel outside of the field; OutOfMemory if there are too few cells or elements for the
        voxels. Nothing is changed then.

            smoke.from_nanovdb("smoke.nvdb")
            smoke.from_nanovdb("steps.nvdb", index=3)
        """
        SPARSE.from_nanovdb(self, path, name, index)

    def to_coo(self) -> Any:
        """The active elements of a field of numbers with 2 axes, as a matrix of scipy (`scipy.sparse.coo_matrix`). Row
        0 is the first index of the field. Raises TypeMismatch for another field, FieldError below a hash node.

            matrix = x.to_coo().tocsr()
        """
        return SPARSE.to_coo(self)

    def to_torch_sparse(self, device: Any = None) -> Any:
        """The active elements as a sparse tensor of torch (`torch.sparse_coo_tensor`): the axes of the field are
        sparse, those of an element dense. Index 0 is the first one of the field. Raises FieldError below a hash node.

            tensor = x.to_torch_sparse()
        """
        return SPARSE.to_torch_sparse(self, device)

    def _check_inside(self, places: Any) -> None:
        """Raise FieldIndexError if one of these indices is outside of the field."""
        for axis, (low, extent) in enumerate(zip(self.offset, self.shape, strict=True)):
            wrong = (places[:, axis] < low) | (places[:, axis] >= low + extent)
            if wrong.any():
                raise FieldIndexError(
                    f"index {places[wrong, axis][0]} of axis {axis} is out of bounds: it must be in "
                    f"[{low}, {low + extent})"
                )

    def _leader(self) -> Any:
        """The field whose elements are listed."""
        return self

    def _read_at(self, indices: Any) -> Any:
        return SPARSE.read(self, indices)

    def _write_at(self, indices: Any, values: Any) -> None:
        given = np.asarray(cast_numbers(values, self.dtype, "this field") if np.ndim(values) == 0 else array_of(values))
        shape: tuple[int, ...] = (len(indices), *self.element_shape)
        if given.shape not in (shape, self.element_shape):
            raise ValueError(f"values must have shape {shape}, not {given.shape}")
        SPARSE.assign(self, indices, np.broadcast_to(cast_value(given, self.dtype), shape))

    dtype: Any
    element_shape: Any


class SparseWindow:
    """The elements of a sparse field, indexed from 0. Reading does not activate, writing does. Assigning one element to
    all of them (`window[...] = 1`) sets the active ones."""

    def __init__(self, field: Any, shape: tuple[int, ...], inner: tuple[int, ...]) -> None:
        self.field, self.outer, self.inner, self.offset = field, shape, inner, field.offset
        self.dtype = np.dtype(field.dtype.np)
        self.shape = (*shape, *inner)
        self.ndim, self.size = len(self.shape), math.prod(self.shape)
        self.nbytes = self.size * self.dtype.itemsize

    def _index(self, position: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(int(at) + low for at, low in zip(position, self.offset, strict=True))

    def __getitem__(self, position: tuple[int, ...]) -> Any:
        value = SPARSE.load(self.field, self._index(position))
        if not self.inner:
            return value[()]
        element = value.view(_Element)
        element.home = self, position
        return element

    def __setitem__(self, position: Any, value: Any) -> None:
        if position is not Ellipsis:
            given = np.asarray(value)
            whole = given if given.shape == self.inner else np.broadcast_to(given, self.inner)
            SPARSE.store(self.field, self._index(position), whole)
        elif isinstance(value, SparseWindow):
            SPARSE.copy(self.field, value.field)
        elif np.ndim(value) > len(self.inner):
            SPARSE.scatter(self.field, np.broadcast_to(np.asarray(value), self.shape))
        else:
            SPARSE.fill(self.field, np.broadcast_to(value, self.inner))

    def chosen(self, index: Any) -> SparseWindow:
        """All of them."""
        assert index == ()
        return self

    def saved(self) -> ActiveNumbers:
        """The active elements."""
        indices = SPARSE.active(self.field)
        return ActiveNumbers(indices, SPARSE.read(self.field, indices))

    def put(self, numbers: ActiveNumbers) -> None:
        """Set these elements, which activates them. All others become 0."""
        self[...] = np.zeros(self.inner, self.dtype)
        SPARSE.write(self.field, numbers.indices, numbers.values)

    def copy(self) -> Any:
        """All elements as a numpy array."""
        return SPARSE.gather(self.field)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        del copy
        return np.asarray(self.copy(), dtype)


class _Element(np.ndarray[Any, Any]):
    """A vector or matrix that was read. Assigning to its elements writes the whole of it to the field."""

    home: tuple[SparseWindow, tuple[int, ...]] | None = None

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if self.home is not None:
            window, position = self.home
            window[position] = np.asarray(self)
