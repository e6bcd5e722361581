"""Our gradients, as a graph and on Values, are PyTorch's, on every case that carries them."""

import cases
import gradient_cases
import pytest
import runners

from graphattn.core import nested

PATHS = gradient_cases.paths()


@pytest.mark.parametrize("compute", gradient_cases.WAYS.values(), ids=gradient_cases.WAYS)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_gradients(path, compute):
    try:
        assert gradient_cases.wrong(cases.load(path), compute) == []
    except runners.NotRun as reason:
        assert cases.ROOT != cases.HERE, reason
        pytest.skip(str(reason))


def test_enough_cases_run():
    """In the small copy; another folder may have fewer."""
    small = gradient_cases.paths(cases.HERE)
    assert len(small) >= 20
    ops = {cases.load(path)["op"] for path in small}
    assert {"multihead_attention", "transformer_encoder_layer", "scaled_dot_product_attention"} <= ops


@pytest.mark.parametrize("compute", gradient_cases.WAYS.values(), ids=gradient_cases.WAYS)
def test_a_wrong_number_would_be_seen(compute):
    case = cases.load(gradient_cases.paths(cases.HERE)[0])
    case["grads"][0]["data"] = _halved(case["grads"][0]["data"])
    assert len(gradient_cases.wrong(case, compute)) == 1


def one_cell(cotangent, name="y"):
    """y = x wᵀ, of one cell, with dL/dy as given."""

    def tensor(name, value):
        return {"name": name, "shape": [1, 1], "dtype": "float64", "role": "input", "data": [[value]]}

    return {
        "name": "one_cell", "suite": "torch", "op": "linear",
        "attrs": {"in_features": 1, "out_features": 1, "bias": False},
        "inputs": [tensor("x", 2.0), tensor("weight", 3.0)], "outputs": [tensor("y", 6.0)],
        "cotangents": [tensor(name, cotangent)],
        "grads": [tensor("x", 3.0 * cotangent), tensor("weight", 2.0 * cotangent)],
        "grad_rtol": 1e-12, "grad_atol": 0.0, "rtol": 1e-12, "atol": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize("compute", gradient_cases.WAYS.values(), ids=gradient_cases.WAYS)
@pytest.mark.parametrize("cotangent", [1.0, -0.7, 0.0])
def test_a_result_of_one_cell(cotangent, compute):
    assert gradient_cases.wrong(one_cell(cotangent), compute) == []


@pytest.mark.parametrize("compute", gradient_cases.WAYS.values(), ids=gradient_cases.WAYS)
def test_a_cotangent_that_has_no_place_is_told(compute):
    with pytest.raises(KeyError):
        gradient_cases.wrong(one_cell(1.0, name="elsewhere"), compute)


def _halved(value):
    return [_halved(item) for item in value] if isinstance(value, list) else value / 2


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_key_bias(path):
    """What is added to all keys alike is added to all scores of a query: softmax does not see it."""
    case = cases.load(path)
    bias = next((t for t in case["inputs"] if t["name"].endswith("in_proj_bias")), None)
    if bias is None or "bias_k" in gradient_cases.tensors(case, "inputs") or case["attrs"].get("add_zero_attn"):
        return
    width = bias["shape"][0] // 3
    found = gradient_cases.by_graph(case)[bias["name"]]
    assert max(map(abs, found[width : 2 * width])) < 1e-13 < max(map(abs, nested.flat(found)))
