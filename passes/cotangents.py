"""d_y: how the cotangent of a result y is called, where gradients were observed or are to be computed.

    cotangent_of(graph, "d_mixed")    "d_out", of an output out that is the tensor mixed
    by_results(graph, tensors)        the same tensors, cotangents by the names of the outputs
    asked(graph, names, feeds)        of what, and by what, names like d_x are gradients

A graph with one result calls its cotangent d_out as well. Gradients go by other names too: that of w_q is dWq,
grad_w_q, Wq.grad, w_q_grad or dL/dWq, where no tensor is called so and one tensor is meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from graphattn.core.graph import Graph

PREFIX = "d_"
ONLY = "d_out"
"""What the cotangent of the only result may be called, too."""

BEFORE = re.compile(r"(?:d(?:L|loss)[/_]?)?(?:d_?|grads?[_.]|gradients?[_.])(?P<of>.+)")
BEHIND = re.compile(r"(?P<of>.+)[_.](?:grad|gradient)")
"""How people call the gradient of something."""
OUT = ("out", "output")
FILLING = re.compile(r"[\W_]")


def spelled(graph: Graph, name: Any) -> str | None:
    """The gradient that a name means, as d_ and the name of a tensor; None where it means none, or several."""
    if not isinstance(name, str) or name in graph:
        return None
    for found in (BEHIND.fullmatch(name), BEFORE.fullmatch(name)):
        of = None if found is None else _alike(graph, found["of"])
        if found is not None and of is None and _plain(found["of"]) in OUT and len(graph.outputs) == 1:
            (of,) = graph.outputs
        if of is not None:
            return PREFIX + of
    return None


def _alike(graph: Graph, name: str) -> str | None:
    """The tensor of that name, or the one whose name is the same but for capitals and what is no letter: of
    what is fed, else of the results, else of all."""
    if name in graph:
        return name
    plain = _plain(name)
    for names in (graph.fed, graph.outputs, graph.tensor_names()):
        found = [other for other in names if _plain(other) == plain]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _plain(name: str) -> str:
    return FILLING.sub("", name).lower()


def cotangent_of(graph: Graph, name: Any) -> str | None:
    """The cotangent that a name means, by the name of the output; None where it means none."""
    if not isinstance(name, str) or not name.startswith(PREFIX) or name in graph:
        return None
    of = name.removeprefix(PREFIX)
    results = {result: tensor.ref for result, tensor in graph.outputs.items() if tensor.kind == "float"}
    if of in results:
        return name
    if of in graph:
        ref = graph.resolve(of)
        return next((PREFIX + result for result, own in results.items() if own == ref), None)
    return PREFIX + next(iter(results)) if name == ONLY and len(results) == 1 else None


def otherwise_called(graph: Graph, names: Collection[str]) -> dict[str, str]:
    """The cotangents that are not called by the output, and the gradients that are called otherwise than d_x:
    {their name here: as called}. Two names for one mean none."""
    found: dict[str, str | None] = {}
    for name in names:
        meant = spelled(graph, name)
        by = cotangent_of(graph, name if meant is None else meant) or meant
        if by is not None and by not in names:
            found[by] = None if by in found else name
    return {by: name for by, name in found.items() if name is not None}


def by_results(graph: Graph, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors with cotangents called by the outputs, unless these are there too."""
    called = {name: by for by, name in otherwise_called(graph, tensors.keys()).items()}
    return {called.get(name, name): value for name, value in tensors.items()}


def asked(
    graph: Graph, names: Iterable[str], feeds: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(of, wrt): which results the gradients are of that names ask for, and by what. A name `d_x` that the
    graph does not have is the gradient of x, of the results that have one cell or whose cotangent (`d_y` for
    y) is fed, or is among the names. The `d_y` of a result is its cotangent, unless another such result is
    computed from it."""
    meant = tuple(
        name.removeprefix(PREFIX) for name in names
        if name.startswith(PREFIX) and not (name in graph or name in feeds) and name[len(PREFIX) :] in graph
    )  # fmt: skip
    results = {name: tensor for name, tensor in graph.outputs.items() if tensor.kind == "float"}
    known = {name for name, t in results.items() if t.spec.size == 1 or PREFIX + name in feeds or name in meant}
    last = {name for name in known if not _is_below(graph, known - {name}, name)}
    of = tuple(name for name in results if name in known and (name not in meant or name in last))
    return of, tuple(name for name in meant if name not in last)


def _is_below(graph: Graph, names: Iterable[str], name: str) -> bool:
    """Whether one of several tensors is computed from another."""
    own = graph.resolve(name).node
    return not {graph.resolve(other).node for other in names}.isdisjoint(graph.descendants(own) - {own})


def need_cotangent(graph: Graph, wrt: Iterable[str]) -> str:
    """What is to be said where gradients by `wrt` were observed and no result is known that they are of."""
    result = next((name for name, tensor in graph.outputs.items() if tensor.kind == "float"), "y")
    return (
        f"gradients were observed ({PREFIX}{next(iter(wrt))}, …), but no result has one cell or a known"
        f" cotangent; expected {PREFIX}{result} too, in the shape of that result, among the feeds or what was"
        " observed"
    )
