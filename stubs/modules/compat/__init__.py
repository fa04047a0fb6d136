"""`weft.compat`, where type checkers look for it. In a program it is `weft.lang.compat`."""

from weft.lang.compat import *  # noqa: F403
