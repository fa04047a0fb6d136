"""The decorators of kernels and functions, and sequences of kernel calls."""
