"""What loops of kernels run over, as type checkers see it."""

from collections.abc import Iterator
from typing import Any

from weft.stubs.matrices import Vector

MYPY: bool  # mypy takes it for true, and other checkers take the last definition

if MYPY:  # a second loop of a kernel may use the same name for an index of another kind
    Index = Any  # pyright: ignore[reportAssignmentType]
else:
    class Index(int):
        """An index of a loop over a field, an array or an `ndrange`: a number, or `i, j` if there are several axes."""

        def __iter__(self) -> Iterator[Index]: ...
        def __getitem__(self, axis: int) -> int: ...

class ndrange:
    """All index tuples of a box: `ndrange(n, (begin, end), ...)`. The last axis varies fastest.

    In a kernel, a loop over it is one parallel loop. In Python, it iterates over the tuples. `bounds` holds (begin,
    end) for each axis. Raises TypeMismatch for an axis that is neither a number nor a pair.

    Example:
        x = ti.field(ti.i32, (4, 6))

        @ti.kernel
        def inner():
            for i, j in ti.ndrange((1, 3), (1, 5)):
                x[i, j] = 1

        inner()
        x.sum()  # 8
        list(ti.ndrange(2, (5, 7)))  # [(0, 5), (0, 6), (1, 5), (1, 6)]
        len(ti.ndrange(10, 20)), ti.ndrange(10, 20).dimensions  # (200, [10, 20])
        [list(I) for I in ti.ndrange(1, 2).grouped()]  # [[0, 0], [0, 1]]
    """

    bounds: list[tuple[Any, Any]]
    def __init__(self, *extents: float | tuple[float, float]) -> None: ...
    @property
    def dimensions(self) -> list[Any]:
        """The extent of each axis, a list of integers; 0 for an axis that ends before it begins."""
    def __iter__(self) -> Iterator[Index]: ...
    def __len__(self) -> int: ...
    def grouped(self) -> Iterator[Vector[int]]:
        """The index tuples as vectors, one vector for each iteration."""
