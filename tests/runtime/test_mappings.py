"""Memory between guards: zeroed, apart from its neighbours, given back, and known by its addresses."""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

import numpy as np
import pytest

from weft.runtime import mappings, system
from weft.runtime.guard_table import ENTRIES, ENTRY, GuardTable

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
SIZES = (0, 1, 4, 200, 1000, 5000, 70_000, 5 << 20)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("slack", [0, 4, 3000, 200_000])
def test_accesses_within_the_slack_read_zeros(size: int, slack: int) -> None:
    blocks = [mappings.take(size, slack, str(number)) for number in range(5)]
    spans: list[tuple[int, int]] = []
    for number, block in enumerate(blocks):
        assert (block.shape, block.dtype, int(block.sum())) == ((size,), np.uint8, 0)
        begin, end = address(block) - slack, address(block) + size + slack
        around = np.ctypeslib.as_array((ctypes.c_uint8 * (end - begin)).from_address(begin))
        assert not around.any()
        around[:] = number + 1
        spans.append((begin, end))
    for (_, end), (begin, _) in zip(sorted(spans), sorted(spans)[1:]):
        assert end - slack <= begin  # what lies between two may belong to the slack of both
    assert [set(block) for block in blocks] == [{number + 1} if size else set() for number in range(5)]


def address(block: np.ndarray) -> int:
    return int(block.__array_interface__["data"][0])


@linux
@pytest.mark.parametrize("size", [4, 1000, 5000, 70_000, 5 << 20, 100 << 20])
def test_mappings_and_memory_do_not_grow(size: int) -> None:
    def states() -> tuple[int, int]:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        resident = next(int(line.split()[1]) for line in lines if line.startswith("Rss"))
        return len(Path("/proc/self/maps").read_text().splitlines()), resident

    def make() -> None:
        for _ in range(2000 if size < 1 << 20 else 50):
            block = mappings.take(size, 0, "x")
            block[-1:] = 1
        del block
        gc.collect()

    make()
    maps, resident = states()
    make()
    after, resident_after = states()
    assert after <= maps + 10
    assert resident_after <= resident + 4096  # KiB


def test_memory_that_comes_again_is_zero() -> None:
    for size in SIZES:
        places: set[int] = set()
        for _ in range(200):
            block = mappings.take(size, 100, "x")
            found = mappings.nearest(address(block))
            assert found is not None
            places.add(found.mapping.begin)
            begin = address(block) - 100
            around = np.ctypeslib.as_array((ctypes.c_uint8 * (size + 200)).from_address(begin))
            assert not around.any()
            around[:] = 0xA5
            del block, around, found
        assert len(places) < 10  # so it did come again


def test_views_keep_the_memory() -> None:
    block = mappings.take(100_000, 0, "x")
    window = block[10:20].view(np.uint16)
    begin = address(block)
    del block
    gc.collect()
    others = [mappings.take(100_000, 0, "y") for _ in range(10)]
    for other in others:
        other[:] = 1
    assert not window.any()
    found = mappings.nearest(begin)
    assert found is not None
    assert found.owner == "x"
    del window, found
    gc.collect()
    assert all(block.owner != "x" for block in [mappings.nearest(begin)] if block)


def test_addresses_beside_memory_are_known() -> None:
    kept = mappings.take(100_000, 0, "large")
    begin = address(kept)
    for miss in (-(1 << 20), -1, 0, 99_999, 100_000, 1 << 20):
        found = mappings.nearest(begin + miss)
        assert found is not None
        assert found.owner == "large"
    small = [mappings.take(4, 0, str(number)) for number in range(3)]
    assert [mappings.nearest(address(one) + 5).owner for one in small] == ["0", "1", "2"]  # type: ignore[union-attr]
    assert mappings.nearest(8) is None


@linux
@pytest.mark.parametrize("grows", [False, True])
def test_reserved_memory_takes_only_the_pages_that_are_touched(grows: bool) -> None:
    def resident() -> int:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Rss"))

    before = resident()
    block = mappings.take_reserved(1 << 40, "pool", grows)
    begin = address(block)
    assert (block.shape, begin % 64) == ((1 << 40,), 0)
    for at in (0, 5000, 3 << 20, 1 << 39, (1 << 40) - 1):
        assert block[at] == 0
        block[at] = 7
    assert resident() - before < 8 << 20
    assert 0 < system.resident(begin, 4 << 20) <= 4 << 20
    assert system.resident(begin, 1 << 40, grows=True) == system.resident(begin, 1 << 30)
    found = mappings.nearest(begin + (1 << 40) + 100)
    assert found is not None
    assert found.owner == "pool"
    block[: 32 << 20] = 1
    del block, found
    gc.collect()
    assert resident() - before < 8 << 20
    assert mappings.nearest(begin) is None
    with pytest.raises(MemoryError):
        mappings.take_reserved(1 << 60, "pool", grows)


def test_where_addresses_are_scarce_guards_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    reserve = system.reserve

    def scarce(size: int, lazy: bool) -> int:
        asked.append(size)
        return reserve(size, lazy) if size < 1 << 22 else 0

    monkeypatch.setattr(system, "reserve", scarce)
    mapping = mappings.Mapping(1 << 20, 4096)
    assert asked[0] > asked[1]
    ctypes.memset(mapping.first, 1, mapping.room)
    mapping.close()
    monkeypatch.setattr(system, "reserve", lambda size, lazy: 0)
    with pytest.raises(MemoryError):
        mappings.Mapping(1 << 20, 4096)


def test_the_table_grows_and_uses_entries_again() -> None:
    table = GuardTable()
    numbers = [table.add(16 * k + 16, 16 * k + 24) for k in range(2 * ENTRIES + 5)]
    assert sorted(numbers) == list(range(2 * ENTRIES + 5))
    for number in numbers[::2]:
        table.call(number, f"x{number}")
        table.remove(number)
    assert {table.add(8, 9) for _ in numbers[::2]} == set(numbers[::2])
    found: list[tuple[int, int]] = []
    chunk = table.address
    while chunk:
        words = (ctypes.c_int64 * (1 + ENTRY * ENTRIES)).from_address(chunk)
        found += [(words[at], words[at + 1]) for at in range(1, len(words), ENTRY) if words[at]]
        chunk = words[0]
    assert len(found) == len(numbers)
    assert found.count((8, 9)) == len(numbers[::2])
