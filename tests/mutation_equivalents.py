"""Slips that no input tells apart from the checker: function and change, each with the reason."""

_SET = "a set of a list's entries is never larger than the list"
_SIZE = "a size is never negative"
_ZERO_SUM = "each column sums to 0, so one +1 needs another nonzero, and two nonzeros are one +1 and one -1"
_REMAINDER = "a remainder of a division by 2 is never negative"
_SLACK = "64 bits hold what is just at the limit, and Python's integers hold the same numbers"
_NO_GAIN = "a node that gains nothing has a source arc of no capacity, and more than that on it is refused"
_EARLIER = "the other side was refused before"

UNIMODULARITY = {
    "counterexample Counterexample.check: "
    "len(set(self.rows)) != len(self.rows): len(set(self.rows)) < len(self.rows)": _SET,
    "counterexample Counterexample.check: "
    "len(set(self.columns)) != len(self.columns): len(set(self.columns)) < len(self.columns)": _SET,
    "network_certificate NetworkCertificate._tree_fault: vertices == 0: vertices <= 0": _SIZE,
    "network_form NetworkForm.check: ones == 1: ones >= 1": _ZERO_SUM,
    "network_form NetworkForm.check: nonzeros == 2: nonzeros <= 2": _ZERO_SUM,
    "network_form NetworkForm.check: right[0] != -1: right[0] > -1": (
        "where the other sums are 0 it divides every entry of the image of (1, ..., 1), so it is 1 or -1"
    ),
    "small_matrices EulerianCertificate.check: sums % 2 == 0: sums % 2 <= 0": _REMAINDER,
    "small_matrices EulerianCertificate.check: (sums // 2 - chosen) % 2 != 0: (sums // 2 - chosen) % 2 > 0": _REMAINDER,
}
_BOUNDS = {
    "scaled_by_group": "max(1, int(values.max(initial=0))) * max(factors)",
    "add": "sum((int(part.max(initial=0)) for part in parts))",
    "_summed": "total(values)",
}
CERTIFICATES = {
    **{
        f"exact_arrays {function}: {bound} >= LIMIT: {bound} {limit}": _SLACK
        for function, bound in _BOUNDS.items()
        for limit in ("> LIMIT", ">= LIMIT + 1", ">= LIMIT - 1")
    },
    **{
        f"instance InternalNodes.__init__: instance.node_parent.size + 1: instance.node_parent.size + {more}": (
            "the parent of a root is looked up from behind: what stands there is -1, as is the place of the last node, "
            "which is a leaf"
        )
        for more in (0, 2)
    },
    **{
        "archive _unpack: sum((member.file_size for member in members)) > size: "
        f"sum((member.file_size for member in members)) {relation}": (
            "an archive has more bytes than its members: sizes that come so close are refused where they are read"
        )
        for relation in (">= size", "> size + 1", "> size - 1")
    },
    "archive _unpack: member.compress_type != zipfile.ZIP_STORED: member.compress_type > zipfile.ZIP_STORED": (
        "the number of a method is never negative, and that of none is 0"
    ),
    "archive _directory_size: size - 98: size - 97": "the first of the 98 bytes at the end is not looked at",
    "archive _directory_size: tail[96:98] != b'\\x00\\x00': tail[96:98] > b'\\x00\\x00'": (
        "no two bytes are less than two zeros"
    ),
    "archive read_integer: number.denominator != 1: number.denominator > 1": "a denominator is never below 1",
    "instance _tree_fault: own_root == numbers: own_root >= numbers": "a tree begins with its root",
    **{
        f"instance _acquisition_fault: example.astype(np.int64) << 32: example.astype(np.int64) << {bits}": (
            "a unit has 31 bits, as has an example: each pair has a number of its own"
        )
        for bits in (31, 33)
    },
    "instance _acquisition_fault: pairs[1:] == pairs[:-1]: pairs[1:] <= pairs[:-1]": "the pairs are sorted",
    "instance _triple_fault: last_seen[needed] != places: last_seen[needed] > places": (
        "of the places of one acquisition the last one stays"
    ),
    "instance _are_nested: need[1:] == need[:-1]: need[1:] <= need[:-1]": "the needs are sorted",
    "instance _are_nested: start[1:] < stop[:-1]: start[1:] < stop[:-1] - 1": (
        "a node with a test has two numbers at least, so none below it begins at its last"
    ),
    **{
        f"instance _are_nested: parent.size + 1: parent.size + {more}": (
            "the last place is that of no node, or of a leaf, which needs nothing"
        )
        for more in (0, 2)
    },
    "optimality verify_claim: value != upper: value < upper": "a flow that passes bounds every pruning from above",
    **{
        f"{place}: nodes.gain > 0: nodes.gain {relation}": _NO_GAIN
        for place in ("optimality verify_claim", "optimality conservation_fault", "path_optimality _saturation_fault")
        for relation in (">= 0", "> -1")
    },
    **{
        f"path_optimality _saturation_fault: nodes.gain < 0: nodes.gain {relation}": _NO_GAIN
        for relation in ("<= 0", "< 1")
    },
    "path_optimality _by_piece: k + 2: k + 3": "one sum more, of nothing",
    "optimality conservation_fault: flow.up != 0: flow.up > 0": f"{_EARLIER}: a negative flow",
    "path_optimality _crossing_fault: piece != piece[nodes.parent]: piece < piece[nodes.parent]": (
        f"{_EARLIER}: a node that is kept longer than its parent"
    ),
    "path_optimality _crossing_fault: owner[instance.indices[flow.used]] != payer: "
    "owner[instance.indices[flow.used]] > payer": "the piece of an acquisition is the last of its nodes' pieces",
    "path_optimality _saturation_fault: flow.gain != full: flow.gain < full": "more than that is refused beside it",
    "path_optimality _saturation_fault: piece == k: piece >= k": f"{_EARLIER}: a piece above the last one",
    "path_optimality _saturation_fault: owner == k: owner >= k": f"{_EARLIER}: a piece above the last one",
}
_FIRST = "the first node of a forest is a root, and no node's child"
PROVENANCE = {
    "_claim_fault: result.bound != value: result.bound < value": (
        f"{_EARLIER}: a bound above the least that is known, which no pruning falls below"
    ),
    **{
        f"_kept_of: {left} < 0: {left} {relation}": _FIRST
        for left in ("pruned_left[place]", "left[node]")
        for relation in ("<= 0", "< 1")
    },
    "verify_files: len(there) == 1: len(there) <= 1": f"{_EARLIER}: no file at all",
}
EQUIVALENT = {
    f"proofs.{place}{change}": reason
    for place, changes in (
        ("unimodularity.", UNIMODULARITY),
        ("certificates.", CERTIFICATES),
        ("provenance ", PROVENANCE),
    )
    for change, reason in changes.items()
}
"""By ``module function: what``, as the gate prints a change without its line."""
