"""The decorators that define kernels and functions, and graphs of kernel calls."""
