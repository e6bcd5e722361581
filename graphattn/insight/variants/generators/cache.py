"""Keys and values of earlier tokens before new ones: written in the wrong slot, dropped, used twice, in another
order. It is done to every row by row concatenation that takes as much, to keys and to values, or to one alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group, spoken
from ..variant import Variant, like, one, tensor
from .once_more import by_position, through

Join = Callable[[Draft, Node, Ref, Ref], Sequence[Ref]]
"""Makes of the earlier rows and the new ones what is put together instead, as many rows."""


def cache(intended: Intended, group: Group) -> Iterator[Variant]:
    if len(group) != 1:
        return
    node = intended.nodes[group[0]]
    if not _is_cache(intended, node):
        return
    together = _twins(intended, node)
    first = together[0] is node
    for nodes in [(node,), together] if first and len(together) > 1 else [(node,)]:
        names = tuple(n.name for n in nodes)
        for words, price, join in _rows(intended, node):
            told = f"with {words} in {spoken(names)}"
            yield Variant("cache", told, price, names, one(intended, _joining(nodes, join)))
    if first:
        yield from _columns(intended, node, tuple(n.name for n in together))


def _is_cache(intended: Intended, node: Node) -> bool:
    """Whether a step puts rows that are computed behind rows that are fed."""
    if len(node.ports) != 1 or len(node.operands) != 2 or None in node.operands or not node.op.moves:
        return False
    past, new = (ref for ref in node.operands if ref is not None)
    if not intended.nodes[past.node].op.fed or intended.nodes[new.node].op.fed:
        return False
    rows = [intended.spec(ref).shape for ref in (past, new)]
    whole = node.outputs[0].shape
    together = (*rows[0][:-2], sum(shape[-2] for shape in rows if len(shape) > 1), *rows[0][-1:])
    return len(whole) > 1 and whole == together and rows[0][:-2] == rows[1][:-2]


def _twins(intended: Intended, node: Node) -> tuple[Node, ...]:
    """The steps of one place that put as many rows together: for keys and for values."""
    return tuple(
        other for other in intended.nodes.values()
        if other.op is node.op and other.scope == node.scope and _is_cache(intended, other)
        and like(other.outputs[0], node.outputs[0])
    )  # fmt: skip


def _rows(intended: Intended, node: Node) -> Iterator[tuple[str, float, Join]]:
    past, new = node.operands
    assert past is not None and new is not None
    yield from _by_heads(intended, node, past)
    yield from _made_again(intended, past, new)
    count, more = intended.spec(past).shape[-2], intended.spec(new).shape[-2]
    if not count or not more:
        return

    def rows(draft: Draft, near: Node, ref: Ref, at: str) -> Ref:
        return draft.add("slice", [ref], {"at": f"..., {at}, :"}, near=near, name="rows")

    def nothing(draft: Draft, near: Node, ref: Ref) -> Ref:
        return draft.add("scale", [rows(draft, near, ref, ":1")], {"multiply": 0}, near=near, name="empty")

    yield (
        "the first new row written over the last earlier one too,", 1.4,
        lambda d, n, a, b: [*([rows(d, n, a, ":-1")] if count > 1 else []), rows(d, n, b, ":1"), b],
    )  # fmt: skip
    yield (
        "the last new row written over the first earlier one too,", 1.4,
        lambda d, n, a, b: [rows(d, n, b, "-1:"), *([rows(d, n, a, "1:")] if count > 1 else []), b],
    )  # fmt: skip
    yield (
        "the last new row not written, the last earlier one in its slot,", 1.35,
        lambda d, n, a, b: [a, *([] if more == 1 else [rows(d, n, b, ":-1")]), rows(d, n, a, "-1:")],
    )  # fmt: skip
    if count > 1:
        yield (
            "the last earlier row not written, the one before it in its slot,", 1.35,
            lambda d, n, a, b: [rows(d, n, a, ":-1"), rows(d, n, a, "-2:-1"), b],
        )  # fmt: skip
    yield (
        "the new rows written one slot early, the last slot empty,", 1.3,
        lambda d, n, a, b: [rows(d, n, a, ":-1"), b, nothing(d, n, b)],
    )  # fmt: skip
    yield (
        "the new rows written one slot late, a slot left empty before them,", 1.35,
        lambda d, n, a, b: [a, nothing(d, n, b), *([rows(d, n, b, ":-1")] if more > 1 else [])],
    )  # fmt: skip
    if count > 1:
        yield "the earlier rows in reverse order", 1.4, lambda d, n, a, b: [rows(d, n, a, "::-1"), b]
        for step, told in ((1, "later"), (-1, "earlier")):
            yield (
                f"the earlier rows one slot {told}, around the end,", 1.4,
                lambda d, n, a, b, s=step: [rows(d, n, a, f"{-s}:"), rows(d, n, a, f":{-s}"), b],
            )  # fmt: skip


def _by_heads(intended: Intended, node: Node, past: Ref) -> Iterator[tuple[str, float, Join]]:
    """The earlier rows with their heads in another order, or laid out as heads × tokens."""
    spec, cuts = intended.spec(past), intended.users.get(Ref(node.name), ())
    heads = {len(intended.nodes[name].ports) for name, _ in cuts}
    for h in (h for h in heads if h > 1 and spec.rank == 2 and spec.shape[-1] % h == 0):
        shape = (spec.shape[0], spec.shape[1] // h)

        def reverse(d: Draft, n: Node, a: Ref, b: Ref, h: int = h) -> list[Ref]:
            cut = _parts(d, n, a, h, -1)
            return [d.add("concat", cut[::-1], {"axis": -1}, near=n, name="heads"), b]

        def laid_out(
            d: Draft, n: Node, a: Ref, b: Ref, h: int = h, shape: tuple[int, ...] = shape
        ) -> list[Ref]:
            flat = d.add("reshape", [a], {"shape": (h * shape[0], shape[1])}, near=n, name="by_head")
            return [d.add("concat", _parts(d, n, flat, h, 0), {"axis": -1}, near=n, name="heads"), b]

        yield "the heads of the earlier rows in reverse order", 1.4, reverse
        yield "the earlier rows read as heads × tokens × features", 1.35, laid_out


def _parts(draft: Draft, near: Node, ref: Ref, parts: int, axis: int) -> list[Ref]:
    """A tensor in equal parts."""
    cut = draft.add("split", [ref], {"parts": parts, "axis": axis}, near=near, name="parts")
    return [Ref(cut.node, port) for port in range(parts)]


def _made_again(intended: Intended, past: Ref, new: Ref) -> Iterator[tuple[str, float, Join]]:
    """What is done to new rows by their positions is done to earlier ones too, or once more."""
    count, more = intended.spec(past).shape[-2], intended.spec(new).shape[-2]
    chain = by_position(intended, new)
    step = next((s for s in chain if len(s.operands) > 1), None)
    if step is None:
        return
    told = f"through the {step.op.title} once more"

    def again(d: Draft, n: Node, ref: Ref, rows: int, first: int) -> Ref:
        return through(d, n, ref, chain, more, rows, first)

    yield f"the earlier rows {told}, from position 0,", 1.3, lambda d, n, a, b: [again(d, n, a, count, 0), b]
    yield (
        f"the earlier rows {told}, from position {count},", 1.4,
        lambda d, n, a, b: [again(d, n, a, count, count), b],
    )  # fmt: skip
    yield (
        f"earlier and new rows {told},", 1.35,
        lambda d, n, a, b: [again(d, n, a, count, 0), again(d, n, b, more, count)],
    )  # fmt: skip


def _joining(nodes: Sequence[Node], join: Join) -> Callable[[Draft], None]:
    def act(draft: Draft) -> None:
        for node in nodes:
            past, new = draft.node(node.name).operands
            assert past is not None and new is not None
            draft.change(node, operands=join(draft, node, past, new))

    return act


def _columns(intended: Intended, node: Node, names: Group) -> Iterator[Variant]:
    """What is dropped or used twice, told by what that does to the weights: hidden columns, and those that
    count twice."""
    past = node.operands[0]
    assert past is not None
    count, size = intended.spec(past).shape[-2], node.outputs[0].shape[-2]
    softmaxes = [intended.nodes[name] for name in _softmaxes(intended, names, size)]
    if not softmaxes:
        return
    called, at = tensor(intended, past), range(size)
    ways: list[tuple[str, float, tuple[float, ...]]] = [
        (f"with {called} dropped", 1.2, tuple(-math.inf if j < count else 0.0 for j in at)),
        (
            f"with {called} alone, the new rows not yet there",
            1.2,
            tuple(0.0 if j < count else -math.inf for j in at),
        ),
        (f"with {called} used twice", 1.3, tuple(math.log(2) if j < count else 0.0 for j in at)),
        ("with the new rows used twice", 1.3, tuple(math.log(2) if j >= count else 0.0 for j in at)),
    ]
    if count > 1:
        ways += [
            (f"without the first row of {called}", 1.25, tuple(0.0 if j else -math.inf for j in at)),
            (
                f"without the last row of {called}",
                1.25,
                tuple(-math.inf if j == count - 1 else 0.0 for j in at),
            ),
        ]
    for words, price, row in ways:
        told = f"{words}, in keys and values of {spoken(names)}"
        yield Variant("cache", told, price, names, one(intended, _weighing(softmaxes, row)))


def _weighing(softmaxes: Sequence[Node], row: tuple[float, ...]) -> Callable[[Draft], None]:
    def act(draft: Draft) -> None:
        for node in softmaxes:
            number = draft.add("constant", [], {"value": row}, near=node, name="by_column")
            draft.operand(
                node,
                0,
                draft.add("add", [draft.node(node.name).operands[0], number], near=node, name="weighed"),
            )

    return act


def _softmaxes(intended: Intended, names: Sequence[str], size: int) -> list[str]:
    """The nearest softmaxes below over so many columns."""
    todo, seen, found = list(names), set(names), list[str]()
    while todo:
        node = intended.nodes[todo.pop(0)]
        if node.op.family == "softmax":
            found += [node.name] if node.outputs[0].shape[-1] == size else []
            continue
        for port in range(len(node.ports)):
            for name, _ in intended.users.get(Ref(node.name, port), ()):
                if name not in seen:
                    seen.add(name)
                    todo.append(name)
    return found
