"""One block, computed in eight ways: what the benchmark sets against each other.

    y = x + concat(attention per head(LayerNorm(x))) W_Oᵀ        causal, projections without biases

Every maker takes a `Case` and gives a function without arguments that evaluates the block once;
`result` reads y off what it returns, n rows of d numbers. Weights are in place, and feeds in the form
that the contender likes best, before the clock runs. A maker whose library is missing raises
ImportError.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Any

from graphattn import Graph, Trace, run
from graphattn.core.numbers import dot, finite
from graphattn.ops.causal_mask import causal_mask
from graphattn.ops.concat import concat
from graphattn.ops.layernorm import layernorm
from graphattn.ops.linear import linear
from graphattn.ops.mask import mask_hiding
from graphattn.ops.matmul import matmul, matmul_absorbing
from graphattn.ops.scale import scale_dividing
from graphattn.ops.softmax import softmax
from graphattn.ops.split import split_evenly
from graphattn.ops.transpose import transpose

PROJECTIONS = ("w_q", "w_k", "w_v", "w_o")
EPS = 1e-05

Matrix = list[list[float]]
Contender = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A block's sizes, its input x (n × d) and its projections (out × in, as PyTorch stores them)."""

    n: int
    d: int
    h: int
    x: Matrix
    weights: dict[str, Matrix]

    @property
    def size(self) -> str:
        return f"({self.n}, {self.d}, {self.h})"

    @property
    def multiply_adds(self) -> int:
        """In its matrix products: four projections, and scores and outputs of all heads."""
        return 4 * self.n * self.d * self.d + 2 * self.n * self.n * self.d


def case(n: int, d: int, h: int, seed: int = 0) -> Case:
    """A block of random numbers."""
    rng = random.Random(seed)

    def normal(rows: int, spread: float) -> Matrix:
        return [[rng.gauss(0.0, spread) for _ in range(d)] for _ in range(rows)]

    return Case(n, d, h, normal(n, 1.0), {name: normal(d, 1 / math.sqrt(d)) for name in PROJECTIONS})


# ---------------------------------------------------------------- ours


def graph_of(case: Case) -> Graph:
    """The block as a graph, its projections bound as constants."""
    g = Graph("block")
    x = g.input("x", (case.n, case.d), ("token", "feature"))
    weights = {name: g.constant(w, name=name) for name, w in case.weights.items()}
    g.output(y=g.block(x, heads=case.h, causal=True, eps=EPS, name="block", **weights))
    return g


def traced(case: Case) -> Contender:
    """A run of the graph that records everything; the plan is made by the first call."""
    graph, feeds = graph_of(case), {"x": case.x}
    return lambda: run(graph, feeds)


# ---------------------------------------------------------------- (a) the same kernels by hand


def straight_line(case: Case) -> Contender:
    """What one would write by hand for this very block: our kernels in a row, nothing recorded."""
    x, d_k = case.x, case.d // case.h
    w_q, w_k, w_v, w_o = case.weights.values()
    visible = causal_mask(case.n, case.n, 0)
    divisor, hidden = math.sqrt(d_k), -math.inf

    def heads(rows: Matrix) -> Any:
        return zip(*[split_evenly(row, case.h) for row in rows])

    def block() -> Matrix:
        norm = [layernorm(row, None, None, EPS) for row in x]
        q = linear(norm, w_q, None, dot)
        k = linear(norm, w_k, None, dot)
        v = linear(norm, w_v, None, dot)
        outs = []
        for queries, keys, values in zip(heads(q), heads(k), heads(v)):
            scores = matmul(queries, transpose(keys), dot)
            scaled = [scale_dividing(row, divisor) for row in scores]
            masked = [mask_hiding(row, see, hidden) for row, see in zip(scaled, visible)]
            weights = [softmax(row) for row in masked]
            outs.append(matmul_absorbing(weights, values, dot, finite, 0.0))
        joined = [concat(*parts) for parts in zip(*outs)]
        mixed = linear(joined, w_o, None, dot)
        return [list(map(add, row, more)) for row, more in zip(x, mixed)]

    return block


# ---------------------------------------------------------------- (b) a learner's loops


def naive(case: Case) -> Contender:
    """Loops as one writes them first; the projections are stored (in × out), ready to multiply."""
    n, d, h = case.n, case.d, case.h
    w_q, w_k, w_v, w_o = ([list(column) for column in zip(*w)] for w in case.weights.values())

    def product(A: Matrix, B: Matrix) -> Matrix:
        return [
            [sum(A[i][k] * B[k][j] for k in range(len(B))) for j in range(len(B[0]))] for i in range(len(A))
        ]

    def normalized(row: list[float]) -> list[float]:
        mean = sum(row) / d
        variance = sum((v - mean) ** 2 for v in row) / d
        return [(v - mean) / math.sqrt(variance + EPS) for v in row]

    def weights_of(row: list[float]) -> list[float]:
        peak = max(row)
        raised = [math.exp(v - peak) for v in row]
        total = sum(raised)
        return [v / total for v in raised]

    def block() -> Matrix:
        norm = [normalized(row) for row in case.x]
        q, k, v = product(norm, w_q), product(norm, w_k), product(norm, w_v)
        d_k = d // h
        joined: Matrix = [[] for _ in range(n)]
        for head in range(h):
            Q, K, V = ([row[head * d_k : (head + 1) * d_k] for row in whole] for whole in (q, k, v))
            keys = [[K[i][j] for i in range(n)] for j in range(d_k)]
            scores = product(Q, keys)
            for i in range(n):
                for j in range(n):
                    scores[i][j] = scores[i][j] / math.sqrt(d_k) if j <= i else -math.inf
            out = product([weights_of(row) for row in scores], V)
            for i in range(n):
                joined[i] += out[i]
        mixed = product(joined, w_o)
        return [[case.x[i][j] + mixed[i][j] for j in range(d)] for i in range(n)]

    return block


