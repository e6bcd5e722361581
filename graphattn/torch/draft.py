"""The graph in the making: scopes, stored tensors, inputs and constants, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.graph import Graph, Scope, Tensor
from ..core.specimen import Specimen
from ..core.words import listed, sizes
from .names import Taken, base, identifier, paths_of, reserved
from .program import Program, Source, Step
from .values import Value, cells, feed, kind_of


class Draft:
    """A graph that a program becomes.

    feeds: by name. named: the name of the tensor in the graph, by the name of the value in the program.
    fixed: the inputs whose values the graph rests on.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.graph = Graph(identifier(program.name), program.title)
        self.feeds: dict[str, Any] = {}
        self.named: dict[str, str] = {}
        self.fixed: set[str] = set()
        self.paths = paths_of(program)
        self._taken = Taken(reserved(program, self.paths))
        self._notes: list[str] = list(program.notes)

    def input(self, source: Source, value: Any) -> Tensor:
        """What the program is called with; without a value it is not fed."""
        name = self.named[source.name] = identifier(source.name)
        if value is None:
            return self.graph.input(name, source.sizes)
        self.feeds[name] = feed(value)
        return self.graph.input(name, tuple(value.shape), kind=kind_of(value))

    def stored(self, source: Source, value: Any) -> Tensor:
        """A tensor of the state_dict, under its name there: floats are fed, others are part of the graph."""
        scope, leaf = self.paths.stored(source.path or source.name)
        with self.inside(scope):
            if kind_of(value) != "float":
                return self.graph.constant(cells(value), name=leaf)
            tensor = self.graph.parameter(leaf, tuple(value.shape))
        self.feeds[tensor.name] = feed(value)
        self.named[source.name] = tensor.name
        for path in source.also:
            self.graph.adopt_alias(".".join(filter(None, self.paths.stored(path))), tensor.ref)
        return tensor

    def constant(self, step: Step, output: str, value: Any, rests: frozenset[str]) -> Callable[[], Tensor]:
        """How a value that is known, the result of a step, is entered."""

        def make() -> Tensor:
            self.fixed |= rests
            scope = self.paths.within(step.modules)
            name = self.new(scope, base(step))
            with self.inside(scope):
                tensor = self.graph.constant(cells(value), name=name)
            self.named[output] = tensor.name
            return tensor

        return make

    def new(self, scope: str, wanted: str) -> str:
        """A name that is free in a scope."""
        return self._taken.new(scope, wanted)

    def rests(self, value: Value) -> None:
        """The graph rests on the numbers of a value."""
        self.fixed |= value.rests_on

    def note(self, text: str) -> None:
        """Say something of the graph, once."""
        if text not in self._notes:
            self._notes.append(text)

    @contextmanager
    def inside(self, scope: str) -> Iterator[None]:
        """Add nodes to a scope by its full name; no other is open then."""
        if not scope:
            yield
            return
        parent = None
        for full in (scope[:place] for place, c in enumerate(f"{scope}.") if c == "."):
            if full not in self.graph.scopes:
                self.graph.adopt_scope(Scope(full, parent=parent))
            parent = full
        with self.graph.within(self.graph.scopes[scope]):
            yield

    def specimen(self) -> Specimen:
        """The graph, ready to run, with what is to be said of it in its notes."""
        self.graph.notes = tuple(self._told())
        return Specimen(self.graph, self.feeds, allow_nonfinite=True)

    def _told(self) -> Iterator[str]:
        yield from self._notes
        inputs = self.graph.inputs
        names = [identifier(source.name) for source in self.program.inputs]
        shapes = [f"{name} {sizes(inputs[name].shape)}" for name in names if name in inputs]
        yield f"read from a PyTorch program for {listed(shapes)}; other sizes need it read again"
        if self.fixed:
            yield (
                f"what follows from the values of {listed(sorted(self.fixed))} is constant here;"
                " other values need the program read again"
            )
