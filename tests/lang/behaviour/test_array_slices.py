"""Slices of fields and ndarrays: views that share the memory, by the rules of numpy."""

import copy

import numpy as np
import pytest

from tests.sampling import draws
from weft.ir.errors import TypeMismatch
from weft.lang.data.elements import FieldIndexError
from weft.lang.data.field_tree import FieldError


def both(ti, dtype, shape):
    """A field and an ndarray with different numbers, each with a numpy array of the same numbers."""
    for make in (ti.field, ti.ndarray):
        x = make(dtype, shape)
        numbers = np.arange(np.prod(x.to_numpy().shape)).reshape(x.to_numpy().shape)
        x.from_numpy(numbers)
        yield x, x.to_numpy()


def random_key(rng, shape):
    """A key with slices, and sometimes with numbers, None and an Ellipsis."""
    key = []
    for extent in shape[: rng.integers(0, len(shape) + 1)]:
        if rng.random() < 0.25:
            key.append(int(rng.integers(-extent, extent)))
            continue
        start, stop = (None if rng.random() < 0.3 else int(rng.integers(-extent - 2, extent + 3)) for _ in range(2))
        key.append(slice(start, stop, [None, 1, 2, -1, -2, 3][rng.integers(6)]))
    if rng.random() < 0.3:
        key.insert(int(rng.integers(len(key) + 1)), None)
    places = [place for place in range(len(key) + 1) if place == len(key) or len(key) == len(shape)]
    if not any(isinstance(one, slice) for one in key) or rng.random() < 0.3:
        key.insert(places[-1], ...)
    return tuple(key)


def test_random_slices_are_numpys(ti):
    rng = np.random.default_rng(5)
    for shape in ((7,), (4, 5), (3, 2, 4)):
        for x, a in both(ti, [ti.f32, ti.i16, ti.vec3][len(shape) - 1], shape):
            for _ in range(draws(60)):
                key = random_key(rng, shape)
                part, wanted = x[key], a[key]
                assert part.to_numpy().shape == wanted.shape, key
                np.testing.assert_array_equal(part.to_numpy(), wanted, err_msg=str(key))
                number = int(rng.integers(100))
                x[key], a[key] = number, number
                np.testing.assert_array_equal(x.to_numpy(), a, err_msg=str(key))


def test_a_view_writes_to_its_field(ti):
    for x, a in both(ti, ti.f32, (4, 6)):
        part, same = x[1:, ::-2], a[1:, ::-2]
        part[0, 1], same[0, 1] = -5, -5
        part[1:][1, 0], same[1:][1, 0] = -6, -6
        part[::2].fill(7)
        same[::2] = 7
        np.testing.assert_array_equal(x.to_numpy(), a)
        x[1, 5] = 99
        assert part[0, 0] == 99
        assert part.shape == (3, 3)
    for v, b in both(ti, ti.vec2, 5):
        v[::2][1].y = 50
        v[3:][0] = [8, 9]
        b[2, 1], b[3] = 50, (8, 9)
        np.testing.assert_array_equal(v.to_numpy(), b)


def test_what_is_assigned_broadcasts(ti):
    for x, a in both(ti, ti.f32, (4, 6)):
        values = [
            3,
            [1, 2, 3],
            np.arange(12).reshape(4, 3),
            np.ones((4, 1)),
            np.full((1, 1, 3), 2),
            ti.Vector([4, 5, 6]),
        ]
        for value in values:
            x[:, ::2] = value
            a[:, ::2] = getattr(value, "values", value)
            np.testing.assert_array_equal(x.to_numpy(), a)
        column = ti.ndarray(ti.i32, (4, 1))
        column.from_numpy(np.arange(4).reshape(4, 1))
        x[:, 1:], a[:, 1:] = column, column.to_numpy()
        np.testing.assert_array_equal(x.to_numpy(), a)
        for value in ([1, 2], np.ones((3, 3)), column[:3]):
            with pytest.raises(ValueError, match="broadcast"):
                x[:, ::2] = value
        with pytest.raises(TypeMismatch):
            x[1:] = "text"


def test_vectors_are_elements(ti):
    scalars = ti.field(ti.f32, 4)
    scalars.from_numpy(np.arange(4))
    for v, a in both(ti, ti.vec3, 4):
        v[1:3] = ti.Vector([1, 2, 3])
        a[1:3] = [1, 2, 3]
        v[2:] = scalars[:2]
        a[2:] = np.arange(2)[:, None]
        np.testing.assert_array_equal(v.to_numpy(), a)
        assert v[1:].element_shape == (3,)
        with pytest.raises(ValueError, match="elements"):
            scalars[:] = v


def test_a_source_that_overlaps_is_read_first(ti):
    for key, other in (
        (np.s_[1:], np.s_[:-1]),
        (np.s_[:-2], np.s_[2:]),
        (np.s_[::-1], np.s_[:]),
        (np.s_[::2], np.s_[:4]),
    ):
        for x, a in both(ti, ti.i32, 8):
            x[key], a[key] = x[other], a[other].copy()
            np.testing.assert_array_equal(x.to_numpy(), a)


