"""AFABench: a benchmark of active feature acquisition, arXiv 2508.14734."""
