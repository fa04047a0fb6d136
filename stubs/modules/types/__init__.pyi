"""`weft.types`, as type checkers see it."""

from weft.stubs.types import *  # noqa: F403
