"""Reads Python functions for the compiler: their source text, their annotations, and the variables that they
capture."""
