"""Several tensors of the reference side by side in one of yours: q, k, v in any order, whole or by head.

By value, each part is one that holds the same; by name, a tensor called qkv, c_attn, in_proj, … is cut into the
q, k and v of one attention, where no cut holds the same throughout: a part is wrong, or biases are all 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import prod
from typing import Any

from ..recording import Recorded, Rows, folded
from .alike import alike
from .matching import Matching
from .names import meaning, words

HEAD_LIMIT = 64
"""At most so many heads are tried for a tensor that holds q, k and v head by head."""
FUSED = frozenset("qkv")


def fused_by_value(matching: Matching, yours: Recorded) -> bool:
    """Match the parts of a tensor with tensors that hold the same; whether it could."""
    for how, lines in _forms(yours):
        parts = _parts(matching, yours.name, lines)
        if parts is not None:
            order = " | ".join(reference.name for reference, _ in parts)
            for reference, part in parts:
                matching.add(reference.name, reference, part, f"value, as {order} {how}", yours.name)
            return True
    return False


def _forms(yours: Recorded) -> Iterator[tuple[str, Rows]]:
    """The lines that may be cut into parts: columns, or rows; then those of q, k, v gathered from the heads.
    Axes that follow each other are merged: (n, 3, h, d) is (n, 3 · h · d)."""
    shape = yours.squeezed
    if len(shape) == 1:
        yield "side by side", [[x] for x in yours.flat]
        return
    for split in range(len(shape) - 1, 0, -1):
        rows = yours.as_shape((prod(shape[:split]), prod(shape[split:]))).rows
        columns = list(map(list, zip(*rows)))
        for lines in (columns, rows):
            yield "side by side", lines
        for lines in (columns, rows) if len(shape) == 2 else (columns,):
            if len(lines) % 3 == 0:
                for heads in range(2, min(HEAD_LIMIT, len(lines) // 3) + 1):
                    size, rest = divmod(len(lines), 3 * heads)
                    if not rest:
                        yield f"head by head, for {heads} heads", [
                            line for part in range(3) for head in range(heads)
                            for line in lines[(3 * head + part) * size :][:size]
                        ]  # fmt: skip


def _parts(matching: Matching, name: str, lines: Rows) -> list[tuple[Recorded, Recorded]] | None:
    """The tensors of the reference whose lines follow each other, and the lines of each."""
    parts: list[tuple[Recorded, Recorded]] = []
    place = 0
    while place < len(lines):
        for reference in _candidates(matching, name, lines, place):
            part = _beginning(matching, reference, lines, place)
            if part is not None and all(reference is not other for other, _ in parts):
                parts.append((reference, part))
                place += part.size // len(lines[0])
                break
        else:
            return None
    return parts if len(parts) > 1 else None


def _candidates(matching: Matching, name: str, lines: Rows, place: int) -> Iterator[Recorded]:
    """The tensors that may begin with a line of the tensor of that name."""
    for size in matching.first_cells.sizes:
        if size % len(lines[0]) == 0 and size <= (len(lines) - place) * len(lines[0]):
            for reference in matching.first_cells.like(lines[place][0], size):
                if reference.name not in matching.used_reference and matching.may_be(name, reference.name):
                    yield reference


def _beginning(matching: Matching, reference: Recorded, lines: Rows, place: int) -> Recorded | None:
    """The lines from a place on as a tensor of the reference, if they are one: its rows, or its columns."""
    count, rest = divmod(reference.size, len(lines[0]))
    if rest or not 0 < count <= len(lines) - place or count == len(lines):
        return None
    cut = lines[place : place + count]
    readings = [[x for line in cut for x in line]]
    if count > 1 and len(lines[0]) > 1:
        readings.append([x for row in zip(*cut) for x in row])
    parts = (folded(reference.name, reference.shape, cells) for cells in readings)
    return next((part for part in parts if alike(reference, part, matching.near)), None)


# ---------------------------------------------------------------- by name


def may_fuse(name: str) -> bool:
    """Whether a name is one of those that tensors of q, k and v together have: qkv, kv, c_attn, in_proj, …"""
    named = words(name)
    return (
        "qkv" in name.lower() or "attention" in named or bool(named & {"kv"})
        or {"in", "proj"} <= named or {"query", "key"} <= named
    )  # fmt: skip


def fused_by_name(matching: Matching, yours: Recorded) -> bool:
    """Match the parts of a tensor of such a name with the q, k and v of one attention; whether it could. The
    cut is the one in which most parts hold the same; none is sure where no part does, but of zeros any is."""
    if not may_fuse(yours.name):
        return False
    zeros = not any(yours.flat)
    best: tuple[int, dict[str, Recorded], str] | None = None
    for members in _attentions(matching, yours):
        shapes = [(member.name, member.shape) for member in members]
        for parts, note in cuts(yours, shapes, stored=matching.is_input(members[0].name)):
            count = sum(alike(member, parts[member.name], matching.near) for member in members)
            if (count or zeros) and (best is None or count > best[0]):
                best = count, parts, note
    if best is None:
        return False
    for name, part in best[1].items():
        how = f"name, as {best[2].partition(' holds ')[2]}"
        matching.add(name, matching.reference.tensors[name], part, how, yours.name)
    return True


def _attentions(matching: Matching, yours: Recorded) -> Iterator[list[Recorded]]:
    """The tensors q, k and v of one attention each that are as large together, those whose names have more
    words in common with yours first."""
    groups: dict[tuple[Any, ...], list[Recorded]] = {}
    for tensor in matching.open_reference():
        meant = meaning(tensor.name)
        if len(meant & FUSED) == 1 and matching.may_be(yours.name, tensor.name):
            groups.setdefault((meant - FUSED, len(tensor.shape)), []).append(tensor)
    named = words(yours.name)
    for _, members in sorted(groups.items(), key=lambda group: len(group[0][0] ^ named)):
        if len(members) in (2, 3) and sum(tensor.size for tensor in members) == yours.size:
            yield members


def cuts(
    whole: Recorded, members: Sequence[tuple[str, tuple[int, ...]]], stored: bool = True
) -> Iterator[tuple[dict[str, Recorded], str]]:
    """A tensor cut into the members, (name, shape), in each order, whole or head by head: (tensors by name, a
    note). What is `stored`, weights and biases, has its outputs along the first axis or along the last; what
    was computed has them along the last."""
    shapes = [shape for _, shape in members]
    sizes = [shape[0] if stored else shape[-1] for shape in shapes]
    total = sum(sizes)
    if not whole.size or any(prod(shape) * total != whole.size * size for shape, size in zip(shapes, sizes)):
        return  # not all are as large but for that axis
    if stored:
        turned = len(whole.squeezed) == 2 and whole.squeezed[0] != total
        lines = (whole.transposed() if turned else whole).as_shape((total, whole.size // total)).rows
    else:
        lines = list(map(list, zip(*whole.as_shape((whole.size // total, total)).rows)))
    for order in permutations(range(len(members))):
        said = " | ".join(members[i][0] for i in order)
        for heads in (1, *(h for h in range(2, HEAD_LIMIT + 1) if all(n % h == 0 and n > h for n in sizes))):
            parts: dict[int, Rows] = {i: [] for i in order}
            place = 0
            for _ in range(heads):
                for i in order:
                    parts[i] += lines[place : place + sizes[i] // heads]
                    place += sizes[i] // heads
            how = "side by side" if heads == 1 else f"head by head, for {heads} heads"
            tensors = {}
            for i in order:
                cells = [x for row in (parts[i] if stored else zip(*parts[i])) for x in row]
                tensors[members[i][0]] = folded(members[i][0], shapes[i], cells, whole)
            yield tensors, f"{whole.name} holds {said} {how}"
