"""The intended graph at each magnification at which mistakes are planted: op, then inside the ops, then whole
composites.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from ...core.errors import GraphError
from ...core.graph import Graph, Ref
from ...passes.gradient import Tape
from ..variants import GENERATORS, NUMBERS, Group, Intended, Rewrite, Variant, evaluate, guises, variants
from ..variants.generators.attributes import attributes
from ..variants.generators.declared import declared
from ..variants.generators.operands import operands
from ..variants.generators.repeat import repeat
from ..variants.generators.skip import skip
from ..variants.variant import Generator, through
from .accuracy import Accuracy
from .backward import Backward
from .chance import numbers_tell
from .cut import cut, uncut
from .judge import Judge
from .observed import Observed

INSIDE = 0.31
"""What it costs to believe in a mistake inside an op."""
FORWARD = 0.1
"""What it costs to believe in a mistake before the results, where gradients were observed."""
COARSE = (attributes, declared, operands, skip, repeat)
"""What is done to whole composites: all else is done to what they are made of."""


@dataclass(eq=False)
class Level:
    """One magnification: the whole graph, the graph cut at what was observed, and the judge of its variants."""

    name: str
    whole: Graph
    observed: Sequence[Observed]
    feeds: Mapping[str, Any]
    accuracy: Accuracy
    known: Sequence[Graph] = ()
    """Graphs of coarser levels: what they have is not varied again."""
    declared: bool = True
    judged: Sequence[Observed] | None = None
    """The observed tensors that variants are held to; None = all."""
    together: bool = False
    """Whether the graph is not cut: one change then explains tensors that are computed from each other."""
    seen: Collection[str] = ()
    """The inputs that are as exact as what was observed."""
    guise: str = ""
    """In which guise the graph is written; said before what a variant says."""
    meant: Graph | None = None
    """The graph as it was meant, where it is in a guise."""
    about: Collection[str] = ()
    """The nodes that variants are about; () = all."""
    tape: Tape | None = None
    """How its gradients came about, where it has some."""
    shared: dict[Any, Any] = field(default_factory=dict)
    """What is known of calls, at all levels."""
    others: dict[Any, Intended] = field(default_factory=dict)
    """The whole graph on other feeds: levels that differ in what they are cut at, or held to, share it."""

    @property
    def least(self) -> float:
        """The least price of its variants."""
        return 1.0 + {"op": 0.0, "guise": 2 * INSIDE}.get(self.name, INSIDE)

    @cached_property
    def _cut(self) -> tuple[Graph, dict[str, str], dict[Ref, Ref]]:
        if self.together:
            return self.whole, {}, {}
        return cut(self.whole, [o.name for o in self.observed])

    @property
    def stands(self) -> dict[Ref, Ref]:
        return self._cut[2]

    @cached_property
    def intended(self) -> Intended:
        graph, more, _ = self._cut
        theirs = {o.name: o.theirs.nested() for o in self.observed}
        feeds = {**self.feeds, **{name: theirs[of] for name, of in more.items()}}
        coarse = self.known[0] if self.name == "primitive" and self.tape is None else None
        return Intended(graph, feeds, tape=self.tape, coarse=coarse, shared=self.shared)

    @cached_property
    def judge(self) -> Judge:
        judged = self.observed if self.judged is None else self.judged
        return Judge(self.intended, judged, self.accuracy, {*self._cut[1], *self.seen})

    @cached_property
    def uncut(self) -> Level:
        """The graph as it is, held to all that was observed."""
        if self.judged is None and not self.stands:
            return self
        return replace(self, together=True, judged=None)

    def misses(self, rewrite: Rewrite) -> list[str]:
        """The observed tensors that the whole graph with a change does not give, run from what it is fed.

        Raises a `GraphError` for a change that is none there: a step that reads what was observed of itself.
        """
        return self.uncut.judge.misses(uncut(rewrite, self.whole, self.stands))[0]

    def variants(self, rest: bool = False, nodes: Collection[str] | None = None) -> list[Variant]:
        """Every variant that reaches all that differs, by price; of roles first, then the `rest`: of one of
        several alike, and the unlikely. Those about the nodes alone that are named, if any are."""
        if self.name == "guise" and (rest or self.judge.right):
            return []  # the guise by itself is a variant at op level
        named = (self.about or self.intended.nodes) if nodes is None else nodes
        fresh = {name for name in named if not any(name in g.nodes for g in self.known)}
        if self.tape is not None and nodes is None:  # a rule of an op in steps of composites is one everywhere
            fresh.update(*(kind for kind in self.intended.kinds if not fresh.isdisjoint(kind)))
        generators = COARSE if self.name == "coarse" else GENERATORS
        if not self.declared:
            generators = tuple(g for g in generators if g is not declared)
        return self._found(generators, rest, fresh)

    def numbers(self) -> list[Variant]:
        """Those that leave a number open, by price: of what is likely."""
        if self.name not in ("op", "primitive") or not numbers_tell(self.judge):
            return []
        fresh = [name for name in self.intended.nodes if not any(name in g.nodes for g in self.known)]
        return self._found(NUMBERS, False, fresh)

    def _found(self, generators: Sequence[Generator], rest: bool, fresh: Collection[str]) -> list[Variant]:
        """The variants of these generators that reach all that differs."""
        judge = self.judge
        wrong = {ref.node for ref, fine in zip(judge.refs, judge.agree, strict=True) if not fine}
        differing = sum(1 << self.intended.order[name] for name in wrong)
        found = [
            variant
            for variant in variants(self.intended, fresh, generators, rest, self.name == "op")
            if self.intended.all_below(variant.nodes) & differing == differing
        ]
        back = set() if self.tape is None else {*self.tape.rules, *(ref.node for ref in self.tape.tensors)}
        for variant in found:
            variant.price += self.least - 1.0 + FORWARD * (bool(back) and back.isdisjoint(variant.nodes))
            variant.guise = self.guise
        return sorted(found, key=lambda variant: variant.price)


def levels(
    graph: Graph,
    observed: Sequence[Observed],
    feeds: Mapping[str, Any],
    accuracy: Accuracy,
    with_declared: bool,
    seen: Collection[str],
    backward: Backward | None = None,
) -> Iterator[Level]:
    """The levels, in the order in which they are searched."""
    op, primitive = graph.at("op"), graph.at("primitive")
    make = partial(
        Level, observed=observed, feeds=feeds, accuracy=accuracy, declared=with_declared, seen=seen, shared={}
    )
    first = make("op", op, tape=None if backward is None else backward.tape)
    yield first
    if primitive is not op:
        yield make("primitive", primitive, known=(op,))
    if backward is not None:
        fine = backward.fine()
        yield make("primitive", fine.graph, known=(op, primitive), tape=fine.tape)
    nan = any(cell != cell for o in observed for row in o.rows for cell in row)
    for words, guised, about in _guises(first.uncut, nan):
        yield make("guise", guised, guise=words, meant=op, about=about)
    coarse = [graph.at(level) for level in ("head", "block")]
    for which in (coarse[0], *coarse[1:]):
        if which is not op and all(o.name in which for o in observed):
            yield make("coarse", which, known=(op,))
            op = which


def _guises(level: Level, nan: bool) -> Iterator[tuple[str, Graph, Collection[str]]]:
    """The graph with all nodes of a role written in another guise that their op declares, and what variants of
    it are about; `nan`: also in those that show in NaN alone."""
    op = level.whole
    if not any(node.op.guises for node in op.nodes.values()):
        return
    intended = level.intended
    done: set[str] = set()
    for group in intended.groups:
        if intended.nodes[group[0]].op.guises and done.isdisjoint(group):
            done.update(group)
            for guise, rewrite in guises(intended, group):
                if nan or not guise.only_nan:
                    guised = rewrite.graph(op)
                    alike = not guise.only_nan and _is_alike(intended, group, rewrite)
                    yield guise.phrase, guised, _shown(intended, group, guised) if alike else ()


def _is_alike(intended: Intended, group: Group, rewrite: Rewrite) -> bool:
    """Whether what reads nodes of a group gives the same in another guise of theirs: not where a row sees
    nothing, whose weights are then alike instead of 0."""
    readers = {user for (name, _), users in intended.users.items() if name in group for user, _ in users}
    refs = [ref for ref in intended.values if ref.node in readers]
    try:
        return repr(evaluate(intended, rewrite, refs)) == repr([intended.values[ref] for ref in refs])
    except GraphError:
        return False


def _shown(intended: Intended, group: Group, guised: Graph) -> Collection[str]:
    """Where a mistake may look otherwise in a guise of some nodes that gives the same: in their own steps, in
    who reads these, and in what is not the tensor that goes through them (a mask). All else gives what it gives
    without the guise, and is tried there."""
    steps = {name for name in guised.nodes if name not in intended.nodes}
    readers = {
        name for name, node in guised.nodes.items() if any(ref and ref.node in steps for ref in node.operands)
    }
    beside: set[str] = set()
    for node in map(intended.nodes.__getitem__, group):
        stream = {node.operands[slot] for slot in through(intended, node)[:1]}
        beside.update(ref.node for ref in node.operands if ref is not None and ref not in stream)
    return steps | readers | beside | guised.ancestors(*beside)
