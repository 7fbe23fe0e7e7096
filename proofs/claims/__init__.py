"""The papers' claims, one by one, each examined by computation."""
