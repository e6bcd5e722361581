"""What is warned of, and where: at the call that builds it, or at the step where it is born."""

import math
import re
import warnings

import pytest

from graphattn import Graph, gradient, run

INF = math.inf


def test_causal_attention_with_a_cache_and_no_offset_warns_where_it_is_built():
    g = Graph("decode")
    x, k, v = (g.input(name, (n, 4)) for name, n in (("x", 1), ("k", 3), ("v", 3)))
    with pytest.warns(UserWarning, match=r"^multi_head 'm': past_k has 3 .* expected offset=3$") as caught:
        g.multi_head(x, x, x, heads=2, past_k=k, past_v=v, causal=True, name="m")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g.multi_head(x, x, x, heads=2, past_k=k, past_v=v, causal=True, offset=3, name="right")
        g.multi_head(x, x, x, heads=2, past_k=k, past_v=v, name="all")
    rows = {"x": [[1.0, 2.0, 3.0, 4.0]], "k": [[0.5] * 4] * 3, "v": [[1.0] * 4] * 3}
    trace = run(g, rows)
    assert trace["m.head0.weights"][0][3] == 0.0 < trace["right.head0.weights"][0][3]


@pytest.mark.parametrize(
    ("build", "feeds", "told"),
    [
        (lambda x: x - x, [[1.0, INF]], "1 cell is NaN, born of an infinite operand: nan at [0, 1]"),
        (lambda x: x * 0, [[-INF, INF]], "2 cells are NaN, born of an infinite operand: nan at [0, 0]"),
        (lambda x: x - x, [[1.0, math.nan]], None),
        (lambda x: x + x, [[1.0, INF]], None),
        (lambda x: x / 0, [[1.0, 0.0]], "2 cells are not finite, though the operands are: inf at [0, 0]"),
    ],
)
def test_nan_born_of_infinity_is_told_where_it_is_born_and_only_there(build, feeds, told):
    g = Graph("g")
    y = build(g.input("x", (1, 2)))
    z = y + 1
    trace = run(g, {"x": feeds}, allow_nonfinite=True)
    assert trace.step(y.name).warnings == ([told] if told else [])
    assert trace.step(z.name).warnings == []


def test_what_a_mask_hides_is_not_born():
    g = Graph("g")
    x = g.input("x", (3, 2))
    g.attention(x, x, x, causal=True, name="head")
    assert run(g, {"x": [[1.0, 2.0], [3.0, 4.0], [0.5, 0.5]]}).warnings == []


@pytest.mark.parametrize("options", [{}, {"level": "primitive"}, {"numbers": "float32"}])
def test_what_an_op_warns_of_is_told_once_at_each_level(options):
    g = Graph("g")
    q, m = g.input("q", (2, 3)), g.input("m", (2, 2))
    g.softcap(g.mask(q @ q.T, m, name="masked"), cap=2, name="capped")
    g.attention(q, q, q, mask=m, name="head")
    feeds = {"q": [[1.0] * 3] * 2, "m": [[0.0, 1.0], [1.0, 0.0]]}
    told = run(g, feeds, **options).warnings
    assert len(told) == 2 and all("the float mask holds 0 and 1" in warning for warning in told)
    told = run(g, {**feeds, "m": [[0.0, -INF]] * 2}, allow_nonfinite=True, **options).warnings
    assert sum("which a softmax sees" in warning for warning in told) == 1


def test_formulas_and_attributes_are_those_in_force():
    g = Graph("g")
    x, m = g.input("x", (2, 3, 4)), g.input("m", (3, 4))
    g.transpose(x, perm=(2, 0, 1), name="turned")
    g.mask(x, m, name="shifted")
    g.transpose(x, name="plain")
    trace = run(g, {"x": [[[1.0] * 4] * 3] * 2, "m": [[0.0] * 4] * 3})
    assert "y[k, i, j] = x[i, j, k]" in str(trace.step("turned"))
    assert "y = x + mask where visible, −∞ where hidden" in str(trace.step("shifted"))
    assert "y[j, i] = x[i, j]" in str(trace.step("plain"))


def test_absorbed_zeros_are_mentioned_where_they_matter():
    g = Graph("g")
    q, v = g.input("q", (2, 2)), g.input("v", (2, 2))
    g.attention(q, q, v, causal=True, name="head")
    fine = {"q": [[1.0, 2.0], [3.0, 4.0]], "v": [[1.0, 2.0], [3.0, 4.0]]}
    assert "absorb_zeros" not in str(run(g, fine))
    wild = {**fine, "v": [[1.0, 2.0], [INF, 4.0]]}
    assert "out = matmul(head.weights, v, absorb_zeros=True)" in str(run(g, wild, allow_nonfinite=True))


@pytest.mark.parametrize(("a", "b", "told"), [(1.0, 2.0, False), (0.0, 0.0, True), (0.0, INF, True)])
def test_absorbed_zeros_of_a_quotient_are_mentioned_where_they_matter(a, b, told):
    g = Graph("g")
    g.divide(g.input("a", ()), g.input("b", (2, 1)), absorb_zeros=True, name="y")
    trace = run(g, {"a": a, "b": [[3.0], [b]]}, allow_nonfinite=True)
    assert ("y = divide(a, b, absorb_zeros=True)" in str(trace)) == told
    assert ("y = divide(a, b)" in str(trace)) == (not told)


def test_a_cap_is_written_without_a_needless_point():
    g = Graph("g")
    g.softcap(g.input("x", (1, 2)), cap=2.0, name="capped")
    assert "= 2 · tanh(x[0, 1] / 2)" in str(run(g, {"x": [[1.0, 3.0]]}).why("capped", 0, 1))


def test_gradient_nodes_have_names_that_can_be_said():
    g = Graph("g")
    x = g.input("x", (3, 4))
    weights = {f"w_{name}": g.parameter(f"w_{name}", (4, 4)) for name in "qkvo"}
    g.output(y=g.multi_head(x, x, x, **weights, heads=2))
    names = [name.rpartition(".")[2] for name in gradient(g.at("op"), "y").nodes]
    assert not [name for name in names if len(name) > 30 or re.search("_[0-9a-f]{4}$", name)]
