"""The engine that puts gradients together is wrong: what arrives at a tensor is overwritten, not summed up, or
handed on before all of it has arrived; a tensor is cut off from the graph (`.detach()`, `.item()`); gradients
are not set to zero between two calls; two are under each other's name, all are clipped; the loss is a multiple
of what it should be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations

from ....core.graph import Ref
from ....passes.gradient import Differentiated, Tape, differentiate
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group, spoken
from ..structure.rules import gradients, shared
from ..variant import Variant, one
from .added import constants
from .handed import added_for, zeros
from .swap import both_ways

ADD = "A tensor that is used more than once gets a part from each use: grad += part, not grad = part."
ORDER = "Go back in the reverse of a topological order: a tensor hands on once, when all of its users have."
ZERO = "Set all gradients to zero before each backward pass."
WHOLE = "Keep it a part of the graph: no .data, .item() or .detach() on the way."
HANDED = "Its gradient is to arrive: requires_grad is True, and nothing on the way is detached."
DECAY = "A decay of weights belongs to the step, torch.optim.AdamW(…, weight_decay=…): .grad is without it."
SHAPE = "A gradient has the shape of its parameter: of y = x @ W.T it is dy.T @ x."
CLIP = "Gradients are clipped between loss.backward() and optimizer.step(); before that .grad is whole."
NAMES = "Look under which name each of the two is kept."
DECAYS = (0.1, 0.01, 0.001, 0.0001, 0.0005, 0.02)
"""What people choose for a decay of weights, and …"""
CLIPPED = (1.0, 0.5, 5.0, 0.1, 10.0)
"""… for the most that a cell of a gradient may be."""
FEW = 6
"""So many of a role are exchanged two by two."""
SEED = -0.5
"""How much likelier a factor of the loss is than one of any tensor."""


def engine(intended: Intended, group: Group) -> Iterator[Variant]:
    tape = intended.tape
    if tape is None:
        return
    if group == shared(tape):
        yield from _sums(intended, tape, group)
    if group == gradients(tape):
        two = one(intended, lambda draft: _twice(draft, tape))
        words = "with the gradients of two calls added up, as if they were not set to zero"
        yield Variant("not set to zero", words, 0.9, group, two, ZERO)
        for ref in tape.gradients:
            words = f"with nothing as the gradient of {tape.source.tensor_name(tape.tensors[ref])}"
            make = one(intended, lambda draft, ref=ref: _forgotten(draft, ref))
            yield Variant("forgotten", words, 1.0, (ref.node,), make, HANDED)
        yield from _exchanged(intended, tape)
        yield from _after(intended, tape, group)
    cotangents = [ref for ref in tape.tensors if ref.node in group]
    if len(cotangents) == len(group) and not any(ref in tape.gradients for ref in cotangents):
        names = spoken([tape.source.tensor_name(tape.tensors[ref]) for ref in cotangents])
        words = f"with {names} detached from the graph: nothing goes back through it"
        make = one(intended, lambda draft: _nothing(draft, cotangents))
        yield Variant("detached", words, 0.97, group, make, WHOLE)
    if group == intended.siblings[group[0]]:
        yield from _swapped(intended, tape, group)
    if len(group) == 1 and group[0] in intended.graph.fed and Ref(group[0]) in tape.tensors:
        yield from _seeds(intended, group)


def _swapped(intended: Intended, tape: Tape, group: Group) -> Iterator[Variant]:
    """Two cotangents in each other's place, of tensors that play one role: queries and keys."""
    found = [(name, ref) for name in group[:FEW] if (ref := tape.cotangent(Ref(name))) is not None]
    for (a, one_way), (b, other) in combinations(found, 2):
        if intended.shape(one_way) == intended.shape(other):
            words = f"with what arrives at {a} and at {b} in each other's place"
            make = one(intended, lambda draft, pair=(one_way, other): both_ways(draft, [pair]))
            yield Variant("swap", words, 1.15, (one_way.node, other.node), make, NAMES)


def _exchanged(intended: Intended, tape: Tape) -> Iterator[Variant]:
    """Two gradients of one shape under each other's name."""
    for a, b in combinations(tape.gradients, 2):
        if intended.shape(a) == intended.shape(b):
            names = [tape.source.tensor_name(tape.tensors[ref]) for ref in (a, b)]
            words = f"with the gradients of {names[0]} and {names[1]} under each other's name"
            make = one(intended, lambda draft, a=a, b=b: _under(draft, a, b))
            yield Variant("exchanged", words, 1.1, tuple(dict.fromkeys((a.node, b.node))), make, NAMES)


