"""Graphs that come with graphattn, by name: `attention`, `multi-head`, `block`, `encoder`.

    specimen(name, n=4, d=8, heads=None, causal=False, projections=None, seed=0) -> Specimen

Feeds are drawn from `random.Random(seed)` and rounded to a few decimals, so that what a dump shows
is exactly what was fed, and a reader can follow with a pocket calculator.

>>> specimen("block", n=3, d=4).graph
<graph 'block': 8 nodes, 5 fed>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isqrt, sqrt
from random import Random
from typing import Any

from .core import nested
from .core.axes import Spec
from .core.errors import GraphError, suggest
from .core.graph import Graph, Tensor
from .core.limits import ANOTHER, most_cells, need_cells, raised
from .core.op import find
from .core.specimen import Specimen

CELL_LIMIT = 2**22
"""The most numbers that are drawn for one input."""


def attention(n: int, d: int, heads: int, causal: bool, projections: bool) -> Graph:
    """softmax(Q Kᵀ / √d) V of three inputs (n, d)."""
    if heads != 1:
        raise GraphError(
            f"the built-in graph 'attention' has 1 head, not {heads}; expected multi-head for more"
        )
    graph = Graph("attention", _title("attention: softmax(Q Kᵀ / √dₖ) V", causal))
    if projections:
        x = graph.input("X", (n, d), ("token", "feature"))
        q, k, v = (graph.linear(x, _matrix(graph, p, d), name=p, title=p.upper()) for p in "qkv")
    else:
        q, k, v = (graph.input(p, (n, d), ("token", "feature")) for p in "QKV")
    out, weights = _open(graph, "attention", {"q": q, "k": k, "v": v}, causal=causal)
    graph.output(out=out, weights=weights)
    return graph


def multi_head(n: int, d: int, heads: int, causal: bool, projections: bool) -> Graph:
    """concat(attention per head) of X (n, d), projected, or of Q, K, V themselves."""
    graph = Graph("multi_head", _title(f"multi-head attention, {_heads(heads)}", causal))
    if projections:
        x = graph.input("X", (n, d), ("token", "feature"))
        operands = {"q": x, "k": x, "v": x, **{f"w_{p}": _matrix(graph, p, d) for p in "qkvo"}}
    else:
        operands = {p.lower(): graph.input(p, (n, d), ("token", "feature")) for p in "QKV"}
    graph.output(Y=_open(graph, "multi_head", operands, heads=heads, causal=causal))
    return graph


def block(n: int, d: int, heads: int, causal: bool, projections: bool) -> Graph:
    """X + multi_head(LayerNorm(X)) of X (n, d)."""
    graph = Graph("block", _title(f"pre-LN self-attention: X + multi_head(LN(X)), {_heads(heads)}", causal))
    operands = {"x": graph.input("X", (n, d), ("token", "feature"))}
    if projections:
        operands |= {f"w_{p}": _matrix(graph, p, d) for p in "qkvo"}
    graph.output(Y=_open(graph, "block", operands, heads=heads, causal=causal))
    return graph


def encoder(n: int, d: int, heads: int, causal: bool, projections: bool) -> Graph:
    """A pre-LN encoder layer with all its parameters: attention, then feed-forward of width 4 d."""
    text = f"pre-LN encoder layer: attention, then feed-forward, {_heads(heads)}"
    graph = Graph("encoder", _title(text, causal))
    operands = {"x": graph.input("X", (n, d), ("token", "feature"))}
    if projections:
        operands |= {f"w_{p}": _matrix(graph, p, d) for p in "qkvo"}
    sizes = {"w_in": (4 * d, d), "b_in": (4 * d,), "w_out": (d, 4 * d), "b_out": (d,)}
    sizes |= dict.fromkeys(("gamma_1", "beta_1", "gamma_2", "beta_2"), (d,))
    operands |= {name: graph.parameter(name, size) for name, size in sizes.items()}
    graph.output(Y=_open(graph, "encoder_layer", operands, heads=heads, causal=causal))
    return graph


def _open(graph: Graph, name: str, operands: Mapping[str, Tensor], **attributes: Any) -> Any:
    """What an op is made of, built at the top level, so that names are short: `head0.weights`."""
    op = find(name)
    assert op.expand is not None
    given = [operands.get(p.name) for p in op.operands]
    return op.expand(graph, *given, **{**op.defaults, **attributes})


def _title(text: str, causal: bool) -> str:
    return f"{text}, causal" if causal else text


def _heads(count: int) -> str:
    return "1 head" if count == 1 else f"{count} heads"


def _matrix(graph: Graph, part: str, d: int) -> Tensor:
    return graph.parameter(f"w_{part}", (d, d), ("feature", "feature"), title=f"W_{part}")


GRAPHS: Mapping[str, Callable[[int, int, int, bool, bool], Graph]] = {
    "attention": attention,
    "multi-head": multi_head,
    "block": block,
    "encoder": encoder,
}


def specimen(
    name: str,
    n: int = 4,
    d: int = 8,
    heads: int | None = None,
    causal: bool = False,
    projections: bool | None = None,
    seed: int = 0,
) -> Specimen:
    """A built-in graph of n tokens and d features (`built`), with random feeds."""
    graph = built(name, n, d, heads, causal, projections)
    feeds = random_feeds(graph, seed)
    return Specimen(graph, feeds, drawn=frozenset(feeds))


def built(
    name: str, n: int, d: int, heads: int | None = None, causal: bool = False, projections: bool | None = None
) -> Graph:
    """A built-in graph of n tokens and d features.

    Unless given, attention has one head and takes Q, K, V as they are; the others have two heads,
    and project X to Q, K, V. Raises a `GraphError` for an unknown name, or sizes that do not fit.
    """
    if name not in GRAPHS:
        raise GraphError(
            f"there is no built-in graph {name!r}; expected one of {', '.join(GRAPHS)}{suggest(name, GRAPHS)}"
        )
    if max(n, d) ** 2 > raised(CELL_LIMIT):
        most = isqrt(raised(CELL_LIMIT))
        raise GraphError(f"n = {n}, d = {d} is too large; expected each to be at most {most} ({ANOTHER})")
    single = name == "attention"
    heads = (1 if single else 2) if heads is None else heads
    return GRAPHS[name](n, d, heads, causal, not single if projections is None else projections)


def random_feeds(graph: Graph, seed: int = 0) -> dict[str, Any]:
    """A value for every input and parameter of a graph, the same for the same seed.

    Numbers are normal, in a matrix of weights divided by √ of its last size; integers are 0 or 1,
    bools True in three of four.
    """
    random, limit = Random(seed), most_cells()
    for name, spec in graph.inputs.items():
        need_cells(f"input {name!r}", (spec,), limit)
    return {
        name: nested.build(spec.shape, _cell(random, spec, graph.node(name).op.drawn == "inside"))
        for name, spec in graph.inputs.items()
    }


def _cell(random: Random, spec: Spec, weights: bool) -> Callable[..., Any]:
    if spec.kind == "bool":
        return lambda *_: random.random() < 0.75
    if spec.kind == "int":
        return lambda *_: random.randrange(2)
    divisor = sqrt(max(spec.shape[-1], 1)) if weights and spec.rank > 1 else 1.0
    digits = 2 if divisor <= 4 else 4
    return lambda *_: round(random.gauss(0.0, 1.0) / divisor, digits) + 0.0  # never -0.0
