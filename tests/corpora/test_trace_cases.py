"""Every intermediate of someone else's attention block, by name."""

import cases
import networkx as nx
import pytest

from graphattn import Graph, run


def block_of(case):
    """The same block as a graph, with an MLP after it where the case has one."""
    attrs, given = case["attrs"], cases.inputs(case)
    graph = Graph("block")
    shapes = {tensor["name"]: tensor["shape"] for tensor in case["inputs"]}
    t = {
        name: graph.input(name.replace(".", "_"), shape) if name == "x" else
        graph.parameter(name.replace(".", "_"), shape)
        for name, shape in shapes.items()
    }  # fmt: skip
    projections = {f"{kind}_{p}": t.get(f"{kind}_{p}") for kind in "wb" for p in "qkvo"}
    y = graph.block(
        t["x"], None, t["ln.weight"], t["ln.bias"], **projections,
        heads=attrs["h"], causal=attrs["causal"], eps=attrs["eps"], name="block",
    )  # fmt: skip
    if attrs["mlp"]:
        norm = graph.layernorm(y, t["ln2.weight"], t["ln2.bias"], eps=attrs["eps"], name="ln2")
        fc = graph.linear(norm, t["w_fc"], t["b_fc"], name="fc")
        act = graph.apply(attrs["mlp"], fc, name="act")
        out = graph.linear(act, t["w_proj"], t["b_proj"], name="mlp_out")
        y = graph.add(y, out, name="residual2")
    graph.output(y=y)
    return graph, {name.replace(".", "_"): value for name, value in given.items()}


OURS = {
    "ln.mean": "norm.mean", "ln.var": "norm.variance", "ln.normalized": "norm.normalized", "ln": "norm",
    "q": "attention.q", "k": "attention.k", "v": "attention.v", "concat": "attention.concat",
    "proj": "attention.proj", "residual": "block", "ln2.var": "ln2.variance",
}  # fmt: skip
PER_HEAD = {"q": "q_heads.part{}", "k": "k_heads.part{}", "v": "v_heads.part{}", "head_out": "head{}.out"}


def our_name(theirs):
    """Their name of an intermediate in ours: weights.h1 is head1.weights."""
    base, dot, head = theirs.rpartition(".h")
    if dot and head.isdigit():
        return PER_HEAD.get(base, "head{}." + base).format(head)
    return OURS.get(theirs, theirs)


@pytest.mark.parametrize("path", cases.paths("trace"), ids=lambda path: path.stem)
def test_every_intermediate_by_name(path):
    case = cases.load(path)
    graph, feeds = block_of(case)
    trace = run(graph, feeds, level="primitive")
    wrong = [cases.judged(case, tensor, trace[our_name(tensor["name"])]) for tensor in case["trace"]]
    assert [told for told in wrong if told] == []
    assert len(wrong) == len(case["trace"]) > 10
    assert cases.judged(case, case["outputs"][0], trace["y"]) is None


@pytest.mark.parametrize("path", cases.paths("trace"), ids=lambda path: path.stem)
def test_their_graph_is_ours(path):
    """What they compute an intermediate from, ours is computed from."""
    case = cases.load(path)
    graph = block_of(case)[0].at("primitive")
    fed = set(cases.inputs(case))
    for tensor in case["trace"]:
        before = nx.ancestors(graph.dag, graph.resolve(our_name(tensor["name"])).node)
        for source in tensor["from"]:
            name = source.replace(".", "_") if source in fed else our_name(source)
            assert graph.resolve(name).node in before, (tensor["name"], source)


@pytest.mark.parametrize("path", cases.paths("trace"), ids=lambda path: path.stem)
def test_hidden_cells_are_those_that_they_mask(path):
    case = cases.load(path)
    graph, feeds = block_of(case)
    trace = run(graph, feeds)
    for tensor in case["trace"]:
        if tensor["name"].startswith(("masked.h", "weights.h")):
            hidden = [[j > i for j in range(len(row))] for i, row in enumerate(tensor["data"])]
            assert trace.masked(our_name(tensor["name"])) == hidden


def test_a_wrong_number_would_be_seen():
    case = cases.load(cases.paths("trace")[0])
    tensor = next(t for t in case["trace"] if t["name"].startswith("weights"))
    got = [[v * (1 + 1e-9) for v in row] for row in tensor["data"]]
    assert "weights" in cases.judged(case, tensor, got)
