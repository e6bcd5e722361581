"""The first seed's deliverables, written into a folder.

    model.py       the seven functions, standard library only (`model_file.py` makes it)
    02-scale.txt   the largest attention weight with and without √d_k
    05-perm.txt    what a shuffled input does, without and with positional encoding
    08-notes.md    the three things that were measured: 스케일링, 순서 and 제곱

Every number in the texts comes from a run, or from the cost pass. The same seed gives the same
texts, up to the last digits of rounding errors, which differ between Python versions.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pstdev

from graphattn.dumps.write import need_free, write_text
from graphattn.passes.cost import cost

from .. import model
from ..core.errors import GraphError
from ..core.graph import Graph
from ..core.nested import flat
from ..core.run import run
from .model_file import model_source

Matrix = list[list[float]]


def write_experiments(directory: str | os.PathLike[str], seed: int = 0, force: bool = False) -> list[Path]:
    """Write the four files into a folder, which is made if it is not there; their paths.

    seed: of the random vectors. Raises a `GraphError` where the folder cannot be written to, and, unless
    `force` is given, where one of the files is there already with another content.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise GraphError(f"seed is {seed!r}; expected an int")
    try:
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GraphError(f"{directory!r} was not made: {reason}; expected the path of a folder") from None
    scales = [scale_measured(d, seed) for d in (4, 16, 64, 256)]
    orders = [order_measured(name, function, seed) for name, function in MIXERS.items()]
    growth = [growth_measured(n) for n in (512, 1024, 2048, 4096, 8192)]
    texts = {
        "model.py": model_source(),
        "02-scale.txt": scale_text(scales),
        "05-perm.txt": order_text(orders),
        "08-notes.md": notes_text(scales, orders, growth),
    }
    if not force:
        need_free(folder, {name: text.encode("utf-8").__eq__ for name, text in texts.items()})
    return [write_text(folder / name, text) for name, text in texts.items()]


def normal(n: int, d: int, dice: random.Random) -> Matrix:
    """n vectors of d numbers, each normal with mean 0 and variance 1."""
    return [[dice.gauss(0.0, 1.0) for _ in range(d)] for _ in range(n)]


# ---------------------------------------------------------------- 2. scaling

DRAWS, POSITIONS = 200, 8


@dataclass(frozen=True)
class Scale:
    """The largest weight of each query, over many draws of Q and K with d dimensions."""

    d: int
    spread: float
    """The standard deviation of the scores before the division."""
    divided: tuple[float, ...]
    plain: tuple[float, ...]


def scale_measured(d: int, seed: int) -> Scale:
    """Softmax of the same random scores with and without the division by √d."""
    graph = Graph("scale")
    q, k = (graph.input(name, (POSITIONS, d), ("token", "feature")) for name in "QK")
    scores = graph.matmul(q, k.T, name="scores")
    graph.output(divided=graph.softmax(graph.scale(scores, sqrt=d)), plain=graph.softmax(scores))
    cells: list[float] = []
    largest: dict[str, list[float]] = {"divided": [], "plain": []}
    for draw in range(DRAWS):
        dice = random.Random(f"scale {seed} {d} {draw}")
        trace = run(graph, {"Q": normal(POSITIONS, d, dice), "K": normal(POSITIONS, d, dice)})
        cells += flat(trace["scores"])
        for name, found in largest.items():
            found += map(max, trace[name])
    return Scale(d, pstdev(cells), tuple(largest["divided"]), tuple(largest["plain"]))


def scale_text(scales: Sequence[Scale]) -> str:
    asked = _of_64(scales)
    lines = [
        "The largest attention weight of a query, with and without dividing the scores by √d_k",
        "",
        f"Q and K are normal (mean 0, variance 1), {POSITIONS} positions, {DRAWS} draws:"
        f" {len(asked.plain)} queries.",
        f"An even average would give every key {1 / POSITIONS:.3f}.",
        "",
        "                             with ÷ √d                  without",
        "    d   spread of scores     mean    above 0.99         mean    above 0.99",
    ]
    for scale in scales:
        divided, plain = (f"{fmean(x):.4f}   {_share(x):8.1%}" for x in (scale.divided, scale.plain))
        lines.append(f"{scale.d:5}   {scale.spread:16.3f}   {divided}         {plain}")
    lines += [
        "",
        f"d = 64: the mean largest weight is {fmean(asked.divided):.4f} with the division"
        f" and {fmean(asked.plain):.4f} without it;",
        f"        over all queries it goes from {min(asked.divided):.4f} to {max(asked.divided):.4f} with,"
        f" and from {min(asked.plain):.4f} to {max(asked.plain):.4f} without.",
        "",
        "A score is a sum of d products, so its spread grows as √d, and softmax turns into",
        '"pick one" as the scores move apart. Dividing by √d brings the spread back to 1 at any d.',
    ]
    return "\n".join(lines) + "\n"


def _share(largest: Sequence[float]) -> float:
    return sum(weight > 0.99 for weight in largest) / len(largest)


def _of_64(scales: Sequence[Scale]) -> Scale:
    return next(scale for scale in scales if scale.d == 64)


# ---------------------------------------------------------------- 5. order

SHUFFLES, TOKENS, FEATURES, HEADS = 100, 6, 8, 2

MIXERS: dict[str, Callable[[Matrix], Matrix]] = {
    "attention": lambda x: model.attention(x, x, x)[0],
    "multi_head": lambda x: model.multi_head(x, x, x, HEADS),
    "block": lambda x: model.block(x, HEADS),
    "block, causal": lambda x: model.block(x, HEADS, model.causal_mask(len(x))),
}


