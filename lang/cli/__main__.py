"""Run the command `weft` as `python -m weft.lang.cli`."""

import sys

from weft.lang.cli import main

sys.exit(main())