def test_kernels_take_views(ti):
    @ti.kernel
    def negate(a: ti.Array):
        for I in ti.grouped(a):
            a[I] = -a[I]

    for x, a in both(ti, ti.f32, (5, 6)):
        for key in (
            np.s_[1:4, ::2],
            np.s_[:: 2**70, :: -(2**70)],
            np.s_[::-1, ::-2],
            np.s_[2, :],
            np.s_[..., 3],
            np.s_[2:2],
            np.s_[:, None, 1:],
        ):
            negate(x[key])
            a[key] *= -1
            np.testing.assert_array_equal(x.to_numpy(), a)


def test_views_of_views_and_copies(ti):
    import pickle

    for x, a in both(ti, ti.f32, (6, 6)):
        part = x[1:][::2, ::-1][1:, 2]
        np.testing.assert_array_equal(part.to_numpy(), a[1:][::2, ::-1][1:, 2])
        for made in (copy.deepcopy(part), pickle.loads(pickle.dumps(part))):
            made.fill(-1)
            np.testing.assert_array_equal(x.to_numpy(), a)
            assert made.shape == part.shape
        for made in (copy.deepcopy(x[2:2]), pickle.loads(pickle.dumps(x[:, 6:]))):
            assert 0 in made.shape
        copy.copy(part).fill(4)
        assert x[3, 3] == x[5, 3] == 4


def test_wrong_keys(ti):
    for x, _ in both(ti, ti.f32, (4, 5)):
        for key, message in (
            (np.s_[4, :], r"index 4 of axis 0 is out of bounds for .* of shape \(4, 5\)"),
            (np.s_[:, -6], "index -6 of axis 1 is out of bounds"),
            (np.s_[0, 0, :], "takes at most 2 indices, got 3"),
            (np.s_[..., ...], "single ellipsis"),
            (np.s_[[0, 1], :], "must be an integer"),
            (np.s_[True, :], "must be an integer"),
        ):
            for access in (x.__getitem__, lambda key, x=x: x.__setitem__(key, 1)):
                with pytest.raises(FieldIndexError, match=message):
                    access(key)
        with pytest.raises(ValueError, match="step cannot be zero"):
            x[::0]
        with pytest.raises(TypeError, match="slice indices must be integers"):
            x[0.5:]
        with pytest.raises(FieldIndexError, match="takes 2 indices"):
            x[1]  # an element, not a row


def test_fields_that_have_no_slices(ti):
    shifted = ti.field(ti.f32, 4, offset=-2)
    with pytest.raises(FieldIndexError, match=r"begins at \(-2,\)"):
        shifted[1:]
    nested = ti.field(ti.f32)
    ti.root.dense(ti.i, 4).dense(ti.i, 2).place(nested)
    if nested.shape == (8,):
        nested.from_numpy(np.arange(8))
        assert nested[2:4].to_numpy().tolist() == [2, 3]  # its elements form a strided array in spite of the blocks
    blocks = ti.field(ti.f32)
    ti.root.dense(ti.ij, 2).dense(ti.ij, 2).place(blocks)
    with pytest.raises(FieldError, match="nested blocks"):
        blocks[1:]
    particles = ti.types.struct(a=ti.f32).field(shape=3)
    with pytest.raises(FieldIndexError, match=r"no slices, but its members have: x\.a\[1:\]"):
        particles[1:]
    assert particles.a[1:].shape == (2,)


def test_sparse_fields_are_copied(ti):
    sparse, vectors = ti.field(ti.f32), ti.Vector.field(2, ti.f32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(sparse, vectors)
    sparse[3], vectors[3] = 2, [1, 2]
    with pytest.raises(FieldError, match="is sparse"):
        sparse[1:]
    assert (sparse + 1).to_numpy().tolist() == [1, 1, 1, 3, 1, 1, 1, 1]
    assert (sparse.sum(), max(sparse), [one.x for one in vectors]) == (2, 2, [0, 0, 0, 1, 0, 0, 0, 0])


def test_a_view_ends_with_its_memory(ti):
    x = ti.field(ti.f32)
    tree = ti.FieldsBuilder()
    tree.dense(ti.i, 4).place(x)
    tree = tree.finalize()
    part, array = x[1:], ti.ndarray(ti.f32, 4)
    of_array, of_part, same = array[1:], part[1:], copy.copy(part)
    tree.destroy()
    for one in (part, of_part, same):
        with pytest.raises(FieldError, match="was destroyed"):
            one[0]
    ti.init(arch=ti.cfg.arch)
    with pytest.raises(FieldError, match="no longer exists"):
        of_array.to_numpy()


def test_uninitialised_elements(ti):
    ti.init(arch=ti.cfg.arch, check_uninitialised=True)
    x = ti.field(ti.f32, 4)
    x[:2] = 1
    assert x[:2].to_numpy().tolist() == [1, 1]
    with pytest.raises(ti.UninitialisedRead):
        x[1:].to_numpy()
    with pytest.raises(ti.UninitialisedRead):
        x[2:][0]
