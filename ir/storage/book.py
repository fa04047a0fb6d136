"""The book of a sparse node: the memory in which its allocator and its list of cells keep their state.

It is valid when all of it is zero: no cell is active. `BOOK` has a row for each field. Slots are numbered from 1.
"""

from __future__ import annotations

from math import prod

from weft.ir.types import Prim, i32, i64, u8, u32

__all__ = [
    "BOOK",
    "GROUPS",
    "HASH_BOOK",
    "LIST_BOOK",
    "LOCKS",
    "PIECE",
    "SLOTS_OF_PIECE",
    "book_fields",
    "book_size",
    "bucket_count",
    "count_size",
    "hash_entries",
]

LOCKS = 1 << 16  # cells share locks; a GPU has this many threads that activate different cells at once
PIECE = 32  # entries of a table: the fewest that one iteration counts when a list of cells is made
SLOTS_OF_PIECE = 64  # slots that one iteration counts when freed slots are listed: a power of 2
GROUPS = 1024  # groups of pieces, at most: their sums are added up by an iteration each
ROWS = 1 << 12  # the most rows of counts of appends
_COUNTS = 1 << 24  # the most counts of appends, unless there are more lists
_LINE = 64  # bytes: each field begins on a cache line of its own

# Each field: its type, its shape (numbers, or names of numbers that depend on the node), and what is in it.
BOOK: dict[str, tuple[Prim, tuple[int | str, ...], str]] = {
    "first": (i64, (), "how many slots were taken, see `slot_pool`"),
    "last": (i64, (), "how many slots were given back"),
    "fresh": (i64, (), "how many slots were used before that"),
    "changed": (i32, (), "not 0: the list of cells is not up to date"),
    "count": (i32, (), "how many cells the list has"),
    "drops": (i32, (), "not 0: slots of deactivated cells are marked, see `dropped_slots`"),
    "freed_count": (i32, (), "how many slots are in `freed`"),
    "claimed": (i32, (), "not 0: new cells are asked for, see `claims`"),
    "claims": (i32, (), "how many new cells are asked for"),
    "base": (i64, (), "the number of the first slot for them"),
    "full": (i32, (), "not 0: there are too few free slots for them"),
    "locks": (i32, (LOCKS,), "1 while an iteration activates a cell"),
    "free": (u32, ("slots",), "the slots that were given back, a ring"),
    "freed": (u32, ("slots",), "the slots of the deactivated cells"),
    "dropped": (u8, ("slots",), "of each slot: 1 if its cell was deactivated, and it is not in `freed` yet"),
    "dropped_in": (i32, ("slot_pieces",), "not 0: some slot of the piece is marked"),
    "dropped_sums": (i32, ("slot_pieces",), "the number of marked slots, as in `sums`"),
    "list": (u32, ("slots",), "the slots of all active cells, in the order of their indices"),
    "where": (i32, ("slots", "axes"), "the indices of the cells in the list"),
    "groups": (i32, (GROUPS,), "the number of cells in each group of pieces of the tables"),
    "sums": (i32, ("pieces",), "the number of cells in each piece of the tables, then in all pieces before it"),
    "touched": (i32, ("pieces",), "not 0: some entry of the piece is marked"),
    "news": (i32, ("pieces",), "the number of marked entries, as in `sums`"),
    "marks": (u8, ("tables", "row"), "of each entry of each table: 1 if a cell is asked for"),
}

# What the book of a hash node has besides: its hash table, and what the sort of its list needs.
HASH_BOOK: dict[str, tuple[Prim, tuple[int | str, ...], str]] = {
    "owner": (i32, ("slots", "axes"), "the index of the cell in each slot"),
    "hash_table": (u32, ("entries",), "slots; 0: free; the highest number: a cell that was deactivated"),
    "entry": (i32, ("slots",), "the number of the entry with each slot, plus 1; 0: the cell is not active"),
    "gone": (i64, (), "how many entries are those of cells that were deactivated"),
    "low": (i32, ("axes",), "how far active cells lie below the index 0"),
    "high": (i32, ("axes",), "how far active cells lie above the index 0"),
    "tally": (i32, ("tally",), "how many active cells belong into each bucket, then where its part of the list begins"),
}

# What the book of a dynamic node has besides, see `append_counts`.
LIST_BOOK: dict[str, tuple[Prim, tuple[int | str, ...], str]] = {
    "rows": (i32, (), "how many pieces of a loop count their appends"),
    "too_long": (i32, (), "not 0: a list has no room for them; the number of lists less that of the first such list"),
    "counts": (i32, ("counts",), "a row for each piece: how many elements it appends to each list"),
    "starts": (i32, ("lists",), "the slot of the chunk with the first element, less the number of the chunk"),
}


def count_size(lists: int) -> int:
    """How many counts of appends there are for that many lists: two rows at least."""
    return min(max(2 * lists, _COUNTS), (ROWS + 1) * lists)


def hash_entries(slots: int) -> int:
    """How many entries a hash table for that many slots has: a power of 2, at least twice as many. At most half of them
    become cells, and a quarter those of deactivated cells, so that some are free at any time."""
    return 1 << (2 * slots - 1).bit_length()


def bucket_count(slots: int) -> int:
    """The number of buckets in which the cells of a hash node are sorted."""
    return 64 if slots <= 4096 else 4096


def book_fields(
    slots: int, axes: int, pieces: int, tables: tuple[int, int], hashed: bool = False, lists: int = 0
) -> dict[str, tuple[Prim, tuple[int, ...], int]]:
    """The type, the shape and the first byte of each field, for a node with that many slots and axes, whose tables have
    that many pieces. `tables`: how many tables there are, and the entries of each. `hashed`: it is a hash node.
    `lists`: how many lists a dynamic node has."""
    numbers = {"slots": slots, "axes": axes, "pieces": pieces, "tables": tables[0], "row": tables[1]}
    numbers["slot_pieces"] = slots // SLOTS_OF_PIECE + 2
    numbers |= {"entries": hash_entries(slots), "tally": bucket_count(slots) + 1}
    numbers |= {"counts": count_size(lists), "lists": lists}
    found: dict[str, tuple[Prim, tuple[int, ...], int]] = {}
    rows, cursor = BOOK | (HASH_BOOK if hashed else {}) | (LIST_BOOK if lists else {}), 0
    for name, (dtype, row, _) in rows.items():
        shape = tuple(numbers[extent] if isinstance(extent, str) else extent for extent in row)
        found[name] = dtype, shape, cursor
        cursor += -(-dtype.size * prod(shape) // _LINE) * _LINE
    return found


def book_size(slots: int, axes: int, pieces: int, tables: tuple[int, int], hashed: bool = False, lists: int = 0) -> int:
    """The bytes of a book."""
    dtype, shape, start = [*book_fields(slots, axes, pieces, tables, hashed, lists).values()][-1]
    return start + dtype.size * prod(shape)
