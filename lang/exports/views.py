"""`ti.views`: fields in the viewers and tables of other libraries, with one call each.

`polyscope`, `rerun` and `viser` are modules with the functions `points`, `mesh` and `grid`; `rerun` has `image` too.
`xarray` makes a data set. Each needs the package of its name: `pip install 'weft[rerun]'`."""

from __future__ import annotations

from weft.lang.exports import polyscope_view as polyscope
from weft.lang.exports import rerun_view as rerun
from weft.lang.exports import viser_view as viser
from weft.lang.exports.xarray_data import xarray

__all__ = ["polyscope", "rerun", "viser", "xarray"]
