"""What `diagnose` found: a verdict, and the mistakes that explain what was observed, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from typing import Any

from ...core.graph import Graph
from ...core.in_torch import line
from ...core.words import listed
from ...passes.rebuild import Rebuild
from ..variants import Rewrite, Variant, merged, spoken
from .cut import plain, uncut

BEFORE = "_before"
"""How a node is called now that had the name of what comes behind it."""
LINES = 3
"""So many lines say how to mend one change."""
SOME = 4
"""So many tensors are named in a sentence."""
VERDICTS = ("right", "harmless", "mistake", "unexplained", "undecided")


@dataclass(eq=False)
class Finding:
    """A mistake that explains what was observed, as exactly as it was observed."""

    variants: tuple[Variant, ...]
    """The changes: one, or two at once."""
    rewrite: Rewrite = field(repr=False)
    whole: Graph = field(repr=False)
    """The intended graph at the level of the change."""
    stands: Mapping[Any, Any] = field(repr=False)
    error: float
    """The largest difference that is left."""
    feeds: Mapping[str, Any] = field(repr=False)
    equals: list[str] = field(default_factory=list)
    """Other wordings of the same function."""
    tells: Mapping[str, Any] | None = field(default=None, repr=False)
    """Inputs on which it differs from the findings before it."""
    given: Sequence[str] = ()
    """The observed tensors that it explains."""
    missed: Sequence[str] = ()
    """Those that it does not: its graph gives other numbers."""
    meant: Graph | None = field(default=None, repr=False)
    """The intended graph at that level, where `whole` writes it in another guise."""

    @property
    def phrase(self) -> str:
        return " and ".join(plain(variant.phrase) for variant in self.variants)

    @property
    def sentence(self) -> str:
        """yours is this graph without …"""
        return f"yours is this graph {self.phrase}"

    @property
    def exactly(self) -> str:
        """The sentence, which says so where no difference is left, or where something is."""
        if self.missed:
            return f"{self.sentence}, but that does not explain {listed(self.missed, SOME)}"
        return self.sentence if self.error else f"yours is exactly this graph {self.phrase}"

    @property
    def name(self) -> str:
        return " and ".join(plain(variant.name) for variant in self.variants)

    @property
    def price(self) -> float:
        return sum(variant.price for variant in self.variants)

    @property
    def where(self) -> tuple[str, ...]:
        """The tensors of the intended graph at which yours departs from it."""
        return tuple(dict.fromkeys(plain(name) for variant in self.variants for name in variant.nodes))

    @property
    def place(self) -> str:
        """The same in few words: head*.scaled."""
        return spoken(self.where)

    @property
    def mend(self) -> str:
        """What to do about it."""
        return " ".join(self.mends) or f"look at {self.place}"

    @cached_property
    def mends(self) -> list[str]:
        """What to do about each change: in words of its own, where there are some, or else (and where an op
        declares them) as the lines of PyTorch that the steps it is about should be."""
        found: list[str] = []
        for variant in self.variants:
            lines = filter(None, (self._line(plain(name)) for name in variant.nodes))
            alike = {re.sub(r"\d+", "*", told): told for told in reversed(list(lines))}  # one of several heads
            told = list(reversed(alike.values()))[:LINES]
            if variant.sentence:
                found.append(variant.sentence)
            if variant.declared or not variant.sentence:
                found += told
        return list(dict.fromkeys(found))

    def _line(self, name: str) -> str:
        """The line of PyTorch for a step; for a step of a guise, that of what it stands for."""
        graph = self.meant or self.whole
        while name not in graph.nodes and "." in name:
            name = name.rpartition(".")[0]
        return line(graph, name) if name in graph.nodes else ""

    @cached_property
    def full(self) -> Rewrite:
        """The change to the whole graph, observed tensors or not."""
        return uncut(self.rewrite, self.whole, self.stands)

    @cached_property
    def graph(self) -> Graph:
        """The intended graph with the mistake in it."""
        return self._called[0]

    def without(self, place: int) -> Graph:
        """The intended graph with all changes but one of several."""
        if len(self.variants) == 1:
            return self.whole
        rewrite: Rewrite | None = Rewrite({}, {})
        for variant in (*self.variants[:place], *self.variants[place + 1 :]):
            more = uncut(variant.rewrite, self.whole, self.stands)
            rewrite = None if rewrite is None else merged(rewrite, more, self.whole)
        return self.whole if rewrite is None else rewrite.graph(self.whole)

    @cached_property
    def _called(self) -> tuple[Graph, dict[str, str]]:
        """The same, and how nodes are called there that stood in the way of the name of a result."""
        return with_results(self.full.graph(self.whole))

    def picture(self, path: Any) -> Any:
        """Draw the graph with the mistake into an .svg, .png or .dot file, what it changes marked with ✗."""
        return self.marked.render(path)

    @property
    def marked(self) -> Graph:
        """The graph with the mistake in it, with the titles of what it changes marked with ✗."""
        graph, changed = self.graph, set(self.changed)
        rebuild = Rebuild(graph)
        for node in graph.nodes.values():
            if node.name in changed and not node.op.fed:
                title = f"✗ {node.title or node.op.title}"
                rebuild.replace(node, replace(node, title=title, operands=rebuild.operands(node)))
            else:
                rebuild.keep(node)
        return rebuild.finish()

    @property
    def changed(self) -> tuple[str, ...]:
        """The nodes of `graph` that the intended graph does not have, or has otherwise."""
        graph, called = self._called
        names = (called.get(name, name) for name in self.full.nodes)
        return tuple(name for name in names if name in graph.nodes)


def with_results(graph: Graph) -> tuple[Graph, dict[str, str]]:
    """A graph whose results are found by their names, and how those nodes are called now that had the names:
    what a step that was added behind the last one is computed from."""
    called: dict[str, str] = {}
    for name, tensor in graph.outputs.items():
        if name in graph.nodes and tensor.ref.node != name:
            new = (f"{name}{BEFORE}{end}" for end in chain([""], count(2)))
            called[name] = next(filter(graph.is_free, new))
    if not called:
        return graph, called
    rebuild = Rebuild(graph)
    for node in graph.nodes.values():
        name = called.get(node.name, node.name)
        rebuild.replace(node, replace(node, name=name, operands=rebuild.operands(node)))
    return rebuild.finish(), called


@dataclass(eq=False)
class Diagnosis:
    """verdict: "right": as intended. "harmless": something differs, but nothing that matters. "mistake": the
    findings explain all that was observed. "unexplained": nothing that was tried does. "undecided": what was
    observed cannot tell."""

    verdict: str
    findings: list[Finding]
    graph: Graph
    accuracy: str
    observed: Sequence[str]
    tried: int
    seconds: float
    finished: bool = True
    """Whether everything was tried, within the budget."""
    notes: list[str] = field(default_factory=list)
    reason: str = ""
    """Why it is undecided, where there is more to say than that what was observed cannot tell."""
    supposed: bool = False
    """Whether the numbers are only supposed to be rounded: too few of them show it."""
    together: bool = False
    """Whether the findings explain what was observed together, not one or the other."""
    suspects: list[str] = field(default_factory=list)
    """What may be wrong, where the observed numbers cannot tell (all NaN)."""
    look_at: str | None = None
    """The one tensor that would tell most."""
    comparison: Any = field(default=None, repr=False)
    """What `compare` says, where nothing fits."""

    @property
    def agrees(self) -> bool:
        """Whether nothing is wrong."""
        return self.verdict in ("right", "harmless")

    def text(self, reveal: str = "cause", width: int | None = None) -> str:
        """The report; `reveal` none or place tells no more than that, `width` is how long a line may be."""
        from .report import text

        return text(self, reveal, width)

    def markdown(self, reveal: str = "cause") -> str:
        from .report import markdown

        return markdown(self, reveal)

    def data(self, reveal: str = "cause") -> dict[str, Any]:
        """The same as dicts and lists that JSON can hold."""
        from .report import data

        return data(self, reveal)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from graphattn.dumps.notebook import report_html

        return report_html(self.text())

    def __repr__(self) -> str:
        from .report import verdict_line

        return f"<diagnosis: {verdict_line(self)}>"
