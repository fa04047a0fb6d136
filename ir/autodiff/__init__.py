"""Derivatives of kernels: the rules of scalar operators, and the parts of the pass `differentiate`."""
