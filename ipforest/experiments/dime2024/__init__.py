"""S. Gadgil, I. Covert, S.-I. Lee, "Estimating Conditional Mutual Information for Dynamic Feature Selection", 2024."""
