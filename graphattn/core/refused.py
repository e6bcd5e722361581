"""What Python lets one write of a tensor, a graph or a trace that means nothing here (`len(x)`, `x > 0`,
`graph(x)`): each is refused, in a sentence that says what to write.

>>> from graphattn.core.graph import Graph
>>> x = Graph("g").input("x", (3, 4))
>>> len(x)
Traceback (most recent call last):
graphattn.core.errors.GraphError: len(…) is not taken of tensor x; its sizes are x.shape: (3, 4)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .errors import GraphError

VALUE = "{name} has no value while the graph is built; run(graph, feeds)[{name!r}] is its value"
ORDER = (
    "{name} has no value while the graph is built, so nothing is compared; g.is_positive(a - b) tells where a"
    " is larger, and g.where(condition, a, b) chooses"
)
SAME = (
    "{name} has no value while the graph is built, so == and != do not compare it; values are compared after a"
    " run, and a.name == b.name tells whether two are the same tensor"
)
TRUTH = (
    "{name} has no value while the graph is built, so nothing can depend on it in Python;"
    " g.where(condition, a, b) chooses cell by cell"
)
ROWS = "there is no loop over tensor {name}: an op takes all rows at once, and {name}[0] is one of them"
CHANGE = (
    "a tensor is never changed, so no cell of {name} is set; g.where(condition, a, b) chooses cell by cell, and"
    " run(…, patch={{{name!r}: …}}) replaces it"
)
LOGIC = "& | ~ are no ops here; g.logical_and(a, b), g.logical_or(a, b) and g.logical_not(a) are"

OF_TENSORS = {
    "__lt__": ORDER, "__le__": ORDER, "__gt__": ORDER, "__ge__": ORDER, "__bool__": TRUTH,
    "__iter__": ROWS, "__setitem__": CHANGE, "__delitem__": CHANGE,
    "__float__": VALUE, "__int__": VALUE, "__complex__": VALUE, "__round__": VALUE, "__array__": VALUE,
    "__len__": "len(…) is not taken of tensor {name}; its sizes are {name}.shape: {shape}",
    "__call__": "{name} is a tensor, which is not called; .T and .shape are written without ()",
    "__abs__": "abs is no op here; g.relu(x) + g.relu(-x) is it",
    "__and__": LOGIC, "__rand__": LOGIC, "__or__": LOGIC, "__ror__": LOGIC, "__invert__": LOGIC,
    "__mod__": "% is no op here; expected + - * / or @", "__floordiv__": "// is no op here; expected /",
    "__rpow__": "{0!r} ** {name} is no op here; g.exp(x) is e to the power of each cell",
}  # fmt: skip
"""What is refused of a `Tensor`, and the sentence; {0} is what stands on the other side."""

OF_GRAPHS = {
    "__call__": "a graph is not called; run(graph, feeds) evaluates it",
    "__getitem__": "a graph has no items; graph.tensor({0!r}) is a tensor of it, and run(graph, feeds)[{0!r}]"
    " its value",
}

OF_TRACES = {
    "__call__": "a trace is not called; trace[{0!r}] is a tensor's value",
    "__setitem__": "a trace is what was computed and is not changed; run(…, patch={{{0!r}: …}}) runs with"
    " another value",
}


def refuse(cls: type, sentences: Mapping[str, str]) -> None:
    """Let a class refuse what Python's syntax would do with these methods, each by its sentence."""
    for method, sentence in sentences.items():
        setattr(cls, method, _refusing(sentence))


def _refusing(sentence: str) -> Callable[..., Any]:
    def refused(self: Any, *given: Any, **options: Any) -> Any:
        shown = (given[0] if given and isinstance(given[0], (str, int, float)) else "x",)
        raise GraphError(
            sentence.format(*shown, name=getattr(self, "name", ""), shape=getattr(self, "shape", ""))
        )

    return refused
