"""Models, heads, sources and patches from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

BERT = str(Path(__file__).parent.parent / "data" / "models" / "bert")
TOY = ("toy", "--text", "qmxbzqmxbz")


def refused(cli, *args) -> str:
    status, out, err = cli(*args)
    assert (status, out) == (2, "")
    *notes, told = err.splitlines()
    assert told.startswith("graphattn: ") and all("are not used" in note for note in notes)
    return told.removeprefix("graphattn: ")


def test_a_folder_is_a_source(cli):
    status, out, err = cli("trace", BERT, "--ids", "2,7,5", "--tensor", "layer1.attention.head0.weights")
    assert status == 0 and "layer1.attention.head0.weights = softmax" in out
    assert "2 tensors of the folder are not used: pooler.dense.bias, pooler.dense.weight" in err


def test_some_layers(cli):
    status, out, _ = cli("trace", BERT, "--ids", "2,7,5", "--layers", "1", "--tensor", "hidden")
    assert status == 0 and "layer0.norm2 = layernorm" in out


@pytest.mark.parametrize(
    "args, words",
    [
        ((), "is a model's folder; expected --text or --ids with it"),
        (("--ids", "2,x"), "--ids is '2,x'; expected whole numbers like 101,4937,102"),
        (("--ids", "2,99"), "token 1 has id 99; expected 0 to 19"),
        (("--ids", "2", "--layers", "3"), "layers is 3; expected 0 to 2, as many as the model has"),
        (("--text", "cat"), "has no tokenizer.json and no vocab.txt; expected one, or token ids"),
        (("--ids", "2", "--n", "3"), "--n does not apply to"),
        (("--ids", "2", "--patch", "x"), "--patch 'x' is no NAME=uniform, NAME=zero or NAME=FILE"),
        (("--ids", "2", "--patch", "x=nothing.json"), "expected uniform, zero or a file of tensors"),
        (("--ids", "2", "--patch", "head0.weights=zero"), "could be layer0.attention.head0.weights, layer1"),
        (("--ids", "2", "--patch", "ids=zero"), "--patch ids: it holds int; expected a tensor of floats"),
    ],
)
def test_refusals(cli, args, words):
    assert words in refused(cli, "trace", BERT, *args)


def test_what_is_no_model_s_folder(cli, tmp_path):
    told = refused(cli, "trace", "sentence-transformers/all-MiniLM-L6-v2", "--text", "cat")
    assert "nothing is downloaded: `hf download sentence-transformers/all-MiniLM-L6-v2 --local-dir" in told
    assert "hf download" not in refused(cli, "trace", "folder/graph.json")
    for name in ("config.json", "model.safetensors"):
        told = refused(cli, "trace", str(Path(BERT) / name), "--ids", "2")
        assert told.endswith(f"is one file of a model; expected its folder, {BERT}")
    assert refused(cli, "trace", str(tmp_path), "--ids", "2").endswith("expected the folder of a model")
    cached = tmp_path / "snapshots" / "abc"
    cached.mkdir(parents=True)
    (cached / "config.json").write_text("{}", encoding="utf-8")
    assert refused(cli, "trace", str(tmp_path), "--ids", "2").endswith(
        f"expected the folder of a model: {cached}"
    )


def test_a_model_is_compared_with_what_another_recorded(cli, tmp_path):
    theirs = json.loads((Path(BERT) / "expected.json").read_text(encoding="utf-8"))
    names = {f"attentions.{i}": weights for i, weights in enumerate(theirs["attentions"])}
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps({**names, "layer1": theirs["hidden_states"][2]}), encoding="utf-8")
    ids = ",".join(map(str, theirs["ids"]))
    status, out, _ = cli("compare", BERT, str(file), "--ids", ids)
    assert status == 0 and out.startswith("the same but for the rounding of float64")
    assert "layer1.attention.head0.weights … layer1.attention.head1.weights = attentions.1" in " ".join(
        out.split()
    )
    status, out, _ = cli("compare", BERT, str(file), "--ids", ids.replace("11", "12"))
    assert status == 1 and out.startswith("different")
    assert "expected --text or --ids with it" in refused(cli, "compare", BERT, str(file))


def test_a_text_that_is_continued_to_the_end(cli):
    gpt2 = str(Path(BERT).with_name("gpt2"))
    status, out, err = cli("next", gpt2, "--ids", "2,7,5", "--generate", "20")
    assert status == 0 and len(out.splitlines()) == 11
    assert "after 10 tokens: the text has 13 tokens; expected at most 12" in err


def test_a_pickled_file_is_not_read(cli, tmp_path):
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(b"")
    assert "is pickled, which can run code and is never read" in refused(cli, "trace", str(path))


def test_heads(cli):
    status, out, _ = cli("heads", "toy", "qmxbzqmxbz", "--thumbnails", "1")
    assert status == 0
    first, second = (line.split()[:2] for line in out.splitlines()[3:5])
    assert {first[0], second[0]} == {"layer1.head0", "layer1.head1"} and first[1] == "induction"
    assert "██" in out
    data = json.loads(cli("heads", *TOY, "--json")[1])
    assert data["heads"]["layer0.attention.head1"]["does"] == "previous"
    assert data["heads"]["layer0.attention.head1"]["scores"]["next"] is None
    assert "both TEXT and --text" in refused(cli, "heads", "toy", "abc", "--text", "abc")
    assert "'nose' is no score" in refused(cli, "heads", *TOY, "--by", "nose")


def test_sources(cli):
    cell = ("layer1.attention.head0.scaled", "10", "6")
    status, out, _ = cli("why", *TOY[:1], *cell, *TOY[1:], "--sources")
    assert status == 0 and "  layer0.attention.head1      5.547934   45.6%" in out
    args = ("why", *TOY[:1], *cell, *TOY[1:], "--sources", "--by", "token", "--through", "layer0.*")
    assert "token_embedding of z₅ through layer0.attention.head1" in cli(*args)[1]
    assert "expected it with them" in refused(cli, "why", *TOY[:1], *cell, *TOY[1:], "--by", "token")
    assert "--sources is a table of its own" in refused(cli, "why", *TOY[:1], *cell, "--sources", "--markdown")
    data = json.loads(cli("why", *TOY[:1], *cell, *TOY[1:], "--sources", "--ablate", "2", "--json")[1])
    assert len(data["effects"]) == 2 and data["parts"][0]["sources"][1]["name"] == "layer0.attention.head1"


def test_ablation(cli, tmp_path):
    status, out, _ = cli("ablate", *TOY, "--patch", "layer0.head1.out=zero")
    assert status == 0 and out.startswith(
        "with layer0.attention.head1.out set to zero: the largest change of logits"
    )
    assert "different" not in out and "digit" not in out and "ulps" not in out
    names = [line.split()[0] for line in out.split("\n\n")[2].splitlines()[1:-1]]
    assert names[0] == "layer0.attention.head1.out" and names[-1] == "logits"
    assert not any("concat" in name or "part" in name or "keys" in name for name in names)  # they move numbers
    everything = cli("ablate", *TOY, "--patch", "layer0.head1.out=zero", "--all")[1]
    assert "layer0.attention.concat" in everything and "token_embedding" in everything
    both = cli("ablate", *TOY, "--patch", "layer0.head1.weights=uniform", "--patch", "layer0.head0.out=zero")[1]
    assert "head1.weights made uniform and layer0.attention.head0.out set to zero:" in " ".join(both.split())
    assert "nothing is replaced" in refused(cli, "ablate", *TOY)
    out = cli("heads", *TOY, "--patch", "layer0.head1.out=zero", "--json")[1]
    assert json.loads(out)["heads"]["layer1.attention.head0"]["does"] != "induction"


def test_a_uniform_patch_spreads_over_what_is_visible(cli, tmp_path):
    name = "layer0.attention.head1.weights"
    out = cli("trace", "toy", "--text", "ab", "--patch", "layer0.head1.weights=uniform", "--tensor", name)[1]
    rows = [line.split()[1:] for line in out.splitlines()[-4:-1]]
    assert rows == [["1.0000", "0.0000", "0.0000"], ["0.5000", "0.5000", "0.0000"], ["0.3333"] * 3]
    file = tmp_path / "even.json"
    file.write_text(json.dumps({"layer0.head1.weights": [[1, 0, 0], [1, 0, 0], [1, 0, 0]]}), encoding="utf-8")
    args = ("--patch", f"layer0.head1.weights={file}", "--tensor", "layer0.attention.head1.weights", "--exact")
    assert "patched" in cli("trace", "toy", "--text", "ab", *args)[1]
