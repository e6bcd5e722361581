"""One way in which a graph may have been written wrong: its name, what it costs to believe, the rewrite.

A generator is a function `generator(intended, group)` that yields variants for the nodes of one role. Most
say what may be done to one node, as `Option`s; `each` does it to all nodes of the role.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

from ...core.axes import Spec
from ...core.graph import Node, Ref
from ...core.interpreter import padded
from .draft import Draft, Rewrite
from .edit import Edit, made
from .intended import Intended
from .structure.groups import Group, inside, spoken

LAYER = 0.3
"""How much later one of several layers is looked at than all of them."""


@dataclass(eq=False)
class Variant:
    """`phrase` goes on from "yours is this graph …". A low price is a likely mistake, plainly told."""

    kind: str
    """The generator that it comes from, or the name under which an op declares it."""
    words: str | Callable[[], str] = field(repr=False)
    """The phrase, or what makes it: of thousands of variants few are told."""
    price: float
    nodes: Group
    """The nodes of the intended graph that it is about."""
    make: Callable[[], Rewrite] = field(repr=False)
    sentence: str = ""
    """What is wrong and how to mend it, in words of its own, where there are some."""
    declared: bool = False
    """Whether an op declares it: beside its words stands the line of code that the step should be."""
    guise: str = ""
    """In which guise the graph is written; goes before its own words."""
    number: float | None = None
    """Where the search for a number begins that it leaves open; its words say {number}."""
    between: tuple[float, float] = (-math.inf, math.inf)
    """The least and the largest that this number may be."""
    shown: Sequence[Sequence[bool]] | None = None
    """The cells that a mask is meant to show, where it leaves open which it shows; its words say {number}."""
    later: float = 0.0
    """How much later it is looked at than others of its price."""
    throughout: bool = False
    """Whether it changes tensors all through the graph, so that it is no change beside another."""
    intended: Intended = field(init=False, repr=False)
    """The graph that it is a variant of; `variants` enters it."""

    @property
    def rank(self) -> float:
        """By which variants are looked at: the lower, the earlier."""
        return self.price + self.later

    @property
    def is_open(self) -> bool:
        """Whether it leaves a number or a mask open."""
        return self.number is not None or self.shown is not None

    @cached_property
    def phrase(self) -> str:
        words = self.words if isinstance(self.words, str) else self.words()
        words = words if self.number is None else words.replace("{number}", f"{self.number:g}")
        return f"{self.guise} and {words}" if self.guise else words

    def at(self, number: Any, told: str) -> Variant:
        """The same with the number, or the mask, that it leaves open."""
        words = self.words if isinstance(self.words, str) else self.words()
        rewrite, words = self.rewrite.at(number), words.replace("{number}", told)
        words = words.replace("· 1/", "÷ ").replace("times 1/", "divided by ")
        found = replace(self, words=words, make=lambda: rewrite, number=None, shown=None)
        found.intended = self.intended
        return found

    @cached_property
    def rewrite(self) -> Rewrite:
        return self.make()

    @property
    def name(self) -> str:
        return f"{self.kind} {spoken(self.nodes)}"


class Option(NamedTuple):
    """What may be done to one node. `{the}` in the phrase stands for the node, `{bare}` for it without what
    the op tells of the call, `{name}` for its name alone, `{0}` for its first operand, `{new}` for a tensor
    that comes in. `{number}` is one that is left open, looked for from `number` on."""

    key: object
    phrase: str
    price: float
    apply: Callable[[Draft, Node], None]
    new: Ref | None = None
    number: float | None = None
    shown: Sequence[Sequence[bool]] | None = None
    """As that of a `Variant`."""
    several: bool = False
    """Whether it is for several nodes: of one alone it is another option."""
    later: float = 0.0
    """How much later it is looked at where it is done to several nodes: one layer's tensor for all layers."""
    mend: str = ""
    """How to mend it, where the line of code that the step should be does not say it."""


Options = Callable[[Intended, Node], Iterable[Option]]
Generator = Callable[[Intended, Group], Iterator[Variant]]


def each(kind: str, options: Options, intended: Intended, group: Group) -> Iterator[Variant]:
    """What may be done to every node of a group alike."""
    first, *others = tables = [_table(options, intended, intended.nodes[name]) for name in group]
    for key, (option, _) in first.items():
        if not others and option.several:
            continue
        if not others or all(key in table for table in others):
            alike = [table[key] for table in tables]
            words = partial(_phrase, intended, group, [option for option, _ in alike])
            make = partial(made, [edit for _, edit in alike])
            later = option.later if others else 0.0
            yield Variant(
                kind, words, option.price, group, make, option.mend,
                number=option.number, shown=option.shown, later=later,
            )  # fmt: skip


def _table(options: Options, intended: Intended, node: Node) -> dict[object, tuple[Option, Edit]]:
    """What may be done to one node, by key: asked and made once, though the node is in several groups."""
    key = (options, node.name)
    if key not in intended.options:
        intended.options[key] = {
            option.key: (option, Edit(intended, node, option.apply)) for option in options(intended, node)
        }
    return intended.options[key]


