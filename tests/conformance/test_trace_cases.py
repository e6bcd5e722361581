"""Someone else's attention block: what their intermediates are computed from, and what is hidden."""

import cases
import networkx as nx
import pytest
import runners

PATHS = cases.paths("trace")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_their_graph_is_ours(path):
    """What they compute an intermediate from, ours is computed from."""
    case = cases.load(path)
    graph = runners.specimen(case)[0].graph
    fed = set(cases.inputs(case))
    for tensor in case["trace"]:
        before = nx.ancestors(graph.dag, graph.resolve(runners.our_name(tensor["name"])).node)
        for source in tensor["from"]:
            name = source.replace(".", "_") if source in fed else runners.our_name(source)
            assert graph.resolve(name).node in before, (tensor["name"], source)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_hidden_cells_are_those_that_they_mask(path):
    case = cases.load(path)
    trace, names = runners.computed(case)
    seen = 0
    for tensor in case["trace"]:
        if tensor["name"].startswith(("masked.h", "weights.h")) and case["attrs"]["causal"]:
            hidden = [[j > i for j in range(len(row))] for i, row in enumerate(tensor["data"])]
            assert trace.masked(names[tensor["name"]]) == hidden
            seen += 1
    assert seen or not case["attrs"]["causal"]
