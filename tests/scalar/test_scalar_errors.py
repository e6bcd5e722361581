"""Bad input, told in one sentence each; the words are the test."""

from __future__ import annotations

import math
import random
import types

import pytest

from graphattn import Graph, GraphError, run
from graphattn.scalar import (
    SGD,
    Adam,
    Linear,
    Module,
    SelfAttention,
    Value,
    apply_attention,
    attention_scores,
    causal_mask,
    softmax,
)


class _Other:
    """Stands for the Value of another library."""

    def __init__(self, data=1.0):
        self.data, self.grad = data, 0.0


OTHER = types.new_class("Value", (_Other,), exec_body=lambda ns: ns.update(__module__="micrograd.engine"))()
V = Value(1.0)
ROW = [V, V]


def attn():
    return SelfAttention(2, rng=random.Random(0))


def broken(**changes):
    module = attn()
    for name, value in changes.items():
        setattr(module.W_q, name, value)
    return lambda: module([ROW])


CASES = [
    # ------------------------------------------------------------ making a Value
    (lambda: Value(None), "Value got None; expected a number"),
    (lambda: Value("0.5"), "Value got the text '0.5'; expected a number"),
    (lambda: Value([1.0]), "Value got a list; expected a number"),
    (lambda: Value(V), "Value got a Value; expected a number"),
    (lambda: Value(1j), "Value got a complex; expected a number"),
    (lambda: Value(10**400), "Value got an integer that no float can hold; expected a smaller one"),
    (lambda: Value(OTHER), "Value got a micrograd.engine.Value; expected a number"),
    (
        lambda: Value(1.0, (V, OTHER), "+"),
        "a child of a Value is a micrograd.engine.Value; expected Values of graphattn.scalar",
    ),
    (lambda: Value(1.0, (2.0,)), "a child of a Value is a float; expected Values of graphattn.scalar"),
    (
        lambda: setattr(Value(1.0), "_backward", None),
        "_backward is None; expected a function without arguments",
    ),
    # ------------------------------------------------------------ arithmetic
    (lambda: V + None, "Value + got None; expected a Value of graphattn.scalar or a number"),
    (lambda: None + V, "Value + got None; expected a Value of graphattn.scalar or a number"),
    (lambda: V * "2", "Value * got the text '2'; expected a Value of graphattn.scalar or a number"),
    (lambda: 2 - (V - [1]), "Value - got a list; expected a Value of graphattn.scalar or a number"),
    (
        lambda: V / OTHER,
        "Value / got a micrograd.engine.Value; expected a Value of graphattn.scalar or a number",
    ),
    (
        lambda: OTHER * V,
        "Value * got a micrograd.engine.Value; expected a Value of graphattn.scalar or a number",
    ),
    (lambda: V ** "2", "Value ** got the text '2'; expected a Value of graphattn.scalar or a number"),
    (lambda: V + 10**400, "Value + got an integer that no float can hold; expected a smaller one"),
    (
        lambda: math.exp(V),
        "a Value was taken for a float, which would lose its gradient; expected v.data for the number,"
        " v.exp() and the like for functions, numbers='value' for a run",
    ),
    # ------------------------------------------------------------ backward of many
    (
        lambda: attn()([ROW, ROW, ROW]).backward(),
        "backward starts from one Value, and this is a list of 3 × 2;"
        " expected one number computed from its cells, such as their sum",
    ),
    (
        lambda: softmax(ROW).backward(),
        "backward starts from one Value, and this is a list of 2;"
        " expected one number computed from its cells, such as their sum",
    ),
    # ------------------------------------------------------------ softmax
    (lambda: softmax(None), "scores is None; expected a list of Values or numbers"),
    (lambda: softmax("abc"), "scores is 'abc'; expected a list of Values or numbers"),
    (lambda: softmax([]), "scores is empty; expected a list of Values or numbers"),
    (lambda: softmax([ROW]), "scores has rank 2; expected a list of Values or numbers"),
    (lambda: softmax([V, None]), "scores[1] is None; expected a number"),
    (lambda: softmax([V, "1"]), "scores[1] is '1'; expected a number"),
    (lambda: softmax([True, V]), "scores[0] is True; expected a number"),
    (lambda: softmax([V, Value(math.nan)]), "scores[1] is nan; expected a finite number, or −inf, which hides"),
    (lambda: softmax([math.inf, V]), "scores[0] is inf; expected a finite number, or −inf, which hides"),
    (
        lambda: softmax([V, OTHER]),
        "scores[1]: got a micrograd.engine.Value; expected a Value of graphattn.scalar or a number",
    ),
    # ------------------------------------------------------------ scores, mask, mixing
    (lambda: attention_scores([ROW], [ROW], 3), "Q has rows of 2; expected 3, which is d_k"),
    (lambda: attention_scores([ROW], [[V]], 2), "K has rows of 1; expected 2, which is d_k"),
    (lambda: attention_scores([ROW], [ROW], 0), "d_k is 0; expected the length of the rows of Q and K"),
    (lambda: attention_scores([ROW], [ROW], None), "d_k is None; expected the length of the rows of Q and K"),
    (lambda: attention_scores([ROW, [V]], [ROW], 2), "Q[1] has 1 cells; expected 2, as in its neighbours"),
    (
        lambda: attention_scores(ROW, [ROW], 2),
        "Q has rank 1; expected a list of rows, each a list of Values or numbers",
    ),
    (
        lambda: attention_scores([[]], [ROW], 2),
        "Q has rows without numbers; expected a list of rows, each a list of Values or numbers",
    ),
    (lambda: causal_mask(-1), "seq_len is -1; expected an int of 0 or more"),
    (lambda: causal_mask(2.0), "seq_len is 2.0; expected an int of 0 or more"),
    (lambda: causal_mask(True), "seq_len is True; expected an int of 0 or more"),
    (
        lambda: apply_attention([ROW], [ROW, ROW, ROW]),
        "weights has rows of 2; expected 3, one for each row of V",
    ),
    (lambda: apply_attention([ROW], [ROW, [V, math.nan]]), "V[1][1] is nan; expected a finite number"),
    # ------------------------------------------------------------ modules
    (lambda: SelfAttention(0), "embed_dim is 0; expected an int of 1 or more"),
    (lambda: SelfAttention("4"), "embed_dim is '4'; expected an int of 1 or more"),
    (
        lambda: SelfAttention(2, rng=5),
        "rng is a int; expected a random.Random, such as random.Random(0)",
    ),
    (lambda: Linear(2, 0), "out_features is 0; expected an int of 1 or more"),
    (lambda: Linear(2, 1)([V]), "x has 1 cells; expected 2, the in_features of this Linear"),
    (lambda: attn()([[V, V, V]]), "x has rows of 3; expected 2, the embed_dim of this SelfAttention"),
    (
        lambda: attn()(None),
        "x is None; expected a list of rows, each a list of 2 Values or numbers",
    ),
    (lambda: attn()([]), "x is empty; expected a list of rows, each a list of 2 Values or numbers"),
    (lambda: attn()(ROW), "x has rank 1; expected a list of rows, each a list of 2 Values or numbers"),
    (lambda: attn()([ROW, [V]]), "x[1] has 1 cells; expected 2, as in its neighbours"),
    (lambda: attn()([ROW, [V, None]]), "x[1][1] is None; expected a number"),
    (lambda: attn()([ROW, [V, "a"]]), "x[1][1] is 'a'; expected a number"),
    (lambda: attn()([ROW, [V, Value(math.nan)]]), "x[1][1] is nan; expected a finite number"),
    (lambda: attn()([ROW, [-math.inf, V]]), "x[1][0] is -inf; expected a finite number"),
    (
        lambda: attn()([[OTHER, V]]),
        "x[0][0]: got a micrograd.engine.Value; expected a Value of graphattn.scalar or a number",
    ),
    (lambda: attn()([ROW], causal=None), "causal is None; expected True or False"),
    (broken(weight=[[V]]), "W_q.weight has rows of 1; expected 2, the embed_dim"),
    (broken(weight=[ROW]), "W_q.weight has 1 rows; expected 2, the embed_dim"),
    (broken(weight=[ROW, [V, Value(math.nan)]]), "W_q.weight[1][1] is nan; expected a finite number"),
    (broken(bias=[V]), "W_q.bias has 1 cells; expected 2, the embed_dim"),
    # ------------------------------------------------------------ optimizers
    (lambda: SGD(None), "parameters is a NoneType; expected Values, such as module.parameters()"),
    (lambda: SGD([]), "parameters is empty; expected at least one Value"),
    (lambda: SGD([V, 1.0]), "parameters[1] is a float; expected a Value of graphattn.scalar"),
    (lambda: SGD([V], lr=-1), "lr is -1; expected a number of 0 or more"),
    (lambda: SGD([V], lr=math.nan), "lr is nan; expected a number of 0 or more"),
    (lambda: SGD([V], momentum="0.9"), "momentum is '0.9'; expected a number of 0 or more"),
    (lambda: Adam([V], betas=(0.9, 1.0)), "beta is 1.0; expected a number of 0 or more and below 1"),
    (lambda: Adam([V], betas=0.9), "betas is 0.9; expected two numbers from 0 to below 1"),
]


