"""The adapters for PyTorch and ONNX: option by option against plain loops, and what they refuse."""

import math
import random
from pathlib import Path

import cases
import naive
import pytest

from graphattn import GraphError
from graphattn.conventions import DIFFERENCES, differences_table, onnx, torch

PAGE = Path(__file__).parent.parent.parent / "docs" / "conventions.md"
INF, NAN = math.inf, math.nan


def close(got, want):
    told = cases.mismatch(got, want, 1e-11, 1e-12, "y")
    assert told is None, told


class Dice(random.Random):
    """Random tensors."""

    def tensor(self, *shape):
        return [self.tensor(*shape[1:]) for _ in range(shape[0])] if shape else self.gauss(0.0, 1.0)

    def mask(self, *shape):
        """A bool mask, or a float mask with some −∞."""
        truth = self.random() < 0.5

        def cell():
            return self.random() < 0.6 if truth else self.gauss(0.0, 1.0) if self.random() < 0.7 else -INF

        def block(sizes):
            return [block(sizes[1:]) for _ in range(sizes[0])] if sizes else cell()

        return block(shape)


# ---------------------------------------------------------------- PyTorch against plain loops


@pytest.mark.parametrize("seed", range(60))
def test_multihead_attention(seed):
    dice = Dice(seed)
    heads = dice.choice((1, 2, 3))
    e = heads * dice.choice((1, 2))
    b, n_q, n_k = dice.choice((1, 2)), dice.randint(1, 3), dice.randint(1, 4)
    kdim, vdim = dice.choice(((None, None), (3, 2), (e, 4)))
    bias, kv, zero = dice.random() < 0.6, dice.random() < 0.3, dice.random() < 0.3
    batched, first = dice.random() < 0.8, dice.random() < 0.5
    b = b if batched else 1
    p = {"in_proj_weight": dice.tensor(3 * e, e), "out_proj.weight": dice.tensor(e, e)}
    if (kdim or e, vdim or e) != (e, e):
        del p["in_proj_weight"]
        p.update({"q_proj_weight": dice.tensor(e, e), "k_proj_weight": dice.tensor(e, kdim),
                  "v_proj_weight": dice.tensor(e, vdim)})  # fmt: skip
    if bias:
        p.update({"in_proj_bias": dice.tensor(3 * e), "out_proj.bias": dice.tensor(e)})
    if kv:
        p.update({"bias_k": dice.tensor(1, 1, e), "bias_v": dice.tensor(1, 1, e)})
    q, k, v = dice.tensor(b, n_q, e), dice.tensor(b, n_k, kdim or e), dice.tensor(b, n_k, vdim or e)
    attn_mask = dice.choice((None, dice.mask(n_q, n_k), dice.mask(b * heads, n_q, n_k)))
    padding = dice.choice((None, dice.mask(b, n_k)))
    need, average = dice.random() < 0.7, dice.random() < 0.5
    layer = torch.MultiheadAttention(
        e, heads, bias=bias, add_bias_kv=kv, add_zero_attn=zero, kdim=kdim, vdim=vdim, batch_first=first,
        state_dict=p,
    )  # fmt: skip
    swap = lambda x: [list(row) for row in zip(*x)]  # noqa: E731
    turn = (lambda x: x) if first else swap
    given = [turn(x) if batched else x[0] for x in (q, k, v)]
    pads = padding if padding is None or batched else padding[0]
    trace = layer(
        *given, key_padding_mask=pads, need_weights=need, attn_mask=attn_mask, average_attn_weights=average
    ).run()
    empty = NAN if need else 0.0
    want = [
        naive.multihead_attention(q[i], k[i], v[i], p, heads, i, attn_mask, padding, zero, empty)
        for i in range(b)
    ]
    out = [y for y, _ in want]
    close(trace["attn_output"], turn(out) if batched else out[0])
    assert ("attn_weights" in trace.outputs) == need
    if need:
        weights = [w for _, w in want]
        if average:
            weights = [[[sum(c) / heads for c in zip(*rows)] for rows in zip(*w)] for w in weights]
        close(trace["attn_weights"], weights if batched else weights[0])


