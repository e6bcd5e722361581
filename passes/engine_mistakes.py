"""How an autograd engine goes wrong, as people write them: what arrives at a tensor is not all summed up.

    for mistake in engine_mistakes(graph, of, wrt):
        mistake.phrase, mistake.tensors, mistake.graph()     the gradient graph with that mistake in it

The rules of the ops are right here; what is wrong is what the engine does with what they give. A cotangent is
overwritten where it should be added (micrograd's first version), one path is forgotten, a tensor is cut off
from the graph (`.detach()`, `.item()`), a shared tensor hands its cotangent on before all of it has arrived,
gradients are not set to zero between two calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from graphattn.core.graph import Graph, Ref
from graphattn.passes.gradient import differentiate


@dataclass(frozen=True)
class EngineMistake:
    """One wrong engine. `everywhere` tells what it does to all tensors from what it does to one."""

    name: str
    phrase: str
    """Goes on from "yours is this graph …"."""
    tensors: tuple[str, ...]
    everywhere: bool
    graph: Callable[[], Graph]


def engine_mistakes(graph: Graph, of: Sequence[str], wrt: Sequence[str]) -> Iterator[EngineMistake]:
    """Every wrong engine, those that go wrong everywhere first."""
    arrivals = _arrivals(graph, of, wrt)
    shared = [ref for ref, count in arrivals.items() if count > 1]
    names = tuple(graph.tensor_name(ref) for ref in shared)

    def made(arriving: Callable[[Ref, list[Ref]], list[Ref]]) -> Callable[[], Graph]:
        return lambda: differentiate(graph, of, wrt, arriving).graph

    if shared:
        yield EngineMistake(
            "overwritten", "with each cotangent overwritten by the last that arrives, not summed", names, True,
            made(lambda ref, found: found[-1:]),
        )  # fmt: skip
        yield EngineMistake(
            "first only", "with the first cotangent that arrives alone, not the sum", names, True,
            made(lambda ref, found: found[:1]),
        )  # fmt: skip
        yield EngineMistake(
            "too early", "with cotangents handed on before all has arrived, and again when it has", names, True,
            made(lambda ref, found: [x for i in range(len(found)) for x in found[: i + 1]]),
        )  # fmt: skip
    leaves = {graph.resolve(name) for name in wrt}
    yield EngineMistake(
        "not set to zero", "with the gradients of two calls added up, as if they were not set to zero",
        tuple(wrt), True, made(lambda ref, found: found * 2 if ref in leaves else found),
    )  # fmt: skip
    for ref in shared:
        name = graph.tensor_name(ref)
        for lost in range(arrivals[ref]):
            words = f"with path {lost} of {arrivals[ref]} that lead back to {name} dropped"
            yield EngineMistake(
                "path dropped", words, (name,), False,
                made(lambda at, found, r=ref, i=lost: found if at != r else found[:i] + found[i + 1 :]),
            )  # fmt: skip
    for ref in arrivals:
        if ref not in leaves:
            name = graph.tensor_name(ref)
            yield EngineMistake(
                "detached", f"with {name} detached from the graph: nothing goes back through it", (name,),
                False, made(lambda at, found, ref=ref: [] if at == ref else found),
            )  # fmt: skip


def _arrivals(graph: Graph, of: Sequence[str], wrt: Sequence[str]) -> dict[Ref, int]:
    """How many cotangents arrive at each tensor."""
    counts: dict[Ref, int] = {}

    def count(ref: Ref, found: list[Ref]) -> list[Ref]:
        if found and ref.node in graph.nodes:
            counts[ref] = len(found)
        return found

    differentiate(graph, of, wrt, count)
    return counts
