"""`weft.linalg`, as type checkers see it."""

from weft.stubs.linalg import *  # noqa: F403
