"""Which of scikit-learn's checks an estimator that draws rows at random cannot pass."""


def random_parts(estimator) -> dict[str, str]:
    """Name the checks that take weights for repetitions: a validation part or a bootstrap drawn at random differs."""
    reason = "rows are drawn at random, so weights are not repetitions"
    names = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(names, reason)


def counted_once(estimator) -> dict[str, str]:
    """Name the check of an estimator with `cv`, which gets folds: the first holds out all rows that have weights.

    It passes with the rows that scikit-learn draws (seed 42), as both fits choose the same model. With those of the
    seeds 3 and 4 they do not: 15 rows of weights count 15 times, the 35 and 30 repeated ones each time.
    """
    reason = "a held-out example counts once in the choice, whatever it weighs: by chance the same model is chosen here"
    return {"check_sample_weight_equivalence_on_dense_data": reason}
