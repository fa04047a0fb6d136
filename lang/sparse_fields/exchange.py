"""The active elements of fields in other forms: NanoVDB files, sparse matrices of scipy, sparse tensors of torch."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import path_of
from weft.lang.atomic_files import replacing
from weft.lang.data.field import Field
from weft.lang.data.sparse_access import SPARSE
from weft.lang.extras import MissingLibrary
from weft.lang.sparse_fields.elements import bounded
from weft.lang.sparse_fields.nanovdb import VolumeError, packed, unpacked

__all__ = ["from_nanovdb", "to_coo", "to_nanovdb", "to_torch_sparse"]


def _plain(x: Any, what: str) -> Any:
    """The field, if it is one of numbers, vectors or matrices."""
    if not isinstance(x, Field):
        raise TypeMismatch(f"{what} works on a field of numbers or vectors: name a member of the field of structs")
    return x


def _library(name: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        top = name.partition(".")[0]
        raise MissingLibrary(f"{what} needs {top}, which is not installed: pip install {top} ({error})") from None


def _volume(x: Any, what: str) -> Any:
    if len(_plain(x, what).shape) != 3:
        raise VolumeError(f"a NanoVDB volume has 3 axes, but the field has {len(x.shape)}")
    return x


def to_nanovdb(x: Any, path: Any, name: str, voxel_size: float, origin: Sequence[float], codec: str) -> None:
    """See `Active.to_nanovdb`."""
    indices, values = _volume(x, "to_nanovdb").active()
    if len([n for n in x.element_shape if n > 1]) > 1:
        raise VolumeError(f"a NanoVDB volume holds numbers and vectors, not matrices of shape {x.element_shape}")
    data = packed(indices, values, name or x.name, voxel_size, origin, codec)
    with replacing(Path(path_of(path, "to_nanovdb")), durable=False) as new:
        new.write_bytes(data)


def _room(x: Any) -> int:
    """How many elements of a field can be active at once."""
    elements: int = prod(x.shape)
    if x.describe().node is None:
        return elements
    nodes = x.snode.tree.layout.nodes
    pools = [nodes[node] for node in x.snode.node.path() if node in nodes and node.has_pool and node.kind != "dynamic"]
    room: list[int] = [(pool.capacity - 1) * (elements // prod(pool.table.shape)) for pool in pools]
    return min([elements, *room])


def from_nanovdb(x: Any, path: Any, name: str, index: int) -> None:
    """See `Active.from_nanovdb`."""
    _volume(x, "from_nanovdb")
    indices, values = unpacked(Path(path_of(path, "from_nanovdb")).read_bytes(), name, index, _room(x))
    if values.shape[1:] != tuple(n for n in x.element_shape if n > 1):
        found = f"vectors of {values.shape[1]} numbers" if values.ndim > 1 else "numbers"
        raise VolumeError(f"the file has {found}, but elements of the field have shape {x.element_shape}")
    if not np.can_cast(values.dtype, x.dtype.np, "same_kind"):
        raise VolumeError(f"the file has values of {values.dtype.name}, and the field has {x.dtype}")
    if x.dtype.is_int:
        held = np.iinfo(x.dtype.np)
        wrong = values[(values < held.min) | (values > held.max)]
        if len(wrong):
            raise VolumeError(f"the file has the value {wrong[0]}, which the field of {x.dtype} cannot hold")
    x._check_inside(indices)
    if x.describe().node is not None:
        SPARSE.check_room([(x, indices)], [])
    x.from_active(indices, values.reshape(len(values), *x.element_shape))


def to_coo(x: Any) -> Any:
    """See `Active.to_coo`."""
    if len(_plain(x, "to_coo").shape) != 2 or x.element_shape:
        raise TypeMismatch("to_coo takes a field of numbers with 2 axes")
    bounded(x)
    sparse = _library("scipy.sparse", "to_coo")
    indices, values = x.active()
    rows, columns = (indices - np.array(x.offset)).T
    return sparse.coo_matrix((values, (rows, columns)), shape=x.shape)


def to_torch_sparse(x: Any, device: Any) -> Any:
    """See `Active.to_torch_sparse`."""
    bounded(_plain(x, "to_torch_sparse"))
    torch = _library("torch", "to_torch_sparse")
    indices, values = x.active()
    places = torch.from_numpy(np.ascontiguousarray((indices - np.array(x.offset)).T))
    made = torch.sparse_coo_tensor(places, torch.from_numpy(values), (*x.shape, *x.element_shape), is_coalesced=True)
    return made if device is None else made.to(device)
