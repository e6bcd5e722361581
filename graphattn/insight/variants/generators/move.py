"""A step stands elsewhere: before or after its neighbours, on the other side of a residual."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.graph import Node, Ref
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..variant import Option, Variant, each, like, through
from .operands import relation

AWAY = 4
"""How many steps away a step is looked for."""
PEERS = 12
"""The most tensors of its operand's kind that a step is done to as well."""


def move(intended: Intended, group: Group) -> Iterator[Variant]:
    yield from each("move", _options, intended, group)


def _options(intended: Intended, node: Node) -> Iterator[Option]:
    slots = through(intended, node)
    if not slots or node.op.moves:
        return
    slot = slots[0]
    source = node.operands[slot]
    assert source is not None
    for key, ref, price in _places(intended, node, slot):
        later = intended.depends(ref.node, on=node.name)
        side = "after" if later else "on"
        words = f"with {_step(intended, node, slot)} {side} {{new}}"
        yield Option(key, f"{words} instead", price, _doing(slot, ref), ref)
        if key[:2] == ("before", 1) and _gathers(intended, intended.nodes[source.node]):
            branch = "with {the} on {new} instead, inside the residual branch"
            yield Option((key, "branch"), branch, price - 0.1, _doing(slot, ref, branch=True), ref)
        if key[0] == "before" and _also_outside(intended, node, ref):
            alone = f"{words} instead, there alone"
            yield Option((key, "here"), alone, price, _doing(slot, ref, here=True), ref)
        yield Option((key, "too"), f"{words} too", price + 0.4, _doing(slot, ref, too=True), ref)
    if len(node.operands) > 1 or node.op.parameters.keys() != {p.name for p in node.op.operands}:
        for key, ref in _peers(intended, node, source):
            words = "with {the} done to {new} too"
            yield Option(("peer", key), words, 1.45, _doing(slot, ref, too=True), ref)
        for other in _inputs(intended, node, source):
            yield Option(
                ("input", other), "with {the} done to {new} too", 1.45, _doing(slot, other, too=True), other
            )
        yield from _wrapped(intended, node, slot)


def _doing(slot: int, ref: Ref, too: bool = False, branch: bool = False, here: bool = False):
    return lambda draft, node: _to(draft, node, slot, ref, too, branch, here)


def _step(intended: Intended, node: Node, slot: int) -> str:
    """How a sentence calls what stands elsewhere: a number that is added by its name."""
    others = [(s, ref) for s, ref in enumerate(node.operands) if s != slot and ref is not None]
    if node.op.family == "add" and len(others) == 1 and not intended.nodes[others[0][1].node].operands:
        return f"{{{others[0][0]}}} added"
    return "{the}"


def _peers(
    intended: Intended, node: Node, source: Ref, away: int = 1
) -> Iterator[tuple[tuple[object, ...], Ref]]:
    """Tensors that came about as the one did that a step stands on, but do not go through such a step in so
    many steps: (how they stand to the node among its siblings, tensor)."""
    maker = intended.nodes[source.node]
    own = intended.siblings[node.name]
    found = 0
    for other in intended.alike[intended.shape(source)]:
        here = intended.nodes[other.node]
        if other == source or here.op is not maker.op or not intended.users.get(other) or found >= PEERS:
            continue
        if _goes_through(intended, other, node, away) or intended.depends(other.node, on=node.name):
            continue
        found += 1
        yield relation(intended, other, len(own), own.index(node.name)) or (other,), other


def _inputs(intended: Intended, node: Node, source: Ref) -> Iterator[Ref]:
    """Inputs of other lengths that a step with parameters may be done to as well: an encoder's output."""
    spec = intended.spec(source)
    inside = [ref for ref in node.operands if ref and intended.nodes[ref.node].op.drawn == "inside"]
    for name, other in intended.graph.inputs.items() if inside and spec.rank > 1 else ():
        alike = (other.kind, other.rank, other.shape[-1:]) == (spec.kind, spec.rank, spec.shape[-1:])
        if alike and other.shape != spec.shape and intended.nodes[name].op.drawn != "inside":
            yield Ref(name)


def _goes_through(intended: Intended, ref: Ref, node: Node, away: int) -> bool:
    """Whether a tensor goes through a step of a node's op, in so many steps that keep its one way."""
    users = [intended.nodes[name] for name, _ in intended.users.get(ref, ())]
    if any(user.op is node.op for user in users):
        return True
    return away > 1 and len(users) == 1 and _goes_through(intended, Ref(users[0].name), node, away - 1)


def _wrapped(intended: Intended, node: Node, slot: int) -> Iterator[Option]:
    """A step between one that lays cells out otherwise and one that lays them out as they were: done to peers
    of what that takes, laid out alike."""
    before, after = _layout(intended, node, slot, down=False), _layout(intended, node, slot, down=True)
    source = None if before is None else before.operands[0]
    if before is None or after is None or source is None or len(after.ports) > 1:
        return
    if intended.shape(source) == intended.shape(Ref(after.name)):
        for key, ref in _peers(intended, node, source, AWAY):
            words = "with {the} done to {new} too"
            yield Option(
                ("wrapped", key), words, 1.45, lambda d, n, r=ref: _inside(d, n, slot, before, after, r), ref
            )


