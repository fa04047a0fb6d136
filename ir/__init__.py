"""Weft's multi-level SSA IR: types, ops, text, passes, layout, and the evaluator, which defines what programs mean."""
