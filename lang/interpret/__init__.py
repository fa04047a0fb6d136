"""Run kernels as Python (`arch=python`), line by line, with the arithmetic of the language."""
