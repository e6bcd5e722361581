"""Folders as they are not meant to be: each is refused in one sentence, and nothing outside is read."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from folders import FOLDERS, copied
from safetensors import safe_open

from graphattn.core.errors import GraphError
from graphattn.models import pretrained, read_text
from graphattn.models.generation import generate


def refused(folder, **options) -> str:
    with pytest.raises(GraphError) as error:
        pretrained(folder, **{"ids": [2, 3], **options})
    told = str(error.value)
    assert "\n" not in told and len(told) < 1000
    return told


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"hidden_size": 16}, "has shape [20, 8]; expected [20, 16], as config.json says"),
        ({"hidden_size": "8"}, "hidden_size is '8'; expected a whole number from 1 to"),
        ({"hidden_size": -8}, "hidden_size is -8; expected a whole number"),
        ({"hidden_size": 10**30}, "expected a whole number from 1 to"),
        ({"num_hidden_layers": 3}, "has the tensors of 2 layers; expected 3, as config.json says"),
        ({"num_hidden_layers": 1}, "has the tensors of 2 layers; expected 1, as config.json says"),
        ({"num_hidden_layers": 10**7}, "has the tensors of 2 layers; expected 10,000,000"),
        ({"num_attention_heads": 3}, "do not divide into 3 heads"),
        ({"model_type": "bret"}, "model_type is 'bret'; expected one of bert"),
        ({"model_type": ["bert"]}, "expected one of bert"),
        ({"hidden_act": "mish"}, "hidden_act is 'mish'; expected one of gelu"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'; expected"),
        (
            {"is_decoder": True},
            "is_decoder = True is not known for this family, and may change",
        ),
        ({"quantization_config": {"bits": 4}}, "quantization_config = {'bits': 4} is not known"),
        ({"layer_norm_eps": 0}, "layer_norm_eps is 0; expected a number above 0"),
        ({"vocab_size": None}, "has shape [20, 8]; expected [30522, 8]"),
    ],
)
def test_configs(tmp_path, settings, words):
    assert words in refused(copied("bert", tmp_path, **settings))


@pytest.mark.parametrize("value", ["x", -1, 0.5, [], float("nan"), 10**30])
@pytest.mark.parametrize("family", ["roberta", "mpnet"])
def test_positions_that_count_from_nonsense(tmp_path, family, value):
    told = refused(copied(family, tmp_path, pad_token_id=value))
    assert "pad_token_id" in told or "expected at most" in told


@pytest.mark.parametrize(
    "family, settings",
    [
        ("distilbert", {"tie_weights_": True, "seq_classif_dropout": 0.2, "finetuning_task": "sst-2"}),
        ("gpt2", {"_num_labels": 1, "n_ctx": 12, "summary_type": "cls_index", "predict_special_tokens": True}),
        ("albert", {"down_scale_factor": 1, "gap_size": 0, "num_memory_blocks": 0, "eos_token_ids": 3}),
        ("llama", {"is_llama_config": True, "rope_interleaved": False, "pretraining_tp": 1}),
        ("bert", {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}),
        ("gpt_neo", {"embed_dropout": 0.1, "resid_dropout": 0.1, "gradient_checkpointing": True}),
        ("phi3", {"full_attn_mod": 1, "interpolate_factor": 1, "auto_map": {"AutoConfig": "x.y"}}),
        ("opt", {"activation_dropout": 0.1, "init_std": 0.02, "layerdrop": 0.1, "prefix": "</s>"}),
    ],
)
def test_keys_of_files_that_people_download(tmp_path, family, settings):
    """What stands in the folders of DistilBERT, DistilGPT-2, ALBERT, SmolLM, … and changes nothing."""
    assert pretrained(copied(family, tmp_path, **settings), ids=[2, 3]).graph


def test_a_key_that_is_known_to_make_no_difference(tmp_path):
    folder = copied("bert", tmp_path, unheard_of=3)
    assert "unheard_of = 3 is not known" in refused(folder)
    assert pretrained(folder, ids=[2, 3], ignore=["unheard_of"]).graph


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": ' + "[" * 100_000, "\udcff"])
def test_a_config_that_is_none(tmp_path, text):
    folder = copied("bert", tmp_path)
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert "config.json" in refused(folder)


def test_pickled_weights(tmp_path):
    folder = copied("bert", tmp_path, drop=["model.safetensors"])
    assert "has no model.safetensors and no model.safetensors.index.json" in refused(folder)
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    assert "is pickled, which can run code and is never read; expected model.safetensors" in refused(folder)
    for read in (pretrained, read_text, lambda path, text: list(generate(path, text))):
        with pytest.raises(GraphError, match="is pickled, which can run code and is never read"):
            read(folder / "pytorch_model.bin", "some text")


@pytest.mark.parametrize("cut", [0, 4, 8, 100, -1])
def test_a_file_cut_short(tmp_path, cut):
    folder = copied("bert", tmp_path)
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[:cut])
    assert "model.safetensors" in refused(folder)


def test_a_huge_header(tmp_path):
    folder = copied("bert", tmp_path)
    (folder / "model.safetensors").write_bytes((2**60).to_bytes(8, "little") + b"{}")
    assert "states a header of 1,152,921,504,606,846,976 bytes; expected at most" in refused(folder)


def shards(tmp_path, place):
    """The BERT folder with an index in which `place` says where each tensor lies."""
    folder = copied("bert", tmp_path)
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    with safe_open(folder / "model-00001-of-00001.safetensors", "np") as file:
        names = list(file.keys())
    index = {"weight_map": {name: place(name) for name in names}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


def test_shards(tmp_path):
    folder = shards(tmp_path, lambda name: "model-00001-of-00001.safetensors")
    whole, parts = (pretrained(f, ids=[2, 3, 4]).run()["hidden"] for f in (FOLDERS / "bert", folder))
    assert whole == parts


@pytest.mark.parametrize(
    "place, words",
    [
        ("../bert/model.safetensors", "leads out of the folder"),
        ("/etc/hosts.safetensors", "leads out of the folder"),
        ("..\\model.safetensors", "leads out of the folder"),
        ("model-2.safetensors", "model-2.safetensors is missing"),
        ("model.bin", "names 'model.bin'; expected .safetensors files"),
    ],
)
def test_an_index_that_points_elsewhere(tmp_path, place, words):
    assert words in refused(shards(tmp_path, lambda name: place))


def test_an_index_that_promises_too_much(tmp_path):
    folder = shards(tmp_path, lambda name: "model-00001-of-00001.safetensors")
    index = json.loads((folder / "model.safetensors.index.json").read_text(encoding="utf-8"))
    index["weight_map"]["more.weight"] = "model-00001-of-00001.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert "has no 'more.weight'; expected it" in refused(folder)


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_links(tmp_path):
    folder = copied("bert", tmp_path)
    weights = folder / "model.safetensors"
    elsewhere = tmp_path / "elsewhere.safetensors"
    weights.rename(elsewhere)
    weights.symlink_to(elsewhere)
    assert "is a link that leads out of the folder" in refused(folder)
    weights.unlink()
    weights.symlink_to(weights)
    assert "is a link to nothing" in refused(folder)
    # as Hugging Face's cache lays them: snapshots/REVISION beside blobs
    snapshot = tmp_path / "cache" / "snapshots" / "abc"
    (tmp_path / "cache" / "blobs").mkdir(parents=True)
    snapshot.mkdir(parents=True)
    shutil.copy(folder / "config.json", snapshot)
    elsewhere.rename(tmp_path / "cache" / "blobs" / "123")
    (snapshot / "model.safetensors").symlink_to("../../blobs/123")
    assert pretrained(snapshot, ids=[2, 3]).graph


def test_a_missing_tensor_is_never_no_scale(tmp_path):
    """Each tensor that is taken away is missed by name, or said to be another shape."""
    from safetensors.numpy import load_file, save_file

    folder = copied("bert", tmp_path)
    tensors = load_file(folder / "model.safetensors")
    for name in [name for name in tensors if "layer.1" in name or "embeddings" in name]:
        save_file({n: t for n, t in tensors.items() if n != name}, folder / "model.safetensors")
        assert f"has no tensor {name!r}" in refused(folder)


def test_older_names_and_prefixes(tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = copied("bert", tmp_path)
    tensors = load_file(folder / "model.safetensors")
    older = {
        "bert."
        + n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t
        for n, t in tensors.items()
    }
    save_file(older, folder / "model.safetensors")
    ours = pretrained(folder, ids=[2, 3, 4])
    assert ours.run()["hidden"] == pretrained(FOLDERS / "bert", ids=[2, 3, 4]).run()["hidden"]
    assert "bert.pooler.dense.weight" in ours.graph.notes[0]
    save_file(older | {"embeddings.LayerNorm.weight": tensors["embeddings.LayerNorm.weight"]},
              folder / "model.safetensors")  # fmt: skip
    assert "which are the same tensor; expected one of them" in refused(folder)


@pytest.mark.parametrize("form", ["float16", "float64", "bfloat16"])
def test_other_types(tmp_path, form):
    """float16 and bfloat16 are read exactly: as the float32 of the same numbers."""
    import numpy
    from safetensors.numpy import load_file, save_file

    folder = copied("bert", tmp_path)
    tensors = load_file(folder / "model.safetensors")
    if form == "bfloat16":
        short = {n: (t.view(numpy.uint32) >> 16).astype(numpy.uint16) for n, t in tensors.items()}
        same = {n: (t.astype(numpy.uint32) << 16).view(numpy.float32) for n, t in short.items()}
        header, data = {}, b""
        for name, tensor in short.items():
            places = [len(data), len(data) + tensor.nbytes]
            header[name] = {"dtype": "BF16", "shape": list(tensor.shape), "data_offsets": places}
            data += tensor.tobytes()
        told = json.dumps(header).encode()
        (folder / "model.safetensors").write_bytes(len(told).to_bytes(8, "little") + told + data)
    else:
        short = {n: t.astype(form) for n, t in tensors.items()}
        same = {n: t.astype(numpy.float64).astype(numpy.float32) for n, t in short.items()}
        save_file(short, folder / "model.safetensors")
    ours = pretrained(folder, ids=[2, 3, 4]).run()["hidden"]
    save_file(same, folder / "model.safetensors")
    assert ours == pretrained(folder, ids=[2, 3, 4]).run()["hidden"]


def test_text_and_ids(tmp_path):
    assert "reads either text or ids" in refused(FOLDERS / "bert", text="cat")
    assert "ids are no list of whole numbers" in refused(FOLDERS / "bert", ids="12")
    assert "the text has no tokens" in refused(FOLDERS / "bert", ids=[])
    assert "the text has 13 tokens; expected at most 12" in refused(FOLDERS / "bert", ids=[2] * 13)
    assert "token 1 is padding" in refused(FOLDERS / "roberta", ids=[2, 1])


def test_a_tokenizer_of_nonsense(tmp_path):
    folder = copied("bert", tmp_path)
    (folder / "tokenizer.json").write_text('{"model": 3}', encoding="utf-8")
    assert "is no tokenizer that can be read" in refused(folder, ids=None, text="cat")


def test_a_vocabulary_alone(tmp_path):
    folder = copied("bert", tmp_path)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "##s"]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    model = pretrained(folder, text="The cats sat")
    assert list(model.labels["token"]) == ["[CLS]", "the", "cat", "##s", "sat", "[SEP]"]
    assert list(pretrained(folder, ids=[2, 5, 6, 3]).labels["token"]) == ["[CLS]", "the", "cat", "[SEP]"]


@pytest.mark.parametrize(
    "family, labels",
    [("gpt2", ["ab", "c"]), ("roberta", ["<s>", "ab", "c", "</s>"]), ("opt", ["</s>", "ab", "c"])],
)
def test_pairs_of_bytes_alone(tmp_path, family, labels):
    """vocab.json with merges.txt: the marks around a text are those of the family."""
    folder = copied(family, tmp_path)
    words = ["<s>", "<pad>", "</s>", "a", "b", "c", "ab"]
    (folder / "vocab.json").write_text(json.dumps({w: i for i, w in enumerate(words)}), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\na b\n", encoding="utf-8")
    assert list(pretrained(folder, text="abc").labels["token"]) == labels


def test_a_tokenizer_of_another_library(tmp_path):
    folder = copied("llama", tmp_path)
    (folder / "tokenizer.model").write_bytes(b"")
    told = refused(folder, ids=None, text="cat")
    assert "expected one, or token ids (tokenizer.model is not read: AutoTokenizer" in told