@pytest.mark.parametrize("seed", range(40))
def test_scaled_dot_product_attention(seed):
    dice = Dice(1000 + seed)
    b, h, n_q, n_k, d, d_v = (dice.randint(1, 3) for _ in range(6))
    groups = dice.choice([g for g in (1, 2, 3) if h % g == 0])
    q, k, v = dice.tensor(b, h, n_q, d), dice.tensor(b, groups, n_k, d), dice.tensor(b, groups, n_k, d_v)
    causal = dice.random() < 0.3
    shapes = ((n_q, n_k), (1, n_k), (b, 1, 1, n_k), (b, h, n_q, n_k), (h, n_q, n_k))
    mask = None if causal or dice.random() < 0.3 else dice.mask(*dice.choice(shapes))
    scale = dice.choice((None, 0.3, 2.0, 0.0))
    specimen = torch.scaled_dot_product_attention(
        q, k, v, mask, is_causal=causal, scale=scale, enable_gqa=groups != h
    )
    want = [naive.onnx_attention(q[i], k[i], v[i], i, mask=mask, causal=causal, scale=scale) for i in range(b)]
    trace = specimen.run()
    close(trace["out"], [[head["out"] for head in item] for item in want])
    close(trace["weights"], [[head["weights"] for head in item] for item in want])


def test_a_stack_of_encoder_layers_is_its_layers_in_turn():
    dice = Dice(5)
    d, n = 4, 3
    kind = {"d_model": d, "nhead": 2, "dim_feedforward": 3, "norm_first": True, "activation": "gelu"}
    shapes = torch.TransformerEncoderLayer(**kind).shapes
    states = [{name: dice.tensor(*shape) for name, shape in shapes.items()} for _ in range(2)]
    whole = {f"layers.{i}.{name}": v for i, state in enumerate(states) for name, v in state.items()}
    whole.update({"norm.weight": dice.tensor(d), "norm.bias": dice.tensor(d)})
    x = dice.tensor(n, 1, d)  # batch_first=False
    mask = [[j > i for j in range(n)] for i in range(n)]
    encoder = torch.TransformerEncoder(
        torch.TransformerEncoderLayer(**kind),
        2,
        torch.LayerNorm(d),
        enable_nested_tensor=False,
        state_dict=whole,
    )
    trace = encoder(x, mask).run()
    for state in states:
        x = torch.TransformerEncoderLayer(**kind, state_dict=state)(x, mask).run()["out"]
    norm = {"weight": whole["norm.weight"], "bias": whole["norm.bias"]}
    assert trace["out"] == torch.LayerNorm(d, state_dict=norm)(x).run()["y"]
    assert trace["layers1.layer.attention.head0.weights"][0][0][1:] == [0.0, 0.0]


# ---------------------------------------------------------------- ONNX against plain loops


@pytest.mark.parametrize("seed", range(100))
def test_onnx_attention(seed):
    dice = Dice(2000 + seed)
    b, groups = dice.choice((1, 2)), dice.choice((1, 2))
    h = groups * dice.choice((1, 2, 3))
    n_q, n_new, d, d_v = dice.randint(1, 3), dice.randint(1, 4), dice.choice((1, 2)), dice.choice((1, 3))
    past = dice.choice((0, 0, 2))
    q, k, v = dice.tensor(b, h, n_q, d), dice.tensor(b, groups, n_new, d), dice.tensor(b, groups, n_new, d_v)
    past_k, past_v = dice.tensor(b, groups, past, d), dice.tensor(b, groups, past, d_v)
    all_k, all_v = (
        [[p + x for p, x in zip(*pair)] for pair in zip(*both)] for both in ((past_k, k), (past_v, v))
    )
    n_k = past + n_new
    lengths = None if past or dice.random() < 0.5 else [dice.randint(0, n_k) for _ in range(b)]
    last = n_k if dice.random() < 0.7 else dice.randint(1, n_k)
    shapes = (
        (last,),
        (n_q, last),
        (1, last),
        (h, n_q, last),
        (b, 1, n_q, last),
        (b, h, 1, last),
        (b, h, n_q, last),
    )
    mask = None if dice.random() < 0.3 else dice.mask(*dice.choice(shapes))
    left, right = dice.choice((-1, -1, 0, 1, 2)), dice.choice((-1, -1, 0, 1))
    causal, scale, softcap = dice.random() < 0.5, dice.choice((None, 0.3)), dice.choice((0.0, 0.5, 30.0))
    mode = dice.randint(0, 3)
    attributes = {
        "is_causal": int(causal), "scale": scale, "softcap": softcap, "left_window_size": left,
        "right_window_size": right, "qk_matmul_output_mode": mode,
    }  # fmt: skip
    given = [q, k, v]
    packed = dice.random() < 0.4
    if packed:
        given = [[[[c for row in rows for c in row] for rows in zip(*item)] for item in x] for x in given]
        attributes.update(q_num_heads=h, kv_num_heads=groups)
    pasts = (past_k, past_v) if past else (None, None)
    trace = onnx.Attention(*given, mask, *pasts, lengths, **attributes).run()
    want = [
        naive.onnx_attention(
            q[i], all_k[i], all_v[i], i, mask=mask, past=past, causal=causal, scale=scale, softcap=softcap,
            left=left, right=right, length=None if lengths is None else lengths[i],
        )
        for i in range(b)
    ]  # fmt: skip
    out = [[head["out"] for head in item] for item in want]
    if packed:
        out = [[[c for row in rows for c in row] for rows in zip(*item)] for item in out]
    close(trace["Y"], out)
    assert (trace["present_key"], trace["present_value"]) == (all_k, all_v)
    step = ("scaled", "capped", "masked", "weights")[mode]
    close(trace["qk_matmul_output"], [[head[step] for head in item] for item in want])


