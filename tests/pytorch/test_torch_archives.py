"""Archives of torch.export.save: read as the live program is, never unpickled, and refused in one sentence."""

import json
import pickle
import zipfile

import pytest
from needed import torch
from test_torch_modules import IDS, Plain, seeded, tokens

from graphattn import GraphError
from graphattn import torch as programs

nn = torch.nn


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A small GPT: the module, its program, and the archive."""
    module = seeded(Plain)
    program = torch.export.export(module, (IDS,))
    path = tmp_path_factory.mktemp("saved") / "gpt.pt2"
    torch.export.save(program, path)
    return module, program, path


def rewritten(path, new, change=lambda name, data: data, more=(), compression=zipfile.ZIP_STORED):
    """A copy of an archive with its entries changed; None leaves one out."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(new, "w", compression) as file:
        for entry in old.infolist():
            data = change(entry.filename.partition("/")[2], old.read(entry))
            if data is not None:
                file.writestr(entry.filename, data)
        for name, data in more:
            file.writestr(name, data)
    return new


def edited(path, new, entry, edit):
    """A copy in which the JSON of an entry is edited."""

    def change(name, data):
        if name != entry:
            return data
        value = json.loads(data)
        return json.dumps(edit(value) or value).encode()

    return rewritten(path, new, change)


@pytest.mark.slow
def test_an_archive_is_read_as_the_program_is(saved):
    _, program, path = saved
    live, stored = programs.exported(program, IDS), programs.exported(path, IDS)
    stored.graph.name = live.graph.name
    assert stored.graph == live.graph
    assert stored.feeds == live.feeds
    by_name = programs.exported(path, ids=IDS.tolist())
    assert by_name.run()["output"] == live.run()["output"]


@pytest.mark.slow
def test_nothing_is_unpickled(saved, tmp_path, monkeypatch):
    """Every entry that torch.export.load would unpickle holds code, and none is run."""

    class Code:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    bomb = pickle.dumps(Code())
    path = rewritten(saved[2], tmp_path / "bomb.pt2", lambda name, data: bomb if name.endswith(".pt") else data)
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("torch.load was called"))
    assert programs.exported(path, IDS).run()["output"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_sizes_that_a_program_leaves_open(tmp_path):
    module = seeded(lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True))
    tokens_of_all_lengths = {1: torch.export.Dim("n", min=2, max=64)}
    program = torch.export.export(module, (tokens(5, 8),), dynamic_shapes=(tokens_of_all_lengths,))
    torch.export.save(program, tmp_path / "layer.pt2")
    for n in (3, 7):
        x = tokens(n, 8)
        (out,) = programs.exported(tmp_path / "layer.pt2", x).run(targets=["output"])["output"][:1]
        assert torch.allclose(torch.tensor(out), module(x)[0], atol=1e-5)


def weights_config(edit):
    def change(value):
        record = value["config"]["tokens.weight"]
        edit(record)

    return "data/weights/model_weights_config.json", change


def graph_json(edit):
    return "models/model.json", edit


def first_node(**fields):
    return graph_json(lambda value: value["graph_module"]["graph"]["nodes"][0].update(fields))


def _argument_of(value, op, name):
    """An argument of the first step of an operator, in the JSON."""
    nodes = value["graph_module"]["graph"]["nodes"]
    node = next(node for node in nodes if node["target"] == f"torch.ops.{op}")
    return next(argument["arg"] for argument in node["inputs"] if argument["name"] == name)


