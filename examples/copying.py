"""See it learn: a small attention-only model is trained to copy, in pure Python.

    python examples/copying.py [--seed 0] [--steps 200] [-o FOLDER]

**The task.** Six random letters, and the same six again: "qmxbzaqmxbza". The model reads letter by
letter and says what comes next. The first six cannot be known; each of the second six can, by
whoever looks five letters back: what stands there is what comes next here.

    place        0  1  2  3  4  5  6  7  8  9  10
    reads        q  m  x  b  z  a  q  m  x  b  z
    should say   .  .  .  .  .  q  m  x  b  z  a

**The model.** Attention only: one block (LayerNorm, one causal head, residual) between two tables.

    ids ─ letters ─ ⊕ ─ x ─ block ─ linear ─ logits
           places ──┘

**The loss.** The mean of −log p(the letter that comes next), over the places where it can be known.
Guessing costs ln 26 = 3.26; knowing costs 0.

**The training.** The gradients are a graph too, built once; each step runs it on 8 new sequences, and
Adam changes each number by its gradient. Nothing but lists of floats; on one version of Python the same
seed gives the same bits (from one to another the last bits differ, since 3.12 adds up more exactly).

It prints what it measured on sequences that it was not trained on, and writes into FOLDER:
`model.txt` (the graph that reads one sequence), `weights.json` (its feeds), `training.txt` (the graph
with loss and gradients) and `attention.svg` (where the head looks, before and after). Then:

    graphattn trace FOLDER/model.txt --feeds FOLDER/weights.json --tensor "*.weights"
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from string import ascii_lowercase
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from graphattn import Graph, run
from graphattn.cli.output import prepare_streams
from graphattn.core.graph import Tensor
from graphattn.core.trace import Trace
from graphattn.dumps.write import write_text
from graphattn.passes.gradient import gradient, value_and_grad

VOCABULARY = ascii_lowercase
HALF = 6
"""How many letters there are before they come again."""
READ = 2 * HALF - 1
"""How many letters are read: all but the last, after which nothing comes."""
FEATURES = 16
BATCH = 8
HELD_OUT = 100
WEIGHTS = "layer.attention.head0.weights"

Matrix = list[list[float]]
Parameters = dict[str, Matrix]


# ---------------------------------------------------------------- the model and its loss


def model(graph: Graph, ids: Tensor) -> Tensor:
    """logits (…, token, vocabulary) of token ids (…, token)."""
    n, d = len(VOCABULARY), FEATURES
    letters = graph.parameter("letters", (n, d), ("vocabulary", "feature"), title="letter table")
    places = graph.parameter("places", (READ, d), ("token", "feature"), title="place table")
    x = graph.add(graph.embedding(letters, ids, name="embedded"), places, name="x")
    w_q, w_k, w_v, w_o = (graph.parameter(f"w_{p}", (d, d), ("feature", "feature")) for p in "qkvo")
    y = graph.block(x, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o, heads=1, causal=True, name="layer")
    w_head = graph.parameter("w_head", (n, d), ("vocabulary", "feature"))
    return graph.linear(y, w_head, name="logits")


def reading_graph(*batch: int) -> Graph:
    """ids → logits: of one sequence, or of a batch of them."""
    graph = Graph("copying", "an attention-only model that repeats what it read")
    axes = ("batch", "token")[-len(batch) - 1 :]
    graph.output(logits=model(graph, graph.input("ids", (*batch, READ), axes, kind="int")))
    return graph


def training_graph() -> Graph:
    """ids and targets → loss.

    targets is 1 at the letter that comes next and 0 elsewhere, and 0 throughout where it cannot be
    known, so that targets · log p keeps the numbers that count.
    """
    graph = Graph("copying_loss", "how badly it repeats what it read")
    logits = model(graph, graph.input("ids", (BATCH, READ), ("batch", "token"), kind="int"))
    targets = graph.input("targets", logits.shape, logits.axes)
    counted = graph.multiply(targets, graph.log_softmax(logits, name="log_p"), name="counted")
    total = graph.reduce_sum(graph.reshape(counted, (math.prod(counted.shape),)), name="log_likelihood")
    graph.output(loss=graph.divide(-total, BATCH * HALF, name="loss"))
    return graph


def initial(rng: random.Random) -> Parameters:
    """Small random numbers for every parameter of the model."""
    shapes = {name: spec.shape for name, spec in reading_graph().inputs.items() if spec.kind == "float"}
    return {
        name: [[rng.gauss(0.0, 0.2) for _ in range(columns)] for _ in range(rows)]
        for name, (rows, columns) in shapes.items()
    }


# ---------------------------------------------------------------- the training


def sequence(rng: random.Random) -> tuple[int, ...]:
    """Six random letters, and the same six again, as numbers from 0 to 25."""
    half = rng.choices(range(len(VOCABULARY)), k=HALF)
    return (*half, *half)


def feeds_of(sequences: Sequence[Sequence[int]]) -> dict[str, Any]:
    """What the model reads, and what it should say."""

    def target(letters: Sequence[int], place: int) -> list[float]:
        known = place >= HALF
        return [float(known and letters[place] == letter) for letter in range(len(VOCABULARY))]

    return {
        "ids": [list(letters[:-1]) for letters in sequences],
        "targets": [[target(letters, place) for place in range(1, 2 * HALF)] for letters in sequences],
    }


class Adam:
    """p ← p − rate · m̂ / (√v̂ + ε): a step for each number, by the mean m of its gradients, over their
    usual size √v (Kingma and Ba 2015, algorithm 1)."""

    def __init__(self, parameters: Parameters, rate: float = 0.01) -> None:
        self.parameters, self.rate, self.steps = parameters, rate, 0
        self.means, self.squares = (
            {name: [[0.0] * len(row) for row in matrix] for name, matrix in parameters.items()} for _ in "mv"
        )

    def step(self, gradients: Parameters) -> None:
        self.steps += 1
        first, second = 1 - 0.9**self.steps, 1 - 0.99**self.steps
        for name, matrix in self.parameters.items():
            tables = (matrix, self.means[name], self.squares[name], gradients[name])
            for p, m, v, g in zip(*tables, strict=True):
                for j, slope in enumerate(g):
                    m[j] = 0.9 * m[j] + 0.1 * slope
                    v[j] = 0.99 * v[j] + 0.01 * slope * slope
                    p[j] -= self.rate * (m[j] / first) / (math.sqrt(v[j] / second) + 1e-8)


def train(
    parameters: Parameters, steps: int, rng: random.Random, held_out: Sequence[Sequence[int]]
) -> Iterator[float]:
    """Change the parameters, step by step; yields the loss of each batch before its step."""
    graph, optimizer, unseen = training_graph(), Adam(parameters), set(held_out)
    for _ in range(steps):
        batch: list[Sequence[int]] = []
        while len(batch) < BATCH:
            letters = sequence(rng)
            if letters not in unseen:
                batch.append(letters)
        # Builds the graph of the gradients the first time, and only runs it after that.
        loss, gradients = value_and_grad(
            graph, {**parameters, **feeds_of(batch)}, of="loss", wrt=list(parameters)
        )
        yield loss
        optimizer.step(gradients)


# ---------------------------------------------------------------- what it can do


@dataclass(frozen=True)
class Measured:
    """What a model does with some sequences, at the places where the next letter can be known."""

    loss: float
    accuracy: float
    """How often its first guess is right."""
    looks: list[float]
    """How much attention goes to the letter 0, 1, 2, … places back, on average."""


def measure(
    parameters: Parameters, sequences: Sequence[Sequence[int]], patch: dict[str, Any] | None = None
) -> Measured:
    """Loss, accuracy and attention; `patch` replaces tensors of the run."""
    feeds = {**parameters, "ids": [list(letters[:-1]) for letters in sequences]}
    trace = run(reading_graph(len(sequences)), feeds, patch=patch, targets=["logits", WEIGHTS])
    losses, right, looks = [], 0, [0.0] * HALF
    for letters, logits, weights in zip(sequences, trace["logits"], trace[WEIGHTS], strict=True):
        for place in range(HALF - 1, READ):
            row, target = logits[place], letters[place + 1]
            peak = max(row)
            losses.append(peak + math.log(math.fsum(math.exp(v - peak) for v in row)) - row[target])
            right += max(range(len(row)), key=row.__getitem__) == target
            for back in range(HALF):
                looks[back] += weights[place][place - back]
    count = len(losses)
    return Measured(math.fsum(losses) / count, right / count, [share / count for share in looks])


def attention_of(parameters: Parameters, letters: Sequence[int]) -> Trace:
    """One sequence, read by the model, with its letters on rows and columns."""
    read = list(letters[:-1])
    labels = {"token": [VOCABULARY[i] for i in read]}
    return run(reading_graph(), {**parameters, "ids": read}, labels=labels)


def blinded(sequences: Sequence[Sequence[int]]) -> dict[str, Any]:
    """A patch that takes away what the head found."""
    return {"layer.attention.head0.out": [[[0.0] * FEATURES for _ in range(READ)] for _ in sequences]}


# ---------------------------------------------------------------- what it looks like


def curve(losses: Sequence[float], width: int = 60, height: int = 10) -> Iterator[str]:
    """The loss over the steps as a chart of text; a column is the mean of the steps that fall on it."""
    width = min(width, len(losses))
    cuts = [i * len(losses) // width for i in range(width + 1)]
    means = [math.fsum(losses[a:b]) / (b - a) for a, b in pairwise(cuts)]
    top = max(*means, math.log(len(VOCABULARY)))
    heights = [round(mean / top * height * 2) for mean in means]  # in half lines
    for line in reversed(range(height)):
        label = f"{top * (line + 1) / height:5.2f}" if line % 3 == 0 else " " * 5
        cells = ("█" if h >= 2 * line + 2 else "▄" if h > 2 * line else " " for h in heights)
        yield f"  {label} │{''.join(cells)}".rstrip()
    yield f"   0.00 └{'─' * width}"
    last = f"step {len(losses)}"
    yield f"{'':9}step 1{last:>{width - 6}}" if width > len(last) + 7 else f"{'':9}to {last}"


def side_by_side(before: Trace, after: Trace) -> Iterator[str]:
    """The attention of two models in tenths, one beside the other."""
    tokens = before.labels["token"]
    header = "    " + "".join(f"{token:>2}" for token in tokens)
    gap = " " * 8
    yield f"  {'before':{len(header)}}{gap}after"
    yield f"  {header}{gap}{header}"
    for i, token in enumerate(tokens):
        parts = []
        for trace in (before, after):
            row, hidden = trace[WEIGHTS][i], trace.masked(WEIGHTS)[i]
            tenths = (
                "·" if hide else str(min(int(w * 10), 9)) if w >= 0.1 else "" for w, hide in zip(row, hidden)
            )
            parts.append(f"{token:>3} " + "".join(f"{cell:>2}" for cell in tenths))
        yield f"  {gap.join(parts)}".rstrip()
    yield "      9 = .9 and more   blank = below .1   · = hidden: a letter cannot look ahead"


def picture(before: Trace, after: Trace) -> str:
    """The attention of two models as an SVG: the rows look at the columns, darker is more."""
    tokens, cell, margin = before.labels["token"], 22, 46
    side = len(tokens) * cell
    width, height = 2 * side + 3 * margin, side + 2 * margin
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica,Arial,sans-serif" font-size="13" '
        'fill="#1F2933" text-anchor="middle">',
        "<title>Where the head looks, before and after the training</title>",
        f'<rect width="{width}" height="{height}" fill="#FFFFFF"/>',
    ]
    for panel, (name, trace) in enumerate((("before", before), ("after", after))):
        left = margin + panel * (side + margin)
        parts.append(f'<text x="{left + side // 2}" y="18" font-weight="bold">{name} the training</text>')
        for i, token in enumerate(tokens):
            middle = i * cell + cell // 2
            parts.append(f'<text x="{left + middle}" y="{margin - 6}">{token}</text>')
            parts.append(f'<text x="{left - 12}" y="{margin + middle + 5}">{token}</text>')
            for j, (weight, hide) in enumerate(zip(trace[WEIGHTS][i], trace.masked(WEIGHTS)[i], strict=True)):
                if not hide:
                    parts.append(
                        f'<rect x="{left + j * cell}" y="{margin + i * cell}" width="{cell}" height="{cell}" '
                        f'fill="#5B2183" fill-opacity="{weight:.3f}" stroke="#CBD2D9">'
                        f"<title>{token} {i} looks at {tokens[j]} {j}: {weight:.3f}</title></rect>"
                    )
    caption = "each row adds up to 1; what comes later is hidden"
    parts.append(f'<text x="{width // 2}" y="{margin + side + 24}" fill="#52606D">{caption}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def weights_json(parameters: Parameters, letters: Sequence[int]) -> str:
    """What `model.txt` is fed: the parameters and one sequence."""
    feeds = {"ids": list(letters[:-1]), **parameters}
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(feeds[name])}" for name in feeds) + "\n}\n"


# ---------------------------------------------------------------- the report


def introduced(parameters: Parameters, held_out: Sequence[Sequence[int]]) -> Iterator[str]:
    """What there is, and what it can do before the training."""
    count, size = sum(len(row) for matrix in parameters.values() for row in matrix), len(VOCABULARY)
    yield f"{HALF} random letters of {size}, and the same again. One layer of one head, {count:,} parameters."
    yield f"Measured on {len(held_out)} sequences not trained on, at the {HALF} places that can be known."
    yield ""
    yield f"guessing  loss {math.log(size):.3f} = ln {size}, accuracy {1 / size:.1%}"
    yield told("before", measure(parameters, held_out))


def concluded(parameters: Parameters, held_out: Sequence[Sequence[int]]) -> Iterator[str]:
    """What it can do after the training, and how."""
    after = measure(parameters, held_out)
    blind = measure(parameters, held_out, patch=blinded(held_out))
    most = max(range(HALF), key=after.looks.__getitem__)
    yield told("after", after)
    yield "knowing   loss 0, accuracy 100.0%"
    yield ""
    yield f"The head looks {most} letters back: {after.looks[most]:.1%} of its attention goes there, where the"
    yield f"letter stands that comes next. With what it finds set to 0, accuracy is {blind.accuracy:.1%}."


def told(when: str, measured: Measured) -> str:
    return (
        f"{when:8}  loss {measured.loss:.3f}, accuracy {measured.accuracy:.1%},"
        f" attention {HALF - 1} letters back {measured.looks[HALF - 1]:.1%}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Train a small attention-only model to copy, in pure Python.")
    parser.add_argument("--seed", type=int, default=0, help="the same numbers for the same seed  [0]")
    parser.add_argument("--steps", type=_positive, default=200, help="how often the parameters change  [200]")
    parser.add_argument("-o", "--output", type=Path, default=Path("graphattn-copying"), metavar="FOLDER",
                        help="where the files go  [graphattn-copying]")  # fmt: skip
    options = parser.parse_args(arguments)
    prepare_streams()
    rng = random.Random(options.seed)
    held_out = [sequence(rng) for _ in range(HELD_OUT)]
    parameters = initial(rng)
    example = held_out[0]
    before = attention_of(parameters, example)
    print(*introduced(parameters, held_out), "", sep="\n", flush=True)

    started = perf_counter()
    losses = []
    with _progress() as progress:
        task = progress.add_task("training", total=options.steps, loss="")
        for loss in train(parameters, options.steps, rng, held_out):
            losses.append(loss)
            progress.update(task, advance=1, loss=f"loss {loss:.3f}")
    print(f"trained for {perf_counter() - started:.1f} s", file=sys.stderr)

    after = attention_of(parameters, example)
    print(f"Loss, {options.steps} steps of {BATCH} sequences:", "", *curve(losses), "", sep="\n")
    print(*concluded(parameters, held_out), "", sep="\n")
    print("Where the head looks, in tenths:", "", *side_by_side(before, after), sep="\n")
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        for name, text in {
            "model.txt": str(reading_graph()),
            "weights.json": weights_json(parameters, example),
            "training.txt": str(gradient(training_graph(), of="loss", wrt=list(parameters))),
            "attention.svg": picture(before, after),
        }.items():
            print(f"wrote {write_text(options.output / name, text)}", file=sys.stderr)
    except OSError as error:
        print(f"{options.output}: {error.strerror}; expected a folder to write into", file=sys.stderr)
        return 2
    return 0


def _progress() -> Progress:
    """A bar on the terminal, and nothing elsewhere."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed} of {task.total}"),
        TextColumn("{task.fields[loss]}"), TimeRemainingColumn(),
    )  # fmt: skip
    quiet = not sys.stderr.isatty()
    console = Console(
        file=sys.stderr, force_interactive=quiet or None
    )  # rich 13 ends a bar that is none with a line
    return Progress(*columns, console=console, disable=quiet, transient=True)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
