"""How each cell of a trace was computed: an expression of other cells, whatever op made it.

A `Derivation` gives an `Entry` for any cell of a trace. Which operands' cells went into it is said
by the `explain` rule of the op; an op that has none but an expansion (a composite in a coarse
trace) is opened: its inside is evaluated once, and its cells are cells of that inside, whose inputs
are the operands outside. Branches that were not taken (`where`) are left out, and said beside.

Nothing recurses from cell to cell; entries are made when they are asked for, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.cells import Apply, Cell, Expression, Literal, evaluate
from graphattn.core.errors import GraphError
from graphattn.core.graph import Node, Ref
from graphattn.core.interpreter import FAILURES, Composite, PlanStep
from graphattn.core.trace import Trace

MANY = 16

INSIDE = "composite"
"""What the node is called in the graph of a composite's inside."""


class Key(NamedTuple):
    """One cell: the number of its frame, the place of its tensor there, its index."""

    frame: int
    place: int
    index: tuple[int, ...]  # pyright: ignore[reportIncompatibleMethodOverride]


@dataclass(frozen=True, slots=True)
class Branch:
    """A condition that decided which expression counts, and how it came out."""

    condition: Expression
    true: bool


@dataclass
class Entry:
    """How one cell came about.

    kind: "computed", "fed", "patched" or "unknown" (nothing is known of what went into it).
    expression: of the cells in `sources`, where it is known; for a patched cell, what would have
    been computed.
    """

    key: Key
    name: str
    spec: Spec
    node: Node
    kind: str
    value: Any
    hidden: bool
    expression: Expression | None = None
    sources: dict[Cell, Key] = field(default_factory=dict)
    branches: tuple[Branch, ...] = ()
    reason: str = ""
    """Why nothing is known of what went into it."""

    @property
    def index(self) -> tuple[int, ...]:
        return self.key.index

    @property
    def copied(self) -> Cell | None:
        """The one cell that it is a copy of, chosen by nothing that can be looked at, or None."""
        tree = self.expression
        plain = isinstance(tree, Cell) and not any(isinstance(i, Cell) for i in tree.index)
        if not plain or self.kind != "computed":
            return None
        assert isinstance(tree, Cell)
        own = self.sources[tree]
        decided = {self.sources.get(cell) for branch in self.branches for cell in cells_of(branch.condition)}
        return None if own in decided else tree


@dataclass
class Frame:
    """A trace that cells stand in: the one that is asked about, or the inside of a composite.

    operands: from the place of an input inside to the place of the operand outside. results: from
    the port of the composite to the place inside.
    """

    number: int
    trace: Trace
    name: str = ""
    outside: Frame | None = None
    start: int = 0
    operands: dict[int, int] = field(default_factory=dict)
    results: tuple[int, ...] = ()
    steps: dict[int, PlanStep] = field(default_factory=dict)
    aliases: dict[int, int] = field(default_factory=dict)
    """From a place inside to the place of the composite's output outside."""
    names: dict[int, str] = field(default_factory=dict)
    """What a composite that was expanded called its output, where a tensor is one."""

    def __post_init__(self) -> None:
        for step in self.trace.recording.plan.steps:
            for place in step.places:
                self.steps[place] = step
        for name, ref in self.trace.graph.aliases.items():
            place = self.trace.recording.place(ref)
            if place is not None and (place not in self.names or len(name) < len(self.names[place])):
                self.names[place] = name

    def shown(self, name: str) -> str:
        """The name of something inside, as it is called outside."""
        if self.outside is None or name.partition(".")[0] != INSIDE:
            return name
        return self.name + name.removeprefix(INSIDE)

    def tensor_name(self, place: int) -> str:
        """The name of the tensor at a place: a composite's output goes by the composite's name."""
        if place in self.aliases and self.outside is not None:
            return self.outside.tensor_name(self.aliases[place])
        node = self.steps[place].node
        return self.shown(self.names.get(place) or node.tensor_name(place - self.steps[place].start))

    def spec(self, place: int) -> Spec:
        """Shape, axes and kind of the tensor at a place."""
        step = self.steps[place]
        return step.node.outputs[place - step.start]

    def value(self, place: int) -> Any:
        """The tensor at a place, as it was recorded outside where it was."""
        if place in self.aliases and self.outside is not None:
            recorded = self.outside.value(self.aliases[place])
            if recorded is not None:
                return recorded
        return self.trace.recording.values[place]


