"""The trained model that is shipped: two attention layers that continue a repeated string.

    ids ─ embedding ─┐
                     ⊕ x ─ layer0 ─ layer1 ─ norm ─ head ─ logits
    0, 1, … ─ embed ─┘

Attention only (no MLP), pre-LN, causal, 2 layers of 2 heads with 16 features each; the vocabulary
is a start mark and the letters a to z, the context 32 tokens. It was trained on random letters
that repeat, and learned the circuit of Elhage et al. (2021) and Olsson et al. (2022): a head of
layer 0 looks at the previous token, and the heads of layer 1 find the token that came after the
last occurrence of the present one ("induction heads").

>>> model = toy_induction("abcab")
>>> trace = model.run(targets=["logits"])
>>> last = trace["logits"][-1]
>>> VOCABULARY[max(range(27), key=last.__getitem__)]
'c'
"""

from __future__ import annotations

from importlib.resources import as_file, files
from string import ascii_lowercase
from typing import Any

from ..core.errors import GraphError
from ..core.graph import Graph
from ..core.specimen import Specimen
from ..core.tensor_file import read_tensors

TEXT = "qmxbzqmxbzqmxbz"
START = "^"
VOCABULARY = (START, *ascii_lowercase)
FILE = files("graphattn.weights") / "toy_induction.safetensors"
"""The weights, also where the package is in a zip."""
CONTEXT = 32
LAYERS = 2
HEADS = 2


def encode(text: str) -> list[int]:
    """Token ids of a text: 0 for the start, then 1 to 26 for a to z.

    Raises a `GraphError` where the text is empty, too long or not of these letters.
    """
    for place, letter in enumerate(text):
        if letter not in ascii_lowercase:
            raise GraphError(f"character {place} of the text is {letter!r}; expected letters from a to z")
    if not 0 < len(text) < CONTEXT:
        raise GraphError(f"the text has {len(text)} letters; expected 1 to {CONTEXT - 1}")
    return [VOCABULARY.index(letter) for letter in (START, *text)]


def toy_induction(text: str = TEXT) -> Specimen:
    """The model, ready to read a text.

    Tensors by name: `x` (the residual stream before layer 0), `layer0`, `layer1` (after each),
    `layer1.attention.head0.weights` and so on, `logits` (token × vocabulary).
    """
    ids = encode(text)
    with as_file(FILE) as path:
        tensors = read_tensors(path).tensors
    graph = Graph("toy_induction", "a trained model: 2 attention-only layers that continue a repeated string")
    feeds: dict[str, object] = {"ids": ids}

    def parameter(name: str, stored: str, *axes: str, title: str | None = None):
        feeds[name] = tensors[stored]
        shape = [len(tensors[stored])] + [len(row) for row in tensors[stored][:1] if len(axes) > 1]
        return graph.parameter(name, shape, axes, title=title)

    tokens = graph.input("ids", (len(ids),), ("token",), kind="int", title="token ids")
    tok = parameter("tok", "tok.weight", "vocabulary", "feature", title="token table")
    pos = parameter("pos", "pos.weight", "position", "feature", title="position table")
    places = graph.constant(tuple(range(len(ids))), axes=("token",), name="places", title="positions")
    x = graph.add(
        graph.embedding(tok, tokens, name="token_embedding", title="token embedding"),
        graph.embedding(pos, places, name="position_embedding", title="position embedding"),
        name="x",
        title="residual stream",
    )
    for i in range(LAYERS):
        stored = f"layers.{i}"
        weights: dict[str, Any] = {
            "gamma": parameter(f"gamma{i}", f"{stored}.ln.weight", "feature", title="γ"),
            "beta": parameter(f"beta{i}", f"{stored}.ln.bias", "feature", title="β"),
        }
        weights |= {
            f"w_{p}": parameter(f"w_{p}{i}", f"{stored}.{p}.weight", "feature", "feature", title=f"W_{p}")
            for p in "qkvo"
        }
        x = graph.block(
            x, **weights, heads=HEADS, causal=True, eps="1e-5",
            name=f"layer{i}", title=f"Layer {i}",
        )  # fmt: skip
    final = graph.layernorm(
        x,
        parameter("gamma", "ln_f.weight", "feature", title="γ"),
        parameter("beta", "ln_f.bias", "feature", title="β"),
        eps="1e-5",
        name="norm",
        title="final LayerNorm",
    )
    head = parameter("w_head", "head.weight", "vocabulary", "feature", title="W_head")
    logits = graph.linear(final, head, name="logits", title="logits")
    graph.output(logits=logits)
    recorded = {}
    if ids == tensors["ref.ids"]:
        for i in range(LAYERS):
            recorded[f"layer{i}"] = tensors[f"ref.L{i}.resid"]
            for h in range(HEADS):
                recorded[f"layer{i}.attention.head{h}.weights"] = tensors[f"ref.L{i}H{h}.weights"]
        recorded["logits"] = tensors["ref.logits"]
    return Specimen(graph, feeds, {"token": [START, *text], "vocabulary": VOCABULARY}, recorded)