def _forgotten(draft: Draft, ref: Ref) -> None:
    draft.went[ref] = zeros(draft, draft.graph.nodes[ref.node], draft.graph.spec(ref).shape)


def _under(draft: Draft, a: Ref, b: Ref) -> None:
    for own, other in ((a, b), (b, a)):
        near, shape = draft.graph.nodes[own.node], draft.graph.spec(own).shape
        draft.went[own] = draft.add("broadcast", [other], {"shape": shape}, near=near, name="exchanged")


def _after(intended: Intended, tape: Tape, group: Group) -> Iterator[Variant]:
    """What is done to gradients before they are used is done to what is looked at: a decay of the weights."""
    fed = [ref for ref in tape.gradients if tape.source.nodes[tape.tensors[ref].node].op.drawn == "inside"]
    for decay in DECAYS if fed else ():
        make = one(intended, lambda draft, decay=decay: _decayed(draft, tape, fed, decay))
        words = f"with {decay:g} times each parameter added to its gradient"
        yield Variant("decay", words, 1.2, group, make, DECAY)
    turned = [ref for ref in fed if intended.spec(ref).rank == 2]
    if len(turned) > 1:
        make = one(intended, lambda draft: _turned(draft, turned))
        words = "with the gradient of every matrix of parameters transposed"
        yield Variant("transposed", words, 1.1, group, make, SHAPE)
    for most in CLIPPED:
        make = one(intended, lambda draft, most=most: _clipped(draft, tape, most))
        words = f"with every gradient clipped to ±{most:g}, cell by cell"
        yield Variant("clipped", words, 1.2, group, make, CLIP)


def _decayed(draft: Draft, tape: Tape, fed: Sequence[Ref], decay: float) -> None:
    for ref in fed:
        near = draft.graph.nodes[ref.node]
        part = draft.add("scale", [tape.tensors[ref]], {"multiply": decay}, near=near, name="decay")
        draft.went[ref] = draft.add("add", [ref, part], near=near, name="decayed")


def _turned(draft: Draft, refs: Sequence[Ref]) -> None:
    for ref in refs:
        draft.went[ref] = draft.add("transpose", [ref], near=draft.graph.nodes[ref.node], name="turned")


def _clipped(draft: Draft, tape: Tape, most: float) -> None:
    """min(max(x, −c), c) = relu(x + c) − relu(x − c) − c."""
    for ref in tape.gradients:
        near = draft.graph.nodes[ref.node]
        limit = draft.add("constant", [], {"value": most}, near=near, name="limit")
        low = draft.add("relu", [draft.add("add", [ref, limit], near=near)], near=near, name="from_below")
        high = draft.add("relu", [draft.add("subtract", [ref, limit], near=near)], near=near, name="from_above")
        both = draft.add("subtract", [low, high], near=near, name="within")
        draft.went[ref] = draft.add("subtract", [both, limit], near=near, name="clipped")


def _sums(intended: Intended, tape: Tape, group: Group) -> Iterator[Variant]:
    """Of all that arrives something else than the sum, everywhere."""
    last = "with each cotangent overwritten by the last that arrives, not summed"
    early = "with cotangents handed on before all has arrived, and again when it has"
    ways = (
        ("overwritten", last, 0.9, _last, ADD),
        ("first only", "with the first cotangent that arrives alone, not the sum", 0.95, _first, ADD),
        ("too early", early, 1.15, _so_far, ORDER),
    )
    for kind, words, price, make, mend in ways:
        yield Variant(kind, words, price, group, one(intended, partial(_summed, tape=tape, make=make)), mend)
    for step, told in ((1, "from the first operand on"), (-1, "from the last operand on")):
        words = f"with all that a tensor has so far handed on whenever more arrives, {told}"
        made = one(intended, partial(_derived, tape=tape, step=step))
        yield Variant("depth first", words, 1.2, group, made, ORDER)

    for final, arrived in tape.arrived.items():
        for ref in arrived if len(arrived) > 1 and intended.spec(final).rank == 2 else ():
            rows = [any(row) for row in intended.values[ref]]
            if any(rows) and not all(rows):
                make = one(intended, partial(_written_over, final=final, arrived=arrived, part=ref))
                name = tape.source.tensor_name(tape.tensors[final])
                told = intended.graph.tensor_name(ref)
                words = f"with the rows of {told} written over what else arrives at {name}, not added"
                yield Variant("written over", words, 1.15, (final.node,), make, ADD)


