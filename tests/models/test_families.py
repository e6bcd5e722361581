"""Every family against transformers in float64: hidden states, attention maps, logits."""

from __future__ import annotations

import pytest
from folders import FOLDERS, distance, expected

from graphattn.core import nested
from graphattn.core.run import run
from graphattn.models import Folder, checkpoint, pretrained
from graphattn.models.families import FAMILIES as FILES
from graphattn.passes.zoom import fuse, zoom

TOLERANCE = 1e-12
FAMILIES = sorted(set(FILES.values()))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_small_model_gives_what_transformers_gives(family):
    theirs = expected(family)
    model = pretrained(FOLDERS / family, ids=theirs["ids"])
    trace = model.run()
    *states, last = theirs["hidden_states"]
    assert distance(trace["hidden"], last) <= TOLERANCE
    for i, state in enumerate(states):
        first = "x" if "x" in trace else "token_embedding"
        assert distance(trace[f"layer{i - 1}" if i else first], state) <= TOLERANCE, i
    for i, maps in enumerate(theirs["attentions"]):
        for h, weights in enumerate(maps):
            assert distance(trace[f"layer{i}.attention.head{h}.weights"], weights) <= TOLERANCE, (i, h)
    if "logits" in theirs:
        assert distance(trace["logits"], theirs["logits"]) <= TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_level_gives_the_same(family):
    model = pretrained(FOLDERS / family, ids=[3, 4, 5])
    hidden = model.run()["hidden"]
    for level in ("block", "head", "primitive"):
        assert distance(model.run(level=level)["hidden"], hidden) <= TOLERANCE, level
    assert fuse(zoom(model.graph, "primitive")) == model.graph


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrong_weight_would_be_noticed(family):
    """Each trained tensor matters: a change of any of them changes what comes out."""
    theirs = expected(family)
    model = pretrained(FOLDERS / family, ids=theirs["ids"])
    name, right = (
        ("logits", theirs["logits"]) if "logits" in theirs else ("hidden", theirs["hidden_states"][-1])
    )
    for parameter, weight in model.feeds.items():
        if parameter == "ids":
            continue
        changed = nested.copied(nested.lists(weight))
        row = changed if isinstance(changed[0], float) else changed[0]
        row[0] += 0.5
        moved = distance(run(model.graph, {**model.feeds, parameter: changed})[name], right)
        # a key's bias alone adds the same to all scores of a row, unless keys turn with their position
        no_use = parameter.endswith("_b_k") and "cos" not in model.graph
        assert (moved > 1e-9) != no_use, parameter


@pytest.mark.parametrize("family", FAMILIES)
def test_only_some_layers(family):
    theirs = expected(family)
    model = pretrained(FOLDERS / family, ids=theirs["ids"], layers=1)
    assert list(model.graph.outputs) == ["hidden"]
    assert distance(model.run()["hidden"], theirs["hidden_states"][1]) <= TOLERANCE


def test_a_folder_is_opened_once_for_many_texts(monkeypatch):
    seen = []

    def read(path):
        seen.append(path)
        return of_file(path)

    of_file = checkpoint._of_file
    monkeypatch.setattr(checkpoint, "_of_file", read)
    folder = Folder(FOLDERS / "bert")
    first, second = (pretrained(folder, ids=ids).run() for ids in ([2, 7, 5], [3, 1]))
    assert len(seen) == 1
    assert first["hidden"] == pretrained(FOLDERS / "bert", ids=[2, 7, 5]).run()["hidden"]
    assert second["hidden"] == pretrained(FOLDERS / "bert", ids=[3, 1]).run()["hidden"]