HOSTILE = {
    "huge": (
        weights_config(lambda r: r["tensor_meta"].update(sizes=[{"as_int": 10**6}, {"as_int": 10**6}])),
        "1,000,000,000,000 cells; expected at most",
    ),
    "beyond its bytes": (
        weights_config(lambda r: r["tensor_meta"].update(storage_offset={"as_int": 10**6})),
        "bytes; its entry has",
    ),
    "negative strides": (
        weights_config(lambda r: r["tensor_meta"].update(strides=[{"as_int": -1}, {"as_int": 1}])),
        "strides",
    ),
    "another folder": (weights_config(lambda r: r.update(path_name="../../../etc/passwd")), "its entry has 0"),
    "pickled": (weights_config(lambda r: r.update(use_pickle=True)), "is pickled, which is never read"),
    "complex": (
        weights_config(lambda r: r["tensor_meta"].update(dtype=10)),
        "expected floats, integers or bools",
    ),
    "no config": (("data/weights/model_weights_config.json", lambda value: {"config": 3}), "without a config"),
    "no graph": (graph_json(lambda value: {"schema_version": {"major": 8}}), "has a graph that"),
    "a newer schema": (
        graph_json(lambda value: value["schema_version"].update(major=9)),
        "schema 9; expected 8",
    ),
    "an operator with a file": (
        first_node(target="torch.ops.aten.from_file.default", inputs=[]),
        "aten.from_file.default (node embedding, tokens) is not read",
    ),
    "a function of Python": (first_node(target="builtins.eval", inputs=[]), "builtins.eval (node"),
    "a name that is no text": (first_node(name=3), "3 is no text"),
    "an argument that is a dict": (
        first_node(inputs=[{"name": "weight", "arg": {"as_int": {"a": 1}}}]),
        "expected numbers or text",
    ),
    "text for a number": (
        graph_json(lambda value: _argument_of(value, "aten.split.Tensor", "dim").update(as_int="two")),
        "has steps that do not fit PyTorch's operators (TypeError",
    ),
    "a subgraph": (
        first_node(inputs=[{"name": "weight", "arg": {"as_graph": {"name": "g", "graph": {}}}}]),
        "an argument of the kind 'as_graph'",
    ),
    "a value that nothing gives": (
        first_node(inputs=[{"name": "weight", "arg": {"as_tensor": {"name": "no"}}}]),
        "which no step before gives",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_told_of_in_one_sentence(case, saved, tmp_path):
    (entry, edit), why = HOSTILE[case]
    path = edited(saved[2], tmp_path / "hostile.pt2", entry, edit)
    with pytest.raises(GraphError) as told:
        programs.exported(path, IDS)
    assert why in str(told.value) and "\n" not in str(told.value)


def test_a_large_constant_is_refused_before_it_is_made(saved, tmp_path):
    """A program that asks for 10¹² ones."""
    ones = {
        "target": "torch.ops.aten.ones.default",
        "inputs": [{"name": "size", "arg": {"as_ints": [10**6, 10**6]}, "kind": 1}],
        "outputs": [{"as_tensor": {"name": "ones"}}],
        "metadata": {},
    }
    path = edited(
        saved[2], tmp_path / "ones.pt2",
        *graph_json(lambda value: value["graph_module"]["graph"]["nodes"].insert(0, ones)),
    )  # fmt: skip
    with pytest.raises(GraphError, match="gives 1,000,000,000,000 cells; expected at most"):
        programs.exported(path, IDS)


@pytest.mark.parametrize(
    "make, why",
    [
        (lambda path, data: path.write_bytes(data[: len(data) // 2]), "is not a whole .pt2 archive"),
        (lambda path, data: path.write_bytes(b"PK" + b"\0" * 100), "is not a whole .pt2 archive"),
        (lambda path, data: path.write_bytes(pickle.dumps({"a": 1})), "is not a whole .pt2 archive"),
        (lambda path, data: path.write_bytes(b""), "is not a whole .pt2 archive"),
    ],
)
def test_what_is_no_archive(make, why, saved, tmp_path):
    path = tmp_path / "broken.pt2"
    make(path, saved[2].read_bytes())
    with pytest.raises(GraphError, match=why):
        programs.exported(path, IDS)


def test_archives_of_other_kinds(saved, tmp_path):
    def told(path):
        with pytest.raises(GraphError) as error:
            programs.exported(path, IDS)
        return str(error.value)

    path = rewritten(saved[2], tmp_path / "packed.pt2", compression=zipfile.ZIP_DEFLATED)
    assert "has the compressed entry" in told(path)
    path = rewritten(saved[2], tmp_path / "two.pt2", more=[("gpt/models/other.json", b"{}")])
    assert "holds 2 programs; expected one" in told(path)
    path = rewritten(saved[2], tmp_path / "big.pt2", lambda name, data: b"big" if name == "byteorder" else data)
    assert "big-endian" in told(path)
    path = rewritten(saved[2], tmp_path / "none.pt2", lambda name, data: None if "weight_0" in name else data)
    assert "its entry has 0" in told(path)
    deep = b'{"a":' * 10**5
    path = rewritten(
        saved[2], tmp_path / "deep.pt2", lambda name, data: deep if name == "models/model.json" else data
    )
    assert "that is not JSON" in told(path)
    flipped = bytearray(saved[2].read_bytes())
    flipped[flipped.find(b"graph_module")] ^= 1
    (tmp_path / "flipped.pt2").write_bytes(flipped)
    assert "is not whole" in told(tmp_path / "flipped.pt2")


def test_what_is_not_fed(saved):
    with pytest.raises(GraphError, match="gpt needs ids, 1 × 5 of int64, while it is read"):
        programs.exported(saved[2])
    with pytest.raises(GraphError, match="has no input 'idz'; expected ids"):
        programs.exported(saved[2], idz=IDS)
    with pytest.raises(GraphError, match="ids is 1 × 4; expected 1 × 5"):
        programs.exported(saved[2], IDS[:, :4])
