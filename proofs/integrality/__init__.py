"""Exact vertices of the relaxations."""
