"""The recordings that other people's programs would make of the block in a corpus case."""

import json
import math
import os
from pathlib import Path

from graphattn import Graph, run

ROOT = Path(os.environ.get("GRAPHATTN_CORPORA", Path(__file__).parent.parent / "data" / "corpora"))
PATHS = sorted((ROOT / "trace").glob("*.json"))
assert PATHS, f"no cases in {ROOT}"


def load(path):
    """A case; its numbers are read."""

    def read(data):
        return [read(item) for item in data] if isinstance(data, list) else float(data)

    with open(path, encoding="utf-8") as file:
        case = json.load(file)
    for tensor in (*case["inputs"], *case["trace"]):
        tensor["data"] = read(tensor["data"])
    return case


def block_of(case):
    """The block of a case as a graph, with an MLP after it where the case has one; and its feeds."""
    attrs, graph = case["attrs"], Graph("block")
    t = {}
    for tensor in case["inputs"]:
        name = tensor["name"]
        declare = graph.input if name == "x" else graph.parameter
        axes = ("token", "feature") if name == "x" else None
        t[name] = declare(name.replace(".", "_"), tensor["shape"], axes)
    projections = {f"{kind}_{p}": t.get(f"{kind}_{p}") for kind in "wb" for p in "qkvo"}
    y = graph.block(
        t["x"], None, t.get("ln.weight"), t.get("ln.bias"), **projections,
        heads=attrs["h"], causal=attrs["causal"], eps=attrs["eps"], name="block",
    )  # fmt: skip
    if attrs["mlp"]:
        norm = graph.layernorm(y, t["ln2.weight"], t["ln2.bias"], eps=attrs["eps"], name="ln2")
        act = graph.apply(attrs["mlp"], graph.linear(norm, t["w_fc"], t["b_fc"], name="fc"), name="act")
        y = graph.add(y, graph.linear(act, t["w_proj"], t["b_proj"], name="mlp_out"), name="residual2")
    graph.output(y=y)
    return graph, {tensor["name"].replace(".", "_"): tensor["data"] for tensor in case["inputs"]}


def traced(path, **options):
    """The trace of a case's block, and the case."""
    case = load(path)
    graph, feeds = block_of(case)
    return run(graph, feeds, **options), case


def attention_of(trace, case):
    """(heads, d_k, {short name: per-head tensors}) of a trace of a block."""
    h = case["attrs"]["h"]
    names = {"q": "q_heads.part{}", "k": "k_heads.part{}", "v": "v_heads.part{}"}
    names |= {n: f"head{{}}.{n}" for n in ("keys", "scores", "scaled", "masked", "weights", "out")}
    return h, case["attrs"]["d_head"], {
        short: [trace[name.format(i)] for i in range(h)] for short, name in names.items()
    }  # fmt: skip


def turned(x):
    return [list(column) for column in zip(*x, strict=True)]


def with_mask(x, value):
    """Masked cells hold another number."""
    return [[value if v == -math.inf else v for v in row] for row in x]


def batched(trace, case):
    """Heads batched, (1, h, n, d), and everything else with a batch axis: as a module with hooks gives it."""
    _, _, parts = attention_of(trace, case)
    record = {"x": [trace["x"]], "ln_1": [trace["norm"]]}
    record |= {f"attn.{p}_proj": [trace[f"attention.{p}"]] for p in "qkv"}
    record |= {f"attn.{p}": [parts[p]] for p in ("scores", "weights")}
    record["attn.context"] = [parts["out"]]
    record["attn.merged"] = [trace["attention.concat"]]
    if "attention.proj" in trace:
        record["attn.out_proj"] = [trace["attention.proj"]]
    record["hidden_states"] = [trace["y"]]
    return record


def torch_fx(trace, case, hidden=-1e9):
    """Every node of a traced module, by the names that torch.fx gives: linear_1, view_2, softmax …"""
    n, h, d_k = case["attrs"]["n"], *attention_of(trace, case)[:2]
    parts = attention_of(trace, case)[2]
    record = {"x": [trace["x"]], "layer_norm": [trace["norm"]]}
    for i, p in enumerate("qkv"):
        tail = f"_{i}" if i else ""
        flat = trace[f"attention.{p}"]
        record[f"linear{tail}"] = [flat]
        record[f"view{tail}"] = [[[row[j * d_k : (j + 1) * d_k] for j in range(h)] for row in flat]]
        record[f"transpose{tail}"] = [parts[p]]
    record["transpose_3"] = [[turned(k) for k in parts["k"]]]
    record["matmul"] = [parts["scores"]]
    record["truediv"] = [parts["scaled"]]
    record["masked_fill"] = [[with_mask(x, hidden) for x in parts["masked"]]]
    record["softmax"] = [parts["weights"]]
    record["matmul_1"] = [parts["out"]]
    record["transpose_4"] = [[[parts["out"][j][i] for j in range(h)] for i in range(n)]]
    record["reshape"] = [trace["attention.concat"]]
    if "attention.proj" in trace:
        record["linear_3"] = [trace["attention.proj"]]
    record["add"] = [trace["block"]]
    return record


def per_head(trace, case, hidden=-3.4028234663852886e38):
    """Each head by itself, (n, d), under names of their own."""
    h, _, parts = attention_of(trace, case)
    record = {"input": trace["x"], "normed": trace["norm"]}
    for i in range(h):
        for short, theirs in (
            ("q", "Q"),
            ("k", "K"),
            ("v", "V"),
            ("scaled", "S"),
            ("weights", "A"),
            ("out", "Z"),
        ):
            record[f"{theirs}{i}"] = parts[short][i]
        record[f"M{i}"] = with_mask(parts["masked"][i], hidden)
    record["result"] = trace["y"]
    return record


def fused(trace, case, hidden=-math.inf):
    """Few tensors: one matrix for q, k and v, a query that is scaled early, a mask inside the scores."""
    _, d_k, parts = attention_of(trace, case)
    q, k, v = (trace[f"attention.{p}"] for p in "qkv")
    return {
        "x": trace["x"],
        "qkv": [[*a, *b, *c] for a, b, c in zip(q, k, v, strict=True)],
        "q_scaled": [[[cell / math.sqrt(d_k) for cell in row] for row in x] for x in parts["q"]],
        "scores": [with_mask(x, hidden) for x in parts["masked"]],
        "probs": parts["weights"],
        "y": trace["y"],
    }
