"""Budgeted estimators."""
