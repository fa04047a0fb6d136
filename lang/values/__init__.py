"""Types, and their values in Python scope: numbers, vectors, matrices, structs and argument packs."""