class Derivation:
    """The cells of a trace and where they come from (see the module's docstring).

    One class, because finding, reading and making entries share the frames that were opened and the entries
    that are kept: an entry may open a frame, and a frame is asked for by an entry.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.numbers = trace.numbers
        self.frames = [Frame(0, trace)]
        self._frames: dict[tuple[int, int], Frame | str] = {}
        self._entries: dict[Key, Entry] = {}
        self._homes: dict[tuple[int, int], tuple[int, int]] = {}
        self._sums: set[tuple[int, int]] = set()
        """Tensors with a cell that was computed from many: none of theirs is only a copy."""
        self.causes: dict[Key, Key] = {}
        """For cells that are not finite, the cell in which that came up (see `remarks`)."""
        self._operands: dict[tuple[int, int], list[tuple[int, int, tuple[int, ...]]]] = {}

    # ------------------------------------------------------------ finding cells

    def find(self, tensor: str) -> tuple[Frame, int]:
        """Frame and place of a tensor, by any name that the trace knows, or one inside a composite
        that the trace shows as one node. Raises a `GraphError` where there is none."""
        frame, name = self.frames[0], tensor
        try:
            return self._recorded(frame, name, tensor)
        except GraphError:
            found = self._within(frame, name) if isinstance(name, str) else None
            while found is not None:
                frame, name = found
                try:
                    return self._recorded(frame, name, tensor)
                except GraphError:
                    found = self._within(frame, name)
            endings = [] if not isinstance(tensor, str) else self._ending(tensor)
            if len(endings) == 1:
                return endings[0]
            raise

    def _recorded(self, frame: Frame, name: str, told: str) -> tuple[Frame, int]:
        place = frame.trace.recording.place(frame.trace.graph.resolve(name))
        if place is None or frame.value(place) is None:
            frame.trace[name]  # says what was not evaluated or not kept
            raise GraphError(f"tensor {told!r} was not kept in this run; expected one that was")
        return frame, place

    def _within(self, frame: Frame, name: str) -> tuple[Frame, str] | None:
        """The frame inside a composite that a dotted name begins with, and the name there."""
        nodes = frame.trace.graph.nodes
        parts = name.split(".")
        for count in range(len(parts) - 1, 0, -1):
            node = nodes.get(".".join(parts[:count]))
            if node is not None and node.op.expand is not None:
                place = frame.trace.recording.place(Ref(node.name))
                inside = None if place is None else self.inside(frame, frame.steps[place])
                if isinstance(inside, Frame):
                    return inside, ".".join([INSIDE, *parts[count:]])
        return None

    def _ending(self, tensor: str) -> list[tuple[Frame, int]]:
        """The tensors inside composites whose names end so."""
        found = []
        for step in self.trace.recording.plan.steps:
            if step.node.op.explain is None and step.node.op.expand is not None:
                inside = self.inside(self.frames[0], step)
                if isinstance(inside, Frame):
                    try:
                        found.append(self._recorded(inside, tensor, tensor))
                    except GraphError:
                        continue
        return found

    def inside(self, frame: Frame, step: PlanStep) -> Frame | str:
        """The frame inside a composite, or why there is none."""
        at = (frame.number, step.start)
        if at not in self._frames:
            self._frames[at] = self._open(frame, step)
        return self._frames[at]

    def _open(self, frame: Frame, step: PlanStep) -> Frame | str:
        op, trace = step.node.op, frame.trace
        if op.expand is None:
            return f"op {op.name} does not say how its cells come about"
        values = [None if place is None else frame.value(place) for place in step.operands]
        for ref, value in zip(step.node.operands, values, strict=True):
            if ref is not None and value is None:
                return f"{frame.shown(trace.graph.tensor_name(ref))}, which went into it, was not kept"
        composite = step.function
        if not isinstance(composite, Composite):
            specs = step.specs[: len(step.operands)]
            composite = Composite(op, specs, step.node.attributes, trace.numbers)
        masks = [None if place is None else trace.recording.mask(place) for place in step.operands]
        try:
            inner = Trace(trace.recording.inside(composite, values, masks))
        except FAILURES as error:
            return f"its inside does not evaluate: {error}"
        found = Frame(len(self.frames), inner, frame.shown(step.node.name), frame, step.start)
        for place, outer in zip(composite.operands, step.operands, strict=False):
            if place is not None and outer is not None:
                found.operands[place] = outer
        found.results = composite.results
        for port, place in enumerate(composite.results):
            if place not in found.operands and step.start + port not in trace.recording.patched:
                found.aliases.setdefault(place, step.start + port)
        self.frames.append(found)
        return found

    def key(self, frame: Frame, place: int, index: tuple[int, ...]) -> Key:
        """The cell, as the cell of the op that computed it: inputs of an inside are the operands
        outside, and a composite's output is the result inside."""
        at = (frame.number, place)
        if at not in self._homes:
            self._homes[at] = self._home(frame, place)
        return Key(*self._homes[at], index)

    def _home(self, frame: Frame, place: int) -> tuple[int, int]:
        while True:
            if place in frame.operands:
                assert frame.outside is not None
                frame, place = frame.outside, frame.operands[place]
                continue
            step = frame.steps[place]
            op = step.node.op
            if op.fed or op.explain is not None or place in frame.trace.recording.patched:
                return frame.number, place
            inside = self.inside(frame, step)
            if isinstance(inside, str):
                return frame.number, place
            frame, place = inside, inside.results[place - step.start]

    # ------------------------------------------------------------ reading cells

    def value(self, key: Key) -> Any:
        """The recorded number of a cell; None where it was not kept."""
        tensor = self.frames[key.frame].value(key.place)
        return None if tensor is None else nested.at(tensor, key.index)

    def hidden(self, key: Key) -> bool:
        """Whether the cell is hidden by a mask."""
        mask = self.frames[key.frame].trace.recording.mask(key.place)
        return mask is not None and bool(nested.at(mask, key.index))

    def spec(self, key: Key) -> Spec:
        """Shape, axes and kind of the tensor that a cell is of."""
        return self.frames[key.frame].spec(key.place)

    def labels(self, spec: Spec) -> list[tuple[str, ...] | None]:
        return self.trace.labels_of(spec)

    def has_operands(self, key: Key) -> bool:
        """Whether a cell was computed from others, by an op that says how."""
        frame = self.frames[key.frame]
        step = frame.steps[key.place]
        explained = step.node.op.explain is not None and key.place not in frame.trace.recording.patched
        return bool(step.operands) and explained

    def bare(self, key: Key) -> Entry:
        """The cell without its expression, which takes time for a long one."""
        if key in self._entries:
            return self._entries[key]
        frame = self.frames[key.frame]
        node = frame.steps[key.place].node
        kind = "patched" if key.place in frame.trace.recording.patched else "fed" if node.op.fed else "computed"
        name = frame.tensor_name(key.place)
        return Entry(key, name, self.spec(key), node, kind, self.value(key), self.hidden(key))

    def entry(self, key: Key) -> Entry:
        """How the cell came about."""
        if key not in self._entries:
            self._entries[key] = self._make(key)
        return self._entries[key]

    def _make(self, key: Key) -> Entry:
        frame = self.frames[key.frame]
        step = frame.steps[key.place]
        op = step.node.op
        patched = key.place in frame.trace.recording.patched
        kind = "patched" if patched else "fed" if op.fed else "computed"
        entry = Entry(
            key,
            frame.tensor_name(key.place),
            self.spec(key),
            step.node,
            kind,
            self.value(key),
            self.hidden(key),
        )
        if op.fed:
            return entry
        if op.explain is None:
            inside = self.inside(frame, step)
            if isinstance(inside, Frame):  # patched: what its inside would have given
                entry.expression = cell = Cell(0, key.index)
                entry.sources[cell] = self._result(inside, key.place - step.start, key.index)
            elif not patched:
                entry.kind, entry.reason = "unknown", inside
            return entry
        more = {"port": key.place - step.start} if len(step.node.ports) > 1 else {}
        tree = op.told("explain", step.node.name, key.index, *step.specs, **step.node.attributes, **more)
        self._read(entry, tree, frame, step)
        if len(entry.sources) > MANY:
            self._sums.add(key[:2])
        return entry

    def _result(self, inside: Frame, port: int, index: tuple[int, ...]) -> Key:
        return Key(*self._home(inside, inside.results[port]), index)

    def _read(self, entry: Entry, tree: Expression, frame: Frame, step: PlanStep) -> None:
        """Enter an op's expression: its cells looked up, the branches not taken left out."""

        sources = entry.sources
        homes = self._operand_homes(frame, step)

        def locate(cell: Cell) -> Key:
            if cell not in sources:
                home, place, shape = homes[cell.slot]
                index: Any = cell.index
                if any(isinstance(i, Cell) for i in index):
                    index = tuple(
                        int(self.value(locate(i))) % size if isinstance(i, Cell) else i
                        for i, size in zip(index, shape, strict=True)
                    )
                sources[cell] = Key(home, place, index)
            return sources[cell]

        choosing = False
        for cell in cells_of(tree):
            for i in cell.index:
                if isinstance(i, Cell):
                    choosing = True
                    if self.value(locate(i)) is None:
                        entry.kind, entry.reason = "unknown", "the cell that chose where to read was not kept"
                        sources.clear()
                        return
            locate(cell)
        entry.expression = tree
        if not choosing and not any(part.function == "where" for part in applies(tree)):
            return
        branches: list[Branch] = []
        entry.expression = _taken(tree, lambda cell: self.number(locate(cell)), self.numbers, branches, {})
        entry.branches = tuple(branches)
        kept = dict.fromkeys(cells_of(entry.expression))
        for branch in branches:
            kept.update(dict.fromkeys(cells_of(branch.condition)))
        for cell in list(kept):
            kept.update((i, None) for i in cell.index if isinstance(i, Cell))
        entry.sources = {cell: sources[cell] for cell in kept}

    def _operand_homes(self, frame: Frame, step: PlanStep) -> list[tuple[int, int, tuple[int, ...]]]:
        """For each operand, the frame and place where its cells are computed, and its shape."""
        at = (frame.number, step.start)
        if at not in self._operands:
            found = []
            for place in step.operands:
                home = (
                    (0, 0, ()) if place is None else (*self.key(frame, place, ())[:2], frame.spec(place).shape)
                )
                found.append(home)
            self._operands[at] = found
        return self._operands[at]

    def number(self, key: Key) -> Any:
        """The number of a cell for an expression: an integer as a number of the run's type."""
        value = self.value(key)
        return self.numbers.lift(value) if type(value) is int else value

    def evaluate(self, entry: Entry, expression: Expression | None = None, done: dict | None = None) -> Any:
        """The value of an entry's expression, or of a part of it, from its source cells; None where
        one of them was not kept."""
        tree = entry.expression if expression is None else expression
        assert tree is not None
        if any(self.value(entry.sources[cell]) is None for cell in cells_of(tree)):
            return None
        return evaluate(tree, lambda cell: self.number(entry.sources[cell]), self.numbers, done)

    def origin(self, key: Key) -> Key:
        """The cell that a copy was taken from, through everything that only moves numbers."""
        if key[:2] in self._sums:
            return key
        entry = self.entry(key)
        while entry.value is not None:
            copied = entry.copied
            if copied is None:
                break
            entry = self.entry(entry.sources[copied])
        return entry.key


