"""`--engine onnxruntime` on the commands that run, and `graphattn export` of a model."""

import gc
from pathlib import Path

import pytest

from graphattn.builtin import specimen
from graphattn.onnx import load

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

BLOCK = ("block", "--n", "3", "--d", "4", "--causal")
ENGINE = ("--engine", "onnxruntime")


def test_trace(cli):
    status, ours, _ = cli("trace", *BLOCK)
    again, theirs, _ = cli("trace", *BLOCK, *ENGINE)
    assert (status, again) == (0, 0)
    assert theirs.partition("\n\n")[2] == ours.partition("\n\n")[2]
    assert "\nengine    onnxruntime " in theirs.partition("\n\n")[0]


@pytest.mark.parametrize(
    "command",
    [
        ("why", *BLOCK, "attention.head0.weights", "2", "1"),
        ("heads", "toy", "--text", "qmxbzqmxbz"),
        ("ablate", "toy", "--text", "qmxbzqmxbz", "--patch", "layer0.head1.out=zero"),
        ("figure", *BLOCK, "*.weights", "-o", "weights.svg"),
    ],
    ids=lambda command: command[0],
)
def test_the_same_as_ours(command, cli):
    ours = cli(*command)
    assert ours[0] == 0
    told = cli(*command, *ENGINE)
    assert (told[0], [line for line in told[1].splitlines() if " rounds otherwise" not in line]) == (
        0, ours[1].splitlines(),
    )  # fmt: skip


def test_compare(cli):
    assert cli("trace", *BLOCK, "-o", "run.json")[0] == 0
    assert cli("compare", *BLOCK[:1], "run.json", *BLOCK[1:], *ENGINE)[0] == 0


def test_a_corpus(cli, tmp_path):
    texts = tmp_path / "texts"
    texts.write_text("qmxbz\nababa\nqmxbz\nxyzxy\n", encoding="utf-8", newline="\n")
    ours = cli("heads", "toy", "--texts", str(texts))
    assert ours[0] == 0 and cli("heads", "toy", "--texts", str(texts), *ENGINE)[1] == ours[1]


def test_no_engine(cli):
    status, _, told = cli("trace", *BLOCK, "--engine", "torch")
    assert (status, told) == (
        2,
        "graphattn: --engine is 'torch'; expected onnxruntime, or no --engine for ours\n",
    )
    status, _, told = cli("trace", *BLOCK, *ENGINE, "--precision", "float16")
    assert status == 2 and "expected no --engine" in told


def test_export(cli):
    assert cli("export", *BLOCK, "block.onnx") == (0, "", cli("export", *BLOCK, "block.onnx")[2])
    made = specimen("block", n=3, d=4, causal=True)
    graph = onnx.load("block.onnx").graph
    assert [i.name for i in graph.input] == ["X"]
    assert load("block.onnx", {"X": made.feeds["X"]}).graph == made.graph
    Path("text.json").write_text('{"X": "hello"}', "utf-8")
    said = cli("trace", "block.onnx", "--feeds", "text.json")[2]
    assert said == "graphattn: text.json: X is 'hello'; expected nested lists of numbers\n"
    status, _, told = cli("export", *BLOCK, "plain.onnx", "--attention", "decomposed", "--numbers", "float")
    assert status == 0 and "beside a factor of exactly 0" in told
    told = cli("export", *BLOCK, "plain.onnx", "--attention", "decomposed", "--careful")[2]
    assert "factor of exactly 0" not in told
    assert cli("export", *BLOCK, "x.c", "--opset", "20") == (
        2, "", "graphattn: --opset is for ONNX models; expected FILE.onnx with it\n",
    )  # fmt: skip


@pytest.mark.slow
def test_arrays_of_fed_tensors_live_as_long_as_these():
    from array import array

    from graphattn import Graph, run
    from graphattn.core.packed import Packed
    from graphattn.onnx.engine import ARRAYS

    g = Graph("g")
    g.output(y=g.exp(g.input("x", (2, 2))))
    before = len(ARRAYS)
    x = Packed((2, 2), array("d", [1.0, 2.0, 3.0, 4.0]))
    for _ in range(2):
        run(g, {"x": x}, engine="onnxruntime")
        assert len(ARRAYS) == before + 1
    del x
    gc.collect()
    assert len(ARRAYS) == before
