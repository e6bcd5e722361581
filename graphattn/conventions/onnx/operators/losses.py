"""Losses of classes, whose targets are known when the graph is built."""

from __future__ import annotations

from math import prod
from typing import Any

from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ....core.nested import flat, indices, shape_of, shown
from ..operator import Outputs, Static, operator
from .places import strides, taken, wrapped


@operator("loss")
def NegativeLogLikelihoodLoss(
    g: Graph, input: Tensor, target: Static, weight: Tensor | None = None, *, ignore_index: int | None = None,
    reduction: str = "mean",
) -> Outputs:  # fmt: skip
    """−input[n, target[n, …], …] · weight[target[n, …]]; 0 where the target is ignore_index. Its sum, or
    its mean (divided by the sum of the weights that were used)."""
    return [_loss(g, input, target, weight, ignore_index, reduction)]


@operator("output", "log_prob")
def SoftmaxCrossEntropyLoss(
    g: Graph, scores: Tensor, labels: Static, weights: Tensor | None = None, *, ignore_index: int | None = None,
    reduction: str = "mean", outputs: int = 1,
) -> Outputs:  # fmt: skip
    """NegativeLogLikelihoodLoss of the log-softmax along axis 1, which is the second output."""
    log_prob = g.log_softmax(scores, axis=1, name="log_prob")
    return [_loss(g, log_prob, labels, weights, ignore_index, reduction), log_prob][:outputs]


def _loss(
    g: Graph, x: Tensor, target: Any, weight: Tensor | None, ignored: int | None, reduction: str
) -> Tensor:
    if reduction not in ("none", "sum", "mean"):
        raise GraphError(f"reduction is {shown(reduction)}; expected none, sum or mean")
    sizes = shape_of(target)
    if len(x.shape) < 2 or sizes != (x.shape[0], *x.shape[2:]):
        raise GraphError(
            f"the targets are {sizes} and the scores {x.shape}; expected one for each row of axis 1"
        )
    far, places, classes = strides(x.shape), [], []
    for where, label in zip(indices(sizes), flat(target)):
        label = 0 if label == ignored else wrapped(label, x.shape[1], 1)
        classes.append(label)
        places.append(sum(i * s for i, s in zip((where[0], label, *where[1:]), far)))
    kept = [label != ignored for label in flat(target)]
    loss = g.negate(taken(g, x, places, sizes, name="of_targets"), name="losses")
    used = None
    if weight is not None:
        used = taken(g, weight, classes, sizes, name="weights")
        loss = g.multiply(loss, used, name="weighted")
    if not all(kept):
        counts = g.reshape(g.constant(tuple(kept), name="kept"), sizes, name="kept_shaped")
        loss = g.where(counts, loss, g.constant(0), name="kept_losses")
        used = g.where(counts, g.constant(1) if used is None else used, g.constant(0), name="kept_weights")
    if reduction == "none":
        return loss
    total = _total(g, loss)
    if reduction == "sum":
        return total
    divisor = g.constant(len(kept), name="count") if used is None else _total(g, used)
    return g.divide(total, divisor)


def _total(g: Graph, x: Tensor) -> Tensor:
    return g.reshape(g.reduce_sum(g.reshape(x, (prod(x.shape),))), ())
