"""Stages of a stream: left out, run twice, in another order, with the weights of another. Sublayers and layers
are stages, whatever they are made of (see `stream`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from ....core.graph import Ref
from ....core.words import joined
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group, spoken
from ..structure.stream import Span, Stage, Stream
from ..structure.wholes import scopes_around
from ..variant import Variant, one

PARTS = 4
"""Of so many parts of a stage each is named, where a composite is among them."""
OWN = "Each layer has weights of its own: nn.ModuleList(Layer() for _ in range(count)), not [Layer()] * count."
ONCE = "Each layer once, in order: for layer in self.layers: x = layer(x)"
"""How to mend what is done to layers."""
EVERY = ", in every layer alike"


def stages(intended: Intended, group: Group) -> Iterator[Variant]:
    """What may be done to the stages that end with a node."""
    name, *others = group
    if others or intended.is_inside(intended.nodes[name]):
        return
    for stream in intended.streams:
        for span, stage in stream.wide.items():
            if stage.end.node == name and len(stage.nodes) > 1:
                for spans in stream.series(span):
                    yield from _alone(intended, [stream.wide[one] for one in spans])
                    yield from _exchanged(intended, stream, spans)
        for run in stream.runs:
            if stream.wide[run[-1]].end.node == name:
                yield from _layers(intended, [stream.wide[span] for span in run])
        yield from _shared(intended, stream, name)


def _alone(intended: Intended, series: Sequence[Stage]) -> Iterator[Variant]:
    """What is done to a stage, or to that of each layer."""
    nodes = tuple(stage.end.node for stage in series)
    every = EVERY * (len(series) > 1)
    told = partial(called, intended, series[0])
    again = one(intended, partial(_again, series))
    yield Variant("stage", lambda: f"with {told()} run twice{every}", 1.5, nodes, again)
    if series[0].start not in intended.nodes[nodes[0]].operands:  # else a step that is left out
        yield Variant(
            "stage", lambda: f"without {told()}{every}", 1.3, nodes, one(intended, partial(_out, series))
        )


def _exchanged(intended: Intended, stream: Stream, spans: Sequence[Span]) -> Iterator[Variant]:
    """A stage after the one that follows it."""
    pairs = [(stream.wide[span], then) for span in spans if (then := stream.after(span)) is not None]
    if len(pairs) < len(spans) or len(pairs[0][1].nodes) == 1:
        return
    if len(spans) > 1 and stream.after(spans[0]) is stream.wide[spans[1]]:  # two layers, each taken once
        return
    first, then = pairs[0]
    nodes = tuple(stage.end.node for pair in pairs for stage in pair)
    words = partial(_before, intended, pairs, False)
    yield Variant("stage", words, 1.3, nodes, one(intended, partial(_turned, pairs, False)))
    if first.code != then.code and _counterparts(intended, first, then):
        words = partial(_before, intended, pairs, True)
        yield Variant("stage", words, 1.35, nodes, one(intended, partial(_turned, pairs, True)))


def _layers(intended: Intended, run: Sequence[Stage]) -> Iterator[Variant]:
    """The weights of layers, their order, their number."""

    def told(words: str, *named: Stage) -> str:
        everything = f"all of {spoken([_name(intended, stage) for stage in run])}"
        return words.format(*(called(intended, stage) for stage in named), all=everything)

    def variant(price: float, act: Callable[[Draft], None], mend: str, words: str, *named: Stage) -> Variant:
        nodes = tuple(stage.end.node for stage in run)
        return Variant("stage", partial(told, words, *named), price, nodes, one(intended, act), mend)

    for source in (run[0], run[-1]):
        act = partial(_weights, run, [source] * len(run))
        yield variant(1.25, act, OWN, "with the weights of {} in {all}", source)
    for before, stage in pairwise(run[1:]):
        act = partial(_weights, [stage], [before])
        yield variant(1.3, act, OWN, "with the weights of {} in {} too", before, stage)
    if len(run) > 2:
        yield variant(1.3, partial(_weights, run, run[::-1]), ONCE, "with {all} in reverse order")
    for place, last in enumerate(run[:-2]):
        yield variant(1.3, partial(_out, run[place + 1 :]), ONCE, "with {} as the last of {all}", last)


def _shared(intended: Intended, stream: Stream, name: str) -> Iterator[Variant]:
    """The same stage of every layer with the weights of the first."""
    for stage in stream.stages:
        if stage.end.node == name and stage.parameters and len(stage.nodes) > 1:
            alike = [other for other in stream.stages if other.code == stage.code]
            if alike[-1] is stage and len(alike) > 1:
                words = partial(_of_the_first, intended, alike)
                nodes = tuple(other.end.node for other in alike)
                act = partial(_weights, alike, alike[:1] * len(alike))
                yield Variant("stage", words, 1.3, nodes, one(intended, act), OWN)


def _out(series: Sequence[Stage], draft: Draft) -> None:
    for stage in series:
        draft.redirect(stage.end, draft.now(stage.start))


def _again(series: Sequence[Stage], draft: Draft) -> None:
    for stage in series:
        went = {draft.now(stage.start): stage.end}
        for name in stage.nodes:
            node = draft.node(name)
            operands = [None if ref is None else went.get(ref, ref) for ref in node.operands]
            made = draft.add(node.op, operands, node.attributes, near=node, name="again")
            went |= {Ref(name, port): Ref(made.node, port) for port in range(len(node.ports))}
        draft.redirect(stage.end, went[stage.end], apart_from=set(draft.nodes) - set(draft.graph.nodes))


def _turned(pairs: Sequence[tuple[Stage, Stage]], keep: bool, draft: Draft) -> None:
    """`keep`: the norms stay where they were."""
    for first, then in pairs:
        start = draft.now(first.start)
        for stage, old, new in ((then, then.start, start), (first, start, then.end)):
            for name in stage.nodes:
                for slot, ref in enumerate(draft.node(name).operands):
                    if ref == old:
                        draft.operand(name, slot, new)
        draft.redirect(then.end, first.end)
        for a, b in _counterparts(draft.intended, first, then) if keep else ():
            for stage, name, other in ((first, a, b), (then, b, a)):
                for place, slot in stage.parameters:
                    if place == name:
                        draft.operand(name, slot, draft.graph.nodes[other].operands[slot])


def _weights(these: Sequence[Stage], those: Sequence[Stage], draft: Draft) -> None:
    for stage, other in zip(these, those, strict=True):
        for (name, slot), (source, place) in zip(stage.parameters, other.parameters, strict=True):
            draft.operand(name, slot, draft.graph.nodes[source].operands[place])


def _counterparts(intended: Intended, first: Stage, then: Stage) -> list[Group]:
    """Steps with rows of parameters of which both stages have one alike: their norms."""
    sides: list[dict[object, list[str]]] = []
    for stage in (first, then):
        found: dict[object, list[str]] = {}
        for name in dict.fromkeys(name for name, _ in stage.parameters):
            node = intended.nodes[name]
            slots = [slot for place, slot in stage.parameters if place == name]
            shapes = tuple((slot, intended.shape(ref)) for slot in slots if (ref := node.operands[slot]))
            if all(len(shape) == 1 for _, (shape, _) in shapes):
                found.setdefault((node.op.name, shapes), []).append(name)
        sides.append(found)
    here, there = sides
    return [(a[0], b[0]) for key, a in here.items() if len(a) == len(b := there.get(key, [])) == 1]


# ------------------------------------------------------------ words


def called(intended: Intended, stage: Stage) -> str:
    """How a sentence calls a stage: by the composites and the steps that it is made of."""
    parts = _parts(intended, stage)
    if len(parts) > (PARTS if any(title for title, _ in parts) else 1):
        return f"the steps {stage.nodes[0]} to {stage.nodes[-1]}"
    return joined(f"the {title} {name}" if title and title != name else name for title, name in parts)


def _before(intended: Intended, pairs: Sequence[tuple[Stage, Stage]], keep: bool) -> str:
    """Of sublayers, the composites alone are named: the norms and residuals go with them."""
    first, then = pairs[0]
    told = []
    for stage in (then, first):
        named = [f"the {title} {name}" for title, name in _parts(intended, stage) if title]
        told.append(joined(named) if named else called(intended, stage))
    kept = [name for names in _counterparts(intended, first, then) for name in names] if keep else []
    stay = f", but {joined(kept)} where they were" if kept else ""
    return f"with {told[0]} before {told[1]}{EVERY * (len(pairs) > 1)}{stay}"


def _name(intended: Intended, stage: Stage) -> str:
    """The name of the composite that a stage is, or of its last step."""
    parts = _parts(intended, stage)
    return parts[0][1] if len(parts) == 1 else stage.end.node


def _of_the_first(intended: Intended, alike: Sequence[Stage]) -> str:
    """Again the composites alone."""
    named = [[name for title, name in _parts(intended, s) if title] or [s.end.node] for s in alike]
    first = joined(named[0]) if named[0] != [alike[0].end.node] else called(intended, alike[0])
    return f"with the weights of {first} in {joined(name for names in named[1:] for name in names)} too"


def _parts(intended: Intended, stage: Stage) -> list[tuple[str, str]]:
    """(title, name) of the composites that lie whole within a stage, and ("", name) of the steps besides."""
    start, broken = stage.start.node, set[str]()
    for name in intended.nodes.keys() - set(stage.nodes):
        if intended.depends(name, on=start) or intended.depends(start, on=name):
            broken.update(scopes_around(intended.graph, name))
    parts: dict[tuple[str, str], None] = {}
    for name in stage.nodes:
        outer = [scope for scope in scopes_around(intended.graph, name) if scope not in broken]
        record = intended.graph.scopes[outer[-1]] if outer else None
        title = "" if record is None else record.op.title if record.op else record.title or "part"
        parts[title, outer[-1] if outer else name] = None
    return list(parts)
