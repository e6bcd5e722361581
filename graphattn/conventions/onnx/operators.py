"""The ONNX operators that a transformer is made of, besides Attention."""

from __future__ import annotations

from math import prod
from typing import Any

from ...core.axes import Spec, broadcast, position
from ...core.errors import GraphError
from ...core.graph import Graph, Tensor
from ..call import rank
from .operator import Bools, Cells, Indices, Numbers, Outputs, Static, integers, operator, switch, whole

# ---------------------------------------------------------------- elementwise


def _aligned(g: Graph, a: Tensor, b: Tensor, broadcast: int, axis: int | None, opset: int | None) -> Tensor:
    """The second operand; before opset 7, its axes may line up with those of the first from `axis` on."""
    if (opset is not None and opset >= 7) or axis is None:
        return b
    if not broadcast:
        raise GraphError("axis is given without broadcast=1; expected both, as before opset 7")
    after = len(a.shape) - position(axis, len(a.shape)) - len(b.shape)
    if after < 0:
        raise GraphError(f"B has rank {len(b.shape)}, which does not fit into A from axis {axis} on")
    return g.reshape(b, (*b.shape, *[1] * after), name="B_aligned") if after else b


@operator("C")
def Add(
    g: Graph, A: Numbers, B: Numbers, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A + B; sizes of 1 stretch. broadcast and axis: before opset 7."""
    return [g.add(A, _aligned(g, A, B, broadcast, axis, opset))]


@operator("C")
def Sub(
    g: Graph, A: Numbers, B: Numbers, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A − B; as Add."""
    return [g.subtract(A, _aligned(g, A, B, broadcast, axis, opset))]


@operator("C")
def Mul(
    g: Graph, A: Numbers, B: Numbers, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A · B; as Add."""
    return [g.multiply(A, _aligned(g, A, B, broadcast, axis, opset))]


@operator("C")
def Div(
    g: Graph, A: Tensor, B: Tensor, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A / B, of floats; as Add."""
    return [g.divide(A, _aligned(g, A, B, broadcast, axis, opset))]


@operator("sum")
def Sum(g: Graph, *data_0: Tensor) -> Outputs:
    """The sum of all inputs, from left to right."""
    first, *others = data_0
    for other in others:
        first = g.add(first, other)
    return [first]


@operator("Y")
def Neg(g: Graph, X: Tensor) -> Outputs:
    """−X."""
    return [g.negate(X)]


@operator("output")
def Exp(g: Graph, input: Tensor) -> Outputs:
    """eˣ."""
    return [g.exp(input)]


@operator("output")
def Log(g: Graph, input: Tensor) -> Outputs:
    """ln x."""
    return [g.log(input)]


@operator("Y")
def Sqrt(g: Graph, X: Tensor) -> Outputs:
    """√x."""
    return [g.sqrt(X)]


@operator("output")
def Erf(g: Graph, input: Tensor) -> Outputs:
    """erf x."""
    return [g.erf(input)]


@operator("output")
def Sin(g: Graph, input: Tensor) -> Outputs:
    """sin x."""
    return [g.sin(input)]


@operator("output")
def Cos(g: Graph, input: Tensor) -> Outputs:
    """cos x."""
    return [g.cos(input)]


@operator("output")
def Tanh(g: Graph, input: Tensor) -> Outputs:
    """tanh x."""
    return [g.tanh(input)]


@operator("Y")
def Sigmoid(g: Graph, X: Tensor) -> Outputs:
    """1 / (1 + e⁻ˣ)."""
    return [g.sigmoid(X)]


@operator("Y")
def Relu(g: Graph, X: Tensor) -> Outputs:
    """max(x, 0)."""
    return [g.relu(X)]


@operator("Y")
def Gelu(g: Graph, X: Tensor, *, approximate: str = "none") -> Outputs:
    """x · Φ(x); approximate: none (erf) or tanh."""
    return [g.gelu(X, approximate=approximate)]


@operator("output")
def Where(g: Graph, condition: Bools, X: Cells, Y: Cells) -> Outputs:
    """X where the condition holds, Y elsewhere."""
    return [g.where(condition, X, Y)]


# ---------------------------------------------------------------- along an axis


def _joint(g: Graph, op: str, x: Tensor, axis: int | None, opset: int | None, **attributes: Any) -> Tensor:
    """An op along one axis; before opset 13, along that axis (1 if not given) and all after it, as one."""
    if opset is None or opset >= 13:
        return g.apply(op, x, axis=-1 if axis is None else axis, **attributes)
    place = len(x.shape) if axis == len(x.shape) else position(1 if axis is None else axis, len(x.shape))
    if place == len(x.shape) - 1:
        return g.apply(op, x, axis=place, **attributes)
    rows = g.reshape(x, (prod(x.shape[:place]), prod(x.shape[place:])), name="flattened")
    return g.reshape(g.apply(op, rows, axis=-1, **attributes), x.shape, axes=x.axes)


@operator("output")
def Softmax(g: Graph, input: Tensor, *, axis: int | None = None, opset: int | None = None) -> Outputs:
    """Along `axis` (−1); a row of −∞ alone is NaN. Before opset 13 along axis 1 and all after it."""
    return [_joint(g, "softmax", input, axis, opset, empty="nan")]


@operator("output")
def LogSoftmax(g: Graph, input: Tensor, *, axis: int | None = None, opset: int | None = None) -> Outputs:
    """ln Softmax."""
    return [_joint(g, "log_softmax", input, axis, opset)]


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
    mean = g.reduce_mean(rows, name="mean")
    deviation = g.subtract(rows, mean, name="deviation")
    variance = g.reduce_mean(g.multiply(deviation, deviation, name="squared"), name="variance")
    eps = g.constant(epsilon, name="epsilon")
    root = g.sqrt(g.add(variance, eps, name="stabilized"), name="root")
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


@operator("Y")
def RotaryEmbedding(
    g: Graph, X: Tensor, cos_cache: Tensor, sin_cache: Tensor, position_ids: Indices | None = None, *,
    interleaved: int = 0, num_heads: int = 0, rotary_embedding_dim: int = 0,
) -> Outputs:  # fmt: skip
    """X (b, h, n, d), or (b, n, h · d) with num_heads. Caches (max_pos, r/2) by position_ids (b, n), or
    (b, n, r/2) without; r = rotary_embedding_dim, 0 = all d. Entry i turns with i + r/2; interleaved: 2i
    with 2i + 1."""
    packed = rank("X", X, 3, 4) == 3
    x = X
    if packed:
        if not whole("num_heads", num_heads, 0) or X.shape[2] % num_heads:
            raise GraphError(f"X has {X.shape[2]} columns and num_heads is {num_heads}; expected a divisor")
        parts = g.reshape(X, (*X.shape[:2], num_heads, X.shape[2] // num_heads), name="X_parts")
        x = g.transpose(parts, perm=(0, 2, 1, 3), name="X_heads")
    batch, _, n, d = x.shape
    turning = whole("rotary_embedding_dim", rotary_embedding_dim, 0) or d
    angles = []
    for name, cache in (("cos", cos_cache), ("sin", sin_cache)):
        if position_ids is not None:
            rank(f"{name}_cache", cache, 2)
            cache = g.embedding(cache, position_ids, name=name)
        if cache.shape != (batch, n, turning // 2):
            raise GraphError(f"{name}_cache gives {cache.shape}; expected {(batch, n, turning // 2)}")
        angles.append(g.reshape(cache, (batch, 1, n, turning // 2), name=f"{name}_by_head"))
    y = g.rope(x, *angles, interleaved=switch("interleaved", interleaved), name="rope")
    if packed:
        turned = g.transpose(y, perm=(0, 2, 1, 3), name="Y_heads")
        y = g.reshape(turned, X.shape, axes=X.axes)
    return [y]


def _folded(
    g: Graph, op: str, x: Tensor, axes: list[int] | None, keepdims: int, noop_with_empty_axes: int
) -> Outputs:
    if not axes and noop_with_empty_axes:
        return [x]
    given = integers("axes", axes) if axes else range(len(x.shape))
    places = sorted({position(axis, len(x.shape)) for axis in given})
    y = x
    for place in places:
        y = g.apply(op, y, axis=place)
    if not switch("keepdims", keepdims):
        y = g.reshape(y, tuple(size for place, size in enumerate(y.shape) if place not in places))
    return [y]


@operator("reduced")
def ReduceMean(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """The mean over these axes, or over all."""
    return _folded(g, "reduce_mean", data, axes, keepdims, noop_with_empty_axes)


@operator("reduced")
def ReduceSum(
    g: Graph, data: Tensor, axes: Static | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Outputs:
    """The sum over these axes, or over all."""
    return _folded(g, "reduce_sum", data, axes, keepdims, noop_with_empty_axes)


# ---------------------------------------------------------------- matrices


@operator("Y")
def MatMul(g: Graph, A: Tensor, B: Tensor) -> Outputs:
    """numpy.matmul: a vector on the left is a row, on the right a column, and that axis goes again."""
    for name, x in (("A", A), ("B", B)):
        if not x.shape:
            raise GraphError(f"{name} has rank 0; expected rank 1 or more")
    row, column = len(A.shape) == 1, len(B.shape) == 1
    a = g.reshape(A, (1, *A.shape), name="A_row") if row else A
    b = g.reshape(B, (*B.shape, 1), name="B_column") if column else B
    y = g.matmul(a, b)
    if row or column:
        last = (() if row else y.shape[-2:-1]) + (() if column else y.shape[-1:])
        y = g.reshape(y, (*y.shape[:-2], *last))
    return [y]


@operator("Y")
def Gemm(
    g: Graph, A: Tensor, B: Tensor, C: Tensor | None = None, *, alpha: float = 1.0, beta: float = 1.0,
    transA: int = 0, transB: int = 0, broadcast: int = 0,
) -> Outputs:  # fmt: skip
    """alpha A′B′ + beta C, where ′ transposes if transA, transB say so; C stretches."""
    for name, x in (("A", A), ("B", B)):
        rank(name, x, 2)
    a = g.transpose(A, name="A_t") if switch("transA", transA) else A
    b = g.transpose(B, name="B_t") if switch("transB", transB) else B
    y = g.matmul(a, b, name="product")
    y = y if alpha == 1 else g.scale(y, multiply=alpha, name="product_scaled")
    if C is None:
        return [y]
    c = C if beta == 1 else g.scale(C, multiply=beta, name="C_scaled")
    if len(c.shape) > 2:
        raise GraphError(f"C has rank {len(c.shape)}; expected a shape that stretches to {y.shape}")
    return [g.add(y, c)]


# ---------------------------------------------------------------- moves of numbers


@operator("transposed")
def Transpose(g: Graph, data: Cells, *, perm: list[int] | None = None) -> Outputs:
    """Axis k of the result is axis perm[k]; all axes the other way round where perm is not given."""
    order = tuple(reversed(range(len(data.shape)))) if perm is None else tuple(integers("perm", perm))
    return [g.transpose(data, perm=order)]


@operator("outputs")
def Split(
    g: Graph, input: Cells, split: Static | None = None, *, axis: int = 0, num_outputs: int | None = None,
    outputs: int | None = None,
) -> Outputs:  # fmt: skip
    """Pieces along `axis` (0) of the sizes `split`, or num_outputs pieces, the last of which may be smaller."""
    n = input.shape[position(axis, len(input.shape))]
    if split is None:
        count = whole("num_outputs", outputs if num_outputs is None else num_outputs, 1)
        size = -(-n // count)
        split = [max(0, min(size, n - i * size)) for i in range(count)]
    pieces = g.split(input, tuple(integers("split", split)), axis=axis)
    return pieces if isinstance(pieces, tuple) else [pieces]


@operator("concat_result")
def Concat(g: Graph, *inputs: Cells, axis: int = 1) -> Outputs:
    """The inputs one after another along `axis`."""
    return [g.concat(*inputs, axis=axis)]


@operator("output")
def Trilu(g: Graph, input: Cells, k: Static | None = None, *, upper: int = 1) -> Outputs:
    """What is on or above (upper=0: below) the k-th diagonal; 0 elsewhere."""
    while isinstance(k, (list, tuple)) and len(k) == 1:
        k = k[0]
    diagonal: Any = 0 if k is None else k
    return [g.trilu(input, k=diagonal, upper=switch("upper", upper))]


@operator("output")
def Identity(g: Graph, input: Cells) -> Outputs:
    """The input."""
    return [input]


@operator("reshaped")
def Reshape(g: Graph, data: Cells, shape: Static | None = None, *, allowzero: int = 0) -> Outputs:
    """The cells in another shape; −1 is what is left, and 0 keeps a size unless allowzero."""
    sizes = [
        data.shape[i] if size == 0 and not allowzero and i < len(data.shape) else size
        for i, size in enumerate([] if shape is None else integers("shape", shape))
    ]
    return [g.reshape(data, tuple(sizes))]


@operator("output")
def Expand(g: Graph, input: Cells, shape: Static | None = None) -> Outputs:
    """The input stretched to what it and `shape` broadcast to."""
    sizes = broadcast(input.spec, Spec(tuple([] if shape is None else integers("shape", shape))))[0]
    return [g.broadcast(input, sizes)]


@operator("output")
def Flatten(g: Graph, input: Cells, *, axis: int = 1) -> Outputs:
    """A matrix: the axes before `axis` are its rows."""
    place = len(input.shape) if axis == len(input.shape) else position(axis, len(input.shape))
    return [g.reshape(input, (prod(input.shape[:place]), prod(input.shape[place:])))]


@operator("expanded")
def Unsqueeze(g: Graph, data: Cells, axes: Static | None = None) -> Outputs:
    """With axes of size 1 put in at these places of the result."""
    given = [] if axes is None else integers("axes", axes)
    total = len(data.shape) + len(given)
    places = {position(axis, total) for axis in given}
    if len(places) != len(given):
        raise GraphError(f"axes is {given}; expected each place once")
    rest = iter(data.shape)
    return [g.reshape(data, tuple(1 if i in places else next(rest) for i in range(total)))]


@operator("squeezed")
def Squeeze(g: Graph, data: Cells, axes: Static | None = None) -> Outputs:
    """Without these axes, or without any axis of size 1."""
    places = [i for i, size in enumerate(data.shape) if size == 1]
    if axes is not None:
        places = [position(axis, len(data.shape)) for axis in integers("axes", axes)]
    return [g.reshape(data, tuple(size for i, size in enumerate(data.shape) if i not in places))]
