"""Along axes: means, sums, largest; softmax; running sums as a product with a triangle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.graph import Tensor
from .call import Call
from .moves import at, reshaped


def reduced(op: str) -> Callable[..., Tensor]:
    """The rule of an operator that reduces axes by an op that reduces one, and keeps it with size 1."""

    def build(c: Call, x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
        return over(c, op, x, dim, keepdim)

    return build


def over(c: Call, op: str, x: Any, dim: Any, keepdim: bool, name: str | None = None) -> Tensor:
    """Several axes are reduced one after another: of a mean that is right, as their sizes are the same."""
    own = c.shape(x)
    chosen = [dim] if isinstance(dim, int) else dim or range(len(own))
    axes = sorted(at(d, len(own)) for d in chosen) if own else []
    name = name or c.name
    result = x
    for i, axis in enumerate(axes):
        last = keepdim and i == len(axes) - 1
        result = c.apply(op, result, axis=axis, name=name if last else c.inner(f"axis{axis}"))
    return c.tensor(result) if keepdim else reshaped(
        c, result, [size for d, size in enumerate(own) if d not in axes], name
    )  # fmt: skip


def smallest(c: Call, x: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    """min x = −max(−x)."""
    turned = c.negate(x, name=c.inner("negated"))
    return c.negate(over(c, "reduce_max", turned, dim, keepdim, c.inner("largest")))


def variance(c: Call, x: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Tensor:
    """Σ (x − mean)² / (n − correction)."""
    own = c.shape(x)
    chosen = [dim] if isinstance(dim, int) else dim or range(len(own))
    n = 1
    for d in chosen:
        n *= own[d]
    mean = over(c, "reduce_mean", x, dim, True, c.inner("mean"))
    centred = c.subtract(x, mean, name=c.inner("centred"))
    squares = c.multiply(centred, centred, name=c.inner("squares"))
    total = over(c, "reduce_sum", squares, dim, keepdim, c.inner("total"))
    if n <= (correction or 0):
        c.refuse(f"{n} cells have no variance with correction {correction}; expected more")
    return c.scale(total, divide=n - (1 if correction is None else correction))


def variance_flag(c: Call, x: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Tensor:
    return variance(c, x, dim, int(unbiased), keepdim)


def deviation(c: Call, x: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Tensor:
    name, c.name = c.name, c.inner("variance")
    found = variance(c, x, dim, correction, keepdim)
    return c.sqrt(found, name=name)


def deviation_flag(c: Call, x: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Tensor:
    return deviation(c, x, dim, int(unbiased), keepdim)


def softmax(c: Call, x: Any, dim: int, **_: Any) -> Tensor:
    """A row of −∞ alone is NaN."""
    return c.softmax(x, axis=at(dim, len(c.shape(x))), empty="nan")


def log_softmax(c: Call, x: Any, dim: int, **_: Any) -> Tensor:
    return c.log_softmax(x, axis=at(dim, len(c.shape(x))))


def logsumexp(c: Call, x: Any, dim: Any, keepdim: bool = False) -> Tensor:
    """m + ln Σ exp(x − m), m the largest."""
    peak = over(c, "reduce_max", x, dim, True, c.inner("largest"))
    shifted = c.subtract(x, peak, name=c.inner("shifted"))
    total = over(c, "reduce_sum", c.exp(shifted, name=c.inner("raised")), dim, True, c.inner("total"))
    whole = c.add(peak, c.log(total, name=c.inner("log")), name=c.name if keepdim else c.inner("kept"))
    own = c.shape(x)
    chosen = [dim] if isinstance(dim, int) else dim
    gone = {at(d, len(own)) for d in chosen}
    return whole if keepdim else reshaped(c, whole, [s for d, s in enumerate(own) if d not in gone], c.name)


def cumsum(c: Call, x: Any, dim: int, dtype: Any = None) -> Tensor:
    """Running sums along the last axis: x times a triangle of ones."""
    own = c.shape(x)
    if at(dim, len(own)) != len(own) - 1 or len(own) < 2:
        c.refuse("running sums go along another axis than the last; expected that one")
    n = own[-1]
    triangle = [[1.0 if i <= j else 0.0 for j in range(n)] for i in range(n)]
    return c.matmul(x, c.constant(triangle, c.inner("triangle")))


def norm(c: Call, x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """√Σ x²."""
    if ord != 2:
        c.refuse(f"the norm is of order {ord}; expected 2")
    squares = c.multiply(x, x, name=c.inner("squares"))
    return c.sqrt(over(c, "reduce_sum", squares, dim, keepdim, c.inner("total")))


RULES: dict[str, Callable[..., Any]] = {
    "mean.default": reduced("reduce_mean"),
    "mean.dim": reduced("reduce_mean"),
    "sum.default": reduced("reduce_sum"),
    "sum.dim_IntList": reduced("reduce_sum"),
    "amax.default": reduced("reduce_max"),
    "max.default": reduced("reduce_max"),
    "amin.default": smallest,
    "min.default": smallest,
    "var.correction": variance,
    "var.dim": variance_flag,
    "var.default": variance_flag,
    "std.correction": deviation,
    "std.dim": deviation_flag,
    "std.default": deviation_flag,
    "softmax.int": softmax,
    "_softmax.default": softmax,
    "log_softmax.int": log_softmax,
    "_log_softmax.default": log_softmax,
    "logsumexp.default": logsumexp,
    "cumsum.default": cumsum,
    "linalg_vector_norm.default": norm,
}
