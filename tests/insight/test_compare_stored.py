"""compare knows how people store things, and names what explains a difference."""

import random

import pytest

from graphattn import Graph, run
from graphattn.insight.compare import compare
from graphattn.passes.gradient import gradient
from graphattn.testing import assert_close

N, D, H = 5, 8, 2


def normal(*shape, seed=1):
    draw = random.Random(f"{seed}{shape}")

    def make(left):
        return [make(left[1:]) for _ in range(left[0])] if left else draw.gauss(0, 1)

    return make(shape)


def turned(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def layer():
    g = Graph("b")
    x = g.input("X", (N, D), ("token", "feature"))
    weights = {f"w_{p}": g.parameter(f"w_{p}", (D, D)) for p in "qkvo"}
    norm = g.layernorm(x, g.parameter("gamma", (D,)), g.parameter("beta", (D,)), name="norm")
    g.output(y=g.multi_head(norm, norm, norm, **weights, heads=H, causal=True, name="mh"))
    return g


GRAPH = layer()
FEEDS = {
    "X": normal(N, D), **{f"w_{p}": normal(D, D, seed=p) for p in "qkvo"},
    "gamma": [1 + 0.1 * v for v in normal(D)], "beta": normal(D, seed=5),
}  # fmt: skip
TRACE = run(GRAPH, FEEDS)
Y = TRACE["y"]
ENDS = {name: FEEDS[name] for name in ("X", "gamma", "beta")}


def linear(rows):
    g = Graph("l")
    g.output(y=g.linear(g.input("x", (3, 4)), g.parameter("w", (rows, 4)), name="y"))
    return g


class View:
    """The transposed view of an array, as numpy and PyTorch have it."""

    def __init__(self, rows):
        self.rows, self.dtype = rows, "float64"
        self.shape, self.strides = (len(rows), len(rows[0])), (8, 8 * len(rows))

    def tolist(self):
        return self.rows


@pytest.mark.parametrize("rows, view", [(6, list), (6, View), (4, View)])
def test_one_weight_that_is_stored_the_other_way_round(rows, view):
    x, w = normal(3, 4), normal(rows, 4, seed=2)
    y = run(linear(rows), {"x": x, "w": w})["y"]
    assert compare(linear(rows), {"x": x, "w": view(turned(w)), "y": y}).agrees


def test_a_square_weight_alone_says_nothing_and_is_named():
    x, w = normal(3, 4), normal(4, 4, seed=2)
    found = compare(linear(4), {"x": x, "w": w, "y": run(linear(4), {"x": x, "w": turned(w)})["y"]})
    assert not found.agrees and any("transposed" in text for text in found.first.explanations), str(found)


def test_square_weights_that_are_all_stored_the_other_way_round():
    found = compare(GRAPH, {**ENDS, **{f"w_{p}": turned(FEEDS[f"w_{p}"]) for p in "qkvo"}, "y": Y})
    assert found.agrees and "read as (in, out)" in str(found)
    one = {**FEEDS, "w_v": turned(FEEDS["w_v"])}
    assert not compare(GRAPH, {**one, "y": Y}).agrees


@pytest.mark.parametrize("order", ["qkv", "kqv", "vkq"])
def test_q_k_and_v_in_one_matrix(order):
    whole = [row for p in order for row in FEEDS[f"w_{p}"]]
    for reference in (GRAPH, TRACE):
        for record in ({"in_proj_weight": whole, "w_o": FEEDS["w_o"]},):
            found = compare(reference, {**ENDS, **record, "y": Y})
            assert found.agrees, str(found)
            assert " | ".join(f"w_{p}" for p in order) + " side by side" in " ".join(str(found).split())


def test_q_k_and_v_head_by_head():
    size = D // H
    whole = [row for i in range(H) for p in "qkv" for row in FEEDS[f"w_{p}"][i * size :][:size]]
    for reference in (GRAPH, TRACE):
        found = compare(reference, {**ENDS, "query_key_value.weight": whole, "w_o": FEEDS["w_o"], "y": Y})
        assert found.agrees and "head by head, for 2 heads" in " ".join(str(found).split()), str(found)


def test_names_of_libraries_are_fed():
    record = {
        "hidden_states": FEEDS["X"], "ln_1.weight": FEEDS["gamma"], "ln_1.bias": FEEDS["beta"],
        **{f"self_attn.{p}_proj.weight": FEEDS[f"w_{p}"] for p in "qkv"},
        "self_attn.out_proj.weight": FEEDS["w_o"], "y": Y,
    }  # fmt: skip
    assert compare(GRAPH, record).agrees


def test_a_cotangent_that_may_be_left_out_is_fed_where_it_was_recorded():
    g = Graph("squares")
    x = g.input("x", (1, 2))
    g.output(y=g.reduce_sum(x * x, name="y"))
    backward, x = gradient(g, of="y"), [[1.0, 2.0]]
    assert compare(backward, {"x": x, "d_x": [[2.0, 4.0]]}).agrees
    assert compare(backward, {"x": x, "d_y": [[-0.5]], "d_x": [[-1.0, -2.0]]}).agrees
    assert not compare(backward, {"x": x, "d_y": [[-0.5]], "d_x": [[2.0, 4.0]]}).agrees


def test_names_of_families_may_be_endings():
    heads = [TRACE[f"mh.head{i}.weights"] for i in range(H)]
    assert compare(TRACE, {**FEEDS, "A": heads}, names={"head*.weights": "A"}).agrees


@pytest.mark.parametrize("batch", (None, 1, 2))
def test_heads_as_the_rows_of_a_matrix(batch):
    """A .csv of what is (b, h, n, d): the rows of all heads."""
    lead, heads = () if batch is None else (batch,), (0, 1)
    g = Graph("m")
    xs = [g.input(c, (*lead, 3, 4)) for c in "QKV"]
    g.output(y=g.multi_head(*xs, w_q=g.parameter("w_q", (4, 4)), heads=2, name="m"))
    feeds = {**{c: normal(*lead, 3, 4, seed=c) for c in "QKV"}, "w_q": normal(4, 4)}
    t = run(g, feeds)
    wrong = run(g, feeds, patch={f"m.head{h}.scaled": t[f"m.head{h}.scores"] for h in heads})

    def rows(of, name):
        parts = [of[name.format(h)] for h in heads]
        sequences = [part[b] for b in range(batch) for part in parts] if lead else parts
        return [row for sequence in sequences for row in sequence]

    def recorded(of):
        stacked = {name: rows(of, f"m.head{{}}.{name}") for name in ("scores", "scaled", "weights")}
        return {**feeds, **stacked, "q": rows(of, "m.q_heads.part{}"), "y": of["y"]}

    assert compare(t, recorded(t)).agrees and compare(g, recorded(t)).agrees
    found = compare(t, recorded(wrong))
    assert not found.agrees and "√d" in str(found) and "q: " not in str(found)


def test_a_gain_that_is_stored_less_1():
    record = {**FEEDS, "gamma": [v - 1 for v in FEEDS["gamma"]], "norm": TRACE["norm"], "y": Y}
    assert compare(GRAPH, record).agrees and compare(TRACE, record).agrees


@pytest.mark.parametrize("batch", (2, 3))
def test_heads_of_a_batch_stand_second(batch):
    g = Graph("m")
    xs = [g.input(c, (batch, 3, 4)) for c in "QKV"]
    g.output(y=g.multi_head(*xs, heads=2, name="m"))
    feeds = {c: normal(batch, 3, 4, seed=c) for c in "QKV"}
    t = run(g, feeds)
    wrong = run(g, feeds, patch={f"m.head{h}.scaled": t[f"m.head{h}.scores"] for h in (0, 1)})

    def stacked(of, name):
        return [[of[f"m.head{h}.{name}"][b] for h in (0, 1)] for b in range(batch)]

    names = ("scores", "scaled", "weights")
    assert compare(t, {**feeds, **{n: stacked(t, n) for n in names}, "y": t["y"]}).agrees
    found = compare(t, {**feeds, **{n: stacked(wrong, n) for n in names}, "y": wrong["y"]})
    assert not found.agrees and "√d" in str(found)


def test_the_scale_as_fourth_roots():
    root = (D // H) ** 0.25

    def heads(name):
        return [[[x / root for x in row[i * 4 : i * 4 + 4]] for row in TRACE[f"mh.{name}"]] for i in range(H)]

    record = {**FEEDS, "q": heads("q"), "k": heads("k"), "y": Y}
    record["scores"] = [TRACE[f"mh.head{i}.scaled"] for i in range(H)]
    record["weights"] = [TRACE[f"mh.head{i}.weights"] for i in range(H)]
    found = compare(TRACE, record)
    assert found.agrees and "mh.q" in found.harmless, str(found)


# ---------------------------------------------------------------- what explains a difference


def test_dropout_is_named():
    draw = random.Random(3)
    weights = [[[x / 0.7 if draw.random() > 0.3 else 0.0 for x in row] for row in TRACE[f"mh.head{i}.weights"]]
               for i in range(H)]  # fmt: skip
    found = compare(TRACE, {**FEEDS, "weights": weights})
    assert found.first.relations[0].kind == "dropout" and "p = 0.3" in str(found)


@pytest.mark.parametrize("change, words", [
    (lambda g, s, m: s, "without the mask"),
    (lambda g, s, m: g.add(s, g.where(m, g.constant(1.0), g.constant(0.0))), "as 0 and 1"),
])  # fmt: skip
def test_a_mask_is_told_from_the_weights_alone(change, words):
    def built(change):
        g = Graph("m")
        s, m = g.input("s", (4, 4)), g.causal_mask(4)
        g.output(w=g.softmax(change(g, s, m), name="w"))
        return g

    s = normal(4, 4)
    found = compare(
        built(lambda g, s, m: g.mask(s, m, name="masked")), {"s": s, "w": run(built(change), {"s": s})["w"]}
    )
    assert not found.agrees and words in " ".join(str(found).split()), str(found)


def test_rope_in_the_other_pairing_is_named():
    def turned_by(interleaved):
        g = Graph("r")
        cos, sin = g.rope_angles(3, 4)
        g.output(y=g.rope(g.input("x", (3, 4)), cos, sin, interleaved=interleaved, name="y"))
        return g

    x = normal(3, 4)
    found = compare(turned_by(False), {"x": x, "y": run(turned_by(True), {"x": x})["y"]})
    assert "interleaved" in str(found)


def test_what_the_graph_makes_itself_is_not_called_an_input():
    g = Graph("alibi")
    g.output(bias=g.alibi_bias(6, 3, name="bias"))
    t = run(g, {})
    wrong = [[[c * 1.1 for c in row] for row in head] for head in t["bias"]]
    assert str(compare(t, {"bias": wrong})).startswith(
        "different: bias, which the graph makes without any input"
    )


def test_nothing_between_the_ends_is_said_shortly():
    text = str(compare(TRACE, {**FEEDS, "y": [[2 * v for v in row] for row in Y]}))
    assert (
        "nothing between the inputs and y was recorded" in text and "mh.k_heads," not in text.split("\n\n")[0]
    )


def test_names_from_files_reach_no_terminal_raw():
    text = str(compare({"w": [[1.0]], "x\x1b[31m": [[2.0]]}, {"w": [[1.0]], "y\x1b[31m": [[7.0]]}))
    assert "\x1b" not in text


# ---------------------------------------------------------------- q, k, v together, beside another attention


def decoder(batch=()):
    """Self attention and cross-attention in one graph: a graph, its feeds and its trace."""
    g, d = Graph("decoder"), 4
    x, memory = g.input("x", (*batch, 3, d)), g.input("memory", (*batch, 3, d))

    def linear(name, source):
        return g.linear(source, g.parameter(f"w_{name}", (d, d)), g.parameter(f"b_{name}", (d,)), name=name)

    q, k, v = (linear(part, x) for part in "qkv")
    a = g.add(x, g.multi_head(q, k, v, heads=2, causal=True, name="self"), name="a")
    q2, k2, v2 = linear("cross_q", a), linear("cross_k", memory), linear("cross_v", memory)
    g.output(y=g.add(a, g.multi_head(q2, k2, v2, heads=2, name="cross"), name="y"))
    feeds = {name: normal(*spec.shape, seed=name) for name, spec in g.inputs.items()}
    return g, feeds, run(g, feeds)


def beside(parts):
    """Tensors side by side along the last axis."""
    if isinstance(parts[0][0], list):
        return [beside(rows) for rows in zip(*parts, strict=True)]
    return [x for part in parts for x in part]


def in_heads(value, heads=2):
    """The last axis as (heads, d / heads)."""
    if isinstance(value[0], list):
        return [in_heads(row, heads) for row in value]
    size = len(value) // heads
    return [value[i * size :][:size] for i in range(heads)]


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("name", ["qkv", "self_attn.c_attn", "in_proj"])
def test_q_k_v_in_one_tensor_are_matched_beside_a_cross_attention(name, batch):
    g, feeds, t = decoder(batch)
    parts = [t[part] for part in "qkv"]
    together = beside(parts)
    forms = {"side by side": together, "(n, 3, d)": in_heads(together, 3), "(3, n, d)": parts,
             "(n, 3, h, d)": in_heads(in_heads(together, 3))}  # fmt: skip
    for form, value in forms.items():
        for record in ({**feeds, name: value, "y": t["y"]}, {name: value, "y": t["y"]}):
            found = assert_close(t, record)
            assert {p.key for p in found.alignment.pairs if p.other == name} == set("qkv"), (form, str(found))
    assert assert_close(g, {**feeds, name: beside(parts), "y": t["y"]}).agrees


def test_a_part_that_is_wrong_is_told_from_those_that_are_right():
    _, feeds, t = decoder()
    twice = [[2 * x for x in row] for row in t["k"]]
    found = compare(t, {**feeds, "qkv": beside([t["q"], twice, t["v"]])})
    assert found.verdict == "different" and not found.uncompared, str(found)
    assert found.first.key == "k" and found.first.relations[0].text.startswith("the reference × 2")
    assert found.find("q").status == found.find("v").status == "equal"
    other = beside(
        [[[x + i * j for j, x in enumerate(row)] for i, row in enumerate(t[part])] for part in "qkv"]
    )
    found = compare(t, {**feeds, "qkv": other, "y": t["y"]})  # no part is right: it may be cut in any way
    assert found.uncompared == ["qkv"]


@pytest.mark.slow
@pytest.mark.parametrize("names", [("attn", "cross_attn"), ("self_attn", "encoder_attn"), ("a.attn", "b.attn")])
def test_two_tensors_of_weights_are_told_apart(names):
    g, feeds, t = decoder()
    record = {name: feeds[name] for name in ("x", "memory")}
    for name, kind in zip(names, ("", "cross_"), strict=True):
        for letter, what in (("w", "weight"), ("b", "bias")):
            record[f"{name}.in_proj_{what}"] = [x for part in "qkv" for x in feeds[f"{letter}_{kind}{part}"]]
    for order in (record, dict(reversed(record.items()))):
        assert assert_close(g, {**order, "y": t["y"]}).agrees
        assert assert_close(t, {**order, "y": t["y"]}).agrees


def test_keys_and_values_in_one_tensor_and_biases_of_0():
    g, feeds, t = decoder()
    fused = {"cross.kv.weight": feeds["w_cross_k"] + feeds["w_cross_v"],
             "cross.kv.bias": feeds["b_cross_k"] + feeds["b_cross_v"]}  # fmt: skip
    rest = {name: value for name, value in feeds.items() if not name.endswith(("cross_k", "cross_v"))}
    assert assert_close(g, {**rest, **fused, "y": t["y"]}).agrees
    zeros = {**feeds, **{f"b_{part}": [0.0] * 4 for part in "qkv"}}
    t = run(g, zeros)
    rest = {name: value for name, value in zeros.items() if name not in ("b_q", "b_k", "b_v")}
    for mine in (g, t):
        assert assert_close(mine, {**rest, "qkv.bias": [0.0] * 12, "y": t["y"]}).agrees


def two_heads(n, d_k):
    """Attention in two heads, each step of each by itself."""
    g = Graph("heads")
    x = g.input("X", (n, 2 * d_k))
    q, k, v = (g.linear(x, g.input(f"w_{part}", (2 * d_k, 2 * d_k)), name=part) for part in "qkv")
    outs = []
    for i in range(2):
        with g.scope(f"head{i}"):
            qi, ki, vi = (t[:, i * d_k : (i + 1) * d_k] for t in (q, k, v))
            weights = g.softmax(g.scale(g.matmul(qi, ki.T, name="scores"), sqrt=d_k, name="scaled"))
            outs.append(g.matmul(weights.named("weights"), vi, name="out"))
    g.output(y=g.concat(*outs, name="concat"))
    return g


def printed(value, decimals):
    return [printed(item, decimals) for item in value] if isinstance(value, list) else round(value, decimals)


def run_of(graph, seed):
    return run(graph, {name: normal(*spec.shape, seed=(seed, name)) for name, spec in graph.inputs.items()})


@pytest.mark.parametrize("decimals", [2, 4])
@pytest.mark.parametrize("tokens_first", [False, True])
def test_of_two_orders_of_axes_that_fit_the_numbers_choose(decimals, tokens_first):
    graph = two_heads(2, 2)
    for seed in range(12):
        trace = run_of(graph, seed)
        record = {name: trace[name] for name in [*graph.inputs, "y"]}
        for name in ("q", "k", "v"):
            rows = [[row[:2], row[2:]] for row in trace[name]]
            record[name] = rows if tokens_first else list(map(list, zip(*rows, strict=True)))
        for name in ("scores", "scaled", "weights", "out"):
            heads = [trace[f"head{i}.{name}"] for i in range(2)]
            record[name] = list(map(list, zip(*heads, strict=True))) if tokens_first else heads
        comparison = compare(trace, {name: printed(value, decimals) for name, value in record.items()})
        assert not comparison.divergences, str(comparison)


@pytest.mark.parametrize("used", [False, True], ids=["only stored so", "computed with"])
@pytest.mark.parametrize("all_steps", [False, True])
@pytest.mark.parametrize("decimals", [3, 4])
def test_printed_weights_with_keys_first(decimals, all_steps, used):
    graph = two_heads(5, 3)
    heads = ("head0", "head1")
    for seed in range(2):
        trace = run_of(graph, seed)
        other = run(
            graph, trace.feeds, patch={f"{head}.weights": turned(trace[f"{head}.weights"]) for head in heads}
        )
        told = other if used else trace
        record = {name: told[name] for name in [*graph.inputs, "y"]}
        for head in heads:
            for name in ("scores", "scaled", "out") if all_steps else ():
                record[f"{head}.{name}"] = told[f"{head}.{name}"]
            record[f"{head}.weights"] = other[f"{head}.weights"]
        comparison = compare(graph, {name: printed(value, decimals) for name, value in record.items()})
        if used:
            assert comparison.first.key == "head0.weights"
            continue
        assert comparison.agrees, str(comparison)
        assert set(comparison.harmless) == {"head0.weights", "head1.weights"}
        assert "yours is the reference transposed" in str(comparison)
