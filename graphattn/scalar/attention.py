"""Self-attention of one head with its four projections, as a module on Values.

    x ─┬─ W_q ─ q ─┐
       ├─ W_k ─ k ─┼─ attention ─ W_o ─ out
       └─ W_v ─ v ─┘

A forward pass evaluates the dataflow graph of graphattn on Values at the primitive level: its
trace, with every intermediate Value by name, is kept as `trace` until the next one.

>>> import random
>>> attn = SelfAttention(embed_dim=4, rng=random.Random(0))
>>> x = [[Value(0.1) for _ in range(4)] for _ in range(3)]
>>> out = attn(x, causal=True)
>>> len(out), len(out[0])
(3, 4)
>>> attn.trace["weights"][1]
[Value(0.5000), Value(0.5000), Value(0.0000)]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..core.errors import GraphError
from ..core.graph import Graph, Tensor
from ..core.run import run
from ..core.trace import Trace
from . import cells
from .module import Linear, Module, _need_count
from .record import VALUE
from .value import Value

PROJECTIONS = ("W_q", "W_k", "W_v", "W_o")


class SelfAttention(Module):
    """out = W_o(softmax(q kᵀ / √embed_dim, masked) v), q = W_q(x), k = W_k(x), v = W_v(x).

    W_q, W_k, W_v, W_o are `Linear(embed_dim, embed_dim)`, drawn in this order from the global
    `random` or from `rng`. `trace` is the trace of the last forward pass (None before).
    """

    def __init__(self, embed_dim: int, rng: Any = None) -> None:
        super().__init__()
        _need_count("embed_dim", embed_dim)
        self.embed_dim = embed_dim
        self.W_q = Linear(embed_dim, embed_dim, rng=rng)
        self.W_k = Linear(embed_dim, embed_dim, rng=rng)
        self.W_v = Linear(embed_dim, embed_dim, rng=rng)
        self.W_o = Linear(embed_dim, embed_dim, rng=rng)
        self.trace: Trace | None = None

    def forward(self, x: Sequence[Sequence[Value | float]], causal: bool = True) -> list[list[Value]]:
        """x (n, embed_dim) → (n, embed_dim); with `causal`, position i sees positions 0 to i.

        Floats may stand in x where Values are expected. What is hidden has a weight of exactly 0,
        and no gradient reaches its score.
        """
        self.trace = None  # what it holds can go before more is made
        feeds = {"x": cells.read(x, "x", 2, self.embed_dim, "the embed_dim of this SelfAttention")}
        for name in PROJECTIONS:
            feeds.update(self._projection(name))
        graph = self.graph(len(feeds["x"]), causal)
        self.trace = run(graph, feeds, numbers=VALUE, allow_nonfinite=True)
        return cells.matrix(self.trace["out"])

    def graph(self, n: int, causal: bool = True) -> Graph:
        """The dataflow graph of a forward pass on n positions."""
        if not isinstance(causal, bool):
            raise GraphError(f"causal is {causal!r}; expected True or False")
        _need_count("n", n)
        biased = tuple(getattr(self, name).bias is not None for name in PROJECTIONS)
        return _graph(n, self.embed_dim, causal, biased)

    def _projection(self, name: str) -> dict[str, Any]:
        """Weight and bias of one projection, as the graph is fed with them."""
        linear, width = getattr(self, name), self.embed_dim
        weight = cells.read(linear.weight, f"{name}.weight", 2, width, "the embed_dim")
        if len(weight) != width:
            raise GraphError(f"{name}.weight has {len(weight)} rows; expected {width}, the embed_dim")
        if linear.bias is None:
            return {name: weight}
        return {
            name: weight,
            f"b{name[1:]}": cells.read(linear.bias, f"{name}.bias", 1, width, "the embed_dim"),
        }

    def __getstate__(self) -> dict[str, Any]:
        """A copy, or what is pickled, has the parameters and no trace."""
        return {**vars(self), "trace": None}

    def __repr__(self) -> str:
        return f"SelfAttention({self.embed_dim})"


@lru_cache(maxsize=64)
def _graph(n: int, d: int, causal: bool, biased: tuple[bool, ...]) -> Graph:
    graph = Graph("self_attention", "self-attention, causal" if causal else "self-attention")
    x = graph.input("x", (n, d), ("token", "feature"))
    with_bias = dict(zip("qkvo", biased, strict=True))

    def project(tensor: Tensor, part: str, name: str, title: str) -> Tensor:
        weight = graph.parameter(f"W_{part}", (d, d), ("feature", "feature"))
        bias = graph.parameter(f"b_{part}", (d,), ("feature",)) if with_bias[part] else None
        return graph.linear(tensor, weight, bias, name=name, title=title)

    q, k, v = (project(x, part, part, part.upper()) for part in "qkv")
    mixed, weights = graph.attention(q, k, v, causal=causal, name="head", title="attention")
    graph.output(out=project(mixed, "o", "projected", "output projection"), weights=weights)
    return graph
