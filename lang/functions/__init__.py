"""Python's functions as the compiler reads them: their text, annotations, and what they take from around them."""
