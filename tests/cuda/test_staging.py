"""Numpy arrays that share memory as arguments of one kernel: copied so that all elements are aligned on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft.lang.program.init import program
from weft.runtime.cuda_staging import Staging

ROOM = np.zeros(400, np.uint8)
RECORDS = np.zeros(20, [("tag", "u1"), ("value", "<f4"), ("size", "<f8")])  # packed: 13 bytes each


def arrays_of(name: str) -> list[Any]:
    return {
        "behind bytes": [ROOM[1:90], ROOM[4:200].view(np.float32), ROOM[64:128].view(np.float64)],
        "both off by one": [ROOM[1:81].view(np.float32), ROOM[41:121].view(np.float32)],
        "with gaps": [ROOM[4:164].view(np.float32)[::2], ROOM[4:164].view(np.float32)[1::2]],
        "backwards": [ROOM[8:168].view(np.float64)[::-1], ROOM[3:60]],
        "records": [RECORDS["tag"], RECORDS["value"], RECORDS["size"]],
        "planes": [ROOM[:320].view(np.float32).reshape(8, 10).T, ROOM[3:9]],
        "nothing inside": [ROOM[8:8].view(np.float32), ROOM[3:60]],
    }[name]


NAMES = ["behind bytes", "both off by one", "with gaps", "backwards", "records", "planes", "nothing inside"]


@pytest.mark.parametrize("name", NAMES)
def test_elements_are_aligned(ti: Any, name: str) -> None:
    arrays = arrays_of(name)
    numbers = np.random.default_rng(1)
    for array in arrays:
        array[...] = numbers.integers(0, 9, array.shape)
    before = [array.copy() for array in arrays]
    staging = Staging(program().device.memory, dict(enumerate(arrays)))
    for k, array in enumerate(arrays):
        address, shape, strides = staging.places[k]
        assert tuple(shape) == array.shape
        steps = [stride for extent, stride in zip(shape, strides) if extent > 1]
        assert not any(place % array.dtype.alignment for place in (address, *steps))
    ROOM[:] = RECORDS["tag"] = RECORDS["value"] = RECORDS["size"] = 0
    staging.copy_out(range(len(arrays)))
    for array, values in zip(arrays, before):
        assert (array == values).all()


def test_kernels_on_parts_of_packed_records(ti: Any) -> None:
    @ti.kernel
    def run(tag: ti.types.ndarray(), value: ti.types.ndarray(), size: ti.types.ndarray()):
        for i in tag:
            tag[i] += 1
            value[i] += i
            size[i] = 2 * value[i] + tag[i]

    records = np.zeros(20, RECORDS.dtype)
    records["value"] = 0.5
    run(records["tag"], records["value"], records["size"])
    i = np.arange(20)
    assert (records["tag"] == 1).all()
    assert (records["value"] == i + 0.5).all()
    assert (records["size"] == 2 * i + 2).all()


def test_kernels_on_views_of_other_types(ti: Any) -> None:
    @ti.kernel
    def run(low: ti.types.ndarray(), words: ti.types.ndarray()):
        for i in words:
            words[i] = 0x01020304
        for i in low:
            low[i] += 1

    room = np.zeros(64, np.uint8)
    low, words = room[1:21], room[4:].view(np.int32)
    run(low, words)
    assert words.tolist() == [0x02030405] * 4 + [0x01020305] + [0x01020304] * 10
    assert room[:4].tolist() == [0, 1, 1, 1]


def test_elements_that_are_aligned_in_one_array_only(ti: Any) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            a[i] = b[i]

    room = np.zeros(101, np.uint8)
    with pytest.raises(ti.WeftError, match="not aligned with one another: pass a copy"):
        run(room[:100].view(np.float32), room[1:].view(np.float32))
    run(room[1:].view(np.float32), room[1:].view(np.float32))
