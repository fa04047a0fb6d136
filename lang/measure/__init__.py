"""How long things take: profilers, timelines, benchmarks, the choice among configurations."""
