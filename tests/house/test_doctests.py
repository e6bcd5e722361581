"""The examples in the docstrings of every module run, under the names that users import."""

import doctest
import importlib

import pytest
from source import modules

NAMES = sorted(name for name in modules() if not name.endswith(("__main__", "graphviz_child")))


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_run(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_there_are_examples():
    counts = {name: _examples(importlib.import_module(name)) for name in NAMES}
    assert sum(counts.values()) >= 20
    for name in (
        "graphattn.core.graph",
        "graphattn.core.trace",
        "graphattn.core.nested",
        "graphattn.core.axes",
        "graphattn.core.cells",
    ):
        assert counts[name], f"{name} has no example that runs"


def _examples(module):
    return sum(len(test.examples) for test in doctest.DocTestFinder(exclude_empty=True).find(module))
