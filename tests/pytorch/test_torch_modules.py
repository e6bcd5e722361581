"""Modules of torch.nn as graphs: every float that their programs compute, in float32 and in float64."""

import pytest
from needed import torch
from steps import apart, worst

from graphattn import GraphError
from graphattn import torch as programs
from graphattn.insight.compare import compare
from graphattn.insight.heads import heads
from graphattn.passes.gradient import value_and_grad
from graphattn.torch.names import Paths

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


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_every_float_on_the_way(case, dtype):
    make, given = CASES[case]
    args, kwargs = given(dtype)
    _, _, distance = worst(seeded(make, dtype), *args, **kwargs)
    assert distance <= TOLERANCE[dtype]


@pytest.mark.slow
def test_scopes_are_paths_and_weights_have_their_names():
    specimen = programs.traced(seeded(Plain), IDS)
    g = specimen.graph
    assert {"blocks0.attention.qkv", "blocks1.feed.part0", "norm"} <= set(g.scopes)
    assert {"blocks0.attention.qkv.weight", "blocks1.feed.part2.bias"} <= set(g.inputs)
    assert g.resolve("tokens.weight") == g.resolve("head.weight")  # one tensor under two names
    assert g.inputs["ids"].kind == "int"
    assert g.resolve("blocks0.attention.qkv").node == "blocks0.attention.qkv.linear"
    assert list(g.outputs) == ["output"]


@pytest.mark.slow
def test_a_live_module_agrees_by_path():
    module = seeded(Plain)
    comparison = compare(programs.traced(module, IDS).run(), programs.record(module, IDS))
    assert comparison.agrees


FAULTS = {
    "no scale": ({"scale": False}, "without the scale blocks0.attention.attention.scaled", "× 2.828427"),
    "mask turned": ({"inverted": True}, "masked_visible transposed in the mask", "but for its mask"),
}


@pytest.mark.slow
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
    assert not by_steps.agrees and by_steps.first.key == "blocks0.attention.attention.masked"
    assert from_steps in " ".join(str(by_steps).split())


@pytest.mark.slow
def test_attention_is_known_as_such():
    """Written out, and called: heads, weights, masks, and names of axes."""
    by_hand = programs.traced(seeded(Plain), IDS)
    called = programs.traced(seeded(lambda: encoder_layer()), tokens())
    for specimen, name in ((by_hand, "blocks0.attention.attention"), (called, "self_attn.attention")):
        trace = specimen.run()
        assert trace.spec(f"{name}.weights").axes == ("batch", "head", "token", "token")
        assert {head.name.rpartition(".")[2] for head in heads(trace)} == {"head0", "head1"}
    trace = by_hand.run(labels={"token": list("abcde")})
    assert trace.masked("blocks0.attention.attention.weights")[0][0] == [
        [j > i for j in range(5)] for i in range(5)
    ]
    assert "Σ exp" in str(trace.why("blocks0.attention.attention.weights", 0, 1, "c", "b"))
    g = by_hand.graph
    assert g.inputs["ids"].axes == ("batch", "token")
    assert g.spec(g.resolve("blocks1")).axes == ("batch", "token", "feature")
    assert g.at("primitive").fused() == g.fused()


def test_axes_where_tokens_come_first():
    """(n, b, e), as nn.TransformerEncoderLayer has it by default."""
    layer = seeded(lambda: nn.TransformerEncoderLayer(16, 2, 32))
    assert programs.traced(layer, tokens()).graph.inputs["src"].axes[0] == "token"


@pytest.mark.slow
def test_gradients_are_those_of_autograd():
    module = seeded(Plain, torch.float64)
    specimen = programs.traced(module, IDS)
    weights = tokens(5, 11, 1, torch.float64)
    (module(IDS) * weights).sum().backward()
    wrt = [name for name in specimen.graph.inputs if name != "ids"]
    feeds = {**specimen.feeds, "d_output": weights.tolist()}
    _, found = value_and_grad(specimen.graph, feeds, of="output", wrt=wrt)
    paths = {".".join(filter(None, paths_of_module(module).stored(n))): p for n, p in module.named_parameters()}
    paths["head.weight"] = module.head.weight
    assert len(found) == len(wrt) == 28
    for name, mine in found.items():
        assert apart(torch.tensor(mine, dtype=torch.float64), paths[name].grad) < 1e-10, name


def paths_of_module(module):
    return Paths(name for name, part in module.named_modules() if not isinstance(part, nn.ModuleList))


def test_training_mode_is_refused():
    with pytest.raises(GraphError, match=r"^the module is in training mode"):
        programs.traced(Plain(), IDS)


@pytest.mark.parametrize(
    "part, matters",
    [(nn.GELU(), False), (nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), False), (nn.Dropout(0.5), True),
     (nn.Sequential(nn.RReLU()), True), (nn.BatchNorm1d(3), True), (nn.TransformerEncoderLayer(4, 1, 4), True)],
)  # fmt: skip
def test_a_part_in_training_mode_is_named_where_it_matters(part, matters):
    """What was put into a module after eval(): a new module is in training mode."""
    module = nn.Sequential(nn.Identity()).eval()
    module.append(part)
    if not matters:
        assert programs.record(module, torch.zeros(2, 4))
        return
    with pytest.raises(GraphError, match=r"^1(\.\w+)* \(\w+\) is in training mode; expected module\.eval\(\)"):
        programs.record(module, torch.zeros(2, 4))
