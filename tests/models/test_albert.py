"""A real ALBERT against transformers in float64: the model inside of the package rxnmapper (MIT), which reads
chemical reactions.

    pip install --no-deps rxnmapper==0.4.3        (3 MB; nothing of it is imported)

Its weights are a pickled file, which only this test converts, with torch.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from folders import distance

from graphattn.core.errors import GraphError
from graphattn.models import pretrained

REACTION = "C C O . [OH-] >> C C [O-] . O"
INSIDE = "models/transformers/albert_heads_8_uspto_all_1310k"
PACKAGE = find_spec("rxnmapper")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PACKAGE is None, reason="the package rxnmapper is not installed (--no-deps is enough)"),
]


@pytest.fixture
def folder(tmp_path) -> Path:
    assert PACKAGE is not None and PACKAGE.origin is not None
    stored = Path(PACKAGE.origin).parent / INSIDE
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(GraphError, match="is pickled, which can run code and is never read"):
        pretrained(stored, ids=[12])
    from safetensors.torch import save_file

    weights = torch.load(stored / "pytorch_model.bin", weights_only=True, map_location="cpu")
    tensors = {name: tensor.contiguous().clone() for name, tensor in weights.items()}
    save_file(tensors, str(tmp_path / "model.safetensors"))
    for name in ("config.json", "vocab.txt"):
        shutil.copy(stored / name, tmp_path)
    return tmp_path


def test_every_state_and_map(folder):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    import torch

    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    tokens = ["[CLS]", *REACTION.split(), "[SEP]"]
    ids = [vocabulary.index(token) for token in tokens]
    model = pretrained(folder, ids=ids)
    assert list(model.labels["token"]) == tokens
    trace = model.run()
    loading = {"dtype": torch.float64, "attn_implementation": "eager"}
    theirs = transformers.AlbertModel.from_pretrained(folder, **loading).eval()
    with torch.no_grad():
        out = theirs(torch.tensor([ids]), output_hidden_states=True, output_attentions=True)
    names = ["x", *(f"layer{i}" for i in range(12))]
    for name, state in zip(names, out.hidden_states, strict=True):
        assert distance(trace[name], state[0].tolist()) <= 1e-12, name
    for i, maps in enumerate(out.attentions):
        for head, weights in enumerate(maps[0].tolist()):
            assert distance(trace[f"layer{i}.attention.head{head}.weights"], weights) <= 1e-12, (i, head)
