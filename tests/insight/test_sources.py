"""A cell is the sum of its parts: on the toy's measured numbers, on models of every kind, on random graphs."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from random_graphs import cases

from graphattn.core import nested
from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph
from graphattn.core.op import OPS
from graphattn.core.run import run
from graphattn.insight.sources import Source, sources
from graphattn.models import pretrained
from graphattn.passes.gradient import value_and_grad
from graphattn.weights.toy_induction import toy_induction

MODELS = Path(__file__).parent.parent / "data" / "models"
CELL = ("layer1.attention.head0.scaled", 10, 6)


@pytest.fixture(scope="module")
def toy():
    return toy_induction("qmxbzqmxbz").run()


# ---------------------------------------------------------------- numbers that were measured elsewhere


def test_a_score_by_what_wrote_the_key(toy):
    found = toy.sources(*CELL)
    assert found.value == pytest.approx(12.1628, abs=5e-5)
    parts = found.side(1)
    assert parts[Source("layer0.attention.head1")] == pytest.approx(5.5479, abs=5e-4)
    assert parts[Source("layer0.attention.head0")] == pytest.approx(3.576, abs=5e-4)
    assert parts[Source("position_embedding")] == pytest.approx(3.280, abs=5e-4)
    assert parts[Source("token_embedding")] == pytest.approx(0.226, abs=5e-4)
    assert parts[Source("beta1")] == pytest.approx(-0.468, abs=5e-4)
    assert found.side(0)[Source("token_embedding")] == pytest.approx(10.193, abs=5e-4)


def test_the_margin_over_another_key(toy):
    found = toy.sources(*CELL, against=1)
    assert found.value == pytest.approx(3.836, abs=5e-4)
    assert found.side(1)[Source("layer0.attention.head1")] == pytest.approx(3.142, abs=5e-4)
    weight = toy.sources("layer1.attention.head0.weights", 10, 6, against=1)
    assert weight.value == pytest.approx(found.value, abs=1e-12)
    row = toy["layer1.attention.head0.weights"][10]
    assert weight.value == pytest.approx(math.log(row[6] / row[1]), abs=1e-12)


def test_by_token_through_the_heads_of_layer_0(toy):
    parts = toy.sources(*CELL, by="token", through=["layer0.*"]).side(1)
    of_z = {
        source.via: part
        for source, part in parts.items()
        if (source.name, source.token) == ("token_embedding", 5)
    }
    assert math.fsum(of_z.values()) == pytest.approx(10.433, abs=5e-4)
    assert of_z[("layer0.attention.head1",)] == pytest.approx(7.912, abs=5e-4)


def test_sides_add_up_to_the_cell(toy):
    found = toy.sources(*CELL)
    for which in (0, 1):
        assert math.fsum(found.side(which).values()) == pytest.approx(found.value, abs=1e-12)
    assert found.sides == ("Q₀", "K₀ᵀ")


def test_what_is_lost_without_a_source(toy):
    """The causal test: each source set to zero by hand, and everything behind it run again."""
    found = toy.sources(*CELL, ablate=3)
    assert len(found.effects) == 3
    tensors = {"layer0.attention.head1": "layer0.attention.head1.out"}
    for name, lost in found.effects.items():
        tensor = tensors.get(name, name)
        shape = nested.shape_of(toy[tensor])
        model = toy_induction("qmxbzqmxbz")
        without = model.run(patch={tensor: nested.full(shape, 0.0)})
        assert lost == pytest.approx(found.value - nested.at(without[CELL[0]], CELL[1:]), abs=1e-12)
    margin = toy.sources(*CELL, against=1, by="layer", ablate=1)
    ((name, lost),) = margin.effects.items()
    tensor = tensors.get(name, name)
    without = toy_induction("qmxbzqmxbz").run(patch={tensor: nested.full(nested.shape_of(toy[tensor]), 0.0)})
    row = without[CELL[0]][10]
    assert lost == pytest.approx(margin.value - (row[6] - row[1]), abs=1e-12)
    patched = toy_induction("qmxbzqmxbz").run(patch={"layer0": toy["layer0"]})
    with pytest.raises(GraphError, match="patched tensors"):
        patched.sources(*CELL, ablate=1)


def test_as_json(toy):
    found = toy.sources(*CELL, by="token", through=["layer0.*"], ablate=1)
    record = json.loads(json.dumps(found.record()))
    assert math.fsum(part["part"] for part in record["parts"]) + record["residue"] == pytest.approx(found.value)
    assert len(record["parts"]) == len(found.parts) and record["sides"] == ["Q₀", "K₀ᵀ"]
    assert list(record["effects"]) == list(found.effects)


# ---------------------------------------------------------------- everywhere


def squeezed(found):
    """The residue is within 1e-12 of the sum of the parts' sizes."""
    size = math.fsum(map(abs, found.parts.values()))
    assert abs(found.residue) <= 1e-12 * size, found.cell


