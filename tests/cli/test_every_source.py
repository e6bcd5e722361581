"""Every command on every kind of SOURCE: what it takes, and the sentence for what it does not."""

from __future__ import annotations

import importlib.util
import json
import random
from pathlib import Path

import pytest

from graphattn import onnx
from graphattn.builtin import specimen
from graphattn.cli.commands import names
from graphattn.core.tensor_file import read_tensors
from graphattn.dumps.csv_folder import write_csv_folder
from graphattn.dumps.graph_json import graph_json
from graphattn.dumps.graph_text import graph_text
from graphattn.dumps.load import load_trace
from graphattn.dumps.tensor_bytes import npz_bytes, safetensors_bytes

BERT = Path(__file__).parent.parent / "data" / "models" / "bert"
BUILT_IN = ("multi-head", "--n", "2", "--d", "2", "--heads", "1")
PYTHON = """from graphattn.builtin import specimen
graph = specimen("multi-head", n=2, d=2, heads=1).graph
"""
HEAD = ("head.npz", "head.safetensors", "head.json")
TRACES = ("trace.txt", "trace.json", "folder of CSV")
SOURCES = ("multi-head", "graph.txt", "graph.json", "graph.py", "model.onnx", "program.pt2", "model's folder",
           *HEAD, *TRACES)  # fmt: skip