# ---------------------------------------------------------------- (c) with care


def careful(case: Case) -> Contender:
    """As an expert writes it for this block: no transposes (scores are dots of rows, values are read by
    columns made once), and what the mask hides is never computed. Nothing is recorded."""
    x, d_k = case.x, case.d // case.h
    w_q, w_k, w_v, w_o = case.weights.values()
    root = math.sqrt(d_k)
    spans = [slice(head * d_k, (head + 1) * d_k) for head in range(case.h)]

    def shares(scores: list[float]) -> list[float]:
        peak = max(scores)
        raised = [math.exp(score - peak) for score in scores]
        whole = math.fsum(raised)
        return [value / whole for value in raised]

    def block() -> Matrix:
        norm = [layernorm(row, None, None, EPS) for row in x]
        q, k, v = ([[dot(row, w) for w in weights] for row in norm] for weights in (w_q, w_k, w_v))
        joined: Matrix = [[] for _ in x]
        for span in spans:
            keys = [row[span] for row in k]
            columns = list(zip(*[row[span] for row in v]))
            for i, row in enumerate(q):
                query = row[span]
                weights = shares([dot(query, key) / root for key in keys[: i + 1]])
                joined[i] += [dot(weights, column[: i + 1]) for column in columns]
        return [[a + dot(row, w) for a, w in zip(before, w_o)] for before, row in zip(x, joined)]

    return block


# ---------------------------------------------------------------- (d) everything kept, by hand


