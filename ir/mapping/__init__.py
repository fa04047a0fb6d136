"""Analyses for the mapping of tasks to a target: which decisions are legal, and what each costs."""
