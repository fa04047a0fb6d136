"""A software renderer, written as kernels. Shapes are sorted into the tiles that they touch. Then each pixel tests the
shapes of its tile. No two iterations write the same place, so a picture is the same on every arch."""
