"""A renderer of software, written as kernels: shapes are sorted into the tiles that they touch, then each pixel asks
the shapes of its tile. So no two iterations write the same place, and a picture is the same on every arch."""