@pytest.mark.slow
def test_scores_of_every_query_of_the_toy(toy):
    for layer in range(2):
        for head in range(2):
            for q in range(11):
                for k in sorted({0, q // 2, q}):
                    squeezed(toy.sources(f"layer{layer}.attention.head{head}.scaled", q, k))


@pytest.mark.parametrize("family", ["bert", "gpt2", "albert", "mpnet", "llama", "qwen3", "gemma2"])
def test_scores_and_states_of_models(family):
    trace = pretrained(MODELS / family, ids=[2, 7, 5, 7]).run()
    for head in range(2):
        squeezed(trace.sources(f"layer1.attention.head{head}.scaled", 3, 1))
    squeezed(trace.sources("hidden", 2, 3))
    squeezed(trace.sources("hidden", 2, 3, by="token", through=["layer*.head*"]))
    squeezed(trace.sources("hidden", 2, 3, through=["layer*"]))
    if "logits" in trace:
        name = "uncapped" if family == "gemma2" else "logits"
        squeezed(trace.sources(name, 3, 5, against=7))


@pytest.mark.parametrize("family", ["gpt2", "bert", "llama"])
def test_any_source_can_be_taken_away(family):
    """Rows of norms and biases too, which stand in the parts by their own names."""
    trace = pretrained(MODELS / family, ids=[2, 7, 5]).run()
    found = trace.sources("layer1.attention.head0.scaled", 2, 1, ablate=99)
    assert found.effects.keys() == {source.name for key in found.parts for source in key}


REFUSALS = (
    "not linear in anything", "third factor", "more than two", "one key alone", "is 0 there", "a finite number",
)  # fmt: skip


@pytest.mark.slow
@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(cases())
def test_random_graphs(case):
    """Whatever has parts is their sum: `sources` itself refuses parts that do not add up."""
    trace = run(case.graph, case.feeds, allow_nonfinite=True)
    floats = [name for name in trace.names if trace.spec(name).kind == "float"]
    if not all(math.isfinite(cell) for name in floats for cell in nested.flat(trace[name])):
        return
    for name in floats[-4:]:
        spec = trace.spec(name)
        if not spec.size:
            continue
        index = [random.Random(name).randrange(size) for size in spec.shape]
        try:
            found = sources(trace, name, *index)
        except GraphError as error:
            assert any(words in str(error) for words in REFUSALS), error
            continue
        size = math.fsum(map(abs, found.parts.values()))
        assert abs(found.residue) <= 1e-12 * max(size, abs(found.value))


def test_one_side_is_gradient_times_source():
    g = Graph("residual")
    a, b = (g.input(name, (3, 4), ("token", "feature")) for name in "ab")
    w = g.parameter("w", (2, 4), ("feature", "feature"))
    bias = g.parameter("bias", (2,), ("feature",))
    g.output(y=g.linear(a + b, w, bias) * 0.5)
    draw = random.Random(3)
    feeds = {n: nested.build(s.shape, lambda *_: draw.gauss(0, 1)) for n, s in g.inputs.items()}
    found = {key[0].name: part for key, part in run(g, feeds).sources("y", 1, 0).parts.items()}
    cotangent = nested.build((3, 2), lambda i, j: float((i, j) == (1, 0)))
    _, gradients = value_and_grad(g, {**feeds, "d_y": cotangent}, of="y", wrt=["a", "b", "bias"])
    for name in ("a", "b", "bias"):
        products = map(lambda p, q: p * q, nested.flat(gradients[name]), nested.flat(feeds[name]))
        assert found[name] == pytest.approx(math.fsum(products), abs=1e-14), name


def test_a_part_is_what_zeroing_takes_away_with_the_norm_as_it_was():
    model = toy_induction("qmxbzqmxbz")
    trace = model.run(level="primitive")
    head = "layer1.attention.head0.out"
    part = trace.sources("logits", 10, 17).side()[Source("layer1.attention.head0")]
    frozen = {"norm.root": trace["norm.root"], head: lambda out: nested.full((11, 16), 0.0)}
    without = model.run(level="primitive", patch=frozen)
    assert trace["logits"][10][17] - without["logits"][10][17] == pytest.approx(part, abs=1e-12)


def test_a_patched_tensor_is_a_source():
    model = toy_induction("qmxb")
    trace = model.run(patch={"layer0": lambda x: [[2.0 * cell for cell in row] for row in x]})
    found = trace.sources("layer1.attention.head0.scaled", 3, 2)
    names = {source.name for key in found.parts for source in key}
    assert "layer0.residual" in names and not any(name.startswith("layer0.attention") for name in names)


@pytest.mark.parametrize("level", ["head", "op", "primitive"])
def test_every_level_tells_the_same(level):
    trace = toy_induction("qmxbz").run(level=level)
    parts = {s.name: p for s, p in trace.sources("logits", 4, 3).side().items()}
    assert set(parts) == {
        "layer0.attention.head0", "layer0.attention.head1", "layer1.attention.head0", "layer1.attention.head1",
        "token_embedding", "position_embedding", "beta",
    }  # fmt: skip


# ---------------------------------------------------------------- what is refused


def refused(trace, *args, **options) -> str:
    with pytest.raises(GraphError) as error:
        trace.sources(*args, **options)
    return str(error.value)


def test_refusals(toy):
    scaled = "layer1.attention.head0.scaled"
    assert "by is 'letter'; expected one of head, layer, token" in refused(toy, scaled, 3, 2, by="letter")
    assert "fits no head or feed-forward" in refused(toy, scaled, 3, 2, through="layer9.*")
    assert "is compared with itself" in refused(toy, scaled, 3, 2, against=2)
    assert "expected a finite number" in refused(toy, "layer1.attention.head0.masked", 2, 3)
    assert "holds int; expected a tensor of floats" in refused(toy, "ids", 2)
    assert "is not linear in anything" in refused(toy, "tok", 2, 3)


def test_a_third_factor_is_refused():
    g = Graph("cube")
    x = g.input("x", (2,))
    g.output(y=(x * x) * x)
    assert "third factor" in refused(run(g, {"x": [2.0, 3.0]}), "y", 1)


def test_a_square_keeps_its_two_uses_apart():
    g = Graph("square")
    x, y = g.input("x", (2,)), g.input("y", (2,))
    s = g.add(x, y)
    g.output(out=s * s)
    parts = run(g, {"x": [2.0, 3.0], "y": [1.0, 5.0]}).sources("out", 1).parts
    assert {tuple(s.name for s in key): part for key, part in parts.items()} == {
        ("x", "x"): 9.0, ("x", "y"): 15.0, ("y", "x"): 15.0, ("y", "y"): 25.0,
    }  # fmt: skip


def test_an_op_that_lies_is_found_by_the_residue(monkeypatch):
    monkeypatch.setitem(OPS, "silu", replace(OPS["silu"], linear=(("x",),)))
    g = Graph("lie")
    x, y = g.input("x", (2,)), g.input("y", (2,))
    g.output(out=g.silu(x + y))
    assert "an op on the way is not linear as it says" in refused(
        run(g, {"x": [2.0, 3.0], "y": [1.0, 5.0]}), "out", 1
    )


def test_the_text(toy):
    text = str(toy.sources(*CELL))
    assert text.startswith("layer1.attention.head0.scaled[z₁₀, q₆] = 12.162781\n")
    assert "  layer0.attention.head1      5.547934   45.6%\n" in text
    assert "It is not what would be missing" in text
