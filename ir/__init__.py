"""Weft's multi-level SSA IR: types, ops, text, passes, layout, and the evaluator that says what programs mean."""
