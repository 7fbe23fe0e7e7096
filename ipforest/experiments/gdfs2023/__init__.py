"""I. Covert and others, "Learning to Maximize Mutual Information for Dynamic Feature Selection", ICML 2023."""
