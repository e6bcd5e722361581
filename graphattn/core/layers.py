"""What the ops that are whole transformer layers share: sub-layers with a norm and a residual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .axes import Spec, describe
from .errors import Rejected, suggest
from .op import find

NORMS = ("layernorm", "rmsnorm")


def normed(norm: str, x: Spec, gamma: Spec | None, beta: Spec | None, eps: float | str, which: int) -> Spec:
    """The shape rule of a layer's norm number `which`."""
    if norm not in NORMS:
        raise Rejected(f"norm is {norm!r}; expected 'layernorm' or 'rmsnorm'{suggest(norm, NORMS)}")
    if norm == "rmsnorm" and beta is not None:
        raise Rejected(f"beta_{which} is given, but rmsnorm has no beta; expected none")
    rows = (gamma,) if norm == "rmsnorm" else (gamma, beta)
    try:
        return find(norm).shape(x, *rows, eps=eps)
    except Rejected as error:
        raise Rejected(f"norm {which}: {error}") from None


def added(x: Spec, y: Spec, what: str) -> Spec:
    """The shape rule of a residual: what a sub-layer gives must have the shape of what it got."""
    if y.shape != x.shape:
        raise Rejected(f"{what} gives {describe(y)}; expected the shape of x, {describe(x)}, to add it")
    return find("add").shape(x, y)


def sublayer(
    g: Any,
    x: Any,
    inner: Callable[[Any], Any],
    *,
    norm: str,
    gamma: Any,
    beta: Any,
    eps: float | str,
    norm_first: bool,
    which: int,
) -> Any:
    """x + inner(norm(x)) if norm_first (Xiong et al. 2020), else norm(x + inner(x)) (Vaswani et al. 2017)."""
    rows = (gamma,) if norm == "rmsnorm" else (gamma, beta)
    name = f"norm{which}"
    given = g.apply(norm, x, *rows, eps=eps, name=name) if norm_first else x
    y = g.add(x, inner(given), name=f"residual{which}", title="residual add")
    return y if norm_first else g.apply(norm, y, *rows, eps=eps, name=name)
