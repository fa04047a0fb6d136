"""Matrices that are mostly zero: built by kernels, multiplied, solved. A part of `ti.linalg`."""
