"""Reduce (outer, n, inner) elements on a GPU: by teams of threads, in one launch or two.

    few columns (inner <= 64)     a team of L x inner threads reduces a run of rows: lane l reduces the rows l, l + L,
                                  l + 2 L ... of it, so that accesses are coalesced; then half of the lanes combine
                                  their results with those of the other half, in shared memory, until one is left
    many columns                  a thread reduces a run of one column
    too few elements for these    a team reduces one column, whatever the distance of its elements

If one run for each n would not fill a GPU, there are several, and a second launch reduces their results. Their number
depends on the extents only, not on the GPU, so equal calls give equal bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.lang.arrays.generated_kernels import Text

__all__ = ["Stage", "lines_of_team", "stage_of"]

_BLOCK = 256  # threads
_BLOCKS = 2048  # blocks that keep a GPU busy
_THREADS = 1 << 18  # threads that keep a GPU busy, if each works alone
_LEAST, _MOST = 16, 64  # rows per lane: minimum if n is cut into runs; maximum if it is not
_LINE = 8  # lanes that read adjacent memory
_LONE = 32  # rows of a thread that works alone
_BESIDE = 4  # rows that are loaded at once (as `unroll_and_jam.py` does with loops)
_FEW_COLUMNS = 64
_LITTLE = 1 << 19  # elements that teams reduce whatever their layout
_SHORT = 64  # rows that one thread can reduce


@dataclass(frozen=True)
class Stage:
    """A launch. Each n is cut into `runs` of `size` rows. A team has `lanes` x `width` threads, for `width` adjacent
    columns. Without lanes, each thread works alone."""

    size: int
    runs: int
    lanes: int = 0
    width: int = 1


def stage_of(outer: int, n: int, inner: int) -> Stage:
    """Return the next launch on the way from (outer, n, inner) elements to (outer, 1, inner)."""
    little = outer * n * inner <= _LITTLE
    if inner > _FEW_COLUMNS and (n <= _SHORT or not little):
        runs = 1 if n <= _SHORT else max(1, min(-(-n // _LONE), -(-_THREADS // (outer * inner))))
        size = -(-n // runs)
        return Stage(size, -(-n // size))
    width = 1 if little else inner
    lanes = min(_below(_BLOCK // width), _below(max(1, n // _LEAST, min(_LINE, n // 4))))
    teams = _BLOCK // (lanes * width)  # in a block
    runs = 1 if n <= lanes * _MOST else min(-(-n // (lanes * _LEAST)), -(-_BLOCKS * teams // outer))
    size = -(-n // (runs * lanes)) * lanes
    return Stage(size, -(-n // size), lanes, width)


def _below(n: int) -> int:
    """Return the largest power of two that is at most n."""
    return 1 << (n.bit_length() - 1)


def lines_of_team(text: Text, stage: Stage, inner: int) -> list[str]:
    """Return the body of a kernel that takes operands, `_out`, `_size`, `_n`."""
    lanes, width = stage.lanes, stage.width
    team = lanes * width
    teams, columns = _BLOCK // team, inner > 1
    groups = "_out.shape[0] * _out.shape[1]" + (" * _out.shape[2]" if columns and width == 1 else "")
    place = ["_o", "_b", "_c"] if columns else ["_o", "_b"]
    first, row = (text.at("_o", r, *place[2:]) for r in ("_first", f"_first + _k * {lanes}"))
    last = [text.at("_o", f"_first + _min(_done + {k}, _count - 1) * {lanes}", *place[2:]) for k in range(_BESIDE - 1)]
    lines = [
        f"_loop_config(block_dim={_BLOCK})",
        f"for _p, _t in _ndrange(({groups} + {teams - 1}) // {teams}, {_BLOCK}):",
        f"    _shared = _SharedArray({_BLOCK}, _prim)",
        f"    _g, _lane = _p * {teams} + _t // {team}, _t % {team} // {width}",
        *(f"    {line}" for line in _place(columns, width)),
        "    _rows = _min(_size, _n - _b * _size)",
        f"    if _t >= {teams * team} or _g >= {groups}:",
        "        _rows = 0",
        "    if _lane < _rows:",
        "        _first = _b * _size + _lane",
        f"        _y = _cast({first}, _prim)",
        f"        _count = (_rows - _lane + {lanes - 1}) // {lanes}",
        f"        _done = 1 + (_count - 1) // {_BESIDE} * {_BESIDE}",
        "        for _k in _range(1, _done):",
        f"            _y = _cast(_join(_y, _cast({row}, _prim)), _prim)",
        *(f"        _x{k} = _cast({value}, _prim)" for k, value in enumerate(last)),
        *(
            f"        if _done + {k} < _count:\n            _y = _cast(_join(_y, _x{k}), _prim)"
            for k in range(len(last))
        ),
        "        _shared[_t] = _y",
        "    _sync()",
    ]
    half = lanes // 2
    while half:
        lines += [
            f"    if _lane < {half} and _lane + {half} < _rows:",
            f"        _shared[_t] = _cast(_join(_shared[_t], _shared[_t + {half * width}]), _prim)",
            "    _sync()",
        ]
        half //= 2
    lines += ["    if _lane == 0 and _rows > 0:", f"        _out[{', '.join(place)}] = _shared[_t]", "    _sync()"]
    return [f"    {line}" for text in lines for line in text.split("\n")]


def _place(columns: bool, width: int) -> list[str]:
    """Return the lines that compute the n, the run and the column of a thread."""
    if not columns:
        return ["_o, _b = _g // _out.shape[1], _g % _out.shape[1]"]
    if width > 1:
        return [f"_o, _b, _c = _g // _out.shape[1], _g % _out.shape[1], _t % {width}"]
    return [
        "_c, _b, _o = _g % _out.shape[2], _g // _out.shape[2] % _out.shape[1], _g // _out.shape[2] // _out.shape[1]"
    ]
