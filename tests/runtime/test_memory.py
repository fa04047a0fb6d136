"""Buffers: zeroed, aligned, freed with their last reference, accounted for."""

from __future__ import annotations

import gc
import mmap
import os
import sys

import pytest

from weft.runtime.errors import OutOfMemory
from weft.runtime.memory import Memory, readable_size


def test_buffers_are_zeroed_aligned_and_freed() -> None:
    memory = Memory()
    for size in (0, 1, 63, 64, 1000, 1 << 20):
        buffer = memory.allocate(size, "x")
        assert buffer.shape == (size,)
        assert buffer.dtype == "u1"
        assert size == 0 or buffer.ctypes.data % 64 == 0
        assert not buffer.any()
        buffer[:] = 255
    assert memory.total == 1 << 20
    view = buffer[5:].view()
    del buffer
    gc.collect()
    assert memory.holders() == [("x", 1 << 20)]  # a view keeps it
    del view
    gc.collect()
    assert memory.total == 0


def test_out_of_memory_says_who_holds_what() -> None:
    memory = Memory(limit=1 << 30)
    kept = [memory.allocate(1 << 20, "velocity"), *(memory.allocate(1024, f"small {k}") for k in range(11))]
    with pytest.raises(OutOfMemory, match=r"pressure needs 2.0 GiB, but the limit is 1.0 GiB") as caught:
        memory.allocate(2 << 30, "pressure")
    text = str(caught.value)
    assert "1.0 MiB  velocity" in text
    assert "and 2 smaller ones" in text
    assert isinstance(caught.value, MemoryError)
    assert len(kept) == 12


@pytest.mark.skipif(sys.platform != "linux", reason="Windows does not say which pages were touched")
def test_the_account_counts_the_touched_pages_of_reserved_memory() -> None:
    memory = Memory(limit=1 << 20)
    kept = memory.allocate(1000, "x")
    pool = memory.reserve(1 << 36, "pool", grows=True)
    assert memory.holders() == [("x", 1000), ("pool", 0)]
    pool[5] = 1
    assert memory.holders() == [("pool", mmap.PAGESIZE), ("x", 1000)]
    assert memory.total == mmap.PAGESIZE + kept.size
    with pytest.raises(OutOfMemory, match=r"y needs 1048576\.0 TiB of address space"):
        memory.reserve(1 << 60, "y")
    del pool
    gc.collect()
    assert memory.holders() == [("x", 1000)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_its_own_reserved_memory() -> None:
    pool = Memory().reserve(1 << 36, "pool")
    pool[7] = 1
    child = os.fork()
    if not child:
        pool[7] += 1
        pool[1 << 20] = 3
        os._exit(int(pool[7]) + int(pool[1 << 20]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    assert (pool[7], pool[1 << 20]) == (1, 0)


def test_more_than_the_machine_has() -> None:
    with pytest.raises(OutOfMemory, match="needs"):
        Memory().allocate(1 << 50, "x")


def test_readable_size() -> None:
    assert [readable_size(n) for n in (0, 1023, 1536, 3 << 30)] == ["0 B", "1023 B", "1.5 KiB", "3.0 GiB"]