def _inside(draft: Draft, node: Node, slot: int, before: Node, after: Node, ref: Ref) -> None:
    """A tensor laid out as before a step, the step done to it, and laid out again as after the step."""
    made = draft.add(before.op, [ref], before.attributes, near=node, name="laid_out")
    first = made.node
    now = draft.node(node.name)
    operands = [made if s == slot else r for s, r in enumerate(now.operands)]
    made = draft.add(now.op, operands, now.attributes, near=node, name="moved")
    made = draft.add(after.op, [made], after.attributes, near=node, name="laid_back")
    draft.redirect(ref, made, apart_from=(first,))


def _layout(intended: Intended, node: Node, slot: int, down: bool) -> Node | None:
    """The first step from here, through steps that keep the shape, that only lays cells out otherwise."""
    for _ in range(AWAY):
        if down:
            users = intended.users.get(Ref(node.name), ())
            if len(users) != 1:
                return None
            node = intended.nodes[users[0][0]]
        else:
            ref = node.operands[slot]
            node, slot = intended.nodes[ref.node], 0  # pyright: ignore
        if node.op.moves and len(node.operands) == 1:
            return node
        if through(intended, node)[:1] != [0]:
            return None
    return None


def _places(intended: Intended, node: Node, slot: int) -> Iterator[tuple[tuple[object, ...], Ref, float]]:
    """Tensors near by that the step could stand on: (how they stand to it, tensor, price)."""
    source = node.operands[slot]
    beside: set[Ref] = set()
    for name, used in intended.users.get(source, ()) if source is not None else ():
        user = intended.nodes[name]
        for ref in user.operands if _gathers(intended, user) else ():
            if ref is not None and ref.node != node.name and intended.depends(ref.node, on=node.name):
                yield ("end of the branch", used), ref, 1.3
        fits = len(user.ports) == 1 and like(user.outputs[0], node.outputs[0])
        if fits and name != node.name and Ref(name) not in beside:
            beside.add(Ref(name))
            yield ("beside", user.op.name, used), Ref(name), 1.2
    here = [(Ref(node.name), ())]
    seen = {Ref(node.name)}
    for away in range(1, AWAY + 1):
        following = []
        for ref, way in here:
            for name, used in intended.users.get(ref, ()):
                user = intended.nodes[name]
                for port, spec in enumerate(user.outputs):
                    made = Ref(name, port)
                    if made not in seen and spec.kind == "float":
                        seen.add(made)
                        key = (*way, user.op.name, used, port)
                        following.append((made, key))
                        if made not in beside:
                            yield ("after", key), made, 1.25 + 0.1 * away
        here = following[:8]
    now = source
    for away in range(1, AWAY + 1):
        producer = intended.nodes[now.node] if now is not None else None
        if producer is None:
            return
        for place, ref in enumerate(producer.operands):
            if ref is not None and intended.spec(ref).kind == "float":
                yield ("before", away, place), ref, 1.25 + 0.1 * away
        now = next((ref for ref in producer.operands if ref is not None), None)


def _also_outside(intended: Intended, node: Node, ref: Ref) -> bool:
    """Whether a tensor is read inside of the composite that a step belongs to, and elsewhere."""
    scopes = {intended.nodes[name].scope == node.scope for name, _ in intended.users.get(ref, ())}
    return node.scope is not None and len(scopes) == 2


def _to(
    draft: Draft, node: Node, slot: int, ref: Ref, too: bool, branch: bool = False, here: bool = False
) -> None:
    now = draft.node(node.name)
    source = now.operands[slot]
    assert source is not None
    if not too:
        draft.redirect(Ref(node.name), source)
        ref = source if ref == Ref(node.name) else ref
    taken = draft.now(ref) if branch else ref  # where the step before stands elsewhere too
    operands = [taken if s == slot else r for s, r in enumerate(now.operands)]
    made = draft.add(now.op, operands, now.attributes, near=now, name="moved")
    before = () if draft.intended.depends(ref.node, on=node.name) else (node.name,) * too
    users = draft.intended.users.get(ref, ())
    outside = [name for name, _ in users if here and draft.graph.nodes[name].scope != node.scope]
    apart = (made.node, *before, *((source.node,) if branch else ()), *outside)
    if branch and taken != ref:
        for name, place in users:
            if name not in apart and draft.node(name).operands[place] == taken:
                draft.operand(name, place, made)
        return
    draft.redirect(ref, made, apart_from=apart)
    if here:
        del draft.went[ref]


def _gathers(intended: Intended, node: Node) -> bool:
    """Whether a step is a residual: a sum of two tensors like it."""
    return node.op.family == "add" and len(through(intended, node)) > 1
