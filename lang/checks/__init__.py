"""Checks that run with a kernel and need state beside it: for data races, and for elements that were never written.

(Checks of indices, of NaN and of assertions need no such state. They are passes in `ir/transforms/`.)
"""
