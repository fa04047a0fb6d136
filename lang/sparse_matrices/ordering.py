"""Compute an elimination order by reverse Cuthill-McKee, which brings the elements of a matrix close to its diagonal.

Nodes are visited breadth first, neighbours of lower degree first, from a node at the edge of each component. The order
is then reversed (A. George, "Computer implementation of the finite element method", 1971).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.lang.kernels.kernel import kernel
from weft.lang.values.kinds import Integers, i32
from weft.lang.values.types import VectorType

if TYPE_CHECKING:
    from typing import TypeAlias

    Pair: TypeAlias = Any
else:
    Pair = VectorType(2, i32)

__all__ = ["reverse_cuthill_mckee"]


@kernel
def _visit(starts: Integers, columns: Integers, order: Integers, seen: Integers, begin: i32, turn: i32) -> Pair:
    """Append all nodes that can be reached from `order[begin]`, and mark them `seen` in this turn. Returns the end of
    the order, and the distance of the farthest node."""
    end, level, depth, at = begin + 1, begin + 1, 0, begin
    seen[order[begin]] = turn
    while at < end:
        node, own = order[at], end
        at += 1
        for link in range(starts[node], starts[node + 1]):
            other = columns[link]
            if seen[other] != turn:
                seen[other] = turn
                degree, spot = starts[other + 1] - starts[other], end
                while spot > own:
                    before = order[spot - 1]
                    if starts[before + 1] - starts[before] <= degree:
                        break
                    order[spot] = before
                    spot -= 1
                order[spot] = other
                end += 1
        if at == level and end > level:
            level, depth = end, depth + 1
    return [end, depth]


def reverse_cuthill_mckee(starts: Any, columns: Any) -> Any:
    """Return the order of the nodes of a symmetric pattern, which is given by rows."""
    size = len(starts) - 1
    starts, columns = starts.astype(np.int32), columns.astype(np.int32)
    if not len(columns):
        return np.arange(size)
    order, seen = np.zeros(size, np.int32), np.zeros(size, np.int32)
    done, turn = 0, 0
    for node in np.argsort(np.diff(starts), kind="stable"):
        if seen[node]:
            continue
        order[done] = node
        depth = -1
        while True:  # start again from the farthest node while that increases the distance
            turn += 1
            end, deeper = (int(x) for x in _visit(starts, columns, order, seen, done, turn))
            if deeper <= depth:
                break
            depth, order[done] = deeper, order[end - 1]
        done = end
    return order[::-1].astype(np.int64)
