"""Kernel calls, from the arguments to compiled code: parameters, instances, compilation, launches and results."""
