"""P. Turney, "Cost-Sensitive Classification", Journal of Artificial Intelligence Research 2 (1995)."""