def _phrase(intended: Intended, group: Group, alike: Sequence[Option]) -> str:
    """The phrase of an option for each node of a group, filled in (see `Option`)."""
    words, new = alike[0].phrase, [option.new for option in alike]
    words = words.replace("{the}", the(intended, group)).replace("{bare}", bare_the(intended, group))
    words = words.replace("without every ", "without any ")
    words = SLOT.sub(
        lambda found: _operand(intended, group, int(found[1])), words.replace("{name}", spoken(group))
    )
    return words.replace("{new}", tensors(intended, new)) if None not in new else words


LONG = 60
"""Operands of a kind of step are named in so many letters, or called what the op calls them."""
BLANKS = re.compile(r"\s{2,}")
SLOT = re.compile(r"\{(\d+)\}")


def _operand(intended: Intended, group: Group, slot: int) -> str:
    """An operand of the nodes of a group: the tensors, or what it is called in a kind of step."""
    nodes = [intended.nodes[name] for name in group]
    refs = [node.operands[slot] if slot < len(node.operands) else None for node in nodes]
    told = tensors(intended, refs)
    if None in refs or (group in intended.kinds and len(told) > LONG):
        return nodes[0].op.operand_name(slot)
    return told


def tensors(intended: Intended, refs: Iterable[Ref | None]) -> str:
    """The names of tensors, each once, as one."""
    return spoken(tuple(dict.fromkeys(tensor(intended, ref) for ref in refs if ref is not None)))


def one(intended: Intended, act: Callable[[Draft], None]) -> Callable[[], Rewrite]:
    """The maker of a rewrite that is not made node by node."""

    def make() -> Rewrite:
        draft = Draft(intended)
        act(draft)
        return draft.done()

    return make


def the(intended: Intended, group: Group) -> str:
    """How a sentence calls a step: `the scale head*.scaled (÷ √6)`."""
    told = bare_the(intended, group)
    notes = {noted(intended, intended.nodes[name]) for name in group}
    (note,) = notes if len(notes) == 1 and not intended.kinds.get(group) else ("",)
    note = BLANKS.sub(", ", note)  # as many as a diagram has between two notes
    return f"{told} ({note})" if note else told


def bare_the(intended: Intended, group: Group) -> str:
    """The same without what the op tells of the call: `the scale head*.scaled`, and for a step of a composite
    `the divide mean.quotient of the RMSNorm norm`."""
    if intended.kinds.get(group):
        return intended.kinds[group]
    nodes = [intended.nodes[name] for name in group]
    if nodes[0].op.fed:
        return spoken(group)
    titles = dict.fromkeys(_title(node) for node in nodes)
    title = next(iter(titles)) if len(titles) == 1 else "step"
    owners = [inside(intended.graph, node) for node in nodes]
    first = owners[0]
    if first is None or any(owner is None or owner[::2] != first[::2] for owner in owners):
        name = spoken(group)
        return f"the {name}" if name == title else f"the {title} {name}"
    names = spoken(tuple(dict.fromkeys(owner[1] for owner in owners if owner is not None)))
    return f"the {title} {first[2]} of the {first[0]} {names}"


def _title(node: Node) -> str:
    """What kind of step it is: what makes bools makes a mask."""
    return "mask" if node.outputs[0].kind == "bool" else node.op.title


def noted(intended: Intended, node: Node, changed: Mapping[str, object] | None = None) -> str:
    """How the op itself tells of a call, with some attributes changed if any are given."""
    if node.op.note is None:
        return ""
    specs = padded(node.op, intended.graph.operand_specs(node.operands))
    return node.op.told("note", node.name, *specs, **{**node.attributes, **(changed or {})})


def through(intended: Intended, node: Node) -> list[int]:
    """The slots whose operand has the shape and kind of the one result."""
    if len(node.ports) != 1:
        return []
    spec = node.outputs[0]
    return [s for s, r in enumerate(node.operands) if r is not None and like(intended.spec(r), spec)]


def maker(intended: Intended, ref: Ref) -> str:
    """What made a tensor, but for steps that only lay it out otherwise."""
    node = intended.nodes[ref.node]
    while node.op.moves and len(node.operands) == 1 and node.operands[0] is not None:
        node = intended.nodes[node.operands[0].node]
    return node.name


def of_parameters(intended: Intended, node: Node) -> bool:
    """Whether a step is a parameter, or takes known parts of parameters: learned positions."""
    makers = [intended.nodes[ref.node] for ref in node.operands if ref is not None] or [node]
    fed = [maker.op for maker in makers if not intended.is_known(maker.name)]
    return bool(fed) and all(op.fed and op.drawn == "inside" for op in fed)


def like(a: Spec, b: Spec) -> bool:
    """Whether two tensors have one shape and kind; names of axes do not count."""
    return a.shape == b.shape and a.kind == b.kind


def tensor(intended: Intended, ref: Ref) -> str:
    return intended.graph.tensor_name(ref)
