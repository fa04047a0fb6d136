"""What is written in the language itself: `ti.math`, linear algebra, sorting and sums, solvers without matrices.

Most are `@pyfunc`s: they run inlined in kernels, and as plain Python outside.
"""
