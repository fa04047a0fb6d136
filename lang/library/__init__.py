"""The part of the library that is written in the language itself: `ti.math`, linear algebra, sparse triplets.

Most functions are `@pyfunc`s: they are inlined in kernels, and run as plain Python outside of them.
"""