COMMANDS = {
    "trace": ("SOURCE",),
    "why": ("SOURCE", "WEIGHTS", "0", "0"),
    "heads": ("SOURCE",),
    "next": ("SOURCE",),
    "ablate": ("SOURCE", "--patch", "WEIGHTS=uniform"),
    "export": ("SOURCE", "out.c"),
    "golden": ("SOURCE", "-o", "out"),
    "compare": ("SOURCE", "recorded.json"),
    "diagnose": ("SOURCE", "recorded.json"),
    "render": ("SOURCE", "-o", "out.dot"),
    "view": ("SOURCE", "-o", "out.html"),
    "figure": ("SOURCE", "WEIGHTS", "-o", "out.svg"),
    "workbook": ("SOURCE", "--level", "primitive", "-o", "out.xlsx"),
    "worksheet": ("SOURCE", "--blank", "WEIGHTS", "-o", "out"),
}
"""How each command is called."""
WITHOUT = {"check", "demo", "experiments", "ops"}
"""Commands that take no SOURCE."""
REFUSED = {
    **{("next", source): "has no logits; expected a model that continues a text" for source in SOURCES},
    **{("worksheet", source): "is a run with its numbers; expected a graph" for source in TRACES},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of each kind."""
    made = specimen("multi-head", n=2, d=2, heads=1)
    trace = made.run()
    to = tmp_path_factory.mktemp("sources")
    for name, text in (
        ("graph.txt", graph_text(made.graph)), ("graph.json", graph_json(made.graph)),
        ("graph.py", PYTHON),
    ):  # fmt: skip
        (to / name).write_text(text, encoding="utf-8", newline="\n")
    for name in ("trace.txt", "trace.json"):
        trace.save(to / name)
    write_csv_folder(to / "csv", trace)
    drawn = random.Random(0)
    head = {
        name: [[drawn.gauss(0, 1) for _ in range(2)] for _ in range(2)] for name in ("x", "w_q", "w_k", "w_v")
    }
    (to / "head.json").write_text(json.dumps(head), encoding="utf-8")
    cells = {name: (trace.spec("q"), value) for name, value in head.items()}
    (to / "head.npz").write_bytes(npz_bytes(cells))
    (to / "head.safetensors").write_bytes(safetensors_bytes(cells))
    if importlib.util.find_spec("onnx"):
        onnx.save(made.graph, to / "model.onnx")
    return to


@pytest.fixture(scope="module")
def program(folder):
    """Attention as a program of torch.export."""
    torch = pytest.importorskip("torch")

    class Attention(torch.nn.Module):
        def forward(self, x):
            return torch.softmax(x @ x.mT / 2**0.5, -1) @ x

    torch.export.save(torch.export.export(Attention(), (torch.eye(2),)), folder / "program.pt2")


@pytest.fixture(scope="module")
def recordings():
    """What `trace` printed of each source, from the first test of it on."""
    return {}


def called(source, folder):
    """What stands for SOURCE on the command line: the source, and the options that go with it."""
    if source == BUILT_IN[0]:
        return BUILT_IN
    if source == "model's folder":
        return str(BERT), "--ids", "2,7", "--layers", "1"
    return (str(folder / ("csv" if source in TRACES[2:] else source)),)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "source", [pytest.param(s, marks=pytest.mark.slow) if s == "program.pt2" else s for s in SOURCES]
)  # the first torch.export of a process takes seconds
def test_a_command_on_a_source(command, source, folder, recordings, request, cli):
    if source == "program.pt2":
        request.getfixturevalue("program")
    if source == "model.onnx":
        pytest.importorskip("onnx")
    if command in ("workbook", "worksheet"):
        pytest.importorskip("xlsxwriter")
    given, *options = called(source, folder)
    if source not in recordings:
        status, out, err = cli("trace", given, *options, "--json", "--exact")
        assert status == 0, err
        recordings[source] = out
    Path("recorded.json").write_text(recordings[source], encoding="utf-8")
    weights = next(name for name in load_trace("recorded.json").names if name.endswith("weights"))
    words = [given if word == "SOURCE" else word.replace("WEIGHTS", weights) for word in COMMANDS[command]]
    status, out, err = cli(command, *words, *options)
    refusal = REFUSED.get((command, source))
    given_alone = command == "compare" and source in HEAD  # a recording of what goes in, and of nothing else
    assert status == (2 if refusal else 1 if given_alone else 0), err
    assert refusal is None or refusal in err
    if given_alone:
        assert out.startswith("undecided: only what goes in was compared"), out
    elif command in ("compare", "diagnose"):
        assert out.startswith(("the same", "right")), out


def test_no_command_is_forgotten():
    assert set(COMMANDS) | WITHOUT == set(names())


TAKES_ANY = {"diagnose", "export", "worksheet"}
"""Commands that let infinities and NaN in unasked, or run nothing."""


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "compare"])
def test_a_nan_is_let_in_where_that_is_asked_for(command, cli):
    if command in ("workbook", "worksheet"):
        pytest.importorskip("xlsxwriter")
    Path("nan.json").write_text('{"X": [[NaN, 1.0], [2.0, 3.0]]}', encoding="utf-8")
    trace = specimen(BUILT_IN[0], n=2, d=2, heads=1).run()
    Path("recorded.json").write_text(json.dumps({"out": trace["Y"]}), encoding="utf-8")
    weights = next(name for name in trace.names if name.endswith("weights"))
    words = [BUILT_IN[0] if w == "SOURCE" else w.replace("WEIGHTS", weights) for w in COMMANDS[command]]
    words += [*BUILT_IN[1:], "--feeds", "nan.json", *(["--values"] if command == "render" else [])]
    status, _, err = cli(command, *words)
    if command not in TAKES_ANY:
        assert status == 2 and "X[0][0] is nan; expected a finite number (--allow-nonfinite lets it in)" in err
    assert "lets it in" not in cli(command, *words, "--allow-nonfinite")[2]


@pytest.mark.parametrize("source", ["graph.txt", "graph.json", "graph.py", "model's folder", "weights.bin"])
@pytest.mark.parametrize("command", ["compare", "diagnose"])
def test_a_graph_is_no_recording(command, source, folder, cli):
    (folder / "weights.bin").write_bytes(b"PK")
    status, _, err = cli(command, *BUILT_IN[:1], called(source, folder)[0], *BUILT_IN[1:])
    assert status == 2 and "is a graph without values; expected a recording: a trace, or tensors" in err


def test_a_trained_head_is_a_recording_for_compare(folder, cli):
    """Its own tensors are compared: as a graph it is SOURCE of every other command."""
    assert cli("compare", folder / "head.npz", folder / "head.json")[0] == 0
    assert set(read_tensors(folder / "head.npz").tensors) == {"x", "w_q", "w_k", "w_v"}
