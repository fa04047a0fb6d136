"""Series of files for other programs (`ti.Recorder`), and views in other programs (`ti.views`).

`frames` has what one frame is: a grid, points, a mesh or a picture. Each kind of file is a module of its own, and a row
of `recorder`."""
