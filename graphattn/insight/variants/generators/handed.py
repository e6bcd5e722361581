"""What a gradient rule hands to an operand is wrong: left out, of the other sign, transposed, not summed over
the tokens that share a bias, or their mean, the last of them; or shared out among the operands.

It is done to all nodes of an op alike, or to those of a role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ....core.axes import Spec
from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..structure.rules import handed_by, rule_of, told_of
from ..variant import Variant, one


class Way(NamedTuple):
    """`fits` says of (what is handed on, what arrives) whether it can be; `make` gives what comes instead."""

    phrase: str
    price: float
    fits: Callable[[Spec, Spec], bool]
    make: Callable[[Draft, Node, Ref, Ref], Ref]


def handed(intended: Intended, group: Group) -> Iterator[Variant]:
    refs = handed_by(intended, group)
    if not refs:
        return
    what = told_of(intended, group)
    arriving = [_incoming(intended, ref) for ref in refs]
    if None in arriving:
        return
    pairs = [(ref, dy) for ref, dy in zip(refs, arriving, strict=True) if dy is not None]
    if len(group) == 1 and len(pairs) > 1:
        yield from _parts(intended, group, pairs)
    assert intended.tape is not None
    rule = rule_of(intended.tape.source.nodes[intended.tape.handed[refs[0]][0]].op)
    for way in WAYS:
        if any(way.fits(intended.spec(ref), intended.spec(dy)) for ref, dy in pairs):
            make = one(intended, lambda draft, way=way: _each(draft, way, pairs))
            yield Variant("handed", f"with {way.phrase.format(what)}", way.price, group, make, rule)


def _parts(intended: Intended, group: Group, pairs: list[tuple[Ref, Ref]]) -> Iterator[Variant]:
    """Of several operands that one step hands something to, one goes without, or the others do."""
    assert intended.tape is not None
    source = intended.tape.source
    for place, pair in enumerate(pairs):
        node, slot = intended.tape.handed[pair[0]]
        operand = source.nodes[node].operands[slot]
        name = "" if operand is None else source.tensor_name(operand)
        for words, chosen in (
            (f"with nothing handed to {name}", [pair]),
            (f"with {name} alone handed something", [*pairs[:place], *pairs[place + 1 :]]),
        ):
            make = one(intended, lambda draft, chosen=chosen: _each(draft, WAYS[0], chosen))
            words = f"{words} in the gradient of {node}"
            yield Variant("handed", words, 1.05, group, make, rule_of(source.nodes[node].op))


def _each(draft: Draft, way: Way, pairs: list[tuple[Ref, Ref]]) -> None:
    for ref, dy in pairs:
        if way.fits(draft.graph.spec(ref), draft.graph.spec(dy)):
            new = way.make(draft, draft.graph.nodes[ref.node], ref, dy)
            draft.redirect(ref, new, apart_from=added_for(draft, ref))


def added_for(draft: Draft, ref: Ref) -> set[str]:
    """The nodes of a draft that were made of a tensor: they go on to read it."""
    return {name for name in draft.nodes if name.startswith(f"{ref.node}_")}


def _incoming(intended: Intended, ref: Ref) -> Ref | None:
    """The cotangent that arrives at the node whose rule hands something on; the first of several."""
    assert intended.tape is not None
    node, _ = intended.tape.handed[ref]
    found = intended.incoming.get(node, ())
    return found[0] if found else None


def zeros(draft: Draft, near: Node, shape: tuple[int, ...]) -> Ref:
    zero = draft.add("constant", [], {"value": 0.0}, near=near, name="zero")
    return draft.add("broadcast", [zero], {"shape": shape}, near=near, name="nothing") if shape else zero


def _scaled(way: str, value: float) -> Callable[[Draft, Node, Ref, Ref], Ref]:
    return lambda draft, node, ref, dy: draft.add("scale", [ref], {way: value}, near=node, name="scaled")


def _nothing(draft: Draft, node: Node, ref: Ref, dy: Ref) -> Ref:
    return zeros(draft, node, draft.graph.spec(ref).shape)


def _as_it_is(draft: Draft, node: Node, ref: Ref, dy: Ref) -> Ref:
    return dy


def _turned(draft: Draft, node: Node, ref: Ref, dy: Ref) -> Ref:
    return draft.add("transpose", [ref], near=node, name="turned")


def _mean(draft: Draft, node: Node, ref: Ref, dy: Ref) -> Ref:
    """Divided by how many cells of dy went into one."""
    spec, of = draft.graph.spec(ref), draft.graph.spec(dy)
    return draft.add("scale", [ref], {"divide": of.size / spec.size}, near=node, name="mean")


def _by_tokens(draft: Draft, node: Node, ref: Ref, dy: Ref) -> Ref:
    return draft.add("scale", [ref], {"divide": draft.graph.spec(dy).shape[-2]}, near=node, name="by_token")


def _row(place: int) -> Callable[[Draft, Node, Ref, Ref], Ref]:
    return lambda draft, node, ref, dy: draft.add("slice", [dy], {"at": str(place)}, near=node, name="row")


def _is_sum(spec: Spec, dy: Spec) -> bool:
    """Whether what is handed on is a sum over the rows of what arrives."""
    return spec.rank == dy.rank - 1 == 1 and spec.shape == dy.shape[1:]


WAYS: tuple[Way, ...] = (
    Way("nothing in the place of {}", 1.0, lambda x, dy: True, _nothing),
    Way("the other sign of {}", 1.0, lambda x, dy: True, _scaled("multiply", -1)),
    Way("the incoming gradient as {}, not summed", 1.0, lambda x, dy: x.shape != dy.shape, _as_it_is),
    Way("the incoming gradient, as it is, as {}", 1.1, lambda x, dy: x.shape == dy.shape, _as_it_is),
    Way("the mean, not the sum, as {}", 1.0, lambda x, dy: 0 < x.size < dy.size, _mean),
    Way("the last row alone, not the sum, as {}", 1.05, _is_sum, _row(-1)),
    Way("the first row alone, not the sum, as {}", 1.1, _is_sum, _row(0)),
    Way("{} divided by the number of tokens", 1.1, lambda x, dy: dy.rank > 1 and dy.shape[-2] > 1, _by_tokens),
    Way("{} transposed", 1.0, lambda x, dy: x.rank > 1, _turned),
    Way("{} doubled", 1.1, lambda x, dy: True, _scaled("multiply", 2)),
    Way("{} halved, as if shared out among two operands,", 1.15, lambda x, dy: True, _scaled("divide", 2)),
)  # fmt: skip
