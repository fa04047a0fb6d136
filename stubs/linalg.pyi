"""`ti.linalg`: sparse matrices, their solvers, and conjugate gradients on fields."""

from weft.lang.linear.solvers import LinearOperator as LinearOperator
from weft.lang.linear.solvers import MatrixFreeBICGSTAB as MatrixFreeBICGSTAB
from weft.lang.linear.solvers import MatrixFreeCG as MatrixFreeCG
from weft.lang.linear.solvers import taichi_cg_solver as taichi_cg_solver
from weft.lang.sparse_matrices.builder import SparseMatrixBuilder as SparseMatrixBuilder
from weft.lang.sparse_matrices.matrix import SparseMatrix as SparseMatrix
from weft.lang.sparse_matrices.solvers import SparseCG as SparseCG
from weft.lang.sparse_matrices.solvers import SparseSolver as SparseSolver
