"""What moves numbers: shapes, orders of axes, parts and joins."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

from ...core.graph import Tensor
from .call import Call


def at(dim: int, rank: int) -> int:
    """An axis counted from the front."""
    return dim % rank if rank else 0


def reshaped(c: Call, x: Any, shape: Sequence[int], name: str | None = None) -> Tensor:
    """In another shape; as it is where that is its own."""
    own = c.shape(x)
    if -1 in shape:
        known = prod(size for size in shape if size != -1)
        shape = [prod(own) // known if size == -1 and known else size for size in shape]
    shape = tuple(map(operator.index, shape))
    return c.tensor(x) if shape == own else c.reshape(x, shape, name=name)


def view(c: Call, x: Any, size: Sequence[int]) -> Tensor:
    return reshaped(c, x, size)


def reshape(c: Call, x: Any, shape: Sequence[int]) -> Tensor:
    return reshaped(c, x, shape)


def flatten(c: Call, x: Any, start_dim: int, end_dim: int) -> Tensor:
    own = c.shape(x)
    if not own:
        return reshaped(c, x, (1,))
    start, end = at(start_dim, len(own)), at(end_dim, len(own))
    return reshaped(c, x, (*own[:start], prod(own[start : end + 1]), *own[end + 1 :]))


def unflatten(c: Call, x: Any, dim: int, sizes: Sequence[int]) -> Tensor:
    own = c.shape(x)
    dim = at(dim, len(own))
    whole = prod(size for size in sizes if size != -1)
    parts = [own[dim] // whole if size == -1 else size for size in sizes]
    return reshaped(c, x, (*own[:dim], *parts, *own[dim + 1 :]))


def squeeze(c: Call, x: Any, dim: Any = None) -> Tensor:
    own = c.shape(x)
    chosen = range(len(own)) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {at(d, len(own)) for d in chosen}
    return reshaped(c, x, [size for d, size in enumerate(own) if d not in gone or size != 1])


def unsqueeze(c: Call, x: Any, dim: int) -> Tensor:
    own = c.shape(x)
    dim = at(dim, len(own) + 1)
    return reshaped(c, x, (*own[:dim], 1, *own[dim:]))


def permuted(c: Call, x: Any, dims: Sequence[int]) -> Tensor:
    """Axes in another order; the last two swapped is the transpose."""
    rank = len(c.shape(x))
    perm = tuple(at(d, rank) for d in dims)
    if perm == tuple(range(rank)):
        return c.tensor(x)
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    return c.transpose(x) if rank > 1 and perm == swapped else c.transpose(x, perm=perm)


def permute(c: Call, x: Any, dims: Sequence[int]) -> Tensor:
    return permuted(c, x, dims)


def transpose(c: Call, x: Any, dim0: int, dim1: int) -> Tensor:
    order = list(range(len(c.shape(x))))
    if order:
        a, b = at(dim0, len(order)), at(dim1, len(order))
        order[a], order[b] = order[b], order[a]
    return permuted(c, x, order)


def swapaxes(c: Call, x: Any, axis0: int, axis1: int) -> Tensor:
    return transpose(c, x, axis0, axis1)


def matrix_transpose(c: Call, x: Any) -> Tensor:
    rank = len(c.shape(x))
    return transpose(c, x, -1, -2) if rank > 1 else c.tensor(x)


def reversed_axes(c: Call, x: Any) -> Tensor:
    return permuted(c, x, range(len(c.shape(x)))[::-1])


def movedim(c: Call, x: Any, source: Any, destination: Any) -> Tensor:
    rank = len(c.shape(x))
    given = [[value] if isinstance(value, int) else value for value in (source, destination)]
    moved = {at(to, rank): at(d, rank) for d, to in zip(*given, strict=True)}
    rest = iter(d for d in range(rank) if d not in moved.values())
    return permuted(c, x, [moved[d] if d in moved else next(rest) for d in range(rank)])


def expand(c: Call, x: Any, size: Sequence[int], **_: Any) -> Tensor:
    own = c.shape(x)
    front = len(size) - len(own)
    shape = tuple(own[d - front] if wanted == -1 else wanted for d, wanted in enumerate(size))
    return c.tensor(x) if shape == own else c.broadcast(x, shape)


def expand_as(c: Call, x: Any, other: Any) -> Tensor:
    return expand(c, x, c.shape(other))


def broadcast_to(c: Call, x: Any, size: Sequence[int]) -> Tensor:
    return expand(c, x, size)


def _part(dim: int, text: str) -> str:
    return ", ".join([":"] * dim + [text])


def select(c: Call, x: Any, dim: int, index: int) -> Tensor:
    return c.slice(x, _part(at(dim, len(c.shape(x))), str(index)))


def slice_of(c: Call, x: Any, dim: int, start: Any, end: Any, step: int) -> Tensor:
    own = c.shape(x)
    dim = at(dim, len(own))
    first, last, step = slice(start, end, step).indices(own[dim])
    if (first, step) == (0, 1) and last >= own[dim]:
        return c.tensor(x)
    text = f"{first}:{max(first, last)}" + (f":{step}" if step != 1 else "")
    return c.slice(x, _part(dim, text))


def narrow(c: Call, x: Any, dim: int, start: int, length: int) -> Tensor:
    return slice_of(c, x, dim, start, start + length, 1)


def _split(c: Call, x: Any, sizes: Sequence[int], dim: int) -> Sequence[Tensor]:
    if len(sizes) == 1:
        return (c.tensor(x),)
    return c.split(x, tuple(sizes), axis=at(dim, len(c.shape(x))))


def split(c: Call, x: Any, split_size: int, dim: int) -> Sequence[Tensor]:
    whole = c.shape(x)[dim]
    starts = range(0, whole, max(split_size, 1)) if whole else range(1)
    return _split(c, x, [min(split_size, whole - start) for start in starts], dim)


def split_with_sizes(c: Call, x: Any, split_sizes: Sequence[int], dim: int) -> Sequence[Tensor]:
    return _split(c, x, split_sizes, dim)


def chunk(c: Call, x: Any, chunks: int, dim: int) -> Sequence[Tensor]:
    return split(c, x, -(-c.shape(x)[dim] // chunks), dim)


def unbind(c: Call, x: Any, dim: int) -> Sequence[Tensor]:
    own = c.shape(x)
    dim = at(dim, len(own))
    return [c.slice(x, _part(dim, str(i)), name=c.inner(str(i))) for i in range(own[dim])]


def cat(c: Call, tensors: Sequence[Any], dim: int) -> Tensor:
    some = [t for t in tensors if c.shape(t) != (0,)]
    return c.tensor(some[0]) if len(some) == 1 else c.concat(*some, axis=at(dim, len(c.shape(some[0]))))


def stack(c: Call, tensors: Sequence[Any], dim: int) -> Tensor:
    return c.stack(*tensors, axis=at(dim, len(c.shape(tensors[0])) + 1))


def repeat(c: Call, x: Any, repeats: Sequence[int]) -> Tensor:
    """Copies side by side: each axis gets one before it, is stretched along that, and joined with it."""
    own = (1,) * (len(repeats) - len(c.shape(x))) + c.shape(x)
    apart = [size for n in own for size in (1, n)]
    copied = tuple(size for times, n in zip(repeats, own, strict=True) for size in (times, n))
    x = reshaped(c, x, apart, c.inner("apart"))
    return reshaped(c, c.broadcast(x, copied, name=c.inner("copies")), [t * n for t, n in zip(repeats, own)])


def repeat_interleave(c: Call, x: Any, repeats: int, dim: Any = None, **_: Any) -> Tensor:
    if dim is None:
        x = reshaped(c, x, (-1,), c.inner("flat"))
        return c.repeat(x, repeats, axis=0)
    return c.repeat(x, repeats, axis=at(dim, len(c.shape(x))))


def _picked(c: Call, x: Any, dim: int, places: Sequence[int], name: str | None = None) -> Tensor:
    """Known places along an axis: a slice where they are evenly spaced, joined slices otherwise."""
    own = c.shape(x)
    places = [at(i, own[dim]) for i in places]
    steps = {b - a for a, b in pairwise(places)} or {1}
    if len(steps) == 1 and 0 not in steps and places:
        (step,) = steps
        end = places[-1] + (1 if step > 0 else -1)
        text = f"{places[0]}:{end if end >= 0 else ''}:{step}"
        return c.slice(x, _part(dim, text), name=name)
    rows = {i: c.slice(x, _part(dim, f"{i}:{i + 1}"), name=c.inner(str(i))) for i in sorted(set(places))}
    return c.concat(*(rows[i] for i in places), axis=dim, name=name)


def index_select(c: Call, x: Any, dim: int, index: Any) -> Tensor:
    return _picked(c, x, at(dim, len(c.shape(x))), c.known(index, "the index"))


def index(c: Call, x: Any, indices: Sequence[Any]) -> Tensor:
    """x[ids] on one axis; or a cell for each of several axes."""
    given = [(d, i) for d, i in enumerate(indices) if i is not None]
    if len(given) == 1 and c.kind(given[0][1]) == "int":
        (dim, ids), own = given[0], c.shape(x)
        shape = c.shape(ids)
        if dim == 0 and len(own) == 2 and c.kind(x) == "float":
            return c.embedding(x, ids)
        places = c.known(ids, "the index")
        if len(shape) == 1:
            return _picked(c, x, dim, places)
        if not shape:
            return c.slice(x, _part(dim, str(places)))
    if all(c.kind(i) == "int" for _, i in given) and [d for d, _ in given] == list(range(len(given))):
        return _cells(c, x, [i for _, i in given])
    c.refuse("it is indexed by more than one axis at a time; expected one")


def _cells(c: Call, x: Any, ids: Sequence[Any]) -> Tensor:
    """x[i, j, …] for known indices that stretch to one shape: rows of x with its first axes as one."""
    from ..program import need_torch

    torch = need_torch()
    own = c.shape(x)
    for i in ids:
        c.known(i, "the index")
    stretched = torch.broadcast_tensors(*(i.known for i in ids))
    place = torch.zeros_like(stretched[0])
    for i, size in zip(stretched, own):
        place = place * size + torch.where(i < 0, i + size, i)
    rest = own[len(ids) :]
    table = reshaped(c, x, (prod(own[: len(ids)]), prod(rest)), c.inner("rows"))
    places = c.constant(place.tolist(), c.inner("places"))
    picked = c.embedding(table, places, name=c.inner("picked"))
    return reshaped(c, picked, (*place.shape, *rest), c.name)


def flip(c: Call, x: Any, dims: Sequence[int]) -> Tensor:
    rank = len(c.shape(x))
    turned = {at(d, rank) for d in dims}
    return c.slice(x, ", ".join("::-1" if d in turned else ":" for d in range(rank)))


def roll(c: Call, x: Any, shifts: Sequence[int], dims: Sequence[int]) -> Tensor:
    if len(shifts) != 1 or len(dims) != 1:
        c.refuse("it rolls several axes; expected one")
    own = c.shape(x)
    dim = at(dims[0], len(own))
    return _picked(c, x, dim, [(i - shifts[0]) % own[dim] for i in range(own[dim])], c.name)


def padded(c: Call, x: Any, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Tensor:
    """Cells of one value around; pairs (before, after) from the last axis on."""
    if mode != "constant":
        c.refuse(f"the mode is {mode!r}; expected 'constant'")
    rank, pairs = len(c.shape(x)), [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    used = [(rank - 1 - i, pair) for i, pair in enumerate(pairs) if pair != (0, 0)]
    fill = float(value or 0) if c.kind(x) == "float" else value or 0
    for i, (dim, (before, after)) in enumerate(used):
        name = c.name if i == len(used) - 1 else c.inner(f"axis{dim}")
        low, high = max(-before, 0), c.shape(x)[dim] - max(-after, 0)
        if before < 0 or after < 0:
            x = c.slice(x, _part(dim, f"{low}:{high}"), name=name if before <= 0 >= after else c.inner("cut"))
        if before > 0 or after > 0:
            x = c.pad(x, max(before, 0), max(after, 0), axis=dim, value=fill, name=name)
    return c.tensor(x)


def constant_pad(c: Call, x: Any, pad: Sequence[int], value: Any = 0) -> Tensor:
    return padded(c, x, pad, "constant", value)


def tril(c: Call, x: Any, diagonal: int) -> Tensor:
    return c.trilu(x, k=diagonal, upper=False)


def triu(c: Call, x: Any, diagonal: int) -> Tensor:
    return c.trilu(x, k=diagonal, upper=True)


PLAIN: dict[str, Callable[..., Any]] = {
    "view.default": view,
    "reshape.default": reshape,
    "_unsafe_view.default": view,
    "flatten.using_ints": flatten,
    "unflatten.int": unflatten,
    "squeeze.default": squeeze,
    "squeeze.dim": squeeze,
    "squeeze.dims": squeeze,
    "unsqueeze.default": unsqueeze,
    "permute.default": permute,
    "transpose.int": transpose,
    "swapaxes.default": swapaxes,
    "swapdims.default": transpose,
    "t.default": matrix_transpose,
    "mT.default": matrix_transpose,
    "numpy_T.default": reversed_axes,
    "movedim.int": movedim,
    "movedim.intlist": movedim,
    "expand.default": expand,
    "expand_as.default": expand_as,
    "broadcast_to.default": broadcast_to,
    "select.int": select,
    "slice.Tensor": slice_of,
    "narrow.default": narrow,
    "split.Tensor": split,
    "split_with_sizes.default": split_with_sizes,
    "chunk.default": chunk,
    "unbind.int": unbind,
    "cat.default": cat,
    "concat.default": cat,
    "concatenate.default": cat,
    "stack.default": stack,
    "repeat.default": repeat,
    "repeat_interleave.self_int": repeat_interleave,
    "flip.default": flip,
}
"""What moves numbers of any kind."""

RULES: dict[str, Callable[..., Any]] = {
    **PLAIN,
    "index_select.default": index_select,
    "index.Tensor": index,
    "roll.default": roll,
    "pad.default": padded,
    "constant_pad_nd.default": constant_pad,
    "tril.default": tril,
    "triu.default": triu,
}
