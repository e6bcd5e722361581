"""Models as programs: a Llama written by hand, and those of transformers where they are installed."""

import pytest
from needed import torch
from steps import worst
from test_torch_modules import TOLERANCE, seeded

from graphattn import GraphError
from graphattn import torch as programs

nn = torch.nn
F = nn.functional
IDS = torch.tensor([[7, 3, 9, 1, 4]])


class Llama(nn.Module):
    """RMSNorm, rotary positions, fewer key heads, SwiGLU, as they are written by hand."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(13, 16)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.norm, self.head = nn.RMSNorm(16, eps=1e-6), nn.Linear(16, 13, bias=False)
        self.register_buffer("speeds", 10000.0 ** (-torch.arange(0, 4, 2) / 4))

    def forward(self, ids):
        angles = torch.outer(torch.arange(ids.shape[1]).to(self.speeds.dtype), self.speeds)
        turn = torch.cat([angles, angles], -1)
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x, turn.cos(), turn.sin())
        return {"logits": self.head(self.norm(x)), "last": x[:, -1]}


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.o = nn.Linear(16, 16, bias=False), nn.Linear(16, 16, bias=False)
        self.k, self.v = nn.Linear(16, 8, bias=False), nn.Linear(16, 8, bias=False)
        self.before, self.after = nn.RMSNorm(16), nn.RMSNorm(16)
        self.gate, self.up = nn.Linear(16, 24, bias=False), nn.Linear(16, 24, bias=False)
        self.down = nn.Linear(24, 16, bias=False)

    def forward(self, x, cos, sin):
        b, n, d = x.shape
        h = self.before(x)
        q, k, v = (part(h).view(b, n, -1, 4).transpose(1, 2) for part in (self.q, self.k, self.v))
        q, k = turned(q, cos, sin), turned(k, cos, sin)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(out.transpose(1, 2).reshape(b, n, d))
        h = self.after(x)
        x += self.down(F.silu(self.gate(h)) * self.up(h))
        return x


def turned(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_a_llama_by_hand(dtype):
    reading, trace, distance = worst(seeded(Llama, dtype), IDS)
    assert distance <= TOLERANCE[dtype]
    assert list(trace.graph.outputs) == ["logits", "last"]
    assert trace.spec("layers1.attention.weights").axes == ("batch", "head", "token", "token")
    assert trace.masked("layers1.attention.weights")[0][3][0] == [False, True, True, True, True]
    assert set(reading.specimen().graph.inputs) >= {"ids", "layers0.q.weight", "norm.weight"}


def test_short_floats():
    """Weights of bfloat16 are exact; what PyTorch rounds after each step is rounded by numbers="bfloat16"."""
    module = seeded(lambda: nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 4)), torch.bfloat16)
    x = torch.randn(3, 8, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    specimen = programs.traced(module, x)
    assert torch.equal(torch.tensor(specimen.feeds["part0.weight"]), module[0].weight.float())
    theirs = module(x).float()
    mine = torch.tensor(specimen.run()["output"])
    assert 0 < (mine - theirs).abs().max() < 0.05
    rounded = torch.tensor(specimen.run(numbers="bfloat16")["output"])
    assert torch.equal(rounded, rounded.to(torch.bfloat16).float())


def test_a_mask_that_changes_with_what_is_fed_stays_an_input():
    class Masked(nn.Module):
        def forward(self, q, mask):
            return F.scaled_dot_product_attention(q, q, q, attn_mask=~mask[:, None])

    q, mask = torch.randn(1, 2, 3, 4), torch.zeros(1, 3, 3, dtype=torch.bool).triu(1)
    mask[0, 0, 2] = True
    specimen = programs.traced(Masked().eval(), q, mask)
    assert specimen.graph.inputs["mask"].kind == "bool"
    assert not [note for note in specimen.graph.notes if "is constant here" in note]
    fed = {**specimen.feeds, "mask": torch.ones(1, 3, 3, dtype=torch.bool).triu(1).tolist()}
    other = specimen.graph.run(fed)
    causal = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    assert torch.allclose(torch.tensor(other["output"]), causal, atol=1e-6)


def test_a_mask_that_becomes_constant_is_told_of():
    class Padded(nn.Module):
        def forward(self, q, lengths):
            seen = torch.arange(3)[None] < lengths[:, None]
            return F.scaled_dot_product_attention(q, q, q, attn_mask=seen[:, None, None])

    specimen = programs.traced(Padded().eval(), torch.randn(2, 1, 3, 4), torch.tensor([2, 3]))
    assert "what follows from the values of lengths is constant here" in " ".join(specimen.graph.notes)
    assert set(specimen.graph.inputs) == {"q"}


def test_a_row_that_a_finite_mask_hides_whole_is_left_as_it_is():
    """−1e9 is added there, and is no mask of the graph: the weights are those of the scores."""

    class Added(nn.Module):
        def forward(self, scores):
            hidden = torch.tensor([[True, True], [False, True]])
            return torch.softmax(scores + torch.where(hidden, -1e9, 0.0), -1) @ scores

    scores = torch.randn(1, 2, 2, dtype=torch.float64)
    module = Added().eval()
    trace = programs.traced(module, scores).run()
    assert torch.allclose(torch.tensor(trace["output"], dtype=torch.float64), module(scores), atol=1e-12)
    assert not [node for node in trace.graph.nodes.values() if node.op.name == "mask"]


def test_what_writes_to_memory():
    class Writes(nn.Module):
        def forward(self, x):
            y = x * 2
            y += 1
            mask = torch.zeros(3, 3)
            mask[:, 2] = float("-inf")
            mask.masked_fill_(torch.eye(3) > 0, 0.0)
            return torch.softmax(y + mask, -1)

    class Shared(nn.Module):
        def forward(self, x):
            y = x * 2
            part = y[0]
            y += 1
            return part + y

    x = torch.randn(3, 3)
    module = Writes().eval()
    assert torch.allclose(torch.tensor(programs.traced(module, x).run()["output"]), module(x), atol=1e-6)
    with pytest.raises(GraphError, match=r"writes to memory that select shares, which is used later"):
        programs.traced(Shared().eval(), x)


# ---------------------------------------------------------------- transformers, where they are installed


def model_of(kind, attention):
    """A small random model, and the name of its sizes."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    sizes = {
        "Bert": {
            "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
            "max_position_embeddings": 16,
        },
        "GPT2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 16},
        "Llama": {
            "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "intermediate_size": 32, "max_position_embeddings": 16,
        },
    }  # fmt: skip
    tokens = {"bos_token_id": 1, "eos_token_id": 2}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=40, attn_implementation=attention, **tokens, **sizes[kind]
    )
    head = {"Bert": "BertModel", "GPT2": "GPT2LMHeadModel", "Llama": "LlamaForCausalLM"}[kind]
    return getattr(transformers, head)(config)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("kind", ["Bert", "GPT2", "Llama"])
def test_models_of_transformers(kind, attention, dtype):
    given = {"attention_mask": torch.tensor([[1, 1, 1, 1, 0]])} if kind == "Bert" else {"use_cache": False}
    module = seeded(lambda: model_of(kind, attention), dtype)
    reading, trace, distance = worst(module, input_ids=IDS, **given)
    rounds = kind == "Llama"  # its norms and angles are float32 in a model of float64 too, which is said
    assert distance <= TOLERANCE[torch.float32 if rounds else dtype]
    told = "numbers that become float32 in between" in " ".join(reading.specimen().graph.notes)
    assert told == (rounds and dtype == torch.float64)
    names = [name for name in trace.names if name.endswith("attention.weights")]
    assert len(names) == 2
    assert trace.spec(names[0]).axes == ("batch", "head", "token", "token")
