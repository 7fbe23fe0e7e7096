"""Tables and what comes with them: price lists, categories, encodings, names, model files."""