def cells_of(tree: Expression | None) -> Iterator[Cell]:
    """The cells that an expression reads, in the order in which it is written, each part once."""
    seen: set[int] = set()
    todo: list[Expression] = [] if tree is None else [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, Cell):
            yield part
        elif isinstance(part, Apply) and id(part) not in seen:
            seen.add(id(part))
            todo.extend(reversed(part.args))


def applies(tree: Expression | None) -> Iterator[Apply]:
    """The functions in an expression, outer ones first, each shared part once."""
    seen: set[int] = set()
    todo: list[Expression] = [] if tree is None else [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, Apply) and id(part) not in seen:
            seen.add(id(part))
            yield part
            todo.extend(reversed(part.args))


def _taken(
    tree: Expression,
    look: Callable[[Cell], Any],
    numbers: Any,
    branches: list[Branch],
    done: dict[int, Expression],
) -> Expression:
    """The expression without the branches of `where` that were not taken; what is shared stays so."""
    if not isinstance(tree, Apply):
        return tree
    if id(tree) in done:
        return done[id(tree)]
    if tree.function == "where":
        condition, first, second = tree.args
        if any(look(cell) is None for cell in cells_of(condition)):
            result: Expression = tree
        else:
            true = bool(evaluate(condition, look, numbers))
            branches.append(Branch(condition, true))
            result = _taken(first if true else second, look, numbers, branches, done)
    else:
        args = tuple(_taken(arg, look, numbers, branches, done) for arg in tree.args)
        same = all(a is b for a, b in zip(args, tree.args, strict=True))
        result = tree if same else Apply(tree.function, args, tree.name)
    done[id(tree)] = result
    return result


__all__ = ["Branch", "Derivation", "Entry", "Frame", "Key", "Literal", "applies", "cells_of"]
