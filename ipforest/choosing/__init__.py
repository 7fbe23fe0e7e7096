"""Choices within a budget: what is measured on held-out examples, what mistakes cost, and coins between two models."""
