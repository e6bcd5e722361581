"""Normalisations."""

from __future__ import annotations

from math import prod

from ....core.axes import position
from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ..operator import Outputs, integers, operator, switch, whole
from .elementwise import absolute
from .reductions import folded


@operator("Y", "Mean", "InvStdDev")
def LayerNormalization(
    g: Graph, X: Tensor, Scale: Tensor | None = None, B: Tensor | None = None, *, axis: int = -1,
    epsilon: float = 1e-05, stash_type: int = 1, outputs: int = 3,
) -> Outputs:  # fmt: skip
    """Over the axes from `axis` on together; Mean and InvStdDev = 1 / √(variance + epsilon) keep them as 1."""
    y, rows = _normalized(g, "layernorm", X, Scale, B, axis, epsilon)
    if outputs == 1:
        return [y]
    kept = _kept(X, axis)
    mean, _, root = _parts(g, rows, [-1], epsilon)
    inverse = g.divide(g.constant(1, name="one"), root, name="inverse")
    means, inverses = (g.reshape(x, kept) for x in (mean, inverse))
    return [y, means, inverses][:outputs]


@operator("Y")
def RMSNormalization(
    g: Graph, X: Tensor, scale: Tensor | None = None, *, axis: int = -1, epsilon: float = 1e-05,
    stash_type: int = 1,
) -> Outputs:  # fmt: skip
    """X / √(mean X² + epsilon) · scale, over the axes from `axis` on together."""
    return [_normalized(g, "rmsnorm", X, scale, None, axis, epsilon)[0]]


def _normalized(
    g: Graph, op: str, x: Tensor, scale: Tensor | None, bias: Tensor | None, axis: int, eps: float
) -> tuple[Tensor, Tensor]:
    """The norm in the shape of x, and the rows that it was taken of."""
    place = position(axis, len(x.shape))
    sizes = x.shape[place:]
    many = len(sizes) > 1
    x_rows = g.reshape(x, (*x.shape[:place], prod(sizes)), name="rows") if many else x
    affine = {"scale": scale, "bias": bias} if op == "layernorm" else {"scale": scale}
    fits = all(row is None or row.shape == sizes for row in affine.values())
    given = [_as_row(g, name, row) if fits else None for name, row in affine.items()]
    y = g.apply(op, x_rows, *given, eps=eps, name="norm")
    y = g.reshape(y, x.shape, axes=x.axes, name="norm_shaped") if many else y
    if not fits:  # of a shape that only stretches to that of x
        y = y if scale is None else g.multiply(y, scale, name="scaled")
        y = y if bias is None else g.add(y, bias, name="shifted")
    return y, x_rows


def _as_row(g: Graph, name: str, x: Tensor | None) -> Tensor | None:
    """A scale or bias as one row."""
    return x if x is None or len(x.shape) == 1 else g.reshape(x, (prod(x.shape),), name=f"{name}_row")


def _kept(x: Tensor, axis: int) -> tuple[int, ...]:
    place = position(axis, len(x.shape))
    return (*x.shape[:place], *[1] * (len(x.shape) - place))


@operator("Y", "running_mean", "running_var")
def BatchNormalization(
    g: Graph, X: Tensor, scale: Tensor, B: Tensor, input_mean: Tensor, input_var: Tensor, *,
    epsilon: float = 1e-05, momentum: float = 0.9, training_mode: int = 0, is_test: int = 1, spatial: int = 1,
    consumed_inputs: list[int] | None = None, outputs: int = 1, opset: int | None = None,
) -> Outputs:  # fmt: skip
    """(X − mean) / √(variance + epsilon) · scale + B for each channel (axis 1), as given: no training mode."""
    if switch("training_mode", training_mode) or outputs > 1 or not spatial:
        raise GraphError("training_mode, further outputs and spatial=0 are of training; expected inference")
    scale, bias, mean, var = (_channels(g, x, X) for x in (scale, B, input_mean, input_var))
    root = g.sqrt(g.add(var, g.constant(epsilon, name="epsilon")), name="root")
    return [g.add(g.multiply(g.divide(g.subtract(X, mean), root), scale), bias)]


def _channels(g: Graph, x: Tensor, like: Tensor) -> Tensor:
    """One number for each channel (axis 1), so that it stretches."""
    after = len(like.shape) - 2
    return g.reshape(x, (*x.shape, *[1] * after)) if after > 0 else x


def _standard(g: Graph, x: Tensor, axes: list[int], epsilon: float) -> Tensor:
    """(x − mean) / √(variance + epsilon) over these axes together."""
    _, deviation, root = _parts(g, x, axes, epsilon)
    return g.divide(deviation, root)