def test_what_is_padding_never_leaks():
    """NaN and infinity in keys and values that no query may see."""
    q, k, v = [[[[1.0, 2.0]]]], [[[[0.5, 0.5], [NAN, 1.0]]]], [[[[3.0], [INF]]]]
    for trace, name in (
        (onnx.Attention(q, k, v, None, None, None, [1]).run(), "Y"),
        (onnx.Attention(q, k, v, [[0.0, -INF]]).run(), "Y"),
        (onnx.Attention(q, k, v, [True]).run(), "Y"),
        (torch.scaled_dot_product_attention(q, k, v, [[True, False]]).run(), "out"),
    ):
        assert trace[name] == [[[[3.0]]]]


@pytest.mark.parametrize(
    "opset, axis", [(6, None), (6, 0), (6, 1), (6, -1), (6, -2), (6, 3), (12, 2), (13, None)]
)
def test_softmax_of_old_opsets(opset, axis):
    x = Dice(7).tensor(2, 3, 2)
    got = onnx.Softmax(x, axis=axis, opset=opset).run()["output"]
    place = ({True: 1, False: -1}[opset < 13] if axis is None else axis) % (3 + (axis == 3))
    if opset >= 13:
        close(got, [[naive.softmax(row, NAN) for row in block] for block in x])
        return
    flat = [cell for block in x for row in block for cell in row]
    size = {0: 12, 1: 6, 2: 2, 3: 1}[place]
    rows = [naive.softmax(flat[i : i + size], NAN) for i in range(0, 12, size)]
    close([cell for block in got for row in block for cell in row], [cell for row in rows for cell in row])


@pytest.mark.parametrize("norm", ["LayerNormalization", "InstanceNormalization", "GroupNormalization"])
def test_equal_cells_are_not_a_number_where_epsilon_is_0(norm):
    """As with exact means: 0 / 0, not the rounding of a mean divided by itself."""
    x = [[[0.1] * 3]]
    row = [1.0] * 3 if norm == "LayerNormalization" else [1.0]
    more = {"num_groups": 1} if norm == "GroupNormalization" else {}
    outputs = onnx.OPERATORS[norm](x, row, row, epsilon=0.0, **more).run().outputs
    (y, *others) = outputs.values()
    assert all(map(math.isnan, y[0][0]))
    assert others in ([], [[[[0.1]]], [[[math.inf]]]])


