"""Everything about a formulation: is it right, how strong, how large; counterexamples and missing inequalities."""
