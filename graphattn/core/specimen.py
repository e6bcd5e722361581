"""What is put under the microscope: a graph, what it is fed, and the labels of its axes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .graph import Graph
    from .trace import Trace


@dataclass(frozen=True)
class Specimen:
    """A graph that is ready to run.

    feeds: nested lists by input name. labels: texts by axis name (`{"token": ["the", "cat"]}`).
    recorded: tensors that someone else computed, by the name they have in the graph. trace: a run
    that was saved, where there is one. allow_nonfinite: whether the feeds may hold infinities and
    NaN, as float masks do. patch: tensors that every run replaces. engine: what computes every run, None
    for the interpreter. drawn: the feeds that nobody gave, which were drawn at random.
    """

    graph: Graph
    feeds: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    recorded: Mapping[str, Any] = field(default_factory=dict)
    trace: Trace | None = None
    allow_nonfinite: bool = False
    patch: Mapping[str, Any] = field(default_factory=dict)
    engine: str | None = None
    drawn: Collection[str] = ()

    def run(self, **options: Any) -> Trace:
        """Evaluate it; options as for `graphattn.run`."""
        from .run import run

        own = {
            "labels": self.labels, "allow_nonfinite": self.allow_nonfinite, "patch": self.patch,
            "engine": self.engine,
        }  # fmt: skip
        return run(self.graph, self.feeds, **{**own, **options})