def _parts(g: Graph, x: Tensor, axes: list[int], epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """The mean over these axes together, what deviates from it, and √(variance + epsilon). Where epsilon is 0
    the mean is corrected, as in the op layernorm: equal cells have the variance 0."""
    mean = folded(g, "reduce_mean", x, axes)
    if not epsilon:
        drift = folded(g, "reduce_mean", g.subtract(x, mean, name="deviation_0"), axes)
        mean = g.add(mean, drift, name="exact_mean")
    deviation = g.subtract(x, mean, name="deviation")
    variance = folded(g, "reduce_mean", g.multiply(deviation, deviation, name="squared"), axes)
    root = g.sqrt(g.add(variance, g.constant(epsilon, name="epsilon"), name="stabilized"), name="root")
    return mean, deviation, root


@operator("output")
def InstanceNormalization(
    g: Graph, input: Tensor, scale: Tensor, B: Tensor, *, epsilon: float = 1e-05,
    consumed_inputs: list[int] | None = None,
) -> Outputs:  # fmt: skip
    """Each channel of each sample for itself, then · scale + B."""
    y = _standard(g, input, list(range(2, len(input.shape))), epsilon)
    return [g.add(g.multiply(y, _channels(g, scale, input)), _channels(g, B, input))]


@operator("Y")
def GroupNormalization(
    g: Graph, X: Tensor, scale: Tensor, bias: Tensor, *, num_groups: int, epsilon: float = 1e-05,
    stash_type: int = 1, opset: int | None = None,
) -> Outputs:  # fmt: skip
    """Groups of channels, then · scale + bias, for each channel (before opset 21: for each group)."""
    batch, channels = X.shape[:2]
    if whole("num_groups", num_groups, 1) > channels or channels % num_groups:
        raise GraphError(f"{channels} channels do not divide into {num_groups} groups")
    rows = g.reshape(X, (batch, num_groups, prod(X.shape[1:]) // num_groups), name="groups")
    y = _standard(g, rows, [2], epsilon)
    if opset is not None and opset < 21:
        scale, bias = (g.reshape(x, (num_groups, 1)) for x in (scale, bias))
        return [g.reshape(g.add(g.multiply(y, scale), bias), X.shape)]
    y = g.reshape(y, X.shape, name="standard")
    return [g.add(g.multiply(y, _channels(g, scale, X)), _channels(g, bias, X))]


@operator("Y")
def MeanVarianceNormalization(g: Graph, X: Tensor, *, axes: list[int] | None = None) -> Outputs:
    """(X − mean) / (√variance + 1e-9) over these axes."""
    places = [0, 2, 3] if axes is None else integers("axes", axes)
    mean = folded(g, "reduce_mean", X, places)
    deviation = g.subtract(X, mean, name="deviation")
    variance = folded(g, "reduce_mean", g.multiply(deviation, deviation, name="squared"), places)
    return [g.divide(deviation, g.add(g.sqrt(variance), g.constant(1e-9)))]


@operator("output")
def LpNormalization(g: Graph, input: Tensor, *, axis: int = -1, p: int = 2) -> Outputs:
    """x / ‖x‖ₚ along `axis`, p = 1 or 2; a row of zeros stays."""
    if p not in (1, 2):
        raise GraphError(f"p is {p}; expected 1 or 2")
    if p == 1:
        size = g.reduce_sum(absolute(g, input), axis=axis, name="size")
    else:
        size = g.sqrt(g.reduce_sum(g.multiply(input, input, name="squared"), axis=axis), name="size")
    return [g.where(g.equal(size, g.constant(0)), g.constant(0), g.divide(input, size, name="ratio"))]


@operator("Y")
def LRN(
    g: Graph, X: Tensor, *, size: int, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0
) -> Outputs:
    """X / (bias + alpha / size · Σ X² over the channels (axis 1) around)^beta."""
    channels, before = X.shape[1], (whole("size", size, 1) - 1) // 2
    before, after = (min(n, channels) for n in (before, size - 1 - before))  # there are no more to reach
    padded = g.pad(g.multiply(X, X, name="squared"), before, after, axis=1, name="padded")
    total = None
    for k in range(before + 1 + after):
        part = g.slice(padded, f":, {k}:{k + channels}")
        total = part if total is None else g.add(total, part)
    assert total is not None
    base = g.add(g.constant(bias, name="bias"), g.scale(total, multiply=alpha / size))
    return [g.divide(X, g.exp(g.scale(g.log(base), multiply=beta), name="power"))]
