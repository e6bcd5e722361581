"""Trained numbers in doubles, and a float32 run beside them: no further off than rounding allows."""

import math
from pathlib import Path

import cases
import pytest
import runners

from graphattn import run
from graphattn.core import nested
from graphattn.core.rounded import FLOAT32
from graphattn.dumps.precision_text import precision_rows
from graphattn.weights.extract import extract

DATA = Path(__file__).parent.parent / "data"
HEADS = ("minilm_L0H2_prevtoken.safetensors", "minilm_L2H9_sametoken.json")
LAYERS = [path for path in cases.paths("torch") if path.stem.startswith("enc_")]


def distance(a, b):
    return max((abs(x - y) for x, y in zip(nested.flat(a), nested.flat(b), strict=True)), default=0.0)


@pytest.mark.parametrize("name", HEADS)
def test_a_trained_head_is_as_recorded(name):
    head = extract(DATA / name)
    assert {"head.scaled", "head.weights", "head.out"} <= set(head.recorded)
    trace = head.run()
    for tensor, theirs in head.recorded.items():
        assert distance(trace[tensor], theirs) <= 1e-12, tensor


@pytest.mark.parametrize("numbers", ["float", "float32", "bfloat16"])
def test_a_name_attends_to_its_other_mention(numbers):
    """What layer 2, head 9 does, in short floats too: mary attends to the other mary."""
    head = extract(DATA / HEADS[1])
    weights = head.run(numbers=numbers)["head.weights"]
    tokens = head.labels["token"]
    for i, token in enumerate(tokens):
        if token in ("mary", "john"):
            other = max(range(len(tokens)), key=weights[i].__getitem__)
            assert other != i and tokens[other] == token, i


def test_each_number_of_a_short_run_is_a_float32():
    head = extract(DATA / HEADS[1])
    trace = head.run(numbers="float32")
    for name in ("head.scores", "head.weights", "head.out"):
        assert all(cell == FLOAT32.round(cell) for cell in nested.flat(trace[name])), name


def test_a_sum_of_products_is_off_by_no_more_than_its_steps():
    """|error| ≤ γₙ Σ |a b| with γₙ = n u / (1 − n u), u = 2⁻²⁴ (Higham 2002, 3.5), own part alone."""
    head = extract(DATA / HEADS[1])
    short = head.run(numbers="float32")
    q, k = short["q"], short["k"]
    n = len(q[0])
    gamma = (n * 2.0**-24) / (1 - n * 2.0**-24)
    for i, row in enumerate(short["head.scores"]):
        for j, got in enumerate(row):
            products = [a * b for a, b in zip(q[i], k[j])]
            assert abs(got - math.fsum(products)) <= gamma * math.fsum(map(abs, products)) * (1 + 1e-9)


@pytest.mark.slow
def test_a_float32_layer_is_off_by_rounding_alone():
    """Each step's own part, in ulps of its largest cell, stays within what its operations may round."""
    for path in LAYERS:
        made, names = runners.specimen(cases.load(path))
        exact = run(made.graph, made.feeds, level="primitive", allow_nonfinite=True)
        short = run(made.graph, made.feeds, numbers="float32", allow_nonfinite=True)
        width = 1
        for row in precision_rows(exact, short):
            node = exact.graph.nodes.get(row.tensor.name)
            if node is None or row.own is None:
                continue
            terms = max(
                (size for ref in node.operands if ref for size in exact.graph.spec(ref).shape), default=1
            )
            width = max(width, terms)
            if node.op.moves:
                assert row.own == 0, (path.stem, row.written)
            elif node.op.family != "matmul" and node.op.name not in ("reduce_sum", "reduce_mean"):
                assert row.own <= 1, (path.stem, row.written)
        for name in names.values():
            largest = max(map(abs, nested.flat(exact[name])))
            assert distance(short[name], exact[name]) <= 64 * width * FLOAT32.ulp(largest), path.stem


@pytest.mark.parametrize("path", cases.paths("onnx"), ids=lambda path: path.stem)
def test_float32_cases_in_float32(path):
    """What ONNX recorded in float32 is as near to a float32 run as to one in doubles."""
    case = cases.load(path)
    made, names = runners.specimen(case)
    kinds = {t["dtype"] for t in case["outputs"]} | {t["dtype"] for t in case["inputs"]}
    if "float32" not in kinds or {"int8", "uint8", "uint32", "int16", "uint16", "float64"} & kinds:
        return
    trace = made.run(numbers="float32")
    for tensor in case["outputs"]:
        if tensor["dtype"] == "float32":
            told = cases.mismatch(trace[names[tensor["name"]]], tensor["data"], 1e-3, 1e-6, tensor["name"])
            assert told is None, told
