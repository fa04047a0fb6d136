"""Types, and values of them in Python scope: numbers, vectors, matrices, structs, argument packs."""
