"""Pictures of the proofs: trees with their leaf weights, shortest-path graphs, network certificates, polytopes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.patches import FancyArrowPatch
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from ipforest.instance import PruningInstance
from ipforest.plotting.trees import children_lists, tree_layout
from proofs.unimodularity.network_certificate import NetworkCertificate
from proofs.unimodularity.network_form import NetworkForm

PLAIN, ACTIVE, FRACTIONAL, QUIET = "#33415c", "#0b7a75", "#c8553d", "#b8c0cc"


def draw_leaf_weights(
    axes: Any,
    instance: PruningInstance,
    tree: int,
    node_names: Sequence[int],
    z: Sequence[Fraction] | None = None,
    title: str = "",
) -> None:
    """Draw one tree with its features and, if given, how far each node is a leaf.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    instance : PruningInstance
    tree : int
    node_names : sequence of int
        Numbers to show, by node.
    z : sequence of Fraction, optional
        Leaf weights by node; 0 is left plain, 1 is filled, what lies between is marked.
    title : str
    """
    first, last = (int(end) for end in instance.tree_offsets[tree : tree + 2])
    places = tree_layout(children_lists(instance.node_parent), first)
    units = {
        int(instance.internal_nodes[row]): instance.acquisition_unit[instance.indices[triple]]
        for triple, row in enumerate(instance.triple_node)
    }
    ends = _routed_nodes(instance, tree)
    for node in range(first + 1, last):
        above = int(instance.node_parent[node])
        (x0, y0), (x1, y1) = places[above], places[node]
        routed = node in ends
        axes.plot([x0, x1], [y0, y1], color=PLAIN if routed else QUIET, lw=3 if routed else 1.2, zorder=1)
    for node in range(first, last):
        weight = Fraction(0) if z is None else Fraction(z[node])
        face = "white" if weight == 0 else ACTIVE if weight == 1 else FRACTIONAL
        ink = PLAIN if face == "white" else "white"
        axes.scatter(*places[node], s=900, facecolor=face, edgecolor=PLAIN, linewidth=1.5, zorder=2)
        axes.annotate(str(node_names[node]), places[node], ha="center", va="center", color=ink, zorder=3, fontsize=12)
        remarks = [f"feature {units[node]}"] if node in units else []
        remarks += [f"z = {weight}"] if z is not None else []
        axes.annotate(
            "\n".join(remarks),
            places[node],
            xytext=(20, 0),
            textcoords="offset points",
            va="center",
            fontsize=10,
            color=PLAIN,
            zorder=4,
        )
    _frame(axes, places[first:last], title, pad=0.5)


def draw_network(axes: Any, form: NetworkForm, active: NDArray[np.bool_] | None = None, title: str = "") -> None:
    """Draw the shortest-path graph of a network form, as in BudgetPrune's Figure 3.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    form : NetworkForm
    active : (n,) bool ndarray, optional
        Columns to mark; the path of a pruning.
    title : str
    """
    count = form.network.shape[0]
    marked = np.zeros(len(form.columns), dtype=bool) if active is None else active
    for number, ((tail, head), name) in enumerate(zip(form.arcs, form.columns, strict=True)):
        span = head - tail
        side = 1 if number % 2 == 0 or span > 2 else -1
        height = 0.0 if span == 1 else (0.26 if side > 0 else -0.36) * span
        colour = ACTIVE if marked[number] else QUIET
        _arrow(axes, (tail, 0), (head, 0), 2 * height, colour, 2.6 if marked[number] else 1.4)
        label = "$" + name.replace("z", "z_{").replace("w", "w_{") + "}$"
        axes.annotate(
            label,
            ((tail + head) / 2, height + 0.07 * side if span > 1 else -0.2),  # clear of circles and of arcs above
            ha="center",
            va="bottom" if span > 1 and side > 0 else "top",
            fontsize=12 if span > 1 else 10,
            color=ACTIVE if marked[number] else PLAIN,
        )
    for vertex in range(1, count + 1):
        axes.scatter(vertex, 0, s=480, facecolor="white", edgecolor=PLAIN, linewidth=1.5, zorder=3)
        axes.annotate(str(vertex), (vertex, 0), ha="center", va="center", color=PLAIN, zorder=4)
    top = 0.26 * max(head - tail for tail, head in form.arcs) + 0.45
    axes.set_aspect("equal")  # so that arcs bend by data units and their labels sit on them
    axes.set_xlim(0.6, count + 0.4)
    axes.set_ylim(-1.15, top)
    axes.set_title(title, color=PLAIN)
    axes.axis("off")


def draw_certificate(
    axes: Any, certificate: NetworkCertificate, column_names: Sequence[str], rows: Sequence[int] = (), title: str = ""
) -> None:
    """Draw the directed tree of a network certificate and mark the paths of some rows.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    certificate : NetworkCertificate
        Small enough to be read.
    column_names : sequence of str
        Labels of the arcs.
    rows : sequence of int
        Rows whose paths are marked, each in its own colour.
    title : str
    """
    parent = certificate.parent
    places = _places_with_fan(parent)
    colours = [ACTIVE, FRACTIONAL, "#7a5195", "#d9a404"]
    steps: dict[int, list[str]] = {int(vertex): [] for vertex in certificate.column_vertex}
    for number, row in enumerate(rows):
        for vertex in _path_arcs(parent, int(certificate.tail[row]), int(certificate.head[row])):
            steps[vertex].append(colours[number % len(colours)])
    for name, vertex, away in zip(column_names, certificate.column_vertex, certificate.away, strict=True):
        above = int(parent[vertex])
        ends = (places[above], places[int(vertex)]) if away else (places[int(vertex)], places[above])
        for offset, colour in enumerate(reversed(steps[int(vertex)])):
            axes.plot(*zip(*ends, strict=True), color=colour, lw=9 - 4 * offset, alpha=0.45, zorder=1)
        _arrow(axes, *ends, 0.0, PLAIN, 1.4)
        middle = 0.45 * np.array(places[above]) + 0.55 * np.array(places[int(vertex)])
        axes.annotate(
            name,
            middle,
            ha="center",
            va="center",
            fontsize=10,
            color=PLAIN,
            bbox={"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.85},
            zorder=4,
        )
    for vertex, place in enumerate(places):
        axes.scatter(*place, s=260 if vertex == 0 else 90, facecolor="white", edgecolor=PLAIN, linewidth=1.4, zorder=3)
    axes.annotate(r"$\rho$", places[0], ha="center", va="center", color=PLAIN, zorder=5, fontsize=12)
    _frame(axes, places, title, pad=0.35)


def draw_polytope(
    axes: Any, points: Sequence[Sequence[Fraction]], title: str = "", labels: tuple[str, str, str] = ("", "", "")
) -> None:
    """Draw the convex hull of points in three dimensions; fractional points are marked and written out.

    Parameters
    ----------
    axes : mpl_toolkits.mplot3d.axes3d.Axes3D
    points : sequence of three Fractions each
        Vertices, possibly projected; a hull of full dimension.
    title : str
    labels : three str
        Of the axes.
    """
    distinct = sorted({tuple(point) for point in points})
    numbers = np.array([[float(value) for value in point] for point in distinct])
    hull = ConvexHull(numbers)
    faces: dict[tuple[float, ...], set[int]] = {}
    for simplex, plane in zip(hull.simplices, hull.equations, strict=True):
        faces.setdefault(tuple(np.round(plane, 9)), set()).update(int(vertex) for vertex in simplex)
    outlines = [_in_turn(numbers[sorted(face)], np.array(plane[:3])) for plane, face in faces.items()]
    axes.add_collection3d(Poly3DCollection(outlines, facecolor=ACTIVE, edgecolor=PLAIN, alpha=0.16, linewidth=1.2))
    for index in hull.vertices:
        point = distinct[index]
        broken = any(value.denominator > 1 for value in point)
        axes.scatter(*numbers[index], s=80 if broken else 36, color=FRACTIONAL if broken else PLAIN, depthshade=False)
        if broken:
            axes.text(*(numbers[index] + [0.04, 0, -0.13]), f"({', '.join(map(str, point))})", color=FRACTIONAL)
    for axis, label in zip("xyz", labels, strict=True):
        getattr(axes, f"set_{axis}label")(label)
        getattr(axes, f"set_{axis}lim")(0, 1)
        getattr(axes, f"set_{axis}ticks")([0, 0.5, 1])
    axes.set_title(title, color=PLAIN)


def _in_turn(corners: NDArray[np.float64], normal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Order a face's corners around their centre."""
    centred = corners - corners.mean(axis=0)
    across = np.cross(normal, centred[0])
    return corners[np.argsort(np.arctan2(centred @ across, centred @ centred[0] * np.linalg.norm(across)))]