def keeping(case: Case) -> Contender:
    """The straight line, with every tensor that a trace records kept in a dict under its name."""
    x, d_k = case.x, case.d // case.h
    w_q, w_k, w_v, w_o = case.weights.values()
    visible = causal_mask(case.n, case.n, 0)
    divisor, hidden = math.sqrt(d_k), -math.inf

    def block() -> dict[str, Any]:
        t: dict[str, Any] = {"x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}
        norm = t["norm"] = [layernorm(row, None, None, EPS) for row in x]
        for name, weights in (("q", w_q), ("k", w_k), ("v", w_v)):
            t[name] = linear(norm, weights, None, dot)
            t[f"{name}_heads"] = list(zip(*[split_evenly(row, case.h) for row in t[name]]))
        for i, (queries, keys, values) in enumerate(zip(t["q_heads"], t["k_heads"], t["v_heads"])):
            t[f"keys{i}"] = transpose(keys)
            t[f"scores{i}"] = matmul(queries, t[f"keys{i}"], dot)
            t[f"scaled{i}"] = [scale_dividing(row, divisor) for row in t[f"scores{i}"]]
            t[f"masked{i}"] = [mask_hiding(row, see, hidden) for row, see in zip(t[f"scaled{i}"], visible)]
            t[f"weights{i}"] = [softmax(row) for row in t[f"masked{i}"]]
            t[f"out{i}"] = matmul_absorbing(t[f"weights{i}"], values, dot, finite, 0.0)
        t["concat"] = [concat(*parts) for parts in zip(*(t[f"out{i}"] for i in range(case.h)))]
        t["mixed"] = linear(t["concat"], w_o, None, dot)
        t["y"] = [list(map(add, row, more)) for row, more in zip(x, t["mixed"])]
        return t

    return block


# ---------------------------------------------------------------- (e) a learner's zip loops


def zipped(case: Case) -> Contender:
    """Loops as a learner writes them who knows zip: sum(a * b for a, b in zip(row, column))."""
    d_k = case.d // case.h
    w_q, w_k, w_v, w_o = case.weights.values()

    def times(rows: Matrix, columns: Any) -> Matrix:
        columns = list(columns)
        return [[sum(a * b for a, b in zip(row, column)) for column in columns] for row in rows]

    def normalized(row: list[float]) -> list[float]:
        mean = sum(row) / len(row)
        variance = sum((v - mean) ** 2 for v in row) / len(row)
        return [(v - mean) / math.sqrt(variance + EPS) for v in row]

    def weights_of(row: list[float]) -> list[float]:
        raised = [math.exp(v - max(row)) for v in row]
        return [v / sum(raised) for v in raised]

    def block() -> Matrix:
        norm = [normalized(row) for row in case.x]
        q, k, v = times(norm, w_q), times(norm, w_k), times(norm, w_v)
        joined: Matrix = [[] for _ in case.x]
        for head in range(case.h):
            span = slice(head * d_k, (head + 1) * d_k)
            scores = times([row[span] for row in q], [row[span] for row in k])
            masked = [
                [s / math.sqrt(d_k) if j <= i else -math.inf for j, s in enumerate(row)]
                for i, row in enumerate(scores)
            ]
            out = times([weights_of(row) for row in masked], zip(*[row[span] for row in v]))
            for row, more in zip(joined, out):
                row += more
        mixed = times(joined, w_o)
        return [[a + b for a, b in zip(row, more)] for row, more in zip(case.x, mixed)]

    return block


# ---------------------------------------------------------------- (f) torch.fx


def torch_module(case: Case) -> Any:
    """The block as a torch module in float64 with its heads apart."""
    import torch
    from torch.nn import functional

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, w in case.weights.items():
                self.register_buffer(name, torch.tensor(w, dtype=torch.float64))
            self.register_buffer("hides", torch.ones(case.n, case.n, dtype=torch.bool).triu(1))

        def forward(self, x: Any) -> Any:
            d_k = case.d // case.h
            norm = functional.layer_norm(x, (case.d,), eps=EPS)
            q, k, v = (functional.linear(norm, w).split(d_k, -1) for w in (self.w_q, self.w_k, self.w_v))
            outs = []
            for i in range(case.h):
                scores = q[i] @ k[i].transpose(-1, -2)
                masked = (scores / math.sqrt(d_k)).masked_fill(self.hides, -math.inf)
                outs.append(functional.softmax(masked, -1) @ v[i])
            return x + functional.linear(torch.cat(outs, -1), self.w_o)

    return Block()


def torch_fx(case: Case) -> Contender:
    """torch.fx's Interpreter, which records the result of every node; one thread."""
    import torch
    from torch import fx

    class Recorder(fx.Interpreter):
        def run_node(self, n: Any) -> Any:
            result = super().run_node(n)
            recorded[n.name] = result
            return result

    torch.set_num_threads(1)
    recorded: dict[str, Any] = {}
    recorder = Recorder(fx.symbolic_trace(torch_module(case)), garbage_collect_values=False)
    x = torch.tensor(case.x, dtype=torch.float64)
    return lambda: recorder.run(x)


# ---------------------------------------------------------------- (g) ONNX's reference evaluator


def onnx_reference(case: Case) -> Contender:
    """ONNX's ReferenceEvaluator, every node's result among the outputs, heads apart."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    n, d, h = case.n, case.d, case.h
    constants = {name: np.array(w) for name, w in case.weights.items()}
    constants |= {"one": np.ones(d), "visible": np.tri(n, dtype=bool)}
    constants |= {"root": np.array(math.sqrt(d // h)), "hidden": np.array(-math.inf)}
    nodes = []

    def node(op: str, inputs: str, outputs: str, **attributes: Any) -> None:
        nodes.append(helper.make_node(op, inputs.split(), outputs.split(), **attributes))

    node("LayerNormalization", "x one", "norm", epsilon=EPS)
    for name in "qkv":
        node("Gemm", f"norm w_{name}", name, transB=1)
        node("Split", name, " ".join(f"{name}{i}" for i in range(h)), axis=-1, num_outputs=h)
    for i in range(h):
        node("Transpose", f"k{i}", f"keys{i}", perm=[1, 0])
        node("MatMul", f"q{i} keys{i}", f"scores{i}")
        node("Div", f"scores{i} root", f"scaled{i}")
        node("Where", f"visible scaled{i} hidden", f"masked{i}")
        node("Softmax", f"masked{i}", f"weights{i}", axis=-1)
        node("MatMul", f"weights{i} v{i}", f"out{i}")
    node("Concat", " ".join(f"out{i}" for i in range(h)), "joined", axis=-1)
    node("Gemm", "joined w_o", "mixed", transB=1)
    node("Add", "x mixed", "y")

    graph = helper.make_graph(
        nodes,
        "block",
        [helper.make_tensor_value_info("x", TensorProto.DOUBLE, (n, d))],
        [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for one in nodes for name in one.output],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    evaluator = ReferenceEvaluator(model)
    feeds = {"x": np.array(case.x)}
    return lambda: evaluator.run(None, feeds)[-1]


def result(returned: Any) -> Matrix:
    """y, from what a contender returned: a trace, an array or lists."""
    y = returned["y"] if isinstance(returned, (Trace, dict)) else returned
    return y.tolist() if hasattr(y, "tolist") else y


PEERS: dict[str, Callable[[Case], Contender]] = {
    "(a) same kernels, by hand": straight_line,
    "(b) naive loops": naive,
    "(c) careful, by hand": careful,
    "(d) all kept, by hand": keeping,
    "(e) zip loops": zipped,
    "(f) torch.fx, recording": torch_fx,
    "(g) onnx reference, all outputs": onnx_reference,
}
"""What a traced run is measured against, in the order of the table."""
