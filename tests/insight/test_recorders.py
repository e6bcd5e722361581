"""The recorders in docs/recorders.md write what compare reads: each is run where its library is installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from graphattn import Graph
from graphattn.insight.compare import compare

TEXT = (Path(__file__).parent.parent.parent / "docs" / "recorders.md").read_text(encoding="utf-8")
BLOCKS = {info.strip(): code for info, code in re.findall(r"^```([^\n]*)\n(.*?)^```", TEXT, re.M | re.S)}


def execute(info):
    names = {}
    exec(compile(BLOCKS[info], f"recorders.md ({info})", "exec"), names)
    return names


def attention_graph():
    """Self-attention of x (3, 4) with nothing projected, as the snippets compute it."""
    graph = Graph("self_attention")
    x = graph.input("x", (3, 4), ("token", "feature"))
    scaled = graph.scale(graph.matmul(x, x.T, name="scores"), sqrt=4, name="scaled")
    graph.output(out=graph.softmax(scaled, name="weights") @ x)
    return graph


def block_graph(n=5, d=8, heads=2):
    graph = Graph("block")
    x = graph.input("x", (n, d), ("token", "feature"))
    shapes = {"norm_weight": (d,), "norm_bias": (d,)}
    for p in "qkvo":
        shapes |= {f"{p}_weight": (d, d), f"{p}_bias": (d,)}
    given = [graph.parameter(name, shape) for name, shape in shapes.items()]
    graph.output(y=graph.block(x, None, *given, heads=heads, causal=True, name="block"))
    return graph


def torch_block(torch, scale=1.0, low=-1e9):
    """The same block as a module."""

    class Block(torch.nn.Module):
        def __init__(self, d=8, heads=2):
            super().__init__()
            self.d, self.heads = d, heads
            self.norm = torch.nn.LayerNorm(d)
            self.q, self.k, self.v, self.o = (torch.nn.Linear(d, d) for _ in range(4))
            self.register_buffer("hidden", torch.ones(5, 5).triu(1).bool())

        def forward(self, x):
            normed = self.norm(x)
            q, k, v = (
                p(normed).view(1, 5, self.heads, self.d // self.heads).transpose(1, 2)
                for p in (self.q, self.k, self.v)
            )
            scores = torch.matmul(q, k.transpose(-2, -1)) / (self.d // self.heads) ** 0.5 * scale
            weights = torch.softmax(scores.masked_fill(self.hidden, low), -1)
            out = torch.matmul(weights, v).transpose(1, 2).reshape(1, 5, self.d)
            return x + self.o(out)

    torch.manual_seed(0)
    model = Block()
    torch.nn.init.normal_(model.norm.weight)
    return model, torch.randn(1, 5, 8)


def test_numpy(tmp_path, monkeypatch):
    pytest.importorskip("numpy", reason="numpy is not installed")
    monkeypatch.chdir(tmp_path)
    execute("python numpy")
    comparison = compare(attention_graph(), tmp_path / "mine.npz")
    assert comparison.agrees and len(comparison.tensors) == 5
    assert comparison.precision.name == "float32"


def test_torch_hooks(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    names = execute("python torch hooks")
    model, x = torch_block(torch)
    tensors = names["record"](model, x)
    names["save"](tmp_path / "mine.json", tensors)
    comparison = compare(block_graph(), tmp_path / "mine.json")
    assert str(comparison).startswith("the same but for rounding to float32: ")
    assert comparison.alignment.yours_left == []


def test_torch_hooks_on_modules_that_give_several(tmp_path):
    """Inputs go by the names of `forward`; of a tuple or a dict the first tensor is kept."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    record = execute("python torch hooks")["record"]

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)

        def forward(self, hidden, mask):
            return {"out": self.attention(hidden, hidden, hidden, attn_mask=mask)[0], "none": None}

    hidden, mask = torch.randn(1, 3, 4), torch.zeros(3, 3)
    tensors = record(Model().eval(), hidden, mask)
    assert tensors["hidden"] == hidden.tolist() and tensors["mask"] == mask.tolist()
    assert tensors["attention"] == tensors["y"]


def test_torch_fx_s_own_limit():
    torch = pytest.importorskip("torch", reason="torch is not installed")

    class Model(torch.nn.Module):
        def forward(self, x):
            n = x.shape[1]
            return torch.ones(n, n) @ x

    with pytest.raises(TypeError, match="ones"):
        execute("python torch fx")["record_fx"](Model(), torch.zeros(1, 3, 4))


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_torch_fx(dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    names = execute("python torch fx")
    model, x = torch_block(torch, low=-65504.0 if dtype == "float16" else -1e9)
    tensors = names["record_fx"](model.to(getattr(torch, dtype)), x.to(getattr(torch, dtype)))
    comparison = compare(block_graph(), tensors)
    assert comparison.agrees, str(comparison)
    assert comparison.precision.name == dtype
    assert comparison.find("block.attention.head1.weights").pair.yours.name == "softmax[0, 1]"


def test_torch_fx_with_a_mistake():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    names = execute("python torch fx")
    model, x = torch_block(torch, scale=2.0)
    first = compare(block_graph(), names["record_fx"](model, x)).first
    assert first.comparison.name in ("block.attention.head0.scaled", "block.attention.head0.masked")
    assert "the reference × 2" in first.relations[0].text


@pytest.mark.slow
def test_jax():
    pytest.importorskip("jax", reason="jax is not installed")
    tensors = execute("python jax")["tensors"]
    comparison = compare(attention_graph(), tensors)
    assert comparison.agrees and len(comparison.tensors) == 5, str(comparison)


def test_c(tmp_path):
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("there is no gcc")
    main = """
    int main(void) {
        float x[3][4] = {{0.5f, -1.25f, 2.0f, 0.75f}, {1.5f, 1.0f, -3.0f, 0.25f}, {-0.5f, 0.1f, 0.4f, -1.0f}};
        float scores[3][3] = {{0}};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 4; k++)
                    scores[i][j] += x[i][k] * x[j][k];
        FILE *file = fopen("mine.txt", "w");
        print_tensor(file, "x", &x[0][0], 3, 4);
        print_tensor(file, "scores", &scores[0][0], 3, 3);
        return fclose(file);
    }
    """
    (tmp_path / "main.c").write_text(BLOCKS["c"] + main, encoding="utf-8")
    subprocess.run([gcc, "-o", "main", "main.c"], cwd=tmp_path, check=True, timeout=60)
    subprocess.run([tmp_path / "main"], cwd=tmp_path, check=True, timeout=60)
    comparison = compare(attention_graph(), tmp_path / "mine.txt")
    assert comparison.agrees and len(comparison.tensors) == 2, str(comparison)


def test_text(tmp_path):
    (tmp_path / "log.txt").write_text(BLOCKS["text"], encoding="utf-8")
    feeds = {"x": [[0.5, -1.25, 2.0, 0.75], [1.5, 1.0, -3.0, 0.25], [-0.5, 0.1, 0.4, -1.0]]}
    comparison = compare(attention_graph(), tmp_path / "log.txt", feeds=feeds, names={"scores": "kq-0"})
    assert comparison.agrees, str(comparison)


def test_every_recorder_is_tested():
    assert set(BLOCKS) - {""} == {
        "python numpy",
        "python torch hooks",
        "python torch fx",
        "python jax",
        "c",
        "text",
    }
