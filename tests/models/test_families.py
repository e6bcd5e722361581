"""Every family against transformers in float64: hidden states, attention maps, logits."""

from __future__ import annotations

import json
import math
import random

import pytest
from folders import FOLDERS, copied, distance, expected

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
    draw = random.Random(family)
    for parameter, weight in model.feeds.items():
        if parameter == "ids":
            continue
        changed = nested.copied(nested.lists(weight))
        for row in [changed] if isinstance(changed[0], float) else changed:
            row[:] = [cell + draw.uniform(-0.5, 0.5) for cell in row]
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


def test_gpt2_with_other_scales(tmp_path):
    """Scores are not divided by √dₖ, and by the layer's number: as if each layer's W_Q were another."""
    ids = expected("gpt2")["ids"]
    plain = pretrained(FOLDERS / "gpt2", ids=ids)
    options = {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True}
    other = pretrained(copied("gpt2", tmp_path, **options), ids=ids)
    for i in range(2):
        for name in ("w_q", "b_q"):
            changed = nested.lists(plain.feeds[f"layer{i}_{name}"])
            by = math.sqrt(4) / (i + 1)
            plain.feeds[f"layer{i}_{name}"] = nested.build(
                nested.shape_of(changed), lambda *at, cells=changed, by=by: by * nested.at(cells, at)
            )
    assert distance(other.run()["logits"], plain.run()["logits"]) <= TOLERANCE


def test_a_tied_head_of_gpt_neox(tmp_path):
    """The head is the token table, whole, though the text uses some rows of it."""
    from safetensors.numpy import load_file, save_file

    folder = copied("gpt_neox", tmp_path)
    tensors = load_file(folder / "model.safetensors")
    tensors["embed_out.weight"] = tensors["gpt_neox.embed_in.weight"]
    save_file(tensors, folder / "model.safetensors")
    apart = pretrained(folder, ids=[2, 7]).run()["logits"]
    del tensors["embed_out.weight"]
    save_file(tensors, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | {"tie_word_embeddings": True}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert pretrained(folder, ids=[2, 7]).run()["logits"] == apart


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


@pytest.mark.parametrize("family", FAMILIES)
def test_trained_tensors_are_made_ready_once_for_many_texts(family):
    """Also those that are cut of others: a text costs no more than the rows that it uses."""
    folder = Folder(FOLDERS / family)
    first, second = (pretrained(folder, ids=ids).feeds for ids in ([2, 7, 5], [3, 2]))
    of_text = {"ids", "token_table", "position_table"}
    assert all(first[name] is second[name] for name in first.keys() - of_text)
