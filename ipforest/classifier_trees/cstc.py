"""CSTC: the cost-sensitive tree of classifiers of Xu, Kusner, Weinberger, Chen and Chapelle (2014), section 3."""

from __future__ import annotations

from dataclasses import dataclass

from ipforest.classifier_trees.classifier_tree import ClassifierTree
from ipforest.classifier_trees.relaxed_tree import RelaxedObjective, RelaxedTreeEstimator
from ipforest.classifier_trees.structure import Initialisation, pruned
from ipforest.classifier_trees.tree_estimator import Examples
from ipforest.estimator.checks import check_choice, check_integer
from ipforest.settings import Grouped, checked

STRUCTURES = ("pruned", "greedy", "full")


@dataclass(frozen=True, slots=True, repr=False)
class TreeObjective(RelaxedObjective):
    """What is minimised, and over which trees.

    Parameters
    ----------
    lambdas, rho, spread
        See `RelaxedObjective`.
    depth : int, default=3
        Levels of classifiers, at most.
    structure : {"pruned", "greedy", "full"}, default="pruned"
        How the shape is found: a balanced tree, optimised and then pruned on validation data (3.6.1), grown node by
        node (3.6.2), or balanced.
    """

    depth: int = checked(3, check_integer, 1)
    structure: str = checked("pruned", check_choice, STRUCTURES)


@dataclass(eq=False, repr=False, kw_only=True)
class CSTC(RelaxedTreeEstimator):
    r"""A tree of linear classifiers: scores decide where an example goes, and each path buys what serves its examples.

    Minimises, over weights and thresholds of all nodes,

    .. math::
        \frac1n \sum_i \sum_k p_i^k \, \ell(\phi(x_i)^\top \beta^k, y_i) + \rho \sum_k \|\beta^k\|_1
        + \lambda \sum_l p^l \Bigl[ \sum_t e_t \sqrt{\textstyle\sum_{j \in \pi^l} (\beta_t^j)^2}
        + \sum_\alpha c_\alpha \sqrt{\textstyle\sum_{j \in \pi^l} \sum_t (F_{\alpha t} \beta_t^j)^2} \Bigr]

    (12), (22), by block coordinate descent, Algorithm 1; one tree per lambda.

    Parameters
    ----------
    loss : {"squared", "logistic"}, default="squared"
        Squared for regression and ranking; logistic for two classes.
    objective : TreeObjective, optional
        What is minimised, and over which trees.
    feature_map : FeatureMap or None, default=None
        `BoostingTrick`, or None for the scaled features themselves.
    descent : DescentSettings or None
        How the tree is optimised and when it is pruned; see
        `ipforest.classifier_trees.DescentSettings`, whose ``printed()`` is the paper's way.
    feature_costs, split_cost
        Prices; see `ipforest.costs.FeatureCosts`. With the boosting trick, `split_cost` times the number of its
        features is what evaluating a tree costs, besides the ``evaluation_cost`` of `BoostingTrick`: e_t.
    budget : number, optional
        What an example may cost on average on validation data; by default the best tree is taken, whatever it costs.
    class_costs : array, DataFrame, mapping of mappings or path, optional
        What mistakes cost, as in `ipforest.EarlyExit`, for two classes. Labels are weighted in training by what missing
        them costs, the probabilities are corrected for it, and trees are chosen by what mistakes cost.
    scoring : {None, "total cost"}, default=None
        See `ipforest.EarlyExit`.
    validation_fraction : float, splitter or None, default=0.25
        Share of the examples (of the queries) held out for the structure, for stopping early, for fine-tuning and for
        the choice by budget; with None all examples are in both parts.
    n_jobs : int, optional
        Lambdas in parallel through joblib.
    random_state : int, RandomState instance or None

    Attributes
    ----------
    candidates_ : list of MeasuredTree
        One per lambda, and one free of cost.
    tree_ : ClassifierTree
        The one that predicts.

    Notes
    -----
    What the paper leaves open, and how it is settled here: rho stands once per node, outside the mean over examples;
    the squared loss is halved, so that (16) holds as printed; each node has an intercept, free of cost and norm; in
    initialisation thresholds send half of the (soft) examples up; early stopping looks at the loss plus lambda times
    the cost, neither relaxed, on validation data; a node that has lost one child answers for that side.

    The paper prunes before it optimises, as ``DescentSettings.printed()`` does. The paths of a pruned tree differ in
    length, and loss (6) and relaxed cost (11) of a path grow with its length, so the descent may send all examples out
    by the shortest: the tree falls back to its root. The paths of a balanced tree are of one length, so by default
    pruning comes last.
    """

    _objective = Grouped(TreeObjective)

    loss: str = "squared"
    objective: TreeObjective | None = None

    def _initial(self, start: Initialisation, validation: Examples) -> ClassifierTree:
        depth = self._objective.depth
        if self._objective.structure == "greedy":
            return start.grown(validation.phi, self._badness(validation), 2**depth - 1)
        return start.full_tree(depth)

    def _prune(self, tree: ClassifierTree, validation: Examples) -> ClassifierTree:
        return pruned(tree, self._badness(validation)) if self._objective.structure == "pruned" else tree
