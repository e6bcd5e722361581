"""Who may import whom.

The core is a line: a module may import only modules before it. passes and dumps stand on the core and
never import each other; what people come in by stands on all of them as far as is said here. What
goes against the line is a door: an import inside a call, named below with its reason.
"""

import subprocess
import sys
import tomllib

import pytest
from source import ROOT, Import, imports, imports_of, modules

CORE = (
    "core.words", "core.postorder", "core.errors", "core.elsewhere", "core.refused", "core.engines",
    "core.axes", "core.numbers", "core.moments", "core.rounded", "core.packed", "core.nested", "core.limits",
    "core.tensor_file", "core.cells", "core.masks", "core.op", "core.elementwise", "core.reductions",
    "core.activations", "core.attention_weights", "core.layers", "core.builders", "core.node", "core.names",
    "core.tensor", "core.arguments", "core.graph", "ops", "core.interpreter", "core.in_torch",
    "core.hidden", "core.recording", "core.trace", "core.run", "core.specimen",
)  # fmt: skip

WINGS = {  # who may be imported by whom, besides oneself
    "passes": ("core",),
    "dumps": ("core",),
    "builtin": ("core",),
    "stacks": ("core",),
    "progress": ("core", "passes"),
    "conventions": ("core", "stacks"),
    "onnx": ("core", "conventions", "dumps", "passes"),
    "torch": ("core", "conventions", "onnx", "passes"),
    "model": ("core", "passes"),
    "weights": ("core", "passes"),
    "models": ("core", "passes"),
    "scalar": ("core", "passes"),
    "insight": ("core", "passes", "dumps"),
    "testing": ("core", "insight", "check"),
    "experiments": ("core", "passes", "dumps", "model"),
    "worksheet": ("core", "dumps", "insight", "builtin"),
    "check": ("core", "dumps", "insight", "model", "scalar", "worksheet"),
    "cli": (
        "check",
        "core",
        "passes",
        "dumps",
        "builtin",
        "model",
        "models",
        "onnx",
        "torch",
        "weights",
        "scalar",
        "insight",
        "experiments",
        "worksheet",
        "progress",
    ),
    "__main__": ("cli",),
}

DOORS = {  # (module, function, what it imports when it is called): why
    ("core.graph", "Graph.__init__", "ops"): "the first graph fills the registry",
    ("core.op", "register", "ops"): "an op of one's own is entered after those that come with graphattn",
    ("core.graph", "Graph.at", "passes.zoom"): "graph.at(level) is how a graph is zoomed",
    ("core.graph", "Graph.opened", "passes.zoom"): "graph.opened(names) is how single composites are opened",
    ("core.graph", "Graph.fused", "passes.zoom"): "graph.fused() is how they are closed again",
    ("core.graph", "Graph.callable", "passes.zoom"): "exports call kernels alone",
    ("core.graph", "Graph.run", "core.run"): "graph.run() is run(graph)",
    ("core.run", "run", "progress"): "run(…, progress=True) shows how far it has come",
    ("core.graph", "Graph.render", "dumps.picture"): "graph.render() draws",
    ("core.graph", "Graph.__str__", "dumps.graph_text"): "print(graph)",
    ("core.graph", "Graph._repr_svg_", "dumps.picture"): "notebooks show a graph's picture",
    ("core.graph", "Graph._repr_html_", "dumps.notebook"): "and its nodes",
    ("core.trace", "Trace._repr_html_", "dumps.notebook"): "notebooks show a trace as tables",
    ("core.trace", "Step._repr_html_", "dumps.notebook"): "and a step",
    ("passes.cost", "Cost._repr_html_", "dumps.notebook"): "notebooks show costs as a table",
    ("core.trace", "Trace.__str__", "dumps.trace_text"): "print(trace)",
    ("core.trace", "Trace.figure", "dumps.figure"): "trace.figure() draws its tensors",
    ("core.trace", "Trace.page", "dumps.page"): "trace.page() writes the page to walk through it",
    ("core.trace", "Trace.page", "insight.compare"): "and holds it against another",
    ("core.trace", "Trace.show", "dumps.page"): "trace.show() puts that page into a notebook",
    ("core.trace", "Trace.table", "dumps.tensor_text"): "trace.table() shows single tensors",
    ("core.trace", "Trace.stats", "dumps.stats"): "trace.stats() is a line for each tensor",
    ("core.trace", "Trace.save", "dumps.forms"): "trace.save() writes a file",
    ("core.trace", "Step.__str__", "dumps.tensor_text"): "print(step)",
    ("core.trace", "Trace.why", "insight.why"): "trace.why() explains one of its cells",
    ("core.trace", "Trace.reach", "insight.why.reach"): "trace.reach() shows what one of its cells touches",
    ("core.trace", "Trace.sources", "insight.sources"): "trace.sources() splits one of its cells",
    ("core.run", "_elsewhere", "onnx.engine"): "run(engine=) is how someone outgrows pure Python",
    ("core.numbers", "_short", "core.rounded"): "short floats are made when they are asked for",
    ("core.numbers", "_value", "scalar.record"): "Values with gradients are a number type",
    ("scalar.draw", "", "dumps"): "a Value's graph is drawn by the same dumps, when it is asked for",
}

