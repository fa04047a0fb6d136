"""Compiled kernels on disk: what a kernel can name, as a key, and what is kept under it."""
