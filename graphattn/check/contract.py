"""What a file must do: functions by name, calls that try them, and what these must give.

A contract of one's own is a Python file that has the functions, right, and `CASES`, the arguments of the calls:

    from graphattn import Graph

    def double(x):
        return [2 * cell for cell in x]

    CASES = {"double": [([1.0, 2.0],), ([0.5],)]}

    def GRAPHS(name, args):                    # may be left out: a graph of each call, for naming mistakes
        graph = Graph(name)
        x = graph.input("x", (len(args[0]),))
        graph.output(out=graph.add(x, x, name="sum"))
        return graph, {"x": args[0]}

Instead of CASES and functions it may define Graphs alone, named after the functions: then arguments are the
graph's inputs in order, drawn at random, and results are its outputs in order.
"""

from __future__ import annotations

import inspect
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ..core.axes import Spec
from ..core.errors import GraphError, suggest
from ..core.graph import Graph
from ..core.run import run

BUILT_IN = {"model": "seed_model", "scalar": "seed_scalar"}
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Case:
    """A call. `want` is what it must give: nested lists, or a tuple of them; `judge` says instead what is wrong
    with a result, or None. `graph` gives the intended graph and its feeds, where there is one: its outputs are
    the results in order, or what `seen` makes of them. `hint` helps where no mistake is found."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    want: Any = None
    judge: Callable[[Any], str | None] | None = None
    graph: Callable[[], tuple[Graph, Mapping[str, Any]]] | None = None
    seen: Callable[[Any], Any] | None = None
    hint: str = ""


@dataclass(frozen=True)
class Function:
    """A function of the contract, and how the process calls it: "call", or an adapter of `child`. `module` has
    it, right. `about` is what is told where the cases ask for a property alone: {} stands for "not ", or for
    nothing where the results of the first case are those of its graph."""

    name: str
    cases: tuple[Case, ...]
    adapter: str = "call"
    signature: str = ""
    module: str = ""
    about: str = ""


@dataclass(frozen=True)
class Contract:
    """A name, and the functions in the order in which they are graded."""

    name: str
    functions: tuple[Function, ...]


def load(contract: str | os.PathLike[str]) -> Contract:
    """A built-in contract by name, or one from a Python file, which is executed."""
    name = os.fspath(contract)
    if name in BUILT_IN:
        return import_module(f".{BUILT_IN[name]}", __package__).contract()
    if not name.endswith(".py") or not os.path.isfile(name):
        raise GraphError(
            f"there is no contract {name!r}; expected {' or '.join(BUILT_IN)}, or a Python file"
            f"{suggest(name, BUILT_IN)}"
        )
    return _of_file(name)


def _of_file(path: str) -> Contract:
    names: dict[str, Any] = {"__name__": "graphattn_contract", "__file__": path}
    with open(path, "rb") as file:
        code = file.read()
    try:
        exec(compile(code, path, "exec"), names)
    except Exception as error:
        raise GraphError(
            f"contract {path}: {type(error).__name__}: {error}; expected Python that runs"
        ) from None
    cases = names.get("CASES")
    graphs = {value: name for name, value in reversed(names.items()) if isinstance(value, Graph)}
    if cases is None and graphs:
        return Contract(path, tuple(_of_graph(name, graph) for graph, name in reversed(graphs.items())))
    if not isinstance(cases, Mapping) or not cases:
        raise GraphError(
            f"contract {path} has no CASES; expected a dict: name of a function -> list of arguments"
        )
    draw = names.get("GRAPHS")
    return Contract(
        path, tuple(_of_cases(path, name, calls, names.get(name), draw) for name, calls in cases.items())
    )


def _of_cases(path: str, name: str, calls: Any, reference: Any, draw: Any) -> Function:
    if not callable(reference):
        raise GraphError(f"contract {path} has cases for {name!r} and no such function; expected the right one")
    found = []
    for args in calls:
        args = args if isinstance(args, tuple) else (args,)
        want = plain(reference(*args))
        graph = None if draw is None else _drawn(draw, name, args)
        found.append(Case(args, want=want, graph=graph))
    return Function(name, tuple(found), signature=signature(name, reference))


def signature(name: str, function: Callable[..., Any]) -> str:
    """How a function is called: multi_head(Q, K, V, h, mask=None)."""
    parameters = inspect.signature(function).parameters.values()
    return f"{name}({', '.join(str(p.replace(annotation=p.empty)) for p in parameters)})"


def _drawn(draw: Callable[..., Any], name: str, args: tuple[Any, ...]) -> Callable[[], Any] | None:
    return (lambda: draw(name, args)) if draw(name, args) is not None else None


def _of_graph(name: str, graph: Graph) -> Function:
    """A graph as a function of its inputs, on three draws of them."""
    if not graph.outputs:
        raise GraphError(f"graph {name!r} has no outputs; expected the results of the function it stands for")
    cases = []
    for seed in range(3):
        feeds = {x: random_value(spec, f"{seed}.{x}") for x, spec in graph.inputs.items()}
        trace = run(graph, feeds)
        results = tuple(trace[output] for output in graph.outputs)
        want = results[0] if len(results) == 1 else results
        cases.append(Case(tuple(feeds.values()), want=want, graph=lambda feeds=feeds: (graph, feeds)))
    return Function(name, tuple(cases), signature=f"{name}({', '.join(graph.inputs)})")


def random_value(spec: Spec, seed: str) -> Any:
    """A tensor of normal numbers, of small whole numbers, or of True and False."""
    draw = random.Random(seed)
    kinds: Mapping[str, Callable[[], Any]] = {
        "float": lambda: draw.gauss(0, 1), "int": lambda: draw.randrange(2), "bool": lambda: draw.random() < 0.7
    }  # fmt: skip
    return _filled(list(spec.shape), kinds[spec.kind])


def _filled(shape: Sequence[int], make: Callable[[], Any]) -> Any:
    if not shape:
        return make()
    return [_filled(shape[1:], make) for _ in range(shape[0])]


def plain(value: Any) -> Any:
    """A result as nested lists; a tuple of results stays one."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return [plain(item) for item in value] if isinstance(value, list) else value
