"""The real all-MiniLM-L6-v2 against float64 values of transformers, where its folder is there."""

from __future__ import annotations

import json
import math

import pytest
from folders import FOLDERS, MINILM, distance, needs_minilm

from graphattn.core import nested
from graphattn.models import pretrained

RECORDED = json.loads((FOLDERS / "minilm_embeddings.json").read_text(encoding="utf-8"))["sentences"]
pytestmark = [needs_minilm, pytest.mark.slow]


@pytest.mark.parametrize("theirs", RECORDED, ids=[case["text"][:20] for case in RECORDED])
def test_sentences(theirs):
    model = pretrained(MINILM, text=theirs["text"])
    assert list(model.labels["token"]) == theirs["tokens"]
    trace = model.run()
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
