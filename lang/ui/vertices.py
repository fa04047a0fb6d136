"""Convert positions, colours, sizes and indices from the caller to numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.lang.arguments import any_number, numbers_of, shown, whole_of
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.ui.render.kinds import Colors
from weft.lang.ui.render.rooms import in_place, on_device, room

__all__ = [
    "arrows_of",
    "color_of",
    "colors_for",
    "copied",
    "copied_colors",
    "groups",
    "longest",
    "part",
    "points",
    "sizes_for",
]


def points(values: Any, axes: int, what: str) -> Any:
    """Return positions, f32 (n, axes), of a field or array of vectors. Raises ValueError for vectors of another
    length."""
    array = numbers_of(values, what).astype(np.float32, copy=False)
    if array.ndim < 2 or array.shape[-1] != axes:
        kind = f"vectors of {array.shape[-1]}" if array.ndim > 1 else "numbers"
        raise ValueError(
            f"{what} must be a field or array of vectors of {axes} numbers, not {kind} (shape {array.shape})"
        )
    return array.reshape(-1, axes)


@kernel
def _copy(into: Colors, source: Colors) -> None:
    for i in source:
        into[i] = source[i]


def copied(values: Any, what: str) -> tuple[Any, int]:
    """Return a copy of positions in space that kernels can access, and their number. Data on a GPU are copied there."""
    there = _copied_there(values)
    if there is not None:
        return there, there.shape[0]
    array = np.array(points(values, 3, what))
    return on_device(array, np.float32, (3,)), len(array)


def copied_colors(count: int, color: Any, each: Any) -> Any:
    """Return colours that kernels can access: one for all, or, with `each`, one for each."""
    there = None if each is None else _copied_there(each)
    if there is not None and there.shape[0] >= count:
        return there
    return on_device(np.array(colors_for(1 if each is None else count, color, each)), np.float32, (3,))


def _copied_there(values: Any) -> Any:
    """Copy vectors of three that are on a GPU within it. Returns None for others."""
    view = in_place(values, 2, 3) if program().backend.own_memory else None
    if view is None or isinstance(view, np.ndarray) or not view.size:
        return None
    copy = room(np.float32, view.shape[:1], (3,))
    _copy(copy, view)
    return copy


def color_of(color: Any) -> Any:
    """Return a colour, f32 (3,), of three or four numbers in [0, 1]; alpha is dropped. Raises ValueError for other
    values."""
    array = numbers_of(color, "a colour").astype(np.float32).reshape(-1)
    if len(array) not in (3, 4) or not np.isfinite(array).all():
        raise ValueError(f"a color must be three numbers in [0, 1], red, green and blue, not {shown(color)}")
    return array[:3]


def colors_for(count: int, color: Any, each: Any) -> Any:
    """Return f32 (count, 3): one colour for all, or, with `each`, one for each. Raises ValueError if there are too
    few."""
    if each is None:
        return np.broadcast_to(color_of(color), (count, 3))
    array = numbers_of(each, "per_vertex_color").astype(np.float32, copy=False)
    if array.ndim < 2 or array.shape[-1] not in (3, 4):
        raise ValueError(f"per_vertex_color must have vectors of 3 or 4 numbers, not the shape {array.shape}")
    array = array.reshape(-1, array.shape[-1])[:, :3]
    if len(array) < count:
        raise ValueError(f"there are {count} vertices, but per_vertex_color has {len(array)} colors")
    return array[:count]


def sizes_for(count: int, size: float, each: Any) -> Any:
    """Return f32 (count,): one size for all, or one for each. Raises ValueError if there are too few."""
    if each is None:
        return np.full(count, any_number(size, "a radius"), np.float32)
    array = numbers_of(each, "per_vertex_radius").astype(np.float32, copy=False).reshape(-1)
    if len(array) < count:
        raise ValueError(f"there are {count} particles, but per_vertex_radius has {len(array)} radii")
    return array[:count]


def arrows_of(vector_field: Any, spacing: int) -> Any:
    """Return a two-dimensional field of vectors as f64 (w, h, 2). A vector that is not finite becomes NaN and has no
    arrow. Raises ValueError for another shape, and for an invalid `spacing` of arrows."""
    vectors = numbers_of(vector_field, "a field of vectors").astype(np.float64)
    if vectors.ndim != 3 or vectors.shape[2] != 2 or not vectors.size:
        raise ValueError(f"vectors must have the shape (w, h, 2), not {vectors.shape}")
    whole_of(spacing, "arrow_spacing", 1)
    vectors[~np.isfinite(vectors).all(axis=2)] = np.nan
    return vectors


def longest(vectors: Any) -> float:
    """Return the length of the longest vector that is not NaN. It is above 0."""
    lengths = np.linalg.norm(vectors, axis=-1)
    return float(lengths.max(initial=1e-12, where=~np.isnan(lengths)))


def part(array: Any, offset: int, count: int | None) -> Any:
    """Return `count` elements (default: all) from `offset` on. Raises ValueError outside of the array."""
    offset = whole_of(offset, "an offset")
    end = len(array) if count is None else offset + whole_of(count, "a count")
    if not 0 <= offset <= end <= len(array):
        raise ValueError(f"elements {offset} to {end} are out of bounds: the array has {len(array)} elements")
    return array[offset:end]


def groups(indices: Any, size: int, vertices: int, offset: int = 0, count: int | None = None, shift: int = 0) -> Any:
    """Return the vertices of each line (`size` 2) or triangle (3) as i32 (n, size): the `indices` from `offset` on,
    each plus `shift`, or the vertices in sequence. An incomplete last group is dropped. Raises ValueError for an index
    without a vertex."""
    if indices is None:
        flat = np.arange(vertices)
    else:
        given = numbers_of(indices, "indices")
        with np.errstate(invalid="ignore"):
            whole = given.astype(np.int64, copy=False)
        if not given.ndim or not np.array_equal(whole, given):
            raise ValueError("indices must be a field or array of whole numbers")
        flat = part(whole.reshape(-1), offset, count) + whole_of(shift, "vertex_offset")
    flat = flat[: len(flat) // size * size]
    if flat.size and not (flat.min() >= 0 and flat.max() < vertices):
        wrong = flat.min() if flat.min() < 0 else flat.max()
        raise ValueError(f"an index is {wrong}, but there are {vertices} vertices, 0 to {vertices - 1}")
    return flat.reshape(-1, size).astype(np.int32)
