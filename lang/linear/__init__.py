"""Linear systems whose matrix is a function of a vector: the operator, Krylov methods, and their gradients."""
