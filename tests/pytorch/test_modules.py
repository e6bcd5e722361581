"""Modules of torch.nn as graphs: every float that their programs compute, in float32 and in float64."""

import pytest
from needed import torch
from steps import worst

from graphattn import GraphError
from graphattn import torch as programs
from graphattn.insight.compare import compare

nn = torch.nn
TOLERANCE = {torch.float32: 5e-6, torch.float64: 1e-12}


class Plain(nn.Module):
    """A small GPT as it is written by hand: masks by a buffer of ones, one matrix for q, k and v."""

    def __init__(self, scale=True, inverted=False):
        super().__init__()
        self.tokens, self.places = nn.Embedding(11, 16), nn.Embedding(8, 16)
        self.blocks = nn.ModuleList(Block(scale, inverted) for _ in range(2))
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 11, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Block(nn.Module):
    def __init__(self, scale, inverted):
        super().__init__()
        self.before, self.attention, self.after = nn.LayerNorm(16), Attention(scale, inverted), nn.LayerNorm(16)
        self.feed = nn.Sequential(nn.Linear(16, 32), nn.GELU(approximate="tanh"), nn.Linear(32, 16))

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.feed(self.after(x))


class Attention(nn.Module):
    def __init__(self, scale, inverted):
        super().__init__()
        self.scale, self.inverted = scale, inverted
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.register_buffer("seen", torch.tril(torch.ones(8, 8)))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (part.view(b, n, 2, 8).transpose(1, 2) for part in self.qkv(x).split(16, dim=2))
        scores = q @ k.transpose(-2, -1)
        if self.scale:
            scores = scores * 8**-0.5
        seen = self.seen[:n, :n]
        hidden = seen.T == 0 if self.inverted else seen == 0
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, d))


IDS = torch.tensor([[3, 1, 4, 1, 5]])


def seeded(make, dtype=torch.float32, seed=0):
    torch.manual_seed(seed)
    return make().to(dtype).eval()


def tokens(n=5, d=16, batch=2, dtype=torch.float32, seed=1):
    return torch.randn(batch, n, d, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def encoder_layer(**options):
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, **options)


CASES = {
    "encoder": (
        lambda: nn.TransformerEncoder(encoder_layer(), 2, nn.LayerNorm(16), enable_nested_tensor=False),
        lambda t: ((tokens(dtype=t),), {}),
    ),
    "encoder, causal": (
        lambda: nn.TransformerEncoder(encoder_layer(activation="gelu"), 1, enable_nested_tensor=False),
        lambda t: (
            (tokens(dtype=t),),
            {"mask": nn.Transformer.generate_square_subsequent_mask(5, dtype=t), "is_causal": True},
        ),
    ),
    "encoder layer, padding": (
        lambda: encoder_layer(norm_first=True),
        lambda t: ((tokens(dtype=t),), {"src_key_padding_mask": torch.arange(5) > torch.tensor([[4], [2]])}),
    ),
    "encoder layer, float mask": (
        lambda: nn.TransformerEncoderLayer(16, 2, 32),
        lambda t: ((tokens(dtype=t),), {"src_mask": tokens(2, 2, 1, t)[0]}),
    ),
    "attention with weights": (
        lambda: nn.MultiheadAttention(16, 2, batch_first=True),
        lambda t: ((tokens(dtype=t), tokens(7, dtype=t), tokens(7, dtype=t, seed=3)), {}),
    ),
    "attention, each head": (
        lambda: nn.MultiheadAttention(16, 2, kdim=8, vdim=4, add_bias_kv=True, batch_first=True),
        lambda t: (
            (tokens(dtype=t), tokens(7, 8, dtype=t), tokens(7, 4, dtype=t)),
            {"average_attn_weights": False, "attn_mask": torch.ones(5, 7).tril(2) == 0},
        ),
    ),
    "decoder layer": (
        lambda: nn.TransformerDecoderLayer(16, 2, 32, batch_first=True),
        lambda t: (
            (tokens(dtype=t), tokens(4, dtype=t)),
            {"tgt_mask": nn.Transformer.generate_square_subsequent_mask(5, dtype=t), "tgt_is_causal": True},
        ),
    ),
    "a GPT by hand": (Plain, lambda t: ((IDS,), {})),
}  # fmt: skip


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_every_float_on_the_way(case, dtype):
    make, given = CASES[case]
    args, kwargs = given(dtype)
    _, _, distance = worst(seeded(make, dtype), *args, **kwargs)
    assert distance <= TOLERANCE[dtype]


def test_scopes_are_paths_and_weights_have_their_names():
    specimen = programs.traced(seeded(Plain), IDS)
    g = specimen.graph
    assert {"blocks0.attention.qkv", "blocks1.feed.part0", "norm"} <= set(g.scopes)
    assert {"blocks0.attention.qkv.weight", "blocks1.feed.part2.bias"} <= set(g.inputs)
    assert g.resolve("tokens.weight") == g.resolve("head.weight")  # one tensor under two names
    assert g.inputs["ids"].kind == "int"
    assert g.resolve("blocks0.attention.qkv").node == "blocks0.attention.qkv.linear"
    assert list(g.outputs) == ["output"]


def test_a_live_module_agrees_by_path():
    module = seeded(Plain)
    comparison = compare(programs.traced(module, IDS).run(), programs.record(module, IDS))
    assert comparison.agrees


FAULTS = {
    "no scale": ({"scale": False}, "without the scale blocks0.attention.mul", "the reference × 2.828427"),
    "mask turned": ({"inverted": True}, "masked_visible transposed as mask", "but for its mask"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_live_module_is_named(fault, monkeypatch):
    """From what modules give, by the graph run with mistakes; from every step, by the step itself."""
    monkeypatch.setattr("graphattn.insight.compare.explained.SECONDS", 60)  # the machine may be busy
    options, from_modules, from_steps = FAULTS[fault]
    right, wrong = seeded(Plain), seeded(lambda: Plain(**options))
    wrong.load_state_dict(right.state_dict())
    trace = programs.traced(right, IDS).run()
    by_modules = compare(trace, programs.record(wrong, IDS))
    assert not by_modules.agrees and by_modules.first.key == "blocks0.attention.out.linear"
    assert from_modules in " ".join(str(by_modules).split())
    by_steps = compare(trace, programs.record(torch.export.export(wrong, (IDS,))))
    assert not by_steps.agrees and by_steps.first.key == "blocks0.attention.masked"
    assert from_steps in " ".join(str(by_steps).split())


def test_training_mode_is_refused():
    with pytest.raises(GraphError, match="training mode"):
        programs.traced(Plain(), IDS)
