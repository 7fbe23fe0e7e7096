"""Is a matrix totally unimodular, a network matrix? Tests, certificates, known answers."""
