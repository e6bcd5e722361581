"""Products of matrices, and attention whole."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...conventions.torch import shared_heads
from ...core.graph import Tensor
from . import masks
from .call import Call
from .moves import permuted, reshaped


def attention(
    c: Call, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: Any = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(q kᵀ · scale, masked) v, with all that is inside: `attention.weights` is one of its results."""
    if dropout_p:
        c.refuse(f"dropout_p is {dropout_p}; expected a module in eval mode")
    if is_causal and attn_mask is not None:
        c.refuse("it has attn_mask and is_causal; expected one of them")
    q, k, v = map(c.tensor, (query, key, value))
    if enable_gqa:
        k, v = shared_heads(c, k, q, c.inner("key")), shared_heads(c, v, q, c.inner("value"))
    mask = None if attn_mask is None else masks.read(c, attn_mask)
    return c.attention(q, k, v, mask, causal=is_causal, scale=scale).out


def matmul(c: Call, x: Any, other: Any) -> Tensor:
    """As PyTorch's: a vector is a row on the left, a column on the right, and its axis goes away."""
    a, b = c.shape(x), c.shape(other)
    if len(a) > 1 and len(b) > 1:
        return c.matmul(x, other)
    left = reshaped(c, x, (1, *a), c.inner("row")) if len(a) == 1 else x
    right = reshaped(c, other, (*b, 1), c.inner("column")) if len(b) == 1 else other
    shape = (*(a[:-1] if len(a) > 1 else b[:-2]), *(b[-1:] if len(b) > 1 else ()))
    return reshaped(c, c.matmul(left, right, name=c.inner("product")), shape, c.name)


def mm(c: Call, x: Any, mat2: Any) -> Tensor:
    return c.matmul(x, mat2)


def mv(c: Call, x: Any, vec: Any) -> Tensor:
    return matmul(c, x, vec)


def dot(c: Call, x: Any, tensor: Any) -> Tensor:
    return matmul(c, x, tensor)


def added_product(c: Call, x: Any, first: Any, second: Any, beta: float, alpha: float) -> Tensor:
    """β x + α (a b); a known mask that is added hides."""
    product = c.matmul(first, second, name=c.inner("product"))
    if alpha != 1:
        product = c.scale(product, multiply=alpha, name=c.inner("scaled"))
    if beta == 0:
        return product
    if beta != 1:
        x = c.scale(x, multiply=beta, name=c.inner("added"))
    return masks.added(c, product, x)


def addmm(c: Call, x: Any, mat1: Any, mat2: Any, beta: float = 1, alpha: float = 1) -> Tensor:
    return added_product(c, x, mat1, mat2, beta, alpha)


def baddbmm(c: Call, x: Any, batch1: Any, batch2: Any, beta: float = 1, alpha: float = 1) -> Tensor:
    return added_product(c, x, batch1, batch2, beta, alpha)


def outer(c: Call, x: Any, vec2: Any) -> Tensor:
    column = reshaped(c, x, (c.shape(x)[0], 1), c.inner("column"))
    return c.multiply(column, reshaped(c, vec2, (1, c.shape(vec2)[0]), c.inner("row")))


def einsum(c: Call, equation: str, tensors: Sequence[Any], path: Any = None) -> Tensor:
    """Of two operands, as one matmul: axes of both, axes of the first alone and of the second alone, and those
    that are summed, each together as one."""
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    letters = inputs.split(",")
    fits = arrow and len(letters) == len(tensors) and all(
        set(part) <= set(string.ascii_letters) and len(set(part)) == len(part) for part in (*letters, result)
    )  # fmt: skip
    if not fits or len(tensors) != 2 or not set(result) <= set(inputs):
        c.refuse(f"the equation is {equation[:60]!r}; expected two operands, as in 'bhid,bhjd->bhij'")
    a, b = letters
    if any(x not in result and x not in b for x in a) or any(x not in result and x not in a for x in b):
        c.refuse(f"the equation {equation[:60]!r} sums an axis of one operand alone; expected products")
    size = dict(zip(a, c.shape(tensors[0]))) | dict(zip(b, c.shape(tensors[1])))
    batch = [x for x in a if x in b and x in result]
    summed = [x for x in a if x in b and x not in result]
    rows, columns = [x for x in a if x not in b], [x for x in b if x not in a]

    def arranged(x: Any, have: str, lead: list[str], then: list[str], name: str) -> Tensor:
        order = [have.index(letter) for letter in (*batch, *lead, *then)]
        keep, c.name = c.name, c.inner(f"{name}_ordered") if order != sorted(order) else c.name
        x = permuted(c, x, order)
        c.name = keep
        shape = [*(size[i] for i in batch), prod(size[i] for i in lead), prod(size[i] for i in then)]
        return c.tensor(x) if tuple(shape) == x.shape else c.reshape(x, tuple(shape), name=c.inner(name))

    left = arranged(tensors[0], a, rows, summed, "left")
    right = arranged(tensors[1], b, summed, columns, "right")
    have = [*batch, *rows, *columns]
    shape, order = tuple(size[i] for i in have), [have.index(i) for i in result]
    product = c.matmul(left, right, name=c.name if _plain(left, right, shape, order) else c.inner("product"))
    whole = product if product.shape == shape else c.reshape(
        product, shape, name=c.name if order == sorted(order) else c.inner("apart")
    )  # fmt: skip
    return whole if order == sorted(order) else c.transpose(whole, perm=tuple(order))


def _plain(left: Tensor, right: Tensor, shape: tuple[int, ...], order: list[int]) -> bool:
    return (*left.shape[:-1], right.shape[-1]) == shape and order == sorted(order)


RULES: dict[str, Callable[..., Any]] = {
    "scaled_dot_product_attention.default": attention,
    "matmul.default": matmul,
    "bmm.default": mm,
    "mm.default": mm,
    "mv.default": mv,
    "dot.default": dot,
    "addmm.default": addmm,
    "baddbmm.default": baddbmm,
    "outer.default": outer,
    "einsum.default": einsum,
}
