"""`weft.math`, as type checkers see it."""

from weft.stubs.math import *  # noqa: F403
