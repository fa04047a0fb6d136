"""Arrays of other libraries: taken and lent without a copy, functions of whole arrays, operators for PyTorch."""
