"""Sparse matrices: assembly in kernels, products, and solvers. A part of `ti.linalg`."""
