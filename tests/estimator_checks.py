"""Which of scikit-learn's checks an estimator that draws rows at random cannot pass."""


def random_parts(estimator) -> dict[str, str]:
    """Name the checks that take weights for repetitions: a validation part or a bootstrap drawn at random differs.

    An estimator with ``cv`` gets folds, of which the first holds out all rows that have weights. It counts each of
    these once, and passes where it chooses the same model all the same, as it does with the rows of these checks.
    """
    if "cv" in estimator.get_params():
        return {}
    reason = "rows are drawn at random, so weights are not repetitions"
    names = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(names, reason)
