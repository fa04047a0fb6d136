"""arch=python: kernels run line by line as Python, with the language's arithmetic."""
