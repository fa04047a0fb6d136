"""Benchmarks: the same programs under Weft and under its peers, in turn, as ratios. `python -m tests.bench --help`."""
