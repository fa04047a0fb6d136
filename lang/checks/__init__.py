"""Kernels that look for mistakes while they run: races between iterations, elements that nothing has written.

(Checks of indices, of NaN and of assertions need nothing beside the kernel: they are passes, in `ir/transforms/`.)
"""
