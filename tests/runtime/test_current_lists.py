"""The table of lists that are current forgets memory that changes without a launch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.emulated import EmulatedDevice
from weft.ir.artifact import LIST_BITS, LIST_MIX
from weft.runtime.current_lists import CurrentLists


def _known(lists: CurrentLists, *books: int) -> None:
    """Let the lists of these books be current, as a launch does."""
    for book in books:
        lists._table[(book * LIST_MIX) % 2**64 >> (64 - LIST_BITS)] = book


def test_a_book_is_forgotten_by_its_address() -> None:
    lists = CurrentLists()
    _known(lists, 1 << 20, 3 << 20)
    assert lists.knows(1 << 20)
    lists.forget(5 << 20)
    lists.forget(1 << 20)
    assert [lists.knows(book << 20) for book in (1, 3, 5)] == [False, True, False]


def test_of_two_books_in_one_place_one_is_known() -> None:
    lists = CurrentLists()
    places = dict[int, int]()
    for book in range(4096, 1 << 24, 4096):
        other = places.setdefault((book * LIST_MIX) % 2**64 >> (64 - LIST_BITS), book)
        if other != book:
            break
    _known(lists, other, book)
    lists.forget(other)
    assert (lists.knows(other), lists.knows(book)) == (False, True)


@pytest.mark.parametrize(
    "change",
    [
        lambda memory, buffer: buffer.write(0, np.ones(4, np.uint8)),
        lambda memory, buffer: buffer.write(0, np.ones(400, np.uint8)),
        lambda memory, buffer: buffer.fill(0, np.uint32(1), 4),
        lambda memory, buffer: memory.assign(buffer, memory.allocate(4096, "another")),
    ],
    ids=["a few bytes", "many bytes", "a pattern", "a copy"],
)
def test_memory_that_is_written_is_forgotten(change: Callable[[Any, Any], None]) -> None:
    memory = EmulatedDevice().memory
    buffer, other = memory.reserve(4096, "a book"), memory.reserve(4096, "another book")
    _known(memory.lists, buffer.address, other.address)
    change(memory, buffer)
    assert not memory.lists.knows(buffer.address)
    assert memory.lists.knows(other.address)


def test_memory_that_is_freed_is_forgotten() -> None:
    memory = EmulatedDevice().memory
    buffer = memory.reserve(4096, "a book")
    address = buffer.address
    _known(memory.lists, address)
    del buffer
    assert not memory.lists.knows(address)
