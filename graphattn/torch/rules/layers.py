"""What torch.nn.functional has whole: linear, norms, embeddings, activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...conventions.torch import over_last_axes, whole_linear
from ...core.graph import Tensor
from ..values import EPS
from .arithmetic import of_one
from .call import Call


def linear(c: Call, input: Any, weight: Any, bias: Any = None) -> Tensor:
    """x Wᵀ + b."""
    return whole_linear(c, c.tensor(input), c.tensor(weight), bias, c.name)


def layer_norm(
    c: Call, input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None,
    eps: float = 1e-05, **_: Any,
) -> Tensor:  # fmt: skip
    rows = [None if row is None else c.tensor(row) for row in (weight, bias)]
    return over_last_axes(c, "layernorm", c.tensor(input), len(normalized_shape), c.name, *rows, eps=eps)


def native_layer_norm(c: Call, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    if any(output is not None for output in c.step.outputs[1:]):
        c.refuse("its mean and deviation are used; expected the result alone")
    return (layer_norm(c, input, normalized_shape, weight, bias, eps),)


def rms_norm(
    c: Call, input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None
) -> Tensor:
    """eps=None is that of the program's type."""
    gamma = None if weight is None else c.tensor(weight)
    if eps is None:
        eps = EPS.get(c.dtype, EPS["float32"])
    return over_last_axes(c, "rmsnorm", c.tensor(input), len(normalized_shape), c.name, gamma, eps=eps)


def group_norm(
    c: Call, input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05, **_: Any
) -> Tensor:
    """Each group of channels of (n, channels, …) as one row; gain and bias by channel."""
    own = c.shape(input)
    rows = c.reshape(input, (own[0], num_groups, -1), name=c.inner("groups"))
    normed = c.layernorm(rows, eps=eps, name=c.inner("normed"))
    scaled = weight is not None
    back = c.reshape(normed, own, name=c.inner("back") if scaled or bias is not None else c.name)
    channel = (own[1], *(1,) * (len(own) - 2))
    if scaled:
        gain = c.reshape(weight, channel, name=c.inner("gain"))
        back = c.multiply(back, gain, name=c.inner("scaled") if bias is not None else c.name)
    return back if bias is None else c.add(back, c.reshape(bias, channel, name=c.inner("bias")))


def embedding(c: Call, weight: Any, indices: Any, **_: Any) -> Tensor:
    """Rows by index."""
    if c.kind(indices) != "int":
        c.refuse(f"the indices are {c.kind(indices)}s; expected integers")
    return c.embedding(weight, indices)


def gelu(c: Call, x: Any, approximate: str = "none") -> Tensor:
    return c.gelu(x, approximate=approximate)


def leaky_relu(c: Call, x: Any, negative_slope: float = 0.01) -> Tensor:
    below = c.scale(x, multiply=negative_slope, name=c.inner("below"))
    return c.where(c.is_positive(x, name=c.inner("positive")), x, below)


def elu(c: Call, x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    """x where x > 0, α (eˣ − 1) elsewhere."""
    if scale != 1 or input_scale != 1:
        c.refuse("it scales; expected elu alone")
    under = c.negate(c.relu(c.negate(x, name=c.inner("turned")), name=c.inner("depth")), name=c.inner("under"))
    curve = c.subtract(c.exp(under, name=c.inner("exp")), 1.0, name=c.inner("curve"))
    if alpha != 1:
        curve = c.scale(curve, multiply=alpha, name=c.inner("scaled"))
    return c.where(c.is_positive(x, name=c.inner("positive")), x, curve)


def softplus(c: Call, x: Any, beta: float = 1, threshold: float = 20) -> Tensor:
    """ln(1 + e^(βx)) / β, and x itself where βx > threshold."""
    scaled = c.scale(x, multiply=beta, name=c.inner("scaled"))
    over = c.subtract(scaled, float(threshold), name=c.inner("over"))
    raised = c.add(c.exp(scaled, name=c.inner("exp")), 1.0, name=c.inner("raised"))
    curve = c.scale(c.log(raised, name=c.inner("log")), divide=beta, name=c.inner("curve"))
    return c.where(c.is_positive(over, name=c.inner("straight")), x, curve)


def glu(c: Call, x: Any, dim: int = -1) -> Tensor:
    """a · σ(b), a and b the halves of an axis."""
    a, b = c.split(x, 2, axis=dim, name=c.inner("halves"))
    return c.multiply(a, c.sigmoid(b, name=c.inner("gate")))


RULES: dict[str, Callable[..., Any]] = {
    "linear.default": linear,
    "layer_norm.default": layer_norm,
    "native_layer_norm.default": native_layer_norm,
    "rms_norm.default": rms_norm,
    "group_norm.default": group_norm,
    "embedding.default": embedding,
    "gelu.default": gelu,
    "relu.default": of_one("relu"),
    "silu.default": of_one("silu"),
    "leaky_relu.default": leaky_relu,
    "elu.default": elu,
    "softplus.default": softplus,
    "glu.default": glu,
}