KERNELS = {
    f"graphattn.core.{name}" for name in ("nested", "masks", "elementwise", "reductions", "cells", "rounded")
}

OUTSIDE = {  # what is not in the standard library, and where it may be imported
    "networkx": ("core.graph", "core.trace", "dumps.graph_json"),
    "mpmath": ("core.numbers:_mpmath",),
    "graphviz": ("dumps",),
    "pygraphviz": ("dumps.graphviz_child:main",),
    "click": ("cli",),
    "rich": ("cli", "progress:progress"),
    "safetensors": ("core.tensor_file", "models.checkpoint:_of_file"),
    "numpy": ("models.checkpoint:_of_file", "onnx"),
    "onnx": ("onnx",),
    "torch": ("torch",),
    "onnxruntime": ("onnx.engine:_runtime",),
    "tokenizers": ("models.tokens:tokenizer_of",),
    "dask": ("cli.commands.heads:_of_corpus",),
    "pytest": ("testing",),
    "xlsxwriter": (
        "dumps.workbook",
        "dumps.workbook.formulas",
        "dumps.workbook.sheets",
        "dumps.worksheet.self_check",
    ),
    "openpyxl": ("check.sheet_file:Book._rows",),
}


def place(module):
    """(wing or "core", rank in the core) of a module."""
    first, _, rest = module.removeprefix("graphattn").strip(".").partition(".")
    if first == "core":
        first = f"core.{rest.partition('.')[0]}" if rest else first
    return ("core", CORE.index(first)) if first in CORE else (first, 0)


def door(found: Import):
    """The door that an import goes through, or None."""
    module, target = (name.removeprefix("graphattn.") for name in (found.module, found.target))
    for at, inside, to in DOORS:
        here = found.inside and at == module and inside in ("", found.inside)
        if here and (target == to or target.startswith(f"{to}.")):
            return at, inside, to
    return None


def broken(all_imports):
    """The imports that go against the order."""
    for found in all_imports:
        if not found.target.startswith("graphattn"):
            continue
        (wing, rank), (to, to_rank) = place(found.module), place(found.target)
        if found.module == "graphattn" or found.target in ("graphattn", "graphattn.core"):
            continue  # the package itself: checked below
        if door(found) or found.target.startswith(f"{found.module}.") or wing == to != "core":
            continue
        if wing == to == "core" and (to_rank < rank or found.module.partition("ops")[0] == found.target):
            continue
        if wing != "core" and to in WINGS.get(wing, ()):
            continue
        yield str(found)


def test_the_order_is_kept():
    assert list(broken(imports())) == []


def test_every_module_has_its_place():
    wings = {place(module)[0] for module in modules() if module != "graphattn"}
    assert wings <= {"core", *WINGS}
    assert {f"graphattn.{name}" for name in CORE} <= set(modules())


def test_every_package_is_installed():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = {name for name, path in modules().items() if path.name == "__init__.py"}
    assert set(settings["tool"]["setuptools"]["packages"]) == packages


def test_every_door_is_used():
    used = {door(found) for found in imports()}
    assert set(DOORS) - used == set()


def test_op_files_reach_each_other_through_the_registry():
    for found in imports():
        if found.module.startswith("graphattn.ops.") and found.target.startswith("graphattn."):
            assert not found.target.startswith("graphattn.ops"), str(found)


