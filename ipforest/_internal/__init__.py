"""Small helpers that several rooms share; nothing here is public."""
