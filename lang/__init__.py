"""The language that users import: decorators, fields, values, functions, and the tools around them."""
