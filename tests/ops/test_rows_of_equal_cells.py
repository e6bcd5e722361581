"""A norm of a row whose variance is 0, and eps too: NaN, as exact means give, and said."""

import math

import pytest

from graphattn import Graph, GraphError, run
from graphattn.conventions import torch as conventions
from graphattn.model import layer_norm


@pytest.mark.parametrize("cell", (0.1, 0.3, 1e-320, 7.0, -1e100))
@pytest.mark.parametrize("count", (1, 2, 3, 7, 10))
def test_layer_norm_of_equal_cells_with_eps_0(cell, count):
    assert all(math.isnan(v) for v in layer_norm([cell] * count, 0))


@pytest.mark.parametrize("op", ("layernorm", "rmsnorm"))
@pytest.mark.parametrize("level", ("op", "primitive"))
def test_it_is_said_which_rows(op, level):
    g = Graph()
    cell = 0.1 if op == "layernorm" else 0.0
    g.output(y=g.apply(op, g.input("x", (3, 3)), eps=0, name="y"))
    trace = run(g, {"x": [[1.0, 2.0, 3.0], [cell] * 3, [cell] * 3]}, level=level)
    assert [any(v != v for v in row) for row in trace["y"]] == [False, True, True]
    if level == "op":
        assert any("in row [1], [2]" in warning and "0 / 0 is NaN" in warning for warning in trace.warnings)


def test_multi_head_attention_refuses_what_pytorch_refuses():
    weights = {
        "in_proj_weight": [[0.1] * 4] * 12, "in_proj_bias": [0.0] * 12,
        "out_proj.weight": [[0.1] * 4] * 4, "out_proj.bias": [0.0] * 4,
    }  # fmt: skip
    module = conventions.MultiheadAttention(4, 2, batch_first=True, state_dict=weights)

    def x(*shape):
        return [[[1.0] * 4] * shape[1]] * shape[0]

    with pytest.raises(GraphError, match="query has 1 sequences and key has 3; expected as many"):
        module(x(1, 1), x(3, 5), x(3, 5))
    with pytest.raises(GraphError, match="query has 3 sequences and value has 1; expected as many"):
        module(x(3, 1), x(3, 5), x(1, 5))
    with pytest.raises(GraphError, match="key has 5 tokens and value has 4; expected as many"):
        module(x(3, 1), x(3, 5), x(3, 4))
