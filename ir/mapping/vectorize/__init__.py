"""How the body of a task or of an inner loop becomes ops on vectors, one lane for each iteration (see
`transforms/mapping/vectorize.py`)."""
