"""What a formulation is: a program for the pruning problem that says of itself all that this package asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ipforest._internal.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from ipforest.instance import PruningInstance
    from ipforest.results import Pruning
    from ipforest.solvers.linear_program import LinearProgram

__all__ = [
    "BUDGETPRUNE",
    "HERE",
    "OPTIMAL_PRUNING",
    "Formulation",
    "ModelSize",
    "ModelSpecification",
    "Network",
    "Takes",
]

OPTIMAL_PRUNING = "Nan, Wang, Saligrama, Optimally Pruning Decision Tree Ensembles With Feature Cost"
BUDGETPRUNE = "Nan, Wang, Saligrama, Pruning Random Forests for Prediction on a Budget, NIPS 2016"
HERE = "this package"

Takes = Literal["lam", "budget", "nothing"]


@dataclass(frozen=True, slots=True)
class ModelSize:
    """Number of variables and constraints; bounds on single variables are not counted."""

    variables: int
    constraints: int


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A directed tree whose arcs are a program's columns, and a path in it for each row.

    It proves that the matrix is totally unimodular; `proofs.network_certificate` makes it a certificate that can be
    checked.

    Parameters
    ----------
    parent : ndarray of int64, shape (n_vertices,)
        Parent of each vertex, which comes before it; -1 for vertex 0.
    column_vertex : ndarray of int64, shape (n_columns,)
        Column c is the arc between this vertex and its parent.
    away : ndarray of bool, shape (n_columns,)
        Whether the arc points from the parent to the vertex.
    tail, head : ndarray of int64, shape (n_rows,)
        The ends of each row's path.
    """

    parent: IntArray
    column_vertex: IntArray
    away: BoolArray
    tail: IntArray
    head: IntArray


class Formulation(ABC):
    """A program for the pruning problem.

    A subclass states the program in its docstring, sets the attributes, and writes it twice, as a Pyomo model in
    `build` and as arrays in `linear_program`, with `size`, `kept_shares` and `tree_objective`. The other methods have
    defaults. Of a function that only writes a Pyomo model, `formulations.register` makes a formulation that reads all
    else from the model.

    Attributes
    ----------
    name : str
    paper, equation : str
        Where it is printed.
    takes : {"lam", "budget", "nothing"}
        The number that it needs in addition to the instance.
    integral : bool or None
        Whether every vertex of the relaxation is 0-1 in the integer variables, or in all if none is; None where that
        is not known.
    reason : str
        Why, in one sentence.
    one_tree : bool
        Whether it is stated for one tree only.
    routing : bool
        Whether it reads ``example_leaf``.
    integer_units : bool
        Whether its objective is in integers, in units of ``ModelSpecification.objective_unit``, so that a solver's
        bound on it can be read. The bound of others is the minimum cut.
    variant : bool
        Whether it states another problem than the pruning problem, the one that `worth` defines. Its results are the
        solver's own account (`ModelResult`), as the pruning problem's bounds do not hold for it.
    """

    name: str
    paper: str = HERE
    equation: str = ""
    takes: Takes = "lam"
    integral: bool | None = None
    reason: str = ""
    one_tree: bool = False
    routing: bool = False
    integer_units: bool = True
    variant: bool = False

    def numbers(self, number: object) -> dict[str, Any]:
        """Give a number the name by which the program takes it; nothing to a program that takes none."""
        return {} if self.takes == "nothing" else {self.takes: number}

    @abstractmethod
    def build(self, specification: ModelSpecification) -> Any:
        """Write the program as a Pyomo model.

        Parameters
        ----------
        specification : ModelSpecification
            If it is relaxed, variables range over [0, 1] in place of {0, 1}.

        Returns
        -------
        pyomo.environ.ConcreteModel
            With ``model.objective`` in units of ``specification.objective_unit``.
        """

    @abstractmethod
    def linear_program(self, specification: ModelSpecification) -> LinearProgram:
        """Write the program as arrays: the rows and columns of the Pyomo model, in its order."""

    @abstractmethod
    def size(self, instance: PruningInstance) -> ModelSize:
        """Count variables and constraints without building the program."""

    @abstractmethod
    def kept_shares(self, specification: ModelSpecification, values: FloatArray) -> FloatArray:
        """Read x_h, how far each internal node keeps its test, from a point of the program; shape (n_internal,)."""

    def reader(self, specification: ModelSpecification) -> Callable[[FloatArray], FloatArray]:
        """Return `kept_shares` of one specification, for many points."""
        return partial(self.kept_shares, specification)

    @abstractmethod
    def tree_objective(self, instance: PruningInstance, p: int, q: int) -> tuple[IntArray, int]:
        """Return the integer objective of the tree variables, the first columns, and its constant.

        p and q weigh a cost unit and an error unit; with (1, 0) it is the cost of the tests, with (0, 1) the error.
        """

    def worth(self, specification: ModelSpecification, pruning: Pruning) -> Fraction | None:
        """Return the objective of a pruning by definition, exactly: what the program is to minimise.

        Returns
        -------
        Fraction or None
            ``error + lam * cost``, within a budget the error; None for a pruning that is not allowed.
        """
        error, cost = specification.instance.evaluate(pruning)
        if specification.budget is not None:
            return error if cost <= specification.budget else None
        return error + (specification.lam or 0) * cost

    def multipliers(self, specification: ModelSpecification, row_duals: FloatArray) -> FloatArray | None:
        """Read beta from the duals of the rows that join the trees.

        Relaxing those rows must leave the trees' own programs; then their duals are the multipliers of BudgetPrune's
        Algorithm 1, and give an exact bound.

        Returns
        -------
        ndarray of float64, shape (n_triples,), or None
            None where no rows join trees.
        """
        return None

    def network(self, instance: PruningInstance) -> Network | None:
        """Return the network whose path matrix the program's matrix is, or None where there is none by construction."""
        return None

    def check_instance(self, instance: PruningInstance) -> None:
        """Check that the program can be stated for an instance.

        Raises
        ------
        ValueError
            Several trees for a program of one tree, or no routing for one that needs it.
        """
        misfit = self._misfit(instance)
        if misfit is not None:
            raise ValueError(misfit)

    def fits(self, instance: PruningInstance) -> bool:
        """Return whether the program can be stated for an instance."""
        return self._misfit(instance) is None

    def _misfit(self, instance: PruningInstance) -> str | None:
        if self.one_tree and instance.n_trees != 1:
            return f"instance: expected one tree for {self.name}, got {instance.n_trees}; ip3 states an ensemble"
        if self.routing and instance.example_leaf is None:
            return (
                f"instance: expected example_leaf, the leaf of each example in each tree, for {self.name}, got None; "
                "PruningInstance.from_forest fills it"
            )
        return None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, takes {self.takes})"