def test_the_package_itself_loads_nothing():
    assert [str(f) for f in imports() if f.module == "graphattn" and f.target.startswith("graphattn.")] == []
    names = {f.target for f in imports() if f.module == "graphattn"} - {"__future__"}
    assert names <= {"importlib", "importlib.util", "pathlib", "typing"}


def test_what_is_not_in_the_standard_library():
    for found in imports():
        top = found.target.partition(".")[0]
        if top == "graphattn" or top in sys.stdlib_module_names:
            continue
        module = found.module.removeprefix("graphattn.")
        allowed = OUTSIDE.get(top, ())
        here = {module, module.partition(".")[0], f"{module}:{found.inside}"}
        assert here & set(allowed), str(found)


def test_kernels_compute_with_the_standard_library_alone():
    for found in imports():
        if found.module.startswith("graphattn.ops.") or found.module in KERNELS:
            top = found.target.partition(".")[0]
            assert top == "graphattn" or top in sys.stdlib_module_names, str(found)
    assert "scipy" not in OUTSIDE
    assert OUTSIDE["torch"] == ("torch",)
    assert OUTSIDE["numpy"] == ("models.checkpoint:_of_file", "onnx")  # safetensors and onnx come with it


@pytest.mark.parametrize(
    "line, absent",
    [
        ("import graphattn", ["networkx", "click", "rich", "graphviz", "pygraphviz", "safetensors", "mpmath"]),
        ("import graphattn; graphattn.GraphError", ["networkx", "click", "rich", "graphviz", "safetensors"]),
        (
            "from graphattn import Graph, run; g = Graph(); run(g, {})",
            ["click", "rich", "graphviz", "pygraphviz", "safetensors", "mpmath", "numpy", "torch"],
        ),
        ("import graphattn.torch; graphattn.torch.supported()", ["torch", "numpy"]),
        ("import graphattn.dumps.picture", ["click", "rich", "pygraphviz", "safetensors", "numpy"]),
        ("import graphattn.cli", ["networkx", "numpy", "torch", "pygraphviz"]),
        (
            "import graphattn.cli.commands as c; [c.module(name) for name in c.names()]",  # graphattn --help
            ["networkx", "rich", "numpy", "torch", "pygraphviz"],
        ),
    ],
)
def test_what_an_import_loads(line, absent):
    code = f"{line}\nimport sys\nprint([name for name in {absent!r} if name in sys.modules])"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, timeout=60
    )
    assert told.stdout.strip() == "[]"


# ---------------------------------------------------------------- test the tester


@pytest.mark.parametrize(
    "module, text",
    [
        ("graphattn.core.axes", "from .graph import Graph"),
        ("graphattn.core.axes", "def f():\n    from .graph import Graph"),
        ("graphattn.core.graph", "from .trace import run"),
        ("graphattn.core.graph", "class Graph:\n    def more(self):\n        from ..passes.zoom import zoom"),
        ("graphattn.passes.zoom", "from graphattn.dumps.rows import rows"),
        ("graphattn.dumps.rows", "from graphattn.passes import zoom"),
        ("graphattn.dumps.rows", "import graphattn.cli"),
        ("graphattn.weights.extract", "from ..dumps import load"),
        ("graphattn.model", "from . import experiments"),
        ("graphattn.core.interpreter", "from graphattn.dumps import rows"),
    ],
)
def test_an_import_against_the_order_is_seen(tmp_path, module, text):
    path = tmp_path / "planted.py"
    path.write_text(text, encoding="utf-8")
    assert list(broken(imports_of(module, path)))


@pytest.mark.parametrize(
    "module, text",
    [
        ("graphattn.core.graph", "from .axes import Spec"),
        ("graphattn.core.graph", "if TYPE_CHECKING:\n    from .trace import Trace"),
        ("graphattn.core.graph", "class Graph:\n    def at(self):\n        from ..passes.zoom import zoom"),
        ("graphattn.ops.softmax", "from ..core.op import Op\nfrom ..core import nested"),
        ("graphattn.dumps.rows", "from graphattn.core import nested\nimport math"),
        ("graphattn.cli.demo", "from graphattn.dumps.rows import rows"),
    ],
)
def test_an_import_in_order_is_not(tmp_path, module, text):
    path = tmp_path / "planted.py"
    path.write_text(text, encoding="utf-8")
    assert list(broken(imports_of(module, path))) == []
