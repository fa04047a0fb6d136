"""Cache compiled kernels on disk: make the key of a kernel and store its code under it."""