@pytest.mark.parametrize(("call", "words"), CASES, ids=[words[:40] for _, words in CASES])
def test_words(call, words):
    with pytest.raises(GraphError) as caught:
        call()
    assert str(caught.value) == words


def test_a_module_without_forward():
    with pytest.raises(NotImplementedError, match="Module has no forward; expected one"):
        Module()(1)


def test_unknown_kinds_are_left_to_the_other_side():
    class Friendly:
        def __radd__(self, other):
            return "friendly"

        def __mul__(self, other):
            return "mul"

    assert V + Friendly() == "friendly" and Friendly() * V == "mul"
    with pytest.raises(TypeError):
        V * Friendly()
    with pytest.raises(TypeError):
        object() - V
    with pytest.raises(TypeError):
        V ** object()


def test_feeding_values_to_a_run_on_floats_is_told():
    graph = Graph()
    graph.output(y=graph.exp(graph.input("x", (1,))))
    with pytest.raises(GraphError) as caught:
        run(graph, {"x": [V]})
    assert str(caught.value) == (
        "x[0]: a Value was taken for a float, which would lose its gradient; expected v.data for the number,"
        " v.exp() and the like for functions, numbers='value' for a run"
    )


def test_feeding_foreign_values_is_told():
    graph = Graph()
    graph.output(y=graph.exp(graph.input("x", (1,))))
    with pytest.raises(GraphError) as caught:
        run(graph, {"x": [OTHER]}, numbers="value")
    assert str(caught.value) == (
        "x[0]: got a micrograd.engine.Value; expected a Value of graphattn.scalar or a number"
    )
