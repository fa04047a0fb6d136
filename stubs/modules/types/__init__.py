"""`weft.types`, where type checkers look for it. In a program it is `weft.lang.compat.types`."""

from weft.lang.compat.types import *  # noqa: F403
