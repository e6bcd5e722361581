"""The examples in the docstrings of every module run, under the names that users import."""

import doctest
import importlib
from functools import cache

from source import modules

FILES = {name: path for name, path in modules().items() if not name.endswith(("__main__", "graphviz_child"))}


@cache
def results() -> dict[str, doctest.TestResults]:
    """How many examples each module has and how many fail, by name; what fails is printed."""
    found = {}
    for name, path in FILES.items():
        module = importlib.import_module(name)
        if ">>> " in path.read_text(encoding="utf-8"):
            found[name] = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    return found


def test_the_examples_run():
    assert {name: found for name, found in results().items() if found.failed} == {}


def test_there_are_examples():
    counts = {name: found.attempted for name, found in results().items()}
    assert sum(counts.values()) >= 20
    for name in (
        "graphattn.core.graph",
        "graphattn.core.trace",
        "graphattn.core.nested",
        "graphattn.core.axes",
        "graphattn.core.cells",
    ):
        assert counts[name], f"{name} has no example that runs"
