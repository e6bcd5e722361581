"""An operand is another one: exchanged, transposed, left out, or taken from elsewhere (the stream before the
norm, a sibling part, another weight of the same shape, a tensor that comes later in the order too).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....core.graph import Node, Ref
from ....core.words import joined
from ..draft import Draft
from ..intended import Intended
from ..structure import rules
from ..structure.groups import Group
from ..variant import LAYER, Option, Variant, each, like, maker, tensor
from .sibling import ARITHMETIC

MOST = 60
"""The most tensors of one shape that are tried in the place of an operand."""
OWN = 1.4
"""What it costs at the most to take one of a gradient rule's own tensors for another."""


def operands(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("operand", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    yield from _exchanged(intended, node)
    for slot, ref in enumerate(node.operands):
        if ref is None:
            continue
        spec = intended.spec(ref)
        called = node.op.operand_name(slot)
        if spec.rank > 1:
            alone = node.operands.count(ref) == 1
            turned = "as a row, not a column (as without keepdims)," if spec.shape[-1] == 1 else "transposed"
            words = f"with {{{slot}}} {turned} {'in' if alone else f'as {called} of'} {{the}}"
            price = 1.1 if intended.nodes[ref.node].op.fed else 1.12  # q kᵀ is rather k qᵀ by exchange
            yield Option((slot, "transposed"), words, price, lambda d, n, s=slot: _transposed(d, n, s))
        if spec.rank == 1 and _is_square(node) and spec.shape == node.outputs[0].shape[-1:]:
            words = f"with {{{slot}}} as a column, not a row, in {{the}}"
            yield Option((slot, "column"), words, 1.2, lambda d, n, s=slot: _as_column(d, n, s))
        parameter = node.op.operands[min(slot, len(node.op.operands) - 1)]
        if not parameter.required and not parameter.variadic:
            words = f"without {called} ({{{slot}}}) in {{the}}"
            yield Option((slot, "dropped"), words, 1.0, lambda d, n, s=slot: d.operand(n, s, None))
            if spec.kind == "float":
                words = f"with {called} ({{{slot}}}) twice in {{the}}"
                yield Option((slot, "twice"), words, 1.5, lambda d, n, s=slot: _twice(d, n, s))
        if parameter.variadic and not slot and spec.rank > 1 and len(node.operands) > 1:
            words = "with all that {the} takes transposed"
            yield Option("all transposed", words, 1.2, _all_transposed)
        if parameter.variadic and len(node.operands) > 2:
            words = "without {new} in {the}"
            yield Option((slot, "left out"), words, 2.2, lambda d, n, s=slot: _left_out(d, n, s), ref)
        yield from _elsewhere(intended, node, slot, ref)
    yield from _bare(intended, node)
    yield from _squares(intended, node)
    yield from _peers(intended, node)
    yield from _sizes(intended, node)


def _is_square(node: Node) -> bool:
    """Whether a step does something cell by cell of matrices with as many rows as columns."""
    shape = node.outputs[0].shape
    return node.op.name in ARITHMETIC and len(shape) > 1 and shape[-1] == shape[-2] > 1


def _as_column(draft: Draft, node: Node, slot: int) -> None:
    size = node.outputs[0].shape[-1]
    row = draft.node(node.name).operands[slot]
    draft.operand(node, slot, draft.add("reshape", [row], {"shape": (size, 1)}, near=node, name="column"))


def _twice(draft: Draft, node: Node, slot: int) -> None:
    ref = draft.node(node.name).operands[slot]
    draft.operand(node, slot, draft.add("scale", [ref], {"multiply": 2}, near=node, name="twice"))


def _bare(intended: Intended, node: Node) -> Iterator[Option]:
    """All at once that may be left out: a norm without gain and bias, attention without its biases."""
    kinds = node.op.operands
    free = [
        slot
        for slot, ref in enumerate(node.operands)
        if ref is not None and slot < len(kinds) and not (kinds[slot].required or kinds[slot].variadic)
    ]
    rows = [slot for slot in free if intended.spec(node.operands[slot]).rank == 1]  # pyright: ignore
    if len(rows) > 1:
        told = joined(f"{node.op.operand_name(slot)} ({{{slot}}})" for slot in rows)
        yield Option("bare", f"without {told} in {{the}}", 1.05, lambda d, n: _dropped(d, n, rows))


def _dropped(draft: Draft, node: Node, slots: Sequence[int]) -> None:
    for slot in slots:
        draft.operand(node, slot, None)


def _peers(intended: Intended, node: Node) -> Iterator[Option]:
    """All parameters of another step of the kind."""
    fed = [s for s, ref in enumerate(node.operands) if ref and intended.nodes[ref.node].op.fed]
    if len(fed) < 2:
        return
    for place, other in enumerate(intended.peers(node)):
        operands = list(node.operands)
        for slot in fed:
            operands[slot] = other.operands[slot]
        words = f"with the parameters of {other.name} in {{the}}"
        yield Option(("peer", place), words, 1.3, lambda d, n, o=operands: d.change(n, operands=o))


def _squares(intended: Intended, node: Node) -> Iterator[Option]:
    """A step that takes one tensor twice, a square, takes twice what that is made of."""
    ref = node.operands[0] if len(node.operands) == 2 else None
    if ref is None or node.operands[1] != ref:
        return
    for slot, other in enumerate(intended.nodes[ref.node].operands):
        if other is not None and like(intended.spec(other), intended.spec(ref)):
            words = f"with {tensor(intended, other)}, not {tensor(intended, ref)}, as both operands of {{the}}"
            yield Option(("twice", slot), words, 1.2, lambda d, n, r=other: d.change(n, operands=[r, r]))


def _sizes(intended: Intended, node: Node) -> Iterator[Option]:
    """A size of the graph where a number is computed: the tokens that are there, and all tokens."""
    if len(node.operands) != 2 or node.op.name not in ("divide", "multiply"):
        return
    for slot, ref in enumerate(node.operands):
        if (
            ref is None
            or not intended.nodes[ref.node].operands
            or intended.spec(ref).size >= node.outputs[0].size
        ):
            continue
        own = f"{tensor(intended, ref)} as {node.op.operand_name(slot)}"
        for name, size in intended.sizes:
            words = f"with {name} = {size} instead of {own} of {{the}}"
            yield Option((slot, "size", name), words, 1.5, lambda d, n, s=slot, v=size: _size(d, n, s, v))


def _size(draft: Draft, node: Node, slot: int, value: int) -> None:
    draft.operand(node, slot, draft.add("constant", [], {"value": value}, near=node, name="size"))


def _exchanged(intended: Intended, node: Node) -> Iterator[Option]:
    given = [(s, r) for s, r in enumerate(node.operands) if r is not None]
    for place, (s, a) in enumerate(given):
        for t, b in given[place + 1 :]:
            if a == b or intended.spec(a).kind != intended.spec(b).kind or len(given) > 6:
                continue
            words = f"with {tensor(intended, a)} and {tensor(intended, b)} exchanged in {{the}}"
            price = 1.1 if maker(intended, a) != maker(intended, b) else 1.25  # two results of one table
            yield Option((s, t, "exchanged"), words, price, lambda d, n, s=s, t=t: _exchange(d, n, s, t))
            both = intended.spec(a).rank > 1 and intended.spec(b).rank > 1 and len(given) == 2
            if both and not like(intended.spec(a), intended.spec(b)):
                words = words.replace(" in {the}", ", and transposed, in {the}")
                yield Option((s, t, "turned"), words, 1.4, lambda d, n, s=s, t=t: _turn(d, n, s, t))


def _exchange(draft: Draft, node: Node, s: int, t: int) -> None:
    now = list(draft.node(node.name).operands)
    now[s], now[t] = now[t], now[s]
    draft.change(node, operands=now)


def _turn(draft: Draft, node: Node, s: int, t: int) -> None:
    _exchange(draft, node, s, t)
    _transposed(draft, node, s)
    _transposed(draft, node, t)


def _transposed(draft: Draft, node: Node, slot: int) -> None:
    now = draft.node(node.name)
    ref = now.operands[slot]
    assert ref is not None
    turned = draft.add(
        "transpose", [ref], near=now, name=f"{now.op.operand_name(slot).split('[')[0]}_transposed"
    )
    draft.operand(node, slot, turned)


def _all_transposed(draft: Draft, node: Node) -> None:
    for slot in range(len(node.operands)):
        _transposed(draft, node, slot)


def _left_out(draft: Draft, node: Node, slot: int) -> None:
    now = draft.node(node.name).operands
    draft.change(node, operands=(*now[:slot], *now[slot + 1 :]))


def _elsewhere(intended: Intended, node: Node, slot: int, ref: Ref) -> Iterator[Option]:
    """Other tensors of the same shape: by themselves, and by how they stand to the node among its siblings."""
    own = intended.siblings[node.name]
    place = own.index(node.name)
    called = node.op.operand_name(slot)
    rule = intended.rules.get(node.name)
    for place, other in enumerate(_of_partners(intended, node, slot, ref)):
        words = f"with {{new}} {_for(node, f'{{{slot}}}', called)} {{the}}"
        yield Option((slot, "partner", place), words, 1.3, _taking(slot, other), other)
    for other in _alike(intended, node, ref):
        name = tensor(intended, other)
        price = _distance(intended, ref, other)
        apply = _taking(slot, other)
        words = f"with {name} {_for(node, tensor(intended, ref), called)} {{the}}"
        free = intended.nodes[other.node].op.fed or len(intended.siblings[other.node]) < 2
        yield Option((slot, other), words, price, apply, later=0.0 if free else LAYER)
        related = relation(intended, other, len(own), place)
        if related is not None:
            told = f"with {{new}} {_for(node, f'{{{slot}}}', called)} {{the}}"
            yield Option((slot, *related), told, price, apply, other, several=True)
        for key, words in rules.related(intended, rule, other) if rule is not None else ():
            yield Option((slot, *key), f"with {words} as {called} of {{the}}", min(price, OWN) - 0.01, apply)


def _of_partners(intended: Intended, node: Node, slot: int, ref: Ref) -> list[Ref]:
    """What steps of the op in the same scope take there, if nothing but its length is another: for keys what
    queries are made of."""
    spec, found = intended.spec(ref), dict[Ref, None]()
    if spec.rank < 2 or node.scope is None or intended.nodes[ref.node].op.drawn == "inside":
        return []
    for other in intended.scoped.get((node.scope, node.op.name), ()):
        taken = other.operands[slot] if len(other.operands) > slot else None
        if taken is None or intended.depends(taken.node, on=node.name):
            continue
        its = intended.spec(taken)
        alike = (its.rank, its.kind) == (spec.rank, spec.kind) and its.shape[-1] == spec.shape[-1]
        if alike and its.shape != spec.shape:
            found[taken] = None
    return list(found)


def _for(node: Node, name: str, called: str) -> str:
    """`added instead of X in`, or `instead of X as w of`."""
    if node.op.family == "add":
        return f"added instead of {name} in"
    return f"instead of {name} as {called} of"


def _taking(slot: int, other: Ref):
    return lambda draft, node: draft.operand(node, slot, other)


def _alike(intended: Intended, node: Node, ref: Ref) -> list[Ref]:
    """Tensors of the shape of an operand that do not need the node: the nearest, in the order of the graph or
    in steps along its edges."""
    found = [
        other
        for other in intended.alike[intended.shape(ref)]
        if other != ref and not intended.depends(other.node, on=node.name)
    ]
    here = intended.order[ref.node]
    found.sort(key=lambda other: abs(intended.order[other.node] - here))
    if len(found) <= MOST:
        return found
    steps = intended.steps_from(ref.node)
    close = sorted(found[MOST // 2 :], key=lambda other: steps.get(other.node, len(steps)))
    own = rules.own(intended, node.name)
    return found[: MOST // 2] + close[: MOST // 2] + [other for other in close[MOST // 2 :] if other in own]


def _distance(intended: Intended, ref: Ref, other: Ref) -> float:
    """How far-fetched it is to take one tensor for another."""
    a, b = intended.nodes[ref.node], intended.nodes[other.node]
    if a is b:
        return 1.4
    if a.op is b.op:
        return 1.3
    if ref in b.operands or other in a.operands:
        return 1.5
    return 1.8


def relation(intended: Intended, other: Ref, count: int, place: int) -> tuple[object, ...] | None:
    """How a tensor stands to the place-th of `count` siblings: the same for each of them. Of several roles of
    the tensor, that in which it has the same place."""
    if count < 2:
        return None
    node = intended.nodes[other.node]
    if len(node.ports) == count:
        return "part of", other.node, (other.port - place) % count
    groups = [group for group in intended.roles_of(other.node) if len(group) == count]
    groups.sort(key=lambda group: group.index(other.node) != place)
    if groups and count == len(intended.siblings[other.node]):
        return "one of", groups[0], (groups[0].index(other.node) - place) % count, other.port
    return None
