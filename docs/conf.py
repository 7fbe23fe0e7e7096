"""Settings of the documentation; `sphinx-build -W -b html docs build/docs` makes it."""

import csv
import re
from pathlib import Path
from shutil import copytree, ignore_patterns

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.util import inspect
from sphinx.util.nodes import make_refnode

from ipforest import __version__
from ipforest._internal.records import records_to_markdown
from ipforest._internal.words import plain

HERE = Path(__file__).parent
copytree(
    HERE.parent / "notebooks",
    HERE / "notebooks",
    ignore=ignore_patterns("results"),
    dirs_exist_ok=True,
)

project = "ipforest"
author = "The ipforest developers"
copyright = "The ipforest developers, MIT licence"
release = version = __version__

extensions = ["numpydoc", "sphinx.ext.autodoc", "myst_nb"]
exclude_patterns = ["build", "_build"]
default_role = "py:obj"

nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "ipforest"
WIDE_TABLES = (
    "frontier-new-data",
    "frontier-old-data",
    "frontier-tables",
    "notebooks/*",
    "own-experiments",
    "papers-tables",
)
html_sidebars = {
    page: [] for page in ("index", "getting-started", "commands", *WIDE_TABLES)
}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_theme_options = {
    "header_links_before_dropdown": 4,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
}


def _is_request(app, what, name, member, skip, options):
    """Leave out scikit-learn's methods that route metadata: they refer to its pages."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def _as_called(app, what, name, obj, options, signature, return_annotation):
    """Add what a function returns, as written; show a protocol as it is called."""
    if what == "class" and vars(obj).get("_is_protocol"):
        if "__call__" not in vars(obj):
            return "", None
        obj = vars(obj)["__call__"]
        signature = inspect.stringify_signature(
            inspect.signature(obj, bound_method=True), show_annotation=False
        )
    elif what not in ("function", "method"):
        return (
            (signature.replace("<factory>", "..."), return_annotation)
            if signature
            else None
        )
    returned = getattr(obj, "__annotations__", {}).get("return")
    return (signature, returned) if isinstance(returned, str) else None


def _public_bases(app, name, cls, options, bases):
    """Leave out bases that are of use inside the package only."""
    bases[:] = [
        base for base in bases if not getattr(base, "__name__", "").startswith("_")
    ] or [object]


RECORDS = re.compile(r"^<!-- records (\S+): (.*) -->$", re.MULTILINE)
"""A line of a page that stands for columns of a file of records."""


def _as_table(line):
    file, names = line[1], line[2].split(", ")
    with (HERE.parent / "notebooks" / "results" / file).open(
        newline="", encoding="utf-8"
    ) as records:
        rows = [
            {name.replace("_", " "): _short(record[name]) for name in names}
            for record in csv.DictReader(records)
        ]
    return records_to_markdown(rows)


def _short(value):
    try:
        return plain(float(value))
    except ValueError:
        return value


def _with_records(app, page, source):
    """Put tables of the committed records in the place of lines that ask for them."""
    source[0] = RECORDS.sub(_as_table, source[0])


def _in_another_module(app, env, node, content):
    """Link a name to where it is described: `BudgetPrune`, `ipforest.BudgetBoost`."""
    if node.get("refdomain") != "py":
        return None
    target, objects = node["reftarget"], env.get_domain("py").objects
    kinds = (
        "class",
        "exception",
        "function",
    )  # the names of methods are those of many classes
    found = [name for name in objects if "." in target and name.endswith(f".{target}")]
    if not found:
        last = target.rpartition(".")[2]
        found = [
            name
            for name in objects
            if name.endswith(f".{last}") and objects[name].objtype in kinds
        ]
    if not found:
        return None
    name = min(found, key=len)
    return make_refnode(
        app.builder,
        node["refdoc"],
        objects[name].docname,
        objects[name].node_id,
        content,
        name,
    )


def _in_the_line(translator, node):
    """Write a formula as MathML, which browsers draw without a script or a network."""
    translator.body.append(convert(node.astext()))
    raise SkipNode


def _displayed(translator, node):
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="math">{formula}</div>')
    raise SkipNode


def setup(app):
    """Connect what Sphinx asks while it reads."""
    app.add_html_math_renderer("mathml", (_in_the_line, None), (_displayed, None))
    app.connect("source-read", _with_records)
    app.connect("missing-reference", _in_another_module)
    app.connect("autodoc-skip-member", _is_request)
    app.connect("autodoc-process-bases", _public_bases)
    app.connect("autodoc-process-signature", _as_called)