def test_vectors_in_matmul():
    a, b, m = [1.0, 2.0], [3.0, 4.0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert onnx.MatMul(a, b).run()["Y"] == 11.0
    assert onnx.MatMul(m, a).run()["Y"] == [5.0, 11.0, 17.0]
    assert onnx.MatMul(a, [[1.0], [10.0]]).run()["Y"] == [21.0]
    assert onnx.MatMul(a, [m[:2], m[1:]]).run()["Y"] == [[7.0, 10.0], [13.0, 16.0]]


def test_integers_stay_exact():
    class Ints:
        def __init__(self, data):
            self.data, self.shape, self.dtype = data, (len(data),), "int64"

        def tolist(self):
            return self.data

    big = 2**60 + 1
    assert onnx.Mul(Ints([big, -3]), Ints([big, 7])).run()["C"] == [big * big, -21]
    assert onnx.Add(Ints([big, -3]), Ints([1])).run()["C"] == [big + 1, -2]
    assert onnx.Add([1, 2], [0.5]).run()["C"] == [1.5, 2.5]  # no dtype: numbers


def test_uneven_split():
    assert list(onnx.Split([1.0, 2.0, 3.0, 4.0, 5.0], num_outputs=2).run().outputs.values()) == [
        [1.0, 2.0, 3.0], [4.0, 5.0],
    ]  # fmt: skip
    assert list(onnx.Split([1.0, 2.0, 3.0], [1, 2]).run().outputs.values()) == [[1.0], [2.0, 3.0]]


def test_a_model_by_names():
    nodes = [
        {"op": "Constant", "attrs": {"value": [[1.0, 0.0], [0.0, 2.0]]}, "inputs": [], "outputs": ["w"]},
        {"op": "MatMul", "attrs": {}, "inputs": ["0", "w"], "outputs": ["/mm/out"]},
        {"op": "Split", "attrs": {"axis": 1, "split": [1, 1]}, "inputs": ["/mm/out"], "outputs": ["a", "b"]},
        {"op": "Sub", "attrs": {}, "inputs": ["b", "a"], "outputs": ["y"]},
    ]
    trace = onnx.model(nodes, {"0": [[3.0, 4.0]]}, ["y"], 9).run()
    assert trace["y"] == [[5.0]]
    assert trace["_mm_out"] == [[3.0, 8.0]]
    assert trace["t0"] == [[3.0, 4.0]]


# ---------------------------------------------------------------- what differs, row by row


def test_the_page_is_current():
    page = PAGE.read_text(encoding="utf-8")
    table = page.partition("<!-- table -->\n")[2].partition("<!-- end of table -->")[0]
    assert table == differences_table(), "write docs/conventions.md anew from differences_table()"


def row(what):
    return next(d for d in DIFFERENCES if d.what.startswith(what))


ONE = {
    "in_proj_weight": [[1.0]] * 3,
    "in_proj_bias": [0.0] * 3,
    "out_proj.weight": [[1.0]],
    "out_proj.bias": [7.0],
}
KEYS, VALUES = [[1.0], [1.0]], [[10.0], [20.0]]


def mha(mask, **options):
    layer = torch.MultiheadAttention(1, 1, state_dict=ONE)
    return layer([[1.0]], VALUES, VALUES, attn_mask=mask, **options).run()


def test_what_true_means():
    assert row("bool mask").torch_sdpa == row("bool mask").onnx == "may attend"
    assert row("bool mask").torch_mha.startswith("masked")
    seen = [[True, False]]
    assert torch.scaled_dot_product_attention([[1.0]], KEYS, VALUES, seen).run()["out"] == [[10.0]]
    assert onnx.Attention([[[[1.0]]]], [[KEYS]], [[VALUES]], seen).run()["Y"] == [[[[10.0]]]]
    assert mha(seen)["attn_weights"] == [[0.0, 1.0]]


def test_a_query_that_sees_nothing():
    nothing = [[False, False]]
    assert "zeros" in row("a query that").torch_sdpa and "NaN" in row("a query that").torch_mha
    assert torch.scaled_dot_product_attention([[1.0]], KEYS, VALUES, nothing).run()["out"] == [[0.0]]
    assert onnx.Attention([[[[1.0]]]], [[KEYS]], [[VALUES]], nothing).run()["Y"] == [[[[0.0]]]]
    assert repr(mha([[True, True]])["attn_output"]) == "[[nan]]"
    assert mha([[True, True]], need_weights=False)["attn_output"] == [[7.0]]
    assert repr(torch.softmax([-INF, -INF]).run()["y"]) == "[nan, nan]"
    assert repr(onnx.Softmax([-INF, -INF]).run()["output"]) == "[nan, nan]"


def test_where_causal_begins():
    q, k, v = [[0.0]], [[0.0]] * 3, [[3.0], [6.0], [9.0]]
    assert torch.scaled_dot_product_attention(q, k, v, is_causal=True).run()["out"] == [[3.0]]
    past = ([[k[:2]]], [[v[:2]]])
    decoded = onnx.Attention([[q]], [[k[2:]]], [[v[2:]]], None, *past, is_causal=1)
    assert decoded.run()["Y"] == [[[[6.0]]]]
    assert onnx.Attention([[q]], [[k]], [[v]], is_causal=1).run()["Y"] == [[[[3.0]]]]
    assert onnx.Attention([[q]], [[k]], [[v]], None, None, None, [2], is_causal=1).run()["Y"] == [[[[4.5]]]]


def test_softcap_comes_before_the_mask():
    q, k = [[[[1000.0]]]], [[[[1.0], [1.0]]]]
    trace = onnx.Attention(
        q, k, [[VALUES]], [[0.0, -5.0]], softcap=2.0, qk_matmul_output_mode=2, scale=1.0
    ).run()
    assert trace["qk_matmul_output"] == [[[[2.0, -3.0]]]]


def test_a_rank_3_mask_has_heads():
    x = [[[[0.0]], [[0.0]]]]
    v = [[[[1.0]], [[2.0]]]]
    trace = onnx.Attention(x, x, v, [[[False]], [[True]]]).run()
    assert trace["Y"] == [[[[0.0]], [[2.0]]]]


def test_appended_keys_are_hidden_by_no_mask():
    """Nor by a mask of one column."""
    layer = torch.MultiheadAttention(1, 1, add_zero_attn=True, state_dict=ONE)
    trace = layer([[0.0]], [[5.0]], [[5.0]], attn_mask=[[True]]).run()
    assert trace["attn_weights"] == [[0.0, 1.0]]


# ---------------------------------------------------------------- what is refused

E2 = {"in_proj_weight": [[1.0] * 2] * 6, "in_proj_bias": [0.0] * 6, "out_proj.weight": [[1.0] * 2] * 2,
      "out_proj.bias": [0.0] * 2}  # fmt: skip
X = [[1.0, 2.0], [3.0, 4.0]]
HEADS = [[X]]


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda: torch.scaled_dot_product_attention(X, X, X, [[1, 0], [1, 1]]),
            "attn_mask holds integers, which could mean either; expected bools or floats",
        ),
        (
            lambda: torch.scaled_dot_product_attention(X, X, X, [[True, 0.0], [True, True]]),
            "attn_mask[0][0] is True; expected a number",
        ),
        (
            lambda: torch.scaled_dot_product_attention(X, X, X, [[True, True]], is_causal=True),
            "attn_mask is given with is_causal=True; expected one of them, as PyTorch does",
        ),
        (
            lambda: torch.scaled_dot_product_attention(X, X, X, dropout_p=0.1),
            "dropout_p is 0.1; expected 0.0, since what is traced is evaluation",
        ),
        (
            lambda: torch.scaled_dot_product_attention([X] * 3, [X] * 2, [X] * 2, enable_gqa=True),
            "3 query heads do not share 2 key heads evenly",
        ),
        (lambda: torch.scaled_dot_product_attention(X, X, None), "value is None; expected numbers"),
        (lambda: torch.scaled_dot_product_attention(X, [[1.0]], X), "q has 2 features and k has 1"),
        (lambda: torch.MultiheadAttention(3, 2), "embed_dim 3 does not divide into 2 heads"),
        (lambda: torch.MultiheadAttention(2, 0), "num_heads is 0; expected an int of 1 or more"),
        (
            lambda: torch.MultiheadAttention(2, 1, state_dict={**E2, "bias_k": [[[1.0, 2.0]]]}),
            "state_dict of MultiheadAttention has 'bias_k', which its arguments do not call for;"
            " expected in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias",
        ),
        (
            lambda: torch.MultiheadAttention(2, 1, state_dict={}),
            "state_dict of MultiheadAttention has no 'in_proj_weight'",
        ),
        (
            lambda: torch.MultiheadAttention(2, 1)(X, X, X),
            "MultiheadAttention has no parameters; expected a state_dict",
        ),
        (
            lambda: torch.MultiheadAttention(2, 1, state_dict={**E2, "in_proj_bias": [0.0] * 5})(X, X, X),
            "in_proj_bias is 5; expected 6",
        ),
        (
            lambda: torch.MultiheadAttention(2, 1, state_dict=E2)(X, X, X, is_causal=True),
            "is_causal=True is a hint in nn.MultiheadAttention; expected attn_mask with it",
        ),
        (
            lambda: torch.MultiheadAttention(2, 1, state_dict=E2)(X, X, X, attn_mask=[[True]]),
            "attn_mask is 1 × 1; expected 2 × 2",
        ),
        (
            lambda: torch.MultiheadAttention(2, 1, state_dict=E2)(X, X, X, key_padding_mask=[[True, False]]),
            "key_padding_mask is 1 × 2; expected 2",
        ),
        (lambda: torch.TransformerEncoderLayer(2, 1, activation="gelu_tan"), "did you mean 'gelu_tanh'?"),
        (
            lambda: torch.TransformerEncoder(torch.TransformerEncoderLayer(2, 1, 3), 1, state_dict=None),
            "state_dict is None; expected the module's parameters by name",
        ),
        (
            lambda: torch.TransformerEncoder(torch.TransformerEncoderLayer(2, 1, 3), 1, 1e-5, state_dict={}),
            "norm is 1e-05; expected a LayerNorm or an RMSNorm",
        ),
        (
            lambda: torch.TransformerEncoder(torch.TransformerEncoderLayer(2, 1, 3), 1, state_dict={"x": X}),
            "state_dict of TransformerEncoder has 'x'; expected names that begin with layers.0.",
        ),
        (
            lambda: torch.scaled_dot_product_attention(X, X, X, [[True, 0.0], [0.0, 1.0]]).run(),
            "attn_mask[0][0] is True; expected a number",
        ),
        (lambda: torch.layer_norm(X, [3]), "input is (2, 2) and normalized_shape (3,)"),
        (lambda: torch.linear(X, [[1.0]]), "x has 2 features and w takes 1; expected as many"),
        (lambda: onnx.Attention(HEADS, HEADS, HEADS, left_window_size=-2),
         "left_window_size is -2; expected an int of -1 or more"),
        (lambda: onnx.Attention([X], [X], [X]), "Q has rank 3; expected q_num_heads and kv_num_heads with it"),
        (
            lambda: onnx.Attention([X], [X], [X], q_num_heads=3, kv_num_heads=1),
            "Q has 2 columns, which do not divide into 3 heads",
        ),
        (
            lambda: onnx.Attention(HEADS, HEADS, HEADS, None, None, None, [3]),
            "nonpad_kv_seqlen holds 3; expected 0 to 2, the keys there are",
        ),
        (
            lambda: onnx.Attention(HEADS, HEADS, HEADS, None, None, None, [1, 1]),
            "nonpad_kv_seqlen is [1, 1]; expected one length for each of 1 sequences",
        ),
        (
            lambda: onnx.Attention(HEADS, HEADS, HEADS, None, HEADS),
            "one of past_key and past_value is given; expected both or none",
        ),
        (
            lambda: onnx.Attention(HEADS, HEADS, HEADS, None, [[[[1.0]]]], HEADS),
            "expected the same sizes except on axis -2",
        ),
        (
            lambda: onnx.Attention(HEADS, HEADS, HEADS, [[True] * 3]),
            "attn_mask is for 3 keys and there are 2; expected at most as many",
        ),
        (
            lambda: onnx.Attention(HEADS, HEADS, HEADS, qk_matmul_output_mode=4),
            "qk_matmul_output_mode is 4; expected 0, 1, 2 or 3",
        ),
        (lambda: onnx.Attention(HEADS, HEADS, HEADS, is_causal=2), "is_causal is 2; expected 0 or 1"),
        (lambda: onnx.Attention(HEADS, HEADS), "Attention needs 'V'"),
        (lambda: onnx.Attention(HEADS, HEADS, HEADS, softcapp=1.0), "did you mean 'softcap'?"),
        (lambda: onnx.Tanh(X, X), "Tanh takes 1 inputs, got 2 or more"),
        (lambda: onnx.MatMul(1.0, X), "A has rank 0; expected rank 1 or more"),
        (lambda: onnx.RotaryEmbedding([[X]], [[1.0, 1.0]], [[0.0, 0.0]], [[0, 0]]), "cos_cache gives"),
        (
            lambda: onnx.model([{"op": "GridSample", "attrs": {}, "inputs": [], "outputs": ["y"]}], {}, ["y"]),
            "node 0 is 'GridSample'; no such operator is known",
        ),
        (
            lambda: onnx.model([{"op": "Neg", "attrs": {}, "inputs": ["x"], "outputs": ["y"]}], {}, ["y"]),
            "Neg: input 'x' is not computed before",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(call, words):
    with pytest.raises(GraphError) as told:
        call().run()
    assert words in str(told.value)


def test_each_call_is_a_graph_that_can_be_saved():
    """Zoomed, printed and read back."""
    from graphattn.dumps.graph_text import graph_text, parse_graph

    for specimen in (
        torch.MultiheadAttention(2, 1, state_dict=E2)(X, X, X, attn_mask=[[False, True], [False, False]]),
        onnx.Attention([X], [X], [X], [True], q_num_heads=2, kv_num_heads=2, softcap=2.0, is_causal=1),
    ):
        assert parse_graph(graph_text(specimen.graph)) == specimen.graph
        assert specimen.run(level="primitive").outputs == specimen.run().outputs


DEEP: list = []
for _ in range(5000):
    DEEP = [DEEP]
ODD = [
    None, 1, -1, 0, 2.5, NAN, True, "x", b"x", {}, set(), [], [[]], [[1.0], [1.0, 2.0]], [["a"]], [[None]],
    DEEP, 10**400, [[10**400]], object(), 1j, [[1j]], range(3), X, HEADS, [[True, False], [True, True]],
    [[1, 0], [0, 1]],
]  # fmt: skip
CALLS = {
    "sdpa": lambda a: torch.scaled_dot_product_attention(*a[:4], is_causal=a[4], scale=a[5]),
    "MultiheadAttention": lambda a: torch.MultiheadAttention(a[0], a[1], bias=a[2], kdim=a[3], state_dict=a[4]),
    "forward": lambda a: torch.MultiheadAttention(2, 1, state_dict=E2)(*a[:3], a[3], a[4], a[5], a[6]),
    "TransformerEncoder": lambda a: torch.TransformerEncoder(a[0], a[1], a[2], state_dict=a[3]),
    "TransformerEncoderLayer": lambda a: torch.TransformerEncoderLayer(a[0], a[1], a[2], activation=a[3]),
    "layer_norm": lambda a: torch.layer_norm(a[0], a[1], a[2], a[3], a[4]),
    "Attention": lambda a: onnx.Attention(*a[:7], is_causal=a[7], q_num_heads=a[8], softcap=a[9], scale=a[10]),
    "RotaryEmbedding": lambda a: onnx.RotaryEmbedding(*a[:4], num_heads=a[5], rotary_embedding_dim=a[6]),
    "Split": lambda a: onnx.Split(a[0], a[1], axis=a[2], num_outputs=a[3]),
    "Gemm": lambda a: onnx.Gemm(*a[:3], alpha=a[3], beta=a[4], transA=a[5]),
    "Transpose": lambda a: onnx.Transpose(a[0], perm=a[1]),
    "Add": lambda a: onnx.Add(a[0], a[1], broadcast=a[2], axis=a[3], opset=a[4]),
    "Softmax": lambda a: onnx.Softmax(a[0], axis=a[1], opset=a[2]),
    "Reshape": lambda a: onnx.Reshape(a[0], a[1]),
    "model": lambda a: onnx.model(a[0], a[1], a[2], a[3]),
    "node": lambda a: onnx.model(
        [{"op": "Softmax", "attrs": a[0], "inputs": ["x"], "outputs": ["y"]}], {"x": a[1]}, a[2], a[3]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_odd_arguments_are_told_in_a_sentence(name):
    dice = random.Random(name)
    fine = [X, HEADS, [X], None, False, 0, 1, 2, -1, 1.0, ["y"]]
    told = 0
    for _ in range(120):
        arguments = [dice.choice(ODD if dice.random() < 0.35 else fine) for _ in range(12)]
        try:
            made = CALLS[name](arguments)
            if hasattr(made, "run"):
                made.run()
        except GraphError as error:
            told += 1
            assert str(error) and len(str(error)) < 2000
    assert told > 20
