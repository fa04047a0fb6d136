"""Measure time: profilers, timelines and benchmarks."""
