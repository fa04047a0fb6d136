"""`weft.linalg`, where type checkers look for it; see the stub. In a program `import weft` gives the name."""
