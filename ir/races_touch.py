"""The functions of the race check: how an access updates the shadow (see `races.py`)."""

from __future__ import annotations

from weft.ir.ops import Kernel
from weft.ir.races import BEFORE, CELL, CELL_WORDS, FIRST, HEADER, KINDS, MARK, NOW, WRITE
from weft.ir.runtime_library.functions import define
from weft.ir.symbols import FieldSymbol

__all__ = ["touch_kernels"]


def touch_kernels(shadow: FieldSymbol) -> list[Kernel]:
    """The functions `touch_read`, `touch_write` and `touch_atomic` (cell, site). Each tests whether another iteration
    of the loop made a conflicting access to the cell, and records this access."""
    return [_touch_kernel(shadow, kind, *row) for kind, row in KINDS.items()]


def _touch_kernel(shadow: FieldSymbol, kind: str, meets: tuple[int, ...], noted: int) -> Kernel:
    lines = [
        *_word("first", FIRST),
        *_word("mark", MARK),
        "  %cell = arg index=0 : i64",
        "  %site = arg index=1 : i64",
        f"  %words = const {CELL_WORDS} : i64",
        f"  %header = const {HEADER} : i64",
        "  %skipped = binary mul %cell, %words : i64",
        "  %base = binary add %skipped, %header : i64",
        "  %zero = const 0 : i64",
        "  %entry = binary add %mark, %site : i64",
    ]
    worst = "%zero"
    for word in dict.fromkeys((*meets, noted, noted + 1)):
        lines += [
            f"  %o{word} = const {word} : i64",
            f"  %i{word} = binary add %base, %o{word} : i64",
            f"  %p{word} = field_ptr @shadow[%i{word}] : *i64",
        ]
    for word in meets:
        lines += [
            f"  %e{word} = load %p{word} : i64",
            f"  %in{word} = binary ge %e{word}, %first : u1",
            f"  %other{word} = binary lt %e{word}, %mark : u1",
            f"  %meets{word} = binary and %in{word}, %other{word} : u1",
            f"  %c{word} = select %meets{word}, %e{word}, %zero : i64",
            f"  %w{word} = binary max {worst}, %c{word} : i64",
        ]
        worst = f"%w{word}"
    lines += [
        f"  %sound = binary eq {worst}, %zero : u1",
        "  if %sound then {",
        *(_note(noted) if noted == WRITE else _note_pair(noted)),
        "  } orelse {",
        *_put(CELL, "%cell"),
        *_put(BEFORE, worst),
        *_put(NOW, "%entry"),
        "  }",
        '  assert %sound, [], message="a race", kind=race',
    ]
    return define(f"@touch_{kind}(cell: i64, site: i64) -> ()", "\n".join(lines), {"shadow": shadow})


def _word(name: str, word: int) -> list[str]:
    return [
        f"  %{name}_at = const {word} : i64",
        f"  %{name}_p = field_ptr @shadow[%{name}_at] : *i64",
        f"  %{name} = load %{name}_p : i64",
    ]


def _put(word: int, value: str) -> list[str]:
    return [
        f"    %at{word} = const {word} : i64",
        f"    %to{word} = field_ptr @shadow[%at{word}] : *i64",
        f"    store %to{word}, {value}",
    ]


def _note(word: int) -> list[str]:
    return [f"    store %p{word}, %entry"]


def _note_pair(word: int) -> list[str]:
    """Move the last access to the second word, unless this iteration made it."""
    return [
        f"    %last = load %p{word} : i64",
        "    %older = binary lt %last, %mark : u1",
        "    if %older then {",
        f"      store %p{word + 1}, %last",
        f"      store %p{word}, %entry",
        "    }",
    ]
