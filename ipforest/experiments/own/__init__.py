"""Experiments of this package."""
