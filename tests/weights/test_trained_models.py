"""The shipped model and the extract of one head give the numbers that were recorded elsewhere."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from graphattn.core import nested
from graphattn.core.errors import GraphError
from graphattn.core.tensor_file import TensorFile, read_tensors
from graphattn.passes.zoom import fuse, zoom
from graphattn.weights.extract import extract
from graphattn.weights.toy_induction import FILE, VOCABULARY, encode, toy_induction

MINILM = Path(__file__).parent.parent / "data" / "minilm_L0H2_prevtoken.safetensors"
TOLERANCE = 1e-12


def distance(a, b) -> float:
    assert nested.shape_of(a) == nested.shape_of(b)
    return max(abs(x - y) for x, y in zip(nested.flat(a), nested.flat(b), strict=True))


RECORDED = [f"layer{i}" for i in (0, 1)] + [
    f"layer{i}.attention.head{h}.weights" for i in (0, 1) for h in (0, 1)
]


def test_toy_induction_gives_what_was_recorded():
    model = toy_induction()
    assert sorted(model.recorded) == sorted([*RECORDED, "logits"])
    trace = model.run()
    for name, theirs in model.recorded.items():
        assert distance(trace[name], theirs) <= TOLERANCE, name


def test_a_wrong_weight_would_be_noticed():
    model = toy_induction()
    feeds = copy.deepcopy(dict(model.feeds))
    feeds["w_v1"][3][5] += 1e-9
    trace = model.graph.run(feeds)
    assert distance(trace["logits"], model.recorded["logits"]) > TOLERANCE


@pytest.mark.parametrize("level", ["block", "head", "primitive"])
def test_toy_induction_at_every_level(level):
    model = toy_induction()
    assert distance(model.run(level=level)["logits"], model.recorded["logits"]) <= TOLERANCE


def test_toy_induction_zooms_and_fuses():
    graph = toy_induction("abab").graph
    assert fuse(zoom(graph, "primitive")) == graph


def test_the_names_in_the_docstring_are_there():
    trace = toy_induction().run()
    for name in ("x", "layer0", "layer1", "layer1.attention.head0.weights", "logits"):
        assert name in trace
    assert trace.labels["token"] == ("^", *"qmxbzqmxbzqmxbz")
    assert trace.labels["vocabulary"] == VOCABULARY


def test_it_continues_repeated_strings_it_never_saw():
    for period, text in (("abc", "abcabc"), ("wxyz", "wxyzwxyzwxyz"), ("graph", "graphgraph")):
        logits = toy_induction(text).run(targets=["logits"])["logits"]
        guesses = [VOCABULARY[max(range(27), key=row.__getitem__)] for row in logits]
        start = len(period) + 1  # the first letter of the second round cannot be known
        assert "".join(guesses[start:]) == text[start:] + period[0], text


def test_encode():
    assert encode("az") == [0, 1, 26]
    for text, words in (
        ("", "the text has 0 letters; expected 1 to 31"),
        ("a" * 32, "the text has 32 letters; expected 1 to 31"),
        ("aB", "character 1 of the text is 'B'; expected letters from a to z"),
        ("ab c", "character 2 of the text is ' '; expected letters from a to z"),
        ("고", "character 0 of the text is '고'; expected letters from a to z"),
    ):
        with pytest.raises(GraphError) as caught:
            encode(text)
        assert str(caught.value) == words


def test_the_shipped_file_says_its_licence_and_nothing_of_where_it_was_made():
    metadata = read_tensors(FILE).metadata
    assert metadata["license"] == "made for this project from random data; no third-party content"
    assert "/tmp" not in json.dumps(metadata) and "/home" not in json.dumps(metadata)


def test_minilm_gives_what_was_recorded():
    head = extract(MINILM)
    assert sorted(head.recorded) == ["head.out", "head.scaled", "head.weights", "k", "q", "v"]
    trace = head.run()
    for name, theirs in head.recorded.items():
        assert distance(trace[name], theirs) <= TOLERANCE, name
    assert trace.labels["token"] == ("[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]")
    assert all(trace["head.weights"][i][i - 1] > 0.99 for i in range(1, 8))
    assert head.graph.title == "the cat sat on the mat"


def test_an_extract_of_q_k_v_alone(tmp_path):
    head = extract(MINILM)
    record = {name: head.recorded[name] for name in "qkv"} | {
        "tokens": list(head.labels["token"]),
        "causal": False,
    }
    record |= {"scores": head.recorded["head.scaled"], "weights": head.recorded["head.weights"]}
    (tmp_path / "head.json").write_text(json.dumps(record), encoding="utf-8")
    again = extract(tmp_path / "head.json")
    assert list(again.graph.inputs) == ["q", "k", "v"]
    assert again.labels == head.labels
    trace = again.run()
    assert distance(trace["head.weights"], head.recorded["head.weights"]) <= TOLERANCE
    assert distance(trace["head.scaled"], head.recorded["head.scaled"]) <= TOLERANCE


def test_capitals_are_read_as_small_letters():
    small = {name: [[0.5, -1.0], [2.0, 0.25]] for name in ("x", "w_q", "w_k", "w_v")}
    capital = {"X": small["x"], **{f"W_{p}": small[f"w_{p}"] for p in "qkv"}}
    assert extract(TensorFile("head.json", capital, {})) == extract(TensorFile("head.json", small, {}))
    assert extract(TensorFile("head.json", dict.fromkeys("QKV", small["x"]), {})).run()["q"] == small["x"]


def test_a_causal_extract():
    one = [[1.0, 0.0], [0.0, 1.0]]
    file = TensorFile("head.json", {"q": one, "k": one, "v": one}, {"causal": True})
    assert extract(file).run()["head.weights"][0] == [1.0, 0.0]


X, W = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
WHOLE = {"x": X, "w_q": W, "w_k": W, "w_v": W}


@pytest.mark.parametrize(
    "tensors, metadata, words",
    [
        ({"x": X, "w_q": W}, {}, "head.npz has no w_k, w_v; expected x, w_q, w_k, w_v, or q, k, v"),
        ({**WHOLE, "x": [1.0]}, {}, "head.npz: x has shape [1]; expected token × feature"),
        (
            {**WHOLE, "w_k": [[1.0, 2.0]]},
            {},
            "head.npz: linear 'k': x has 3 features and w takes 2; expected as many"
            " (x is token 2 × feature 3; w is w_k, feature 1 × feature 2)",
        ),
        ({**WHOLE, "b_q": [1.0]}, {}, "head.npz: linear 'q': b is feature 1; expected one row of 2"
         " (x is token 2 × feature 3; w is w_q, feature 2 × feature 3; b is b_q, feature 1)"),
        (WHOLE, {"tokens": "[1, 2]"}, "head.npz: tokens are [1, 2]; expected a list of texts"),
        (WHOLE, {"tokens": "[1, 2"}, "head.npz: tokens are '[1, 2'; expected a JSON list of texts"),
        (WHOLE, {"tokens": "[" * 100000}, f"head.npz: tokens are {'[' * 60!r}; expected a JSON list of texts"),
    ],
)  # fmt: skip
def test_extracts_that_do_not_fit(tensors, metadata, words):
    with pytest.raises(GraphError) as caught:
        extract(TensorFile("head.npz", tensors, metadata))
    assert str(caught.value) == words
