"""What the ops that are whole transformer layers share: sub-layers with norms and a residual.

A layer is written once, as a function of its operands. On specs it is the layer's shape rule, on
tensors its expansion: `put` gives what an op's shape rule says of specs, and a node for tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .axes import Spec, describe, need_flag
from .errors import Rejected, suggest
from .op import find
from .words import shown

NORMS = ("layernorm", "rmsnorm")


def put(op: str, x: Any, *operands: Any, name: str, title: str | None = None, **attributes: Any) -> Any:
    """The op on tensors, as a node of their graph; on specs, the spec of its result."""
    if isinstance(x, Spec):
        return find(op).shape(x, *operands, **attributes)
    return x.graph.apply(op, x, *operands, name=name, title=title, **attributes)


def built(layer: Callable[..., Any]) -> Callable[..., Any]:
    """The expansion rule of a layer that is a function of its operands."""

    def expand(g: Any, *operands: Any, **attributes: Any) -> Any:
        return layer(*operands, **attributes)

    return expand


def normed(x: Any, norm: str, gamma: Any, beta: Any, eps: float | str, which: str, name: str) -> Any:
    """One of a layer's norms, whose gain and bias are called gamma and beta number `which`."""
    if norm == "rmsnorm" and beta is not None:
        raise Rejected(f"{which.replace('gamma', 'beta')} is given, but rmsnorm has no beta; expected none")
    rows = (gamma,) if norm == "rmsnorm" else (gamma, beta)
    try:
        return put(norm, x, *rows, eps=eps, name=name)
    except Rejected as error:
        raise Rejected(f"{name}: {str(error).replace('gamma', which, 1)}") from None


def added(x: Any, y: Any, what: str, name: str) -> Any:
    """A residual: what a sub-layer gives must have the shape of what it got."""
    if isinstance(y, Spec) and y.shape != x.shape:
        raise Rejected(f"{what} gives {describe(y)}; expected the shape of x, {describe(x)}, to add it")
    return put("add", x, y, name=name, title="residual add")


def sublayer(
    x: Any,
    inner: Callable[[Any], Any],
    *,
    what: str,
    which: int,
    norm: str,
    eps: float | str,
    norm_first: bool,
    gain: tuple[Any, Any],
    post_norm: bool = False,
    post_gain: tuple[Any, Any] = (None, None),
    onto: Any = None,
) -> Any:
    """x + inner(norm(x)) if norm_first (Xiong et al. 2020), else norm(x + inner(x)) (Vaswani et al. 2017).

    With post_norm, what `inner` gives is normed before it is added: x + norm′(inner(norm(x))) if
    norm_first (Gemma 2), else x + norm′(inner(x)) (OLMo 2). `inner` is the sub-layer called `what`, number
    `which` of its layer; gain and post_gain are the (gamma, beta) of the norms. The sum is with `onto`
    instead of x where that is given.
    """
    need_flag(norm_first=norm_first, post_norm=post_norm)
    if norm not in NORMS:
        raise Rejected(f"norm is {shown(norm)}; expected 'layernorm' or 'rmsnorm'{suggest(norm, NORMS)}")
    _need_used(gain, norm_first or not post_norm, f"gamma_{which}", "norm_first=False and post_norm=True")
    _need_used(post_gain, post_norm, f"post_gamma_{which}", "post_norm=False")

    def norm_of(y: Any, gain: tuple[Any, Any], which: str, name: str) -> Any:
        return normed(y, norm, *gain, eps, which, name)

    given = norm_of(x, gain, f"gamma_{which}", f"norm{which}") if norm_first else x
    y = inner(given)
    if post_norm:
        y = norm_of(y, post_gain, f"post_gamma_{which}", f"post_norm{which}")
    z = added(x if onto is None else onto, y, what, f"residual{which}")
    return z if norm_first or post_norm else norm_of(z, gain, f"gamma_{which}", f"norm{which}")


def _need_used(gain: tuple[Any, Any], used: bool, which: str, without: str) -> None:
    """Reject the gain or bias of a norm that the layer does not have."""
    for name, x in zip((which, which.replace("gamma", "beta")), gain, strict=True):
        if x is not None and not used:
            raise Rejected(f"{name} is given, but {without} leaves out its norm; expected none")
