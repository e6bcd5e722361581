"""PyTorch's gradients against ours: d loss / d input of every case in torch/ that carries `grads`.

    loss = Σ over the outputs of Σ output · cotangent

An input of the case is the input of our graph that is fed with the very same data. The graph's own
gradients are computed in two ways: by the graph of gradients, and by a run on Values.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cases
import runners

from graphattn import run
from graphattn.core import nested
from graphattn.core.specimen import Specimen
from graphattn.passes.gradient import differentiate, value_and_grad
from graphattn.scalar import Value
from graphattn.scalar.value import total


def paths(root: Path | None = None) -> list[Path]:
    """The cases that carry gradients. What cannot be read is told among the cases themselves."""
    return [path for path in cases.paths("torch", root) if _carries(path)]


def _carries(path: Path) -> bool:
    try:
        return bool(cases.load(path).get("grads"))
    except Exception:
        return False


def tensors(case: dict[str, Any], field: str) -> dict[str, Any]:
    return {tensor["name"]: cases._read(tensor["data"]) for tensor in case[field]}


def by_graph(case: dict[str, Any]) -> dict[str, Any]:
    """Ours, by the case's names: the gradient graph, run on floats."""
    made, names = runners.specimen(case)
    ours = fed_names(case, made)
    of = [names[name] for name in tensors(case, "cotangents")]
    wrt = [ours[name] for name in tensors(case, "grads")]
    inputs = differentiate(made.graph, of, wrt).cotangents
    cotangents = {
        inputs[names[name]]: value for name, value in tensors(case, "cotangents").items()
    }  # each must have its place: a cotangent that is left out would go unnoticed
    _, found = value_and_grad(made.graph, {**made.feeds, **cotangents}, of, wrt, allow_nonfinite=True)
    return {name: found[ours[name]] for name in tensors(case, "grads")}


def on_values(case: dict[str, Any]) -> dict[str, Any]:
    """Ours, by the case's names: the graph itself, run on Values that go backward."""
    made, names = runners.specimen(case)
    ours = fed_names(case, made)
    wrt = {name: mapped(Value, made.feeds[ours[name]]) for name in tensors(case, "grads")}
    feeds = {**made.feeds, **{ours[name]: leaves for name, leaves in wrt.items()}}
    trace = run(made.graph, feeds, numbers="value", allow_nonfinite=True)
    loss = [
        cell * factor
        for name, cotangent in tensors(case, "cotangents").items()
        for cell, factor in zip(nested.flat(trace[names[name]]), nested.flat(cotangent), strict=True)
    ]
    total(loss).backward()
    return {name: mapped(lambda leaf: leaf.grad, leaves) for name, leaves in wrt.items()}


WAYS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "gradients as a graph": by_graph,
    "gradients on Values": on_values,
}


def fed_names(case: dict[str, Any], made: Specimen) -> dict[str, str]:
    """For each input of a case, the input of our graph that is fed with its data."""
    fed = {id(value): name for name, value in made.feeds.items()}
    return {t["name"]: fed[id(t["data"])] for t in case["inputs"] if id(t["data"]) in fed}


def mapped(function: Callable[[Any], Any], data: Any) -> Any:
    return [mapped(function, item) for item in data] if isinstance(data, list) else function(data)


def problems(path: Path, compute: Callable[[dict[str, Any]], dict[str, Any]] = by_graph) -> list[str]:
    """What is wrong with a case's gradients, whatever goes wrong."""
    try:
        return wrong(cases.load(path), compute)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def wrong(case: dict[str, Any], compute: Callable[[dict[str, Any]], dict[str, Any]] = by_graph) -> list[str]:
    """The first difference of each gradient that does not pass by the case's own rule."""
    found = compute(case)
    told = (
        cases.mismatch(found[name], want, case["grad_rtol"], case["grad_atol"], f"d_{name}")
        for name, want in tensors(case, "grads").items()
    )
    return [one for one in told if one]
