"""`python -m weft`: the command `weft`."""

import sys

from weft.lang.cli import main

sys.exit(main())
