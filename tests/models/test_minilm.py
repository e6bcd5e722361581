"""The real all-MiniLM-L6-v2 against float64 values of transformers, where its folder is there."""

from __future__ import annotations

import json
import math
import random

import pytest
from folders import FOLDERS, MINILM, distance, needs_minilm

from graphattn.core import nested
from graphattn.core.tensor_file import read_tensors
from graphattn.models import pretrained

RECORDED = json.loads((FOLDERS / "minilm_embeddings.json").read_text(encoding="utf-8"))["sentences"]
LAYERS, HEADS = 6, 12
pytestmark = [needs_minilm, pytest.mark.slow]


@pytest.fixture(scope="module")
def attentions():
    """Every attention map of the five sentences, in float64 by transformers (data/models/write_minilm.py)."""
    return read_tensors(FOLDERS / "minilm_attentions.safetensors").tensors


@pytest.mark.parametrize("number", range(len(RECORDED)), ids=[case["text"][:20] for case in RECORDED])
def test_sentences(number, attentions):
    theirs = RECORDED[number]
    model = pretrained(MINILM, text=theirs["text"])
    assert list(model.labels["token"]) == theirs["tokens"]
    trace = model.run()
    for layer in range(LAYERS):
        for head, map_ in enumerate(attentions[f"sentence{number}.layer{layer}"]):
            assert distance(trace[f"layer{layer}.attention.head{head}.weights"], map_) <= 1e-12, (layer, head)
    assert distance(trace["embedding"], theirs["embedding"]) <= 1e-12
    states = ["x", *(f"layer{i}" for i in range(6))]
    for name, norm, first in zip(states, theirs["layer_norms"], theirs["layer_first4"], strict=True):
        assert distance(trace[name][0][:4], first) <= 1e-12, name
        assert abs(math.hypot(*nested.flat(trace[name])) - norm) <= 1e-12 * norm, name


def test_what_the_folder_has_beside():
    (note,) = pretrained(MINILM, text="cat").graph.notes
    assert note == (
        "3 tensors of the folder are not used: embeddings.position_ids, pooler.dense.bias, pooler.dense.weight"
    )


def squeezed(found):
    """The residue is within 1e-12 of the sum of the parts' sizes."""
    assert abs(found.residue) <= 1e-12 * math.fsum(map(abs, found.parts.values())), found.cell


def test_parts_of_60_cells():
    """Any score, head's result or state is the sum of what wrote it, to 1e-12 of the parts' sizes."""
    trace = pretrained(MINILM, text="a cat sat", layers=2).run()
    draw = random.Random(12)
    n = len(trace["x"])
    for i in range(60):
        layer, head = int(i % 50 == 0), draw.randrange(HEADS)
        squeezed(
            trace.sources(f"layer{layer}.attention.head{head}.scaled", draw.randrange(n), draw.randrange(n))
        )
    for head in (0, 7):
        squeezed(trace.sources(f"layer1.attention.head{head}.out", 2, draw.randrange(32), by="layer"))
    squeezed(trace.sources("layer0", 1, draw.randrange(384), by="token"))


def test_parts_of_the_last_layer():
    trace = pretrained(MINILM, text="a cat sat").run()
    found = trace.sources("layer5.attention.head3.scaled", 2, 3)
    assert len({key[0] for key in found.parts}) > 80
    squeezed(found)
