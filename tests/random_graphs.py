"""Random graphs for hypothesis: any registered ops, put together wherever their shapes allow it.

A recipe is a list of moves. Each move takes an op and one of its samples, for the attributes, and
tries it on tensors that are there already; where their shapes do not fit, it declares inputs like
the sample's operands. So every op can occur, an op that is registered tomorrow included.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from op_laws import kind_of, mapped

import graphattn.ops  # noqa: F401  (fills the registry)
from graphattn import Graph, GraphError
from graphattn.core import nested
from graphattn.core.op import OPS

LARGE = 150
TRIES = 6


@dataclass(frozen=True)
class Move:
    """One op, one of its samples, which earlier tensors to try (None = a new input), and a place."""

    op: str
    sample: int
    picks: tuple[int | None, ...]
    named: bool
    grouped: bool


@dataclass
class Case:
    """A random graph, and what a run of it is fed."""

    moves: list[Move]
    graph: Graph
    feeds: dict[str, Any]
    pool: list[Any] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Case({self.moves!r})"


@st.composite
def cases(draw: Any, most: int = 7) -> Case:
    """A random graph of up to `most` calls."""
    return build([draw(_moves()) for _ in range(draw(st.integers(1, most)))])


@st.composite
def _moves(draw: Any) -> Move:
    op = OPS[draw(st.sampled_from(sorted(name for name, op in OPS.items() if op.samples)))]
    pick = st.sampled_from((None, *range(30)))
    sample = draw(st.integers(0, len(op.samples) - 1))
    picks = tuple(draw(pick) for _ in op.samples[sample].operands)
    return Move(op.name, sample, picks, draw(st.booleans()), draw(st.integers(0, 4)) == 0)


def build(moves: list[Move], unrelated: bool = False) -> Case:
    """The graph of a recipe; with `unrelated`, nodes that it does not need stand between its own."""
    case = Case(moves, Graph("random"), {})
    for turn, move in enumerate(moves):
        if unrelated:
            _unrelated(case, turn)
        if move.grouped:
            with case.graph.scope(f"part{turn}", title=f"part {turn}"):
                _make(case, turn, move)
        else:
            _make(case, turn, move)
    used = [t for t in case.pool if case.graph.nodes[t.ref.node].operands] or case.pool
    case.graph.output(last=used[-1], first=used[0])
    return case


def _unrelated(case: Case, turn: int) -> None:
    x = case.graph.input(f"unrelated{turn}", (2, 2))
    case.feeds[x.name] = [[1.0, 2.0], [3.0, 4.0]]
    case.graph.softmax(case.graph.matmul(x, x, name=f"unrelated_product{turn}"))
    case.graph.relu(x)


def _make(case: Case, turn: int, move: Move) -> None:
    op, graph = OPS[move.op], case.graph
    sample = op.samples[move.sample]
    indexing = any(value is not None and kind_of(value) == "int" for value in sample.operands)
    name = f"n{turn}" if move.named else None
    made = None
    for shift in range(TRIES if case.pool and not indexing else 0):
        chosen = [
            None if value is None else _input(case, turn, slot, value)
            if pick is None else case.pool[(pick + shift) % len(case.pool)]
            for slot, (value, pick) in enumerate(zip(sample.operands, move.picks, strict=True))
        ]  # fmt: skip
        try:
            made = graph.apply(op, *chosen, **sample.attributes, name=name)
            break
        except GraphError:
            continue
    if made is None:
        operands = [
            None if value is None
            else _input(case, turn, slot, value)
            if indexing or (alike := _alike(case, pick, value)) is None else alike
            for slot, (value, pick) in enumerate(zip(sample.operands, move.picks, strict=True))
        ]  # fmt: skip
        made = graph.apply(op, *operands, **sample.attributes, name=name)
    results = made if isinstance(made, tuple) else (made,)
    case.pool += [result for result in results if result.spec.size <= LARGE]
    case.pool = case.pool or list(results)


def _alike(case: Case, pick: int | None, value: Any) -> Any:
    """An earlier tensor of the shape and kind of a sample's operand, or None."""
    alike = (nested.shape_of(value), kind_of(value))
    found = [tensor for tensor in case.pool if (tensor.shape, tensor.kind) == alike]
    return found[pick % len(found)] if found and pick is not None else None


def _input(case: Case, turn: int, slot: int, value: Any) -> Any:
    """The input that stands for a sample's operand, declared when it is first asked for."""
    inside = f"{case.graph.path}." if case.graph.path else ""
    name = f"x{turn}_{slot}"
    if inside + name in case.graph.nodes:
        return case.graph.tensor(inside + name)
    x = case.graph.input(name, nested.shape_of(value), kind=kind_of(value))
    dice = random.Random(name)

    def other(cell: Any) -> Any:
        return cell if isinstance(cell, (bool, int)) else dice.gauss(0.0, 1.5)

    case.feeds[x.name] = mapped(other, value)
    case.pool.append(x)
    return x
