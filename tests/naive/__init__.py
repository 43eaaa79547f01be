"""Slow, obvious twins: each thing as its definition reads, to judge the fast one by."""
