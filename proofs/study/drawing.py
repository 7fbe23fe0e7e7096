"""Counterexamples drawn as trees with the point on them."""

from __future__ import annotations

from io import StringIO
from typing import Any

from matplotlib.figure import Figure

from proofs.drawing import draw_leaf_weights
from proofs.integrality.vertices import leaf_weights_from_kept
from proofs.study.refutation import Refutation

__all__ = ["draw_refutation", "refutation_as_svg"]


def draw_refutation(refutation: Refutation) -> Any:
    """Draw the trees of a counterexample side by side, with how far each node is a leaf, errors, and what is bought.

    Returns
    -------
    matplotlib.figure.Figure
    """
    instance = refutation.problem.instance
    figure = Figure(figsize=(4.2 * instance.n_trees, 4.2), layout="constrained")
    z = leaf_weights_from_kept(instance, refutation.kept) if refutation.kept else None
    for tree, axes in enumerate(figure.subplots(1, instance.n_trees, squeeze=False)[0]):
        first, last = instance.tree_offsets[tree : tree + 2].tolist()
        errors = ", ".join(f"{node}: {instance.errors[node]}" for node in range(first, last))
        title = f"tree {tree}, errors {errors}"
        draw_leaf_weights(axes, instance, tree, range(instance.n_nodes), z, title)
    bought = ", ".join(
        f"{name} = {value}" for name, value in refutation.point.items() if name.startswith("w") and value
    )
    figure.suptitle(f"{refutation.formulation}: {refutation.text}{f'; {bought}' if bought else ''}", wrap=True)
    return figure


def refutation_as_svg(refutation: Refutation) -> str:
    """Draw a counterexample for a page of HTML."""
    target = StringIO()
    draw_refutation(refutation).savefig(target, format="svg")
    text = target.getvalue()
    return text[text.index("<svg") :]
