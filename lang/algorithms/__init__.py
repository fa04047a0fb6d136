"""Algorithms as kernels: sorting, prefix sums, solvers."""
