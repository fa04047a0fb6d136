"""`weft.math`, where type checkers look for it. In a program it is `weft.lang.library.mathlib`."""

from weft.lang.library.mathlib import *  # noqa: F403
