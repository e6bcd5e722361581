"""Random calls of ONNX Attention, computed three times: by graphattn, by ONNX's reference, by ONNX Runtime.

    python tests/onnx_suite/attention_calls.py 600

prints how often they agree, how often one of them contradicts the specification as
`graphattn.conventions.CONTRADICTIONS` says, and what is left unexplained.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graphattn.conventions import CONTRADICTIONS
from graphattn.onnx.backend import Prepared

NAMES = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
OUTPUTS = ("Y", "present_key", "present_value", "qk_matmul_output")
OURS, REFERENCE, RUNTIME = 1e-11, 1e-11, 2e-5
"""How near two values are to be, relative and absolute: doubles twice, float32."""


@dataclass
class AttentionCall:
    """One call: arrays by operand, attributes, the opset, and which outputs it asks for."""

    inputs: dict[str, Any]
    attributes: dict[str, Any]
    opset: int
    outputs: tuple[str, ...]

    def model(self, dtype: Any) -> Any:
        """A model of this one node, whose floats are of that type."""
        taken, given = ([n if n in own else "" for n in all_names] for all_names, own in (
            (NAMES, self.inputs), (OUTPUTS, self.outputs)))  # fmt: skip
        while not taken[-1]:
            taken.pop()
        node = helper.make_node("Attention", taken, given, **self.attributes)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        infos = [
            helper.make_tensor_value_info(
                name,
                kind if array.dtype == np.float64 else helper.np_dtype_to_tensor_dtype(array.dtype),
                array.shape,
            )
            for name, array in self.inputs.items()
        ]
        results = [helper.make_tensor_value_info(name, kind, None) for name in self.outputs]
        graph = helper.make_graph([node], "call", infos, results)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=11)

    def feeds(self, dtype: Any) -> dict[str, Any]:
        return {n: a.astype(dtype) if a.dtype == np.float64 else a for n, a in self.inputs.items()}

    def __str__(self) -> str:
        shapes = ", ".join(f"{n} {a.dtype} {a.shape}" for n, a in self.inputs.items())
        return f"opset {self.opset}: {shapes}; {self.attributes}; {', '.join(self.outputs)}"


def drawn(seed: int) -> AttentionCall:
    """A call that the specification allows."""
    dice = random.Random(seed)
    numbers = np.random.default_rng(seed)

    def tensor(*shape: int) -> Any:
        return numbers.normal(size=shape).astype(np.float32).astype(np.float64)

    opset = dice.choice((23, 24, 25))
    batch, kv_heads, group = dice.choice((1, 2)), dice.choice((1, 2)), dice.choice((1, 1, 2, 3))
    heads, n_q, n_k = kv_heads * group, dice.randint(1, 4), dice.randint(1, 5)
    d_k, d_v = dice.choice((1, 2, 4)), dice.choice((1, 2, 3))
    packed = dice.random() < 0.4
    inputs: dict[str, Any] = {}
    for name, count, n, d in (("Q", heads, n_q, d_k), ("K", kv_heads, n_k, d_k), ("V", kv_heads, n_k, d_v)):
        x = tensor(batch, count, n, d)
        inputs[name] = x.transpose(0, 2, 1, 3).reshape(batch, n, count * d) if packed else x
    past, outputs, attributes = 0, ["Y"], {}
    if packed:
        attributes |= {"q_num_heads": heads, "kv_num_heads": kv_heads}
    inner = opset >= 24 and dice.random() < 0.25
    if not inner and dice.random() < 0.4:
        past = dice.randint(1, 3)
        inputs["past_key"], inputs["past_value"] = (tensor(batch, kv_heads, past, d) for d in (d_k, d_v))
        outputs += ["present_key", "present_value"]
    total = past + n_k
    kind = dice.choice(("none", "bool", "float", "float"))
    if kind != "none":
        rank = dice.choice((2, 2, 3, 4)) if opset < 24 else dice.choice((1, 2, 2, 3, 4))
        width = total if opset < 24 or dice.random() < 0.8 else dice.randint(1, total)
        sizes = [dice.choice((1, batch)), dice.choice((1, heads)), dice.choice((n_q, n_q, 1)), width][
            4 - rank :
        ]
        shown = numbers.random(size=sizes) < dice.choice((0.3, 0.7, 0.9))
        bias = np.where(shown | (dice.random() < 0.4), tensor(*sizes), -np.inf)
        inputs["attn_mask"] = shown if kind == "bool" else bias
    if inner:
        inputs["nonpad_kv_seqlen"] = numbers.integers(0 if dice.random() < 0.2 else 1, n_k + 1, size=batch)
    if dice.random() < 0.5:
        attributes["is_causal"] = 1
    if opset >= 25 and dice.random() < 0.5:
        attributes["left_window_size"] = dice.choice((-1, 0, 1, 2))
        if "is_causal" not in attributes:
            attributes["right_window_size"] = dice.choice((-1, 0, 1, 2))
    if dice.random() < 0.3:
        attributes["scale"] = dice.choice((0.25, 1.0, 0.0625))  # the reference takes roots in float32
    if dice.random() < 0.3:
        attributes["softcap"] = dice.choice((0.5, 2.0, 10.0))
    if dice.random() < 0.5:
        outputs.append("qk_matmul_output")
        attributes["qk_matmul_output_mode"] = dice.choice((0, 1, 2, 3))
    return AttentionCall(inputs, attributes, opset, tuple(outputs))


def ours(call: AttentionCall) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Prepared(call.model(np.float64)).run(list(call.feeds(np.float64).values()))


def reference(call: AttentionCall) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return ReferenceEvaluator(call.model(np.float64)).run(list(call.outputs), call.feeds(np.float64))


def runtime(call: AttentionCall) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    data = call.model(np.float32).SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(list(call.outputs), call.feeds(np.float32))


def apart(call: AttentionCall, a: Any, b: Any, tolerance: float) -> list[str]:
    """The outputs that differ, and by how much."""
    found = []
    for name, x, y in zip(call.outputs, a, b):
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        if x.shape != y.shape:
            found.append(f"{name} {x.shape} {y.shape}")
        elif not np.allclose(x, y, tolerance, tolerance, equal_nan=True):
            found.append(f"{name} by {_largest(x, y)}")
    return found


def _largest(x: Any, y: Any) -> str:
    with np.errstate(all="ignore"):
        gaps = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
    return "NaN" if np.isnan(gaps).any() else f"{gaps.max():.2g}"


def contradicted(call: AttentionCall, by: str) -> list[str]:
    """Which of `graphattn.conventions.CONTRADICTIONS` a call meets in one of the others."""
    queries, past = call.inputs["Q"].shape[-2], "past_key" in call.inputs
    mask, mode = call.inputs.get("attn_mask"), call.attributes.get("qk_matmul_output_mode")
    causal = "is_causal" in call.attributes
    rules = {
        "qk_matmul_output_mode=0 with softcap": mode == 0 and "softcap" in call.attributes,
        "is_causal with a mask that has one row": causal and mask is not None and mask.ndim > 1
        and mask.shape[-2] == 1 != queries,
        "is_causal with one query after a past": causal and past and queries == 1,
        "hidden cells in qk_matmul_output_mode=2": mode == 2,
    }  # fmt: skip
    return [
        c.what
        for c in CONTRADICTIONS
        for what, meets in rules.items()
        if meets and c.what.startswith(what) and getattr(c, by)
    ]


FUNCTIONS = {"ours": ours, "reference": reference, "runtime": runtime}


def judged(seed: int, told: Counter[str], peers: Sequence[str] = ("reference", "runtime")) -> list[str]:
    """Compute one call by graphattn and by its peers: sentences on what is wrong. `told` counts the rest."""
    call, wrong = drawn(seed), []
    own = ours(call)
    for peer in peers:
        try:
            theirs = FUNCTIONS[peer](call)
        except Exception as error:
            told[f"{peer} refuses: {_reason(str(error))}"] += 1
            continue
        differs = apart(call, own, theirs, REFERENCE if peer == "reference" else RUNTIME)
        known = contradicted(call, peer)
        if not differs:
            told[f"equal to the {peer}"] += 1
        elif known:
            told[f"{peer} contradicts: {'; '.join(known)}"] += 1
        else:
            wrong.append(f"seed {seed}: {'; '.join(differs)} from {peer}: {call}")
    return wrong


def _reason(error: str) -> str:
    for words in (
        "must be 2D or 3D or 4D",
        "inconsistent q_sequence",
        "inconsistent total_sequence",
        "not enough values",
    ):
        if words in error:
            return words
    return error.splitlines()[0][:100]


def main(count: int) -> int:
    told: Counter[str] = Counter()
    wrong = [sentence for seed in range(count) for sentence in judged(seed, told)]
    for line, number in sorted(told.items()):
        print(f"{number:6} {line}")
    print(f"{len(wrong):6} unexplained", *wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 600))