def _written_over(draft: Draft, final: Ref, arrived: Sequence[Ref], part: Ref) -> None:
    """One part where it has rows that are not 0, the others elsewhere: `grad[ids] = rows`."""
    near = draft.graph.nodes[final.node]
    square = draft.add("multiply", [part, part], near=near, name="square")
    there = draft.add("is_positive", [draft.add("reduce_max", [square], near=near, name="most")], near=near)
    others = [ref for ref in arrived if ref != part]
    rest = others[0]
    for ref in others[1:]:
        rest = draft.add("add", [rest, ref], near=near, name="rest")
    new = draft.add("where", [there, part, rest], near=near, name="written_over")
    draft.redirect(final, new, apart_from=added_for(draft, final))


def _summed(draft: Draft, tape: Tape, make) -> None:
    for final, arrived in tape.arrived.items():
        if len(arrived) > 1:
            draft.redirect(final, make(draft, final, arrived), apart_from=added_for(draft, final))


def _last(draft: Draft, final: Ref, arrived: Sequence[Ref]) -> Ref:
    return arrived[-1]


def _first(draft: Draft, final: Ref, arrived: Sequence[Ref]) -> Ref:
    return arrived[0]


def _so_far(draft: Draft, final: Ref, arrived: Sequence[Ref]) -> Ref:
    """The sum of all that is there each time that something has arrived."""
    near = draft.graph.nodes[final.node]
    whole: Ref | None = None
    for place, ref in enumerate(arrived):
        times = draft.add("scale", [ref], {"multiply": len(arrived) - place}, near=near, name="times")
        whole = times if whole is None else draft.add("add", [whole, times], near=near, name="so_far")
    assert whole is not None
    return whole


def _twice(draft: Draft, tape: Tape) -> None:
    """What comes out is doubled, not what it is computed from."""
    for ref in tape.gradients:
        near = draft.graph.nodes[ref.node]
        draft.went[ref] = draft.add("scale", [ref], {"multiply": 2}, near=near, name="twice")


def _nothing(draft: Draft, cotangents: Sequence[Ref]) -> None:
    for ref in cotangents:
        near = draft.graph.nodes[ref.node]
        draft.redirect(ref, zeros(draft, near, draft.graph.spec(ref).shape))


def _derived(draft: Draft, tape: Tape, step: int) -> None:
    """The gradients as another engine derives them, in the place of these."""
    other = differentiate(tape.source, tape.of, tape.wrt, depth_first=step)
    own = differentiate(tape.source, tape.of, tape.wrt, apart=True)
    went = {
        Ref(name, port): Ref(name, port)
        for name, node in tape.source.nodes.items() for port in range(len(node.ports))
    }  # fmt: skip
    went |= {Ref(seed): Ref(own.cotangents[name]) for name, seed in other.cotangents.items()}
    _copied(draft, tape, other, went)
    for name, output in other.gradients.items():
        ref = other.graph.outputs[output].ref
        draft.went[own.graph.outputs[own.gradients[name]].ref] = went[ref]


def _copied(draft: Draft, tape: Tape, other: Differentiated, went: dict[Ref, Ref]) -> None:
    near = draft.graph.nodes[tape.gradients[0].node]
    for node in other.graph.nodes.values():
        if Ref(node.name) not in went:
            operands = [None if ref is None else went[ref] for ref in node.operands]
            made = draft.add(node.op, operands, node.attributes, near=near, name=node.name.replace(".", "_"))
            went |= {Ref(node.name, port): Ref(made.node, port) for port in range(len(node.ports))}


def _seeds(intended: Intended, group: Group) -> Iterator[Variant]:
    """The loss is a multiple of what it should be: a sum for a mean, the other sign."""
    (name,) = group
    spec = intended.graph.spec(Ref(name))
    for way, value, told, price in constants(intended, spec.shape[-1] if spec.rank else 1):

        def act(draft: Draft, way: str = way, value: object = value) -> None:
            near = draft.graph.nodes[name]
            made = draft.add("scale", [Ref(name)], {way: value}, near=near, name="seed")
            draft.redirect(Ref(name), made, apart_from=(made.node,))

        what = f"the loss {told}, where gradients begin," if spec.size == 1 else f"{name} {told}"
        yield Variant("seed", f"with {what}", price + SEED, group, one(intended, act))
