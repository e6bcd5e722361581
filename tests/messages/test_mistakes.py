"""What people type who know numpy, PyTorch, JAX, Keras or ONNX, and the sentence that each line gets.

`tests/golden/mistakes.txt` has the lines with their sentences: read it as a newcomer would.
"""

import pytest

import graphattn
from graphattn import Graph, GraphError, gradient, run

LINES = r"""
a = g.attention(x, x, x); a @ x
a = g.attention(x, x, x); g.output(out=a)
g.softmax(x, dim=-1)
g.softmax(x, axis=2)
g.softmax(x, -1)
g.input("y", shape=(2,), dtype="float32")
g.reduce_sum(x, axis=-1, keepdims=True)
g.reduce_sum(x, dim=1)
g.reduce_sum(x, axes=1)
g.layernorm(x, normalized_shape=4)
g.layernorm(x, weight=x)
g.layernorm(x, epsilon=1e-5)
g.linear(x, weight=x)
g.linear(x, in_features=4)
g.matmul(x, x)
g.matmul(x, x, transpose_b=True)
x @ [[1.0]*4]*3
x + "1"
x @ x
x.t()
x.transpose(0, 1)
x.shape()
x.reshape(4, 3)
x.view(4, 3)
x.softmax()
x.sum()
g.relu()
g.sofmax(x)
g.LayerNorm(x)
g.Softmax(x)
g.einsum("ij,jk->ik", x, x)
g.multi_head(x, heads=3)
g.multi_head(x, num_heads=2)
g.multi_head(x, x, x, heads=2, is_causal=True)
g.multi_head(x, x, x, heads=2, causal="yes")
g.attention(x, x, x, attn_mask=x)
g.attention(x, x, x, dropout_p=0.1)
g.attention(x, x, x, scale=True)
g.attention(x, x, x, mask=x)
g.attention(x, x)
g.scale(x, 8)
g.scale(x, sqrt=-1)
g.scale(x, d_k=8)
g.mask(x, g.causal_mask(4))
g.causal_mask(x)
g.transpose(x, 0, 1)
g.transpose(x, dim0=0, dim1=1)
g.transpose(x, perm=(0,0))
g.reshape(x, (5, 3))
g.reshape(x, -1)
g.concat([x, x])
g.concat(x, x, dim=1)
g.split(x, 3)
g.split(x, 2, axis=3)
g.input("x", shape=(2,))
g.input("my input", shape=(2,))
g.input("y", (2, "d"))
g.input("y", shape=2)
g.input("y")
g.output(x)
g.output(out=3)
g.dropout(x, p=0.1)
g.embedding(x, x)
g.rmsnorm(x, gamma=x)
run(g, x)
run(g, [[1.0]*4]*3)
run(g)
run(g, {"X": [[1.0]*4]*3})
run(g, {"x": [[1.0]*3]*4})
run(g, {"x": [[1.0]*4, [1.0]*3, [1.0]*4]})
run(g, {"x": "hello"})
run(g, {"x": None})
run(g, {"x": [[float("nan")]*4]*3})
run(g, {"x": [[True]*4]*3})
run(g, {"x": [[1.0]*4]*3}, numbers="float64")
run(g, {"x": [[1.0]*4]*3}, numbers="fp32")
run(g, {"x": [[1.0]*4]*3}, numbers="double")
run(g, {"x": [[1.0]*4]*3}, dtype="float32")
run(g, {"x": [[1.0]*4]*3}, level="primitives")
run(g, {"x": [[1.0]*4]*3}, labels=["a", "b", "c"])
run(g, {"x": [[1.0]*4]*3}, labels={"token": ["a", "b"]})
run(g, {"x": [[1.0]*4]*3}, patch={"nothing": 1})
run(g, {"x": [[1.0]*4]*3})["X"]
run(g, {"x": [[1.0]*4]*3}).why("x")
run(g, {"x": [[1.0]*4]*3}).why("x", 9, 9)
run(g, {"x": [[1.0]*4]*3}).why("x", 0, "cat")
gradient(g, of="loss", wrt=["x"])
g.at("ops")
g.render("x.jpg")
g.softmax(5)
g.add(x, [1, 2])
g.softmax([[1.0, 2.0]])
Graph("my graph")
float(x)
if x > 0: pass
len(x)
x[5]
for row in x: pass
x ** 2
-x @ x
g.gelu(x, tanh=True)
g.layernorm(x, x, x)
g.where(x, x, x)
g.repeat(x, repeats=2)
run(g, {"x": [[1.0]*4]*3}, targets="x")
run(g, {"x": [[1.0]*4]*3}, seed=1)
g.constant("abc")
g.parameter("w", (2, 2), requires_grad=True)
run("block", {})
g.slice(x, 1)
x == 0
x == g.tensor("x")
x != 0
if x: pass
0 < x
a, b, c = x
int(x)
np.array(x)
np.exp(x)
np.sum(x)
np.concatenate([x, x])
x * np.ones((3, 4))
np.ones((3, 4)) @ x
x[0] = 1
del x[0]
x.T()
x(1)
x.dot(x)
x.mm(x)
x.mean(-1)
x.exp()
x.numpy()
x.item()
x.tolist()
x.value
x.size()
x.ndim
x.dtype
x.grad
x.backward()
x.to("cuda")
x.clone()
x % 2
x // 2
2 ** x
x ** 0.5
abs(x)
x & x
~x
round(x)
x["token"]
x[None]
g(x)
g["x"]
g.x
g.forward(x)
g.save("m.json")
g.add(x, x, x)
g.attention(x, x, x, heads=2)
g.attention(x, x, x, window=3)
g.multi_head(x, x, x, 3)
g.multi_head(x, x, x, heads=3)
g.output("out", x)
run(g, x=[[1.0]*4]*3)
run({"x": [[1.0]*4]*3}, g)
run(g, {"x": x})
run(g, {"x": [[1.0]*4]*3}, listeners=print)
run(g, {"x": [[1.0]*4]*3}).x
run(g, {"x": [[1.0]*4]*3}).out
run(g, {"x": [[1.0]*4]*3})["x"] = 1
run(g, {"x": [[1.0]*4]*3})[0]
run(g, {"x": [[1.0]*4]*3}).why("x[0, 9]")
run(g, {"x": [[1.0]*4]*3}).save("x.pkl")
gradient(run(g, {"x": [[1.0]*4]*3}), "x")
g.matmul(x, x.T, "scores")
run(g, {x: [[1.0]*4]*3})
run(g, x, x)
run(g, {"x": [[[1.0]*4]*3]})
run(g, {"x": np.ones(12)})
run(g, {"x": np.array([["a"]*4]*3)})
run(g, {"x": lambda: 1})
run(g, {"x": [["1", "2", "3", "4"]]*3})
run(g, {"x": [[1j]*4]*3})
run(t)
Graph("self attention")
x.transpose(-2, -1)
g.render()
g.nn.Linear(4, 4)
g.Linear(4, 4)
g.functional.softmax(x)
g.jnp.dot(x, x)
g.MultiHeadDotProductAttention(x)
g.multi_head(x, x, x, heads=2, d_k=4)
g.multi_head(x, x, x, embed_dim=8, num_heads=2)
g.multi_head(x, x, x, heads=2.0)
g.multi_head(x, x, x, heads=2, wq=x)
g.multi_head(x, x, x, heads=2, key_dim=4)
g.attention(x, x, x, softmax_scale=0.5)
g.attention(x, x, x, mask=[[True]*3]*3)
g.softmax(x, axis="token")
g.softmax(x, temperature=2)
g.softmax(t)
g.split(x, heads=2)
g.add_node("x")
g.remove("x")
g.topological_sort()
t["weights", 2, 1]
t["typo"]
t[0]
t.weights
t.plot()
t.items()
t.run()
t.why()
t.why("x", np.int64(0), np.int64(9))
t.why(x, 0)
t.save()
graphattn.softmax([1.0])
graphattn.why(t, "x", 0, 0)
graphattn.MultiheadAttention(4, 2)
graphattn.heads(g)
graphattn.compare(t, [[1.0]*4]*3)
graphattn.diagnose(t, {}, {})
graphattn.diagnose(g, {"x": [[1.0]*4]*3})
graphattn.jacobian(g, "x", "x")
graphattn.load(g)
graphattn.scalar.Value(2).value
""".strip().splitlines()


def sentence(line: str) -> str:
    """What a line gets, typed after `x` was declared in the graph `g`, and `t` was a run of it."""
    g = Graph("g")
    x = g.input("x", shape=(3, 4), axes=("token", "feature"))
    np = pytest.importorskip("numpy") if "np." in line else None
    known = {"g": g, "x": x, "run": run, "gradient": gradient, "Graph": Graph, "graphattn": graphattn, "np": np}
    if line.startswith(("t.", "t[")) or "(t" in line:
        known["t"] = run(g, {"x": [[1.0] * 4] * 3})
    with pytest.raises((GraphError, AttributeError, TypeError)) as caught:
        exec(line, known)
    return str(caught.value)


def test_every_mistake_gets_its_sentence(golden):
    assert len(LINES) >= 80 and len(set(LINES)) == len(LINES)
    golden("mistakes.txt", "".join(f"{line}\n    {sentence(line)}\n" for line in LINES))


@pytest.mark.parametrize("line", LINES)
def test_it_is_one_short_sentence(line):
    said = sentence(line)
    assert said and "\n" not in said and len(said) <= 300, said
