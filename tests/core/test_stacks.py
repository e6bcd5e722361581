"""A stack is its layers one after another, under the names layer0, layer1, …"""

import random

import pytest

from graphattn import Graph, GraphError, run
from graphattn.core.axes import Spec
from graphattn.stacks import decoder, encoder

ENCODER = {"gamma_1": 4, "beta_1": 4, "w_q": (4, 4), "b_q": 4, "w_o": (4, 4), "w_in": (6, 4), "w_out": (4, 6)}
DECODER = {**ENCODER, "w_q2": (4, 4), "gamma_2": 4, "gamma_3": 4}


def graph(build, parameters, count=2, **attributes):
    g = Graph("stack")
    x, memory = g.input("x", (3, 4), ("token", "feature")), g.input("memory", (2, 4), ("token", "feature"))
    layers = [
        {
            name: g.parameter(f"{name}_{i}", size if isinstance(size, tuple) else (size,))
            for name, size in parameters.items()
        }
        for i in range(count)
    ]
    norm = {"gamma": g.parameter("gamma", (4,)), "beta": g.parameter("beta", (4,))}
    y = build(g, x, *((memory,) if build is decoder else ()), layers, final_norm=norm, heads=2, **attributes)
    g.output(y=y)
    return g


def feeds(g):
    rng = random.Random(3)

    def tensor(spec: Spec):
        rows = [[rng.gauss(0, 1) for _ in range(spec.shape[-1])] for _ in range(spec.size // spec.shape[-1])]
        return rows if spec.rank == 2 else rows[0]

    return {name: tensor(spec) for name, spec in g.inputs.items()}


@pytest.mark.parametrize(("build", "parameters"), [(encoder, ENCODER), (decoder, DECODER)])
@pytest.mark.parametrize("norm_first", [True, False])
def test_a_stack_is_its_layers_in_turn(build, parameters, norm_first):
    g = graph(build, parameters, norm_first=norm_first)
    fed = feeds(g)
    trace = run(g, fed)
    one = Graph("one")
    operands = [
        one.input(name, spec.shape, spec.axes) for name, spec in g.inputs.items() if name in ("x", "memory")
    ]
    operands = operands if build is decoder else operands[:1]
    own = {name: one.parameter(name, g.inputs[f"{name}_0"].shape) for name in parameters}
    apply = one.decoder_layer if build is decoder else one.encoder_layer
    one.output(y=apply(*operands, **own, heads=2, norm_first=norm_first, name="layer"))
    x = fed["x"]
    for i in range(2):
        given = {"x": x, "memory": fed["memory"], **{name: fed[f"{name}_{i}"] for name in parameters}}
        x = run(one, {name: given[name] for name in one.inputs})["y"]
        assert x == trace[f"layer{i}"]
    last = Graph("norm")
    rows = [last.input(name, spec) for name, spec in (("x", (3, 4)), ("gamma", (4,)), ("beta", (4,)))]
    last.output(y=last.layernorm(*rows))
    assert run(last, {"x": x, "gamma": fed["gamma"], "beta": fed["beta"]})["y"] == trace["y"]


def test_layers_are_named_and_zoom():
    g = graph(encoder, ENCODER, causal=True)
    assert [name for name in g.nodes if name.startswith("layer")] == ["layer0", "layer1"]
    assert "layer1.attention.head0.weights" in g.at("op").nodes


@pytest.mark.parametrize("layers", [[], {"w_q": 1}, None, "layers", 2])
def test_no_layers_is_refused(layers):
    g = Graph()
    x = g.input("x", (3, 4))
    with pytest.raises(GraphError, match="expected a list of one dict of parameters or more"):
        encoder(g, x, layers, heads=2)


def test_a_layer_that_is_no_dict_is_refused():
    g = Graph()
    with pytest.raises(GraphError, match=r"encoder: layers\[1\] is 3; expected a dict of parameters"):
        encoder(g, g.input("x", (3, 4)), [{}, 3], heads=2)