@dataclass(frozen=True)
class Order:
    """The largest absolute difference between f(shuffled X) and shuffled f(X), for each shuffle."""

    name: str
    without: tuple[float, ...]
    """X alone."""
    encoded: tuple[float, ...]
    """With the positional encoding added to X and to shuffled X."""


def order_measured(name: str, function: Callable[[Matrix], Matrix], seed: int) -> Order:
    """Shuffle the positions before and after, and compare."""
    positions = model.pos_encoding(TOKENS, FEATURES)

    def encoded(x: Matrix) -> Matrix:
        return function([[v + p for v, p in zip(*rows)] for rows in zip(x, positions)])

    without, with_positions = [], []
    for draw in range(SHUFFLES):
        dice = random.Random(f"order {seed} {draw}")
        x, order = normal(TOKENS, FEATURES, dice), list(range(TOKENS))
        while order == sorted(order):
            dice.shuffle(order)
        shuffled = [x[i] for i in order]
        for found, mixer in ((without, function), (with_positions, encoded)):
            y = mixer(x)
            found.append(_difference(mixer(shuffled), [y[i] for i in order]))
    return Order(name, tuple(without), tuple(with_positions))


def _difference(a: Matrix, b: Matrix) -> float:
    return max(abs(v - w) for v, w in zip(flat(a), flat(b), strict=True))


def order_text(orders: Sequence[Order]) -> str:
    lines = [
        "Does f(shuffled X) equal shuffled f(X)?  The largest absolute difference",
        "",
        f"X is normal (mean 0, variance 1), {TOKENS} positions × {FEATURES} features,"
        f" {SHUFFLES} draws and shuffles; {HEADS} heads.",
        "",
        "                         X alone               with positional encoding",
        "f                  smallest    largest          smallest    largest",
    ]
    for order in orders:
        without, encoded = (f"{min(x):8.1e}   {max(x):8.1e}" for x in (order.without, order.encoded))
        lines.append(f"{order.name:16}   {without}          {encoded}")
    plain = next(order for order in orders if order.name == "attention")
    lines += [
        "",
        f"Without positional encoding attention on shuffled X is the shuffled result, {_to(plain)}.",
        "It is permutation equivariant: it does not know order. With positional encoding every shuffle shows:",
        f"the two differ by {min(plain.encoded):.1e} or more. A causal mask tells positions apart, too.",
    ]
    return "\n".join(lines) + "\n"


def _to(order: Order) -> str:
    """How far the shuffled result is met without positional encoding."""
    if not max(order.without):
        return "bit for bit (sums that are correctly rounded do not depend on their order)"
    return f"to {max(order.without):.1e} (rounding: the sums run in another order)"


# ---------------------------------------------------------------- 8. growth, and the notes


@dataclass(frozen=True)
class Growth:
    """One head of 64 features on n positions: the size of its scores, and what they cost."""

    n: int
    cells: int
    bytes: int
    flops: int
    projection: int
    """The flops of one projection, which grows with n alone."""


def growth_measured(n: int, d: int = 64) -> Growth:
    """From the cost pass: nothing is evaluated."""
    graph = Graph("growth")
    x, w = graph.input("X", (n, d), ("token", "feature")), graph.parameter("w", (d, d))
    q = graph.linear(x, w, name="q")
    graph.attention(q, x, x, name="head")
    found = cost(graph.at("op"))
    scores = found["head.scores"]
    return Growth(n, scores.cells, 8 * scores.cells, scores.flops, found["q"].flops)


def notes_text(scales: Sequence[Scale], orders: Sequence[Order], growth: Sequence[Growth]) -> str:
    scale, order = _of_64(scales), next(order for order in orders if order.name == "attention")
    divided, plain = fmean(scale.divided), fmean(scale.plain)
    four, eight = (next(g for g in growth if g.n == n) for n in (4096, 8192))
    lines = [
        "# Attention without a library: what was measured",
        "",
        "The exercise asks for three words in Korean: 스케일링 (scaling), 순서 (order), 제곱 (square). Below"
        " each note its Korean follows.",
        "",
        f"1. **스케일링 (scaling).** At d = 64 the largest weight is {divided:.4f} on average with the"
        f" division by √d, and {plain:.4f} without it ({_share(scale.plain):.1%} of the queries above 0.99,"
        f" against {_share(scale.divided):.1%}).",
        f"   √d로 나누면 최대 가중치의 평균은 {divided:.4f}, 나누지 않으면 {plain:.4f}이다.",
        "2. **순서 (order).** Without positional encoding, attention on a shuffled input is the shuffled"
        f" output, {_to(order)}: permutation equivariance. With it the two differ by"
        f" {min(order.encoded):.1e} or more in each of {SHUFFLES} shuffles.",
        "   위치 인코딩이 없으면 어텐션은 순서를 모른다: 입력을 섞으면 출력도 똑같이 섞인다.",
        f"3. **제곱 (square).** The score matrix has n² cells: from n = {four.n} to {eight.n} it becomes"
        f" {eight.cells / four.cells:g} times as large.",
        f"   길이가 {eight.n // four.n}배가 되면 점수 행렬은 제곱으로 {eight.cells / four.cells:g}배가 된다.",
        "",
        "One head of 64 features, from the cost pass (8 bytes a number):",
        "",
        "| n | cells of the scores | MiB | flops of the scores | × | flops of a projection | × |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    before: Growth | None = None
    for g in growth:
        times = (f"{g.flops / before.flops:g}", f"{g.projection / before.projection:g}") if before else ("", "")
        size = f"{g.n:,} | {g.cells:,} | {g.bytes / 2**20:g}"
        lines.append(f"| {size} | {g.flops:,} | {times[0]} | {g.projection:,} | {times[1]} |")
        before = g
    return "\n".join(lines) + "\n"
