"""What a family builds with: a graph, the trained tensors that it takes, and the tokens that it reads.

    a.config                    the settings (`Config`)
    a.sizes                     sizes by letter: d features, f of the feed-forward, v the vocabulary, …
    a.parameter("tok", "embeddings.word_embeddings.weight", "v d")       a trained tensor
    a.parameters("layer0", "encoder.layer.0.", TABLE)                    those of a layer, by operand
    a.token_embedding(...), a.position_embedding(...)                    rows that the text uses
    a.encoder(x, "encoder.layer.{}.", TABLE, heads=12, …)                every layer

Sizes are written as letters in the order in which the file stores them, so a tensor of another shape than
config.json promises is refused by name. A parameter's axes are named after the same letters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.errors import GraphError
from ..core.graph import Graph, Tensor
from .checkpoint import Checkpoint
from .config import Config
from .tokens import Tokens
from .weight import Weight

AXES = {"v": "vocabulary", "p": "position", "t": "type"}
"""The axes that letters stand for; any other is features."""
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
"""What config.json calls them, and `feed_forward`. (gelu_fast rounds √(2/π) to ten digits: another.)"""
AROUND = 2
"""How many rows of a position table are taken before and after those that are used."""
TITLES = {"gamma": "γ", "beta": "β"}


@dataclass(frozen=True)
class Past:
    """Keys and values of the tokens before those that are read: how many, and (k, v) for each layer."""

    length: int
    layers: Sequence[tuple[Any, Any]]


class Assembly:
    """A model under construction (see the module's docstring). `layers` is how many layers are built, of
    all that config.json promises."""

    def __init__(
        self, graph: Graph, config: Config, weights: Checkpoint, tokens: Tokens, layers: int | None,
        past: Past | None = None,
    ) -> None:  # fmt: skip
        self.graph = graph
        self.config = config
        self.weights = weights
        self.tokens = tokens
        self.asked = layers
        self.start = 0 if past is None else past.length
        self.continues = False
        self._past = past
        self._tied = False
        self.layers = 0
        self.sizes: dict[str, int] = {}
        self.feeds: dict[str, Any] = {}
        self.labels: dict[str, Sequence[str]] = {"token": tokens.labels}

    @property
    def n(self) -> int:
        """The number of tokens."""
        return len(self.tokens.ids)

    @property
    def whole(self) -> bool:
        """Whether all layers are built, and so what stands after them."""
        return self.layers == self.sizes["layers"]

    def promise(self, layers: int, pattern: str, stored: int | None = None, **sizes: int) -> None:
        """The sizes that config.json promises. `pattern` is how the names of a layer's tensors begin, {}
        for its number; `stored` is how many such there are where layers share theirs."""
        self.sizes = {"layers": layers, **sizes}
        self.weights.need_layers(pattern, layers if stored is None else stored)
        self.layers = layers if self.asked is None else self.asked
        if not 0 <= self.layers <= layers:
            raise GraphError(f"layers is {self.layers}; expected 0 to {layers}, as many as the model has")

    def activation(self, key: str, default: str) -> str:
        """The feed-forwards' activation, as a setting names it."""
        return self.config.choice(key, ACTIVATIONS, default)

    # ------------------------------------------------------------ trained tensors

    def take(self, stored: str, letters: str) -> Weight:
        """A stored tensor, its shape checked against the sizes that the letters stand for."""
        return self.weights.take(stored, [self.sizes[letter] for letter in letters.split()])

    def parameter(self, name: str, stored: str | Weight, letters: str, title: str | None = None) -> Tensor:
        """A trained tensor in the graph: by its stored name, or cut from one already."""
        weight = self.take(stored, letters) if isinstance(stored, str) else stored
        axes = [AXES.get(letter, "feature") for letter in letters.split()]
        self.feeds[name] = weight.feed
        return self.graph.parameter(name, weight.shape, axes, title=title or name)

    def parameters(
        self, owner: str, prefix: str, table: Mapping[str, tuple[str, str] | tuple[Weight, str]]
    ) -> dict[str, Tensor]:
        """Parameters by the operands of a layer. The table says for each where it is stored below the
        prefix, and its letters; or gives the tensor itself."""
        return {
            operand: self.parameter(
                f"{owner}_{operand}",
                prefix + stored if isinstance(stored, str) else stored,
                letters,
                title=_title(operand),
            )
            for operand, (stored, letters) in table.items()
        }

    def encoder(
        self, x: Tensor, pattern: str, table: Mapping[str, tuple[str, str]], **attributes: Any
    ) -> Tensor:
        """x through every layer that is built, each an `encoder_layer` with parameters of its own."""
        for i in range(self.layers):
            weights = self.parameters(f"layer{i}", pattern.format(i), table)
            x = self.layer(i, x, **weights, **attributes)
        return x

    def layer(self, i: int, x: Tensor, **given: Any) -> Tensor:
        """Layer number i as one node; a causal one goes on from earlier tokens, where there are any."""
        past = self._past_of(i) if given.get("causal") else {}
        return self.graph.encoder_layer(x, **given, **past, name=f"layer{i}", title=f"Layer {i}")

    # ------------------------------------------------------------ what models begin with

    def token_embedding(self, stored: str, letters: str = "v d", tied: bool = False) -> Tensor:
        """The rows of the token table that the text uses, picked by id; all of them where the table is `tied`
        to the head, and that is built."""
        table = self.take(stored, letters)
        ids = self.tokens.ids
        self._tied = tied
        if not (tied and self.whole):
            used = sorted(set(ids))
            table = table.rows(used)
            ids = tuple(map(used.index, ids))
            names = dict(zip(self.tokens.ids, self.tokens.labels, strict=True))
            self.labels["vocabulary"] = [names[token] for token in used]
        places = self.graph.input("ids", (self.n,), ("token",), kind="int", title="token ids")
        self.feeds["ids"] = list(ids)
        return self._embedding("token", table, letters, places)

    def position_embedding(self, stored: str, letters: str = "p d", start: int = 0) -> Tensor:
        """The rows of the position table from `start` on, earlier tokens passed over. A few rows before and
        after them are taken too: those of who counts otherwise."""
        table = self.take(stored, letters)
        self.need_length(table.shape[0] - start)
        start += self.start
        first, end = max(start - AROUND, 0), min(start + self.n + AROUND, table.shape[0])
        places = tuple(range(start - first, start - first + self.n))
        positions = self.graph.constant(places, axes=("token",), name="positions")
        return self._embedding("position", table.block(first, end), letters, positions)

    def type_embedding(self, stored: str, letters: str = "t d") -> Tensor:
        """The row of the first type (sentence A) for every token."""
        places = self.graph.constant((0,) * self.n, axes=("token",), name="types")
        return self._embedding("type", self.take(stored, letters), letters, places)

    def _embedding(self, kind: str, table: Weight, letters: str, places: Tensor) -> Tensor:
        rows = self.parameter(f"{kind}_table", table, letters, title=f"{kind} table")
        return self.graph.embedding(rows, places, name=f"{kind}_embedding", title=f"{kind} embedding")

    def sum(self, *parts: Tensor, name: str, title: str | None = None) -> Tensor:
        """The sum of what a token begins with."""
        total = parts[0]
        for part in parts[1:-1]:
            total = self.graph.add(total, part)
        return self.graph.add(total, parts[-1], name=name, title=title) if len(parts) > 1 else total

    def layernorm(self, x: Tensor, name: str, stored: str, eps: float, letters: str = "d") -> Tensor:
        """LayerNorm with the gain and bias that are stored under that name."""
        gamma = self.parameter(f"{name}_gamma", f"{stored}.weight", letters, "γ")
        beta = self.parameter(f"{name}_beta", f"{stored}.bias", letters, "β")
        return self.graph.layernorm(x, gamma, beta, eps=eps, name=name, title="LayerNorm")

    def projection(self, x: Tensor, name: str, stored: str, letters: str) -> Tensor:
        """x Wᵀ + b with the tensors that are stored under that name."""
        w = self.parameter(f"{name}_w", f"{stored}.weight", letters, "W")
        b = self.parameter(f"{name}_b", f"{stored}.bias", letters.split()[0], "b")
        return self.graph.linear(x, w, b, name=name, title="projection")

    def refuse_token(self, token: int, what: str) -> None:
        """Refuse a text in which a token stands that the family treats in a way of its own."""
        if token in self.tokens.ids:
            place = self.tokens.ids.index(token)
            raise GraphError(f"token {place} is {what} (id {token}); expected a text without it")

    def head(self, letters: str, stored: str = "lm_head.weight") -> Tensor:
        """The matrix that gives the logits: the token table where the two are tied (then the head need not
        be stored, and what is stored there is a copy), or else a tensor of its own."""
        if not self._tied:
            return self.parameter("head", stored, letters, "head")
        self.weights.ignore(re.escape(stored))
        return self.graph.tensor("token_table")

    def _past_of(self, i: int) -> dict[str, Any]:
        """Keys and values of earlier tokens for layer i, where there are any, and how many."""
        self.continues = True
        if self._past is None:
            return {}
        found: dict[str, Any] = {"offset": self.start}
        for name, value in zip(("past_k", "past_v"), self._past.layers[i], strict=True):
            full = f"layer{i}_{name}"
            found[name] = self.graph.input(full, (self.start, len(value[0])), ("token", "feature"))
            self.feeds[full] = value
        return found

    def need_length(self, most: int) -> None:
        """Refuse a text that is longer than the model was made for."""
        if self.start + self.n > most:
            raise GraphError(f"the text has {self.start + self.n} tokens; expected at most {most:,}")

    def next_token(self, x: Tensor, table: Tensor, bias: Tensor | None = None, cap: Any = None) -> Tensor:
        """Logits, token × vocabulary: how much each word of the vocabulary comes next."""
        if self.tokens.vocabulary:
            self.labels["vocabulary"] = self.tokens.vocabulary
        if cap is None:
            logits = self.graph.linear(x, table, bias, name="logits", title="logits")
        else:
            plain = self.graph.linear(x, table, bias, name="uncapped", title="logits")
            logits = self.graph.softcap(plain, cap=cap, name="logits", title="softcap")
        self.graph.output(logits=logits)
        return logits


def _title(operand: str) -> str:
    kind, _, which = operand.partition("_")
    return f"{kind.upper() if kind == 'w' else TITLES.get(kind, kind)}_{which}" if which else kind
