"""The language as its users have it: decorators, fields, values, functions, and all that is around them."""
