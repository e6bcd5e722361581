"""How often `compare` agrees with wrong numbers, and how often it calls a right run different.

    python tests/insight/trust.py --right 5000 --wrong 2000

A right run is a transformer layer, or attention over a batch, computed in some format, by the graph or by numpy
(with sums in another order), and recorded as people record it: all, few or only the ends; heads one by one, or
stacked (b, h, n, d) or (b, n, h, d); arrays, lists, or text with few digits; names of this library or of
others; weights (in, out); masks of −∞, −1e9, −1e4 or the least number of the format. A wrong run has a
mistake of `mistaken.py`, or one weight that is off, and is recorded in the same ways; it counts if what was
recorded shows the mistake: if a tensor is off by more than a few times what rounding and printing may do to it,
and by more than three times what a right run of the inputs as they were printed is off.

Printed: for each form, how many were right and called the same, undecided or different; and the same of the
wrong ones. Exit status 1 if a wrong run was called the same, or a right one different.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import mistaken

from graphattn import Graph, GraphError, run
from graphattn.core.rounded import FORMATS
from graphattn.insight.compare import compare

try:
    import numpy as np
except ImportError:  # numpy's runs are left out
    np = None

BASES = ("plain", "pe", "rope", "alibi", "softcap", "window", "gqa", "masks")
MISTAKES = {
    "plain": ["L3", "L6", "L11", "P1", "P2", "P3", "P5", "P6", "H1", "H4", "H5", "H7", "S1", "S3", "S6", "M1",
              "M2", "M3", "M7", "M9", "M11", "X1", "X2", "X6", "R1", "R3", "L12", "L14", "L15", "G2"],
    "pe": ["E1", "E4", "E7", "E8", "E10"], "rope": ["T1", "T2", "T3"], "alibi": ["M24"],
    "softcap": ["M22"], "window": ["M21"], "gqa": ["H9"], "masks": ["M20"],
}  # fmt: skip
COMPUTED = ("norm", "q", "k", "v", "scores", "scaled", "masked", "weights", "out", "concat", "proj",
            "residual", "norm2", "fc", "act", "mlp_out", "y")  # fmt: skip
STACKED = ("scores", "scaled", "masked", "weights", "out")
HIDDEN = (-math.inf, -1e9, -3.4028234663852886e38, -1e4)
LIBRARY = {
    "X": "hidden_states", "w_q": "attn.q_proj.weight", "w_k": "attn.k_proj.weight",
    "w_v": "attn.v_proj.weight", "b_q": "attn.q_proj.bias", "b_k": "attn.k_proj.bias",
    "b_v": "attn.v_proj.bias", "q": "query", "k": "key", "v": "value", "weights": "attention_probs",
    "scores": "attn_logits", "norm": "layer_norm",
}  # fmt: skip


@dataclass
class Case:
    """A run and how it was recorded."""

    base: str
    engine: str
    amount: str
    layout: str
    storage: str
    names: str
    hidden: float
    turned: bool
    mistake: str = ""
    offset: float = 0.0
    """Where the numbers of X lie."""

    @property
    def form(self) -> str:
        return f"{self.engine:9} {self.storage:8} {self.amount:4}"


# ---------------------------------------------------------------- runs


def feeds_of(base: str, seed: int, offset: float = 0.0) -> dict:
    """Inputs with all digits; X has a mean of `offset`, and one token that is many times as large as the others
    where that is not 0."""
    draw = random.Random(f"{base}{seed}")

    def make(shape):
        return [make(shape[1:]) for _ in range(shape[0])] if shape else draw.gauss(0.0, 1.0)

    feeds = {}
    for name, spec in mistaken.build(base).inputs.items():
        value = make(spec.shape)
        scale = 1 / math.sqrt(spec.shape[-1]) if name.startswith("w_") else 1.0
        shift = 1.0 if name.startswith("gamma") else 0.0
        feeds[name] = mapped(value, lambda x, a=scale, b=shift: a * x + b * 0.9)
    if offset:
        feeds["X"] = [[offset + x for x in row] for row in feeds["X"]]
        feeds["X"][0] = [5 * x for x in feeds["X"][0]]
    return feeds


def mapped(value, function):
    return [mapped(item, function) for item in value] if isinstance(value, list) else function(value)


def computed(case: Case, feeds: dict, graph: Graph) -> dict:
    """The tensors of a run, by the names of the layer."""
    if case.engine.startswith("numpy"):
        return numpy_layer(feeds, case.engine, case.mistake)
    numbers = {"graph64": "float"}.get(case.engine, case.engine)
    level = None if numbers == "float" else "primitive"
    fed = feeds
    if numbers in FORMATS:
        fed = {name: mapped(value, FORMATS[numbers].round) for name, value in feeds.items()}
    trace = run(graph, fed, numbers=numbers, level=level)
    return {name: trace[name] for name in mistaken.build(case.base).tensor_names() if name in trace}


def numpy_layer(feeds: dict, engine: str, mistake: str) -> dict:
    """The plain layer in numpy, its sums in another order."""
    dtype = {"numpy64": np.float64, "numpy32": np.float32, "numpy16": np.float16}[engine]
    p = {name: np.array(value, dtype) for name, value in feeds.items()}
    out = dict(p)

    def turned(a):  # the same sums from the other end
        return np.ascontiguousarray(a[..., ::-1])

    def linear(x, w, b=None):
        y = turned(x) @ turned(w).T
        return (y if b is None else y + b).astype(dtype)

    def norm(x, gamma, beta):
        mean = turned(x).mean(-1, keepdims=True, dtype=dtype)
        variance = turned((x - mean) ** 2).mean(-1, keepdims=True, dtype=dtype)
        return ((x - mean) / np.sqrt(variance + dtype(1e-5)) * gamma + beta).astype(dtype)

    x = p["X"]
    out["norm"] = n = norm(x, p["gamma"], p["beta"])
    for part in "qkv":
        out[part] = linear(n, p[f"w_{part}"], p[f"b_{part}"])
    size, heads = x.shape[0], []
    see = np.tril(np.ones((size, size), bool))
    for i in range(mistaken.H):
        cut = slice(i * mistaken.D_K, (i + 1) * mistaken.D_K)
        q, k, v = (out[part][:, cut] for part in "qkv")
        scores = turned(q) @ turned(k).T
        scaled = scores if mistake == "S1" else (scores / dtype(math.sqrt(mistaken.D_K))).astype(dtype)
        masked = np.where(see, scaled, dtype(-np.inf))
        raised = np.exp(masked - masked.max(-1, keepdims=True))
        weights = (raised / turned(raised).sum(-1, keepdims=True, dtype=dtype)).astype(dtype)
        heads.append((weights @ v).astype(dtype))
        out |= {f"head{i}.{k}": t for k, t in (("scores", scores), ("scaled", scaled), ("masked", masked),
                                                ("weights", weights), ("out", heads[-1]))}  # fmt: skip
    out["concat"] = np.concatenate(heads, -1)
    out["proj"] = linear(out["concat"], p["w_o"], p["b_o"])
    out["residual"] = x + out["proj"]
    out["norm2"] = norm(out["residual"], p["gamma2"], p["beta2"])
    out["fc"] = linear(out["norm2"], p["w_fc"])
    erf = np.vectorize(math.erf)
    out["act"] = (out["fc"] * dtype(0.5) * (1 + erf(out["fc"] / math.sqrt(2)).astype(dtype))).astype(dtype)
    out["mlp_out"] = linear(out["act"], p["w_out"])
    out["y"] = out["residual"] + out["mlp_out"]
    return {name: value.tolist() for name, value in out.items()}


# ---------------------------------------------------------------- recordings


def recorded(case: Case, tensors: dict, draw: random.Random) -> dict:
    """What was recorded of a run, by the names in it."""
    inputs = [name for name in mistaken.build(case.base).inputs if name in tensors]
    heads = mistaken.GQA_HEADS if case.base == "gqa" else mistaken.H
    chosen = list(COMPUTED)
    if case.amount == "ends":
        chosen = ["y"]
    elif case.amount == "few":
        chosen = ["y", *draw.sample(COMPUTED[:-1], 4)]
    record = {name: tensors[name] for name in inputs}
    for name in chosen:
        if name in STACKED:
            parts = [tensors.get(f"head{i}.{name}") for i in range(heads)]
            if any(part is None for part in parts):
                continue
            if name == "masked":
                fill = case.hidden
                if case.engine in FORMATS or case.engine == "numpy16":
                    fill = FORMATS.get(case.engine, FORMATS["float16"]).round(fill)
                parts = [mapped(part, lambda x, fill=fill: fill if x == -math.inf else x) for part in parts]
            if case.layout == "single":
                record |= {f"head{i}.{name}": part for i, part in enumerate(parts)}
            elif case.layout == "heads first":
                record[name] = [parts]
            else:
                record[name] = [[[part[i] for part in parts] for i in range(len(parts[0]))]]
        elif name in tensors:
            record[name] = tensors[name]
    if case.turned:
        for name in inputs:
            if name.startswith("w_"):
                record[name] = [list(column) for column in zip(*record[name], strict=True)]
    if case.names == "library":
        record = {LIBRARY.get(name, name): value for name, value in record.items()}
    return record


def form_of(case: Case) -> str:
    """How a number is printed."""
    return case.storage.replace("text", "%")


STORES = ("list", "array", "%.4f", "%.6g", "%.3f", "%.9g", "%.3e", "text.4f")


def stored(case: Case, record: dict, folder: Path):
    """The recording as it is kept."""
    if case.storage == "array" and np is not None:
        dtype = {"numpy32": np.float32, "float32": np.float32, "numpy16": np.float16, "float16": np.float16}
        return {name: np.array(value, dtype.get(case.engine, np.float64)) for name, value in record.items()}
    if case.storage in ("list", "array"):
        return record
    form = form_of(case)
    if not case.storage.startswith("text"):
        return {name: mapped(value, lambda x: float(form % x)) for name, value in record.items()}

    def written(value):
        return f"[{', '.join(map(written, value))}]" if isinstance(value, list) else form % value

    file = folder / "record.txt"
    file.write_text("".join(f"{name} = {written(value)}\n" for name, value in record.items()), "utf-8")
    return file


def case_of(draw: random.Random, wrong: bool) -> Case:
    base = draw.choice(BASES)
    engines = ["graph64", "graph64", "float32", "bfloat16", "float16"]
    if np is not None and base == "plain":
        engines += ["numpy64", "numpy32", "numpy16"] * 2
    engine = draw.choice(engines)
    storage = draw.choice(STORES if engine in ("graph64", "numpy64", "numpy32", "float32") else STORES[:2])
    mistake = ""
    if wrong:
        mistake = (
            "S1" if engine.startswith("numpy") else draw.choice([*MISTAKES[base], *MISTAKES["plain"], "w"])
        )
    return Case(
        base, engine, draw.choice(("all", "few", "ends")),
        draw.choice(("single", "heads first", "tokens first")), storage,
        draw.choice(("own", "own", "library")), draw.choice(HIDDEN), draw.random() < 0.2, mistake,
        draw.choice((0.0, 0.0, 0.0, -3.0, 20.0)),
    )  # fmt: skip


# ---------------------------------------------------------------- the count


def shows(case: Case, right: dict, wrong: dict, printed: dict) -> bool:
    """Whether what was recorded of a wrong run is off by more than rounding and printing may do; `printed` is
    the right run of the inputs as they were printed."""
    bits = {"bfloat16": 8, "float16": 11, "numpy16": 11}.get(case.engine, 24)
    for name, value in wrong.items():
        a, b = list(cells(right.get(name, []))), list(cells(value))
        if len(a) != len(b):
            return True
        visible = [(x, y) for x, y in zip(a, b, strict=True) if abs(x) < 1e3 or abs(y) < 1e3]
        if not visible or name in ("masked",):
            continue
        size = max(math.sqrt(sum(x * x for x, _ in visible) / len(visible)), 1e-9)
        room = 200 * size * 2.0**-bits
        if case.storage.endswith("f"):
            room = max(room, 30 * 10.0 ** -int(case.storage[-2]))
        elif case.storage in ("%.6g", "%.3e", "%.9g"):
            room = max(room, 30 * size * 10.0 ** -{"%.6g": 5, "%.3e": 3, "%.9g": 8}[case.storage])
        off = zip(a, cells(printed[name]), strict=True) if name in printed else ()
        room = max([room, *(3 * abs(x - y) for x, y in off if abs(x) < 1e3 or abs(y) < 1e3)])
        if any(not abs(x - y) <= room for x, y in visible):
            return True
    return False


def cells(value):
    if isinstance(value, list):
        for item in value:
            yield from cells(item)
    else:
        yield value


def verdict(case: Case, seed: int, folder: Path) -> tuple[str, object] | None:
    """What compare says of a case, and the comparison; None where the mistake does not show."""
    feeds = feeds_of(case.base, seed % 50, case.offset)
    tensors = computed(replace(case, mistake=""), feeds, mistaken.build(case.base))
    record = recorded(case, tensors, random.Random(seed))
    if case.mistake:
        changed = feeds
        if case.mistake == "w":
            changed = {**feeds, "w_q": [[1.1 * x for x in row] for row in feeds["w_q"]]}
        try:
            graph = mistaken.build(case.base, case.mistake)
            wrong = recorded(case, computed(case, changed, graph), random.Random(seed))
        except GraphError:  # a mistake that these sizes do not allow
            return None
        given = [name for name in record if name in feeds or name in LIBRARY.values()]
        wrong |= {name: record[name] for name in given if name in wrong and case.mistake == "w"}
        printed = {}
        if case.storage not in ("list", "array"):
            fed = {name: mapped(value, lambda x: float(form_of(case) % x)) for name, value in feeds.items()}
            exact = replace(case, mistake="", engine="graph64")
            printed = recorded(case, computed(exact, fed, mistaken.build(case.base)), random.Random(seed))
        if not shows(case, record, wrong, printed):
            return None
        record = wrong
    reference = mistaken.build(case.base)
    if seed % 2:
        fed = feeds
        if case.engine in FORMATS:
            fed = {name: mapped(value, FORMATS[case.engine].round) for name, value in feeds.items()}
        reference = run(reference, fed)
    found = compare(reference, stored(case, record, folder))
    said = found.verdict
    if said == "the same" and found.uncompared and case.mistake:
        said = "not all compared"  # which assert_close refuses
    return said, found


def count(amount: int, wrong: bool, seed: int, show: int) -> tuple[Counter, int]:
    """Verdicts by form, and how many are false."""
    verdicts: Counter = Counter()
    false = done = 0
    with tempfile.TemporaryDirectory() as name:
        while done < amount:
            seed += 1
            case = case_of(random.Random(f"{wrong}{seed}"), wrong)
            try:
                answer = verdict(case, seed, Path(name))
            except Exception as error:
                answer = f"error: {type(error).__name__}", str(error)
            if answer is None:
                continue
            done += 1
            verdicts[case.form, answer[0]] += 1
            bad = answer[0] not in (
                ("different", "undecided", "not all compared") if wrong else ("the same", "undecided")
            )
            false += bad
            if bad and false <= show:
                print(f"--- {'wrong' if wrong else 'right'} {seed}: {case}\n{answer[1]}\n", file=sys.stderr)
    return verdicts, false


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--right", type=int, default=5000)
    parser.add_argument("--wrong", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3, help="print so many reports of false verdicts")
    options = parser.parse_args(arguments)
    bad = 0
    for what, amount, wrong in (("right", options.right, False), ("wrong", options.wrong, True)):
        started = perf_counter()
        verdicts, false = count(amount, wrong, options.seed, options.show)
        bad += false
        told = sorted({verdict for _, verdict in verdicts})
        print(f"{what} runs: {amount}, {perf_counter() - started:.0f} s")
        print(f"  {'engine    storage  recorded':28}" + "".join(f"{t:>18}" for t in told))
        for form in sorted({form for form, _ in verdicts}):
            print(f"  {form:28}" + "".join(f"{verdicts[form, t]:18}" for t in told))
        total = {t: sum(n for (_, v), n in verdicts.items() if v == t) for t in told}
        print(f"  {'all':28}" + "".join(f"{total[t]:18}" for t in told))
        print(f"  {'false agreements' if wrong else 'false alarms'}: {false}\n")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