def _arrow(axes: Any, start: Sequence[float], end: Sequence[float], height: float, colour: str, width: float) -> None:
    span = float(np.hypot(end[0] - start[0], end[1] - start[1])) or 1.0
    axes.add_patch(
        FancyArrowPatch(
            (start[0], start[1]),
            (end[0], end[1]),
            connectionstyle=f"arc3,rad={-height / span}",
            arrowstyle="-|>",
            mutation_scale=16,
            shrinkA=11,
            shrinkB=11,
            color=colour,
            lw=width,
            zorder=2,
        )
    )


def _routed_nodes(instance: PruningInstance, tree: int) -> set[int]:
    """Nodes that some example passes."""
    passed: set[int] = set()
    if instance.example_leaf is not None:
        for leaf in instance.example_leaf[tree]:
            node = int(leaf)
            while node >= 0:
                passed.add(node)
                node = int(instance.node_parent[node])
    return passed


def _places_with_fan(parent: NDArray[np.int64]) -> NDArray[np.float64]:
    """Put a tree below its root, and above the root, as a fan, the arcs that end there."""
    below = children_lists(parent)
    fan = [vertex for vertex in below[0] if not below[vertex]]
    below[0] = [vertex for vertex in below[0] if below[vertex]]
    places = tree_layout(below, 0)
    width = max(places[:, 0].max(), 1.0)
    places[0, 0] = width / 2
    places[fan, 0] = width * (np.arange(len(fan)) + 0.5) / max(len(fan), 1)
    places[fan, 1] = 1.0
    return places * [1.0, 1.2]


def _path_arcs(parent: NDArray[np.int64], tail: int, head: int) -> list[int]:
    """Lower ends of the arcs between two vertices."""
    arcs: set[int] = set()
    for end in (tail, head):
        vertex = end
        while vertex > 0:
            arcs ^= {vertex}
            vertex = int(parent[vertex])
    return sorted(arcs)


def _frame(axes: Any, places: NDArray[np.float64], title: str, pad: float) -> None:
    xs, ys = places.T
    axes.set_xlim(min(xs) - pad, max(xs) + pad)
    axes.set_ylim(min(ys) - pad, max(ys) + pad)
    axes.set_title(title, color=PLAIN)
    axes.axis("off")
