"""PyTorch's gradients against ours: d loss / d input of every case in torch/ that carries `grads`.

    loss = Σ over the outputs of Σ output · cotangent

An input of the case is the input of our graph that is fed with the very same data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cases
import runners

from graphattn.passes.gradient import differentiate, value_and_grad


def paths(root: Path | None = None) -> list[Path]:
    """The cases that carry gradients."""
    folder = (cases.ROOT if root is None else root) / "torch"
    return [path for path in sorted(folder.glob("*.json")) if cases.load(path).get("grads")]


def tensors(case: dict[str, Any], field: str) -> dict[str, Any]:
    return {tensor["name"]: cases._read(tensor["data"]) for tensor in case[field]}


def gradients(case: dict[str, Any]) -> dict[str, Any]:
    """Ours, by the case's names."""
    made, names = runners.specimen(case)
    fed = {id(value): name for name, value in made.feeds.items()}
    ours = {t["name"]: fed[id(t["data"])] for t in case["inputs"] if id(t["data"]) in fed}
    of = [names[name] for name in tensors(case, "cotangents")]
    wrt = [ours[name] for name in tensors(case, "grads")]
    inputs = differentiate(made.graph, of, wrt).cotangents
    cotangents = {
        inputs[names[name]]: value
        for name, value in tensors(case, "cotangents").items()
        if names[name] in inputs
    }
    _, found = value_and_grad(made.graph, {**made.feeds, **cotangents}, of, wrt, allow_nonfinite=True)
    return {name: found[ours[name]] for name in tensors(case, "grads")}


def problems(path: Path) -> list[str]:
    """What is wrong with a case's gradients, whatever goes wrong."""
    try:
        return wrong(cases.load(path))
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def wrong(case: dict[str, Any]) -> list[str]:
    """The first difference of each gradient that does not pass by the case's own rule."""
    found = gradients(case)
    told = (
        cases.mismatch(found[name], want, case["grad_rtol"], case["grad_atol"], f"d_{name}")
        for name, want in tensors(case, "grads").items()
    )
    return [one for one in told if one]