@dataclass(frozen=True, slots=True, eq=False)
class ModelSpecification:
    r"""A formulation of one instance at one lambda, or within one budget.

    Objectives are in integers: with p / q = ``lam * cost_unit / error_unit`` a model minimises

    .. math:: q \sum_h e_h z_h + p \Big[ \sum_{k,i} c_k w_{k,i} + \sum_h \mathrm{split}_h x_h \Big]

    in units of ``error_unit / q``. Solvers read the coefficients as floats, exact below 2^53 and rounded to 16 digits
    above; what they find is evaluated again in integers.

    Parameters
    ----------
    formulation : Formulation
    instance : PruningInstance
    lam : Fraction or None
        0 for ``ip0``, None where a budget is given.
    budget : Fraction or None
    relaxed : bool
        Whether variables range over [0, 1] in place of {0, 1}.
    """

    formulation: Formulation
    instance: PruningInstance
    lam: Fraction | None
    budget: Fraction | None
    relaxed: bool

    @property
    def number(self) -> Fraction | None:
        """Lambda or the budget, the one that is given."""
        return self.lam if self.budget is None else self.budget

    @property
    def weights(self) -> tuple[int, int]:
        """Weight of a cost unit and of an error unit in the objective: p, q."""
        return (0, 1) if self.lam is None else self.instance.scaled_lambda(self.lam)

    @property
    def objective_unit(self) -> Fraction:
        """What one unit of the model's objective is worth in ``error + lam * cost``."""
        return self.instance.error_unit / self.weights[1]

    @property
    def budget_units(self) -> float:
        """Right-hand side of the budget row, in cost units: rounded down if 0-1, to the nearest float if relaxed."""
        if self.budget is None:
            raise ValueError(f"budget: expected one for the budget row, got none for {self.formulation}")
        units = self.budget / self.instance.cost_unit
        return float(units) if self.relaxed else float(units.numerator // units.denominator)
