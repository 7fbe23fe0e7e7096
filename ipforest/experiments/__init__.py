"""Tradeoff curves, benchmarks, synthetic data, the demonstration."""
