"""The five papers: every table and figure of each, and what there is of it here."""

from __future__ import annotations

from dataclasses import dataclass

from ipforest.experiments import catalogue
from ipforest.experiments.experiment import Experiment


@dataclass(frozen=True, slots=True)
class Part:
    """A table or figure of a paper.

    Parameters
    ----------
    label : str
        As printed: "Figure 3".
    shows : str
        What it shows, in a sentence.
    told : str
        Where it is to be found here, or why it is not, if no experiment repeats it.
    name : str
        The experiment's part of its name; by default the label's, "figure3".
    """

    label: str
    shows: str
    told: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper.

    Parameters
    ----------
    room : str
        What the names of its experiments begin with.
    title, place : str
    parts : tuple of Part
    """

    room: str
    title: str
    place: str
    parts: tuple[Part, ...]

    def experiment(self, part: Part) -> Experiment | None:
        """Return the experiment that repeats a part, if there is one."""
        name = f"{self.room}/{part.name or part.label.lower().replace(' ', '')}"
        return catalogue.find(name) if name in catalogue.names() else None


PROVED = "It illustrates a proof: notebooks 02 and 04 draw it of a tree of ours, and `ipforest prove` checks the claim."

PAPERS = (
    Paper(
        "budgetrf2015",
        "Feature-Budgeted Random Forest",
        "Nan, Wang, Saligrama, ICML 2015",
        (
            Part("Table 1", "Share of the features used, and test error, of random forests and BudgetRF."),
            Part(
                "Figure 1",
                "A synthetic example of 1,024 examples in four classes.",
                "`ipforest prove` makes its data for the claim about the next figure.",
            ),
            Part(
                "Figure 2",
                "Error against depth of GreedyTree on that example: 0.39% with two levels, none with ten.",
                "`ipforest prove` finds both figures exactly (claim of section 2.4).",
            ),
            Part("Figure 3", "Error against average cost on four data sets, next to ASTC, CSTC and GreedyMiser."),
        ),
    ),
    Paper(
        "pruning2016",
        "Optimally Pruning Decision Tree Ensembles With Feature Cost",
        "Nan, Wang, Saligrama, 2016",
        (
            Part("Figure 1", "A tree, its constraint matrix and the equivalent network matrix.", PROVED),
            Part("Table 1", "Cost and error of joint and of individual pruning at two levels of error."),
            Part("Ablation", "What moves the costs of table 1 towards the printed ones.", name="ablation"),
        ),
    ),
    Paper(
        "budgetprune2016",
        "Pruning Random Forests for Prediction on a Budget",
        "Nan, Wang, Saligrama, NIPS 2016",
        (
            Part("Table 1", "How often a forest uses features, before and after pruning."),
            Part("Figure 1", "A tree, its constraint matrix and the equivalent network matrix.", PROVED),
            Part("Figure 2", "Error against average cost of five methods on four data sets."),
            Part("Figure 3", "Pruning of one tree as a shortest path.", PROVED),
            Part("Figure 4", "Two trees, numbered for the proof of total unimodularity.", PROVED),
            Part("Figure 5", "BudgetPrune and cost-complexity pruning under uniform and non-uniform prices."),
            Part("Figure 6", "Pruning of forests grown with entropy and with threshold-Pairs."),
            Part("Figure 7", "Pruning of forests grown with small and with large random subsets of features."),
        ),
    ),
    Paper(
        "cstc2014",
        "Classifier Cascades and Trees for Minimizing Feature Evaluation Cost",
        "Xu, Kusner, Weinberger, Chen, Chapelle, JMLR 2014",
        (
            Part("Table 1", "The notation.", "The glossary and the docstrings of `ipforest.classifier_trees` have it."),
            Part("Figure 1", "A cascade and a tree of classifiers.", "An illustration."),
            Part("Figure 2", "The layout of a tree of classifiers.", "An illustration."),
            Part(
                "Figure 3",
                "The layout of greedy tree building.",
                'An illustration: `TreeObjective(structure="greedy")`.',
            ),
            Part("Figure 4", "The layout of a cascade.", "An illustration."),
            Part("Figure 5", "A tree of classifiers on synthetic data."),
            Part("Figure 6", "NDCG@5 against cost of rankings."),
            Part("Figure 7", "Precision@5 against cost where few documents are relevant."),
            Part("Figure 8", "Shares of features by cost, for CSTC and Cronus."),
            Part("Figure 9", "Shares of features by cost, for CSCC, AND-OR and Cronus."),
            Part("Figure 10", "Jaccard similarity between the classifiers of a tree."),
            Part("Figure 11", "Sensitivity to the costs and to rho."),
            Part("Figure 12", "Test error against cost on digits of four resolutions."),
            Part(
                "Figure 13",
                "The trees of the previous figure at three tradeoffs.",
                "`cstc2014/figure12` draws it, in the right half of its picture.",
            ),
            Part("Figure 14", "Jaccard similarity between binary classifiers of neighbouring degrees of relevance."),
            Part("Ablation", "What makes a tree of classifiers of the digits of figure 12.", name="ablation"),
        ),
    ),
    Paper(
        "adapt2017",
        "Adaptive Classification for Prediction Under a Budget",
        "Nan, Saligrama, NIPS 2017",
        (
            Part("Figure 1", "One stage and several stages of gates and approximations.", "An illustration."),
            Part("Figure 2", "Adapt-Lin and Adapt-Gbrt in the plane, without costs."),
            Part("Figure 3", "Four clusters in the plane: learning jointly against learning one after another."),
            Part("Figure 4", "Error against average cost on four data sets."),
            Part(
                "Table 1",
                "Sizes of the data sets.",
                "`ipforest data` lists the sizes of ours; where they differ the differences of each experiment say so.",
            ),
            Part("Figure 5", "Letters: Adapt-Lin and Adapt-Gbrt against an L1 baseline."),
            Part(
                "Headline",
                "What is saved within 1% of the best accuracy, as section 5 sums it up: which of accounting, rounds, "
                "charge, grid and number of classes accounts for how much.",
            ),
        ),
    ),
    Paper(
        "own",
        "What explains the differences",
        "Experiments of this package",
        (Part("Forest", "BudgetRF's error on Forest by the number of training examples and by else.", name="sample"),),
    ),
)
"""In the order of the page of reproduction, and at last what explains differences between print and ours."""
