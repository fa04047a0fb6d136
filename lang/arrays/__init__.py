"""Arrays of other libraries: exchange without a copy, functions of whole arrays, and operators for PyTorch."""
