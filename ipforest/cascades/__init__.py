"""Trees and cascades that learn whom to ask what."""
