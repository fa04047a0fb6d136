"""From a call of a kernel to its compiled code: parameters, instances, compilation, launches, results."""
