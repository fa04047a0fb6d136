"""Logging: the logger and its levels, the topics of Weft's own work, and the progress of compilations."""
