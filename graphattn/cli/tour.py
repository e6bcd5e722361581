"""The guided tour that `graphattn demo` prints: the shipped model on one text, step by step.

    tour(specimen, trace) -> lines of `rich.text.Text`, at most 86 columns wide

Every number in it is read off the trace or computed from it. What is said of the heads is measured
on the text at hand, whatever the text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.text import Text

from ..core import nested
from ..core.graph import Graph, Node
from ..core.specimen import Specimen
from ..core.trace import Trace
from ..core.words import sizes, wrapped

WIDTH = 78
WIDE = 20
"""Up to how many tokens a matrix has two decimals in its cells; beyond, one digit."""
COLUMNS = 16
"""How many guesses stand side by side."""
PREVIOUS = "layer0.attention.head1"
INDUCTION = "layer1.attention.head0"


def tour(specimen: Specimen, trace: Trace) -> Iterator[Text]:
    """The whole tour, line by line."""
    tokens = list(specimen.labels["token"])
    yield from _heading("The model")
    yield from _paragraph(
        f"A small trained model reads  {' '.join(tokens[1:])}  and guesses, after each letter, which one"
        f" comes next. It has two layers of attention, with two heads each, and nothing else. It was trained"
        f" on random letters that repeat, so it cannot know a word by heart: it has to look back. {tokens[0]}"
        " marks the start."
    )
    yield from _graph_lines(specimen.graph)
    yield from _embedding(trace, tokens)
    yield from _previous(trace, tokens)
    yield from _induction(specimen, trace, tokens)
    yield from _one_weight(trace, tokens)
    yield from _predictions(trace, tokens, specimen.labels["vocabulary"])


# ---------------------------------------------------------------- the stations


def _graph_lines(graph: Graph) -> Iterator[Text]:
    """One line for each node that is evaluated, and under the first layer what is inside it."""
    yield from _heading("The graph")
    inside = graph.at("head")
    opened = next(node.name for node in graph.nodes.values() if node.op.coarser("head"))
    width = max(len(node.name) for node in graph.nodes.values() if node.operands)
    for node in graph.nodes.values():
        if node.operands:
            yield _node_line(graph, node, width)
        if node.name == opened:
            inner = [part for part in inside.nodes.values() if part.name.startswith(f"{opened}.")]
            narrow = max(len(_within(part.name, part, inside)) for part in inner)
            for part in inner:
                yield _node_line(inside, part, narrow, "└ " if part is inner[-1] else "│ ")
    yield Text()
    yield from _paragraph(
        "Both layers are made alike. Shapes are letters × numbers for each. Zoomed in further, the graph has"
        f" {len(graph.at('op').nodes)} nodes; every tensor in it has a name, such as {INDUCTION}.weights, and"
        " is in the dump that this demo writes."
    )


def _node_line(graph: Graph, node: Node, width: int, bar: str = "") -> Text:
    """`name = op(operands)  shape`; what is drawn inside an op (its weights) is left out."""
    operands = ", ".join(
        _within(graph.tensor_name(ref), node, graph)
        for ref in node.operands
        if ref is not None and graph.node(ref.node).op.drawn != "inside"
    )
    name = _within(node.name, node, graph)
    shape = sizes(node.outputs[0].shape, "×")
    line = Text(f"  {bar}{name:{width}} = {node.op.name}({operands})", style="dim" if bar else "")
    return line.append(f"{shape:>{max(WIDTH - len(line), 7)}}", style="dim")


def _within(name: str, node: Node, graph: Graph) -> str:
    """A name as it is called inside the scopes of a node."""
    scope = node.scope
    while scope is not None:
        name, scope = name.removeprefix(f"{scope}."), graph.scopes[scope].parent
    return name


def _embedding(trace: Trace, tokens: Sequence[str]) -> Iterator[Text]:
    yield from _heading("Step 1: letters become rows of numbers")
    yield from _paragraph(
        "x = token_embedding + position_embedding: one row of 32 numbers for each letter, of which the"
        " first six are shown. The same letter in two places differs by its position alone."
    )
    first = next((i for i in range(1, len(tokens)) if tokens[i] in tokens[1:i]), 1)
    same = [i for i in range(1, first + 1) if tokens[i] == tokens[first]]
    for i in same:
        cells = " ".join(f"{cell:8.4f}" for cell in trace["x"][i][:6])
        yield Text(f"  {tokens[i]} at {i:<3} {cells}  ...")


def _previous(trace: Trace, tokens: Sequence[str]) -> Iterator[Text]:
    weights = trace[f"{PREVIOUS}.weights"]
    before = [weights[i][i - 1] for i in range(1, len(tokens))]
    yield from _heading("Step 2: layer 0, head 1 looks at the letter before")
    yield from _matrix(f"{PREVIOUS}.weights", trace, tokens, lambda i, j: j == i - 1)
    yield from _paragraph(
        f"On average {_mean(before):.2f} of a letter's attention goes to the letter before it. What is"
        " found there is added to the letter's row: each place now knows what came before it."
    )


def _induction(specimen: Specimen, trace: Trace, tokens: Sequence[str]) -> Iterator[Text]:
    yield from _heading("Step 3: layer 1 looks at what came after the same letter before")

    def follows(i: int, j: int) -> bool:
        return 1 < j <= i and tokens[j - 1] == tokens[i]

    yield from _matrix(f"{INDUCTION}.weights", trace, tokens, follows)
    rows = [i for i in range(len(tokens)) if any(follows(i, j) for j in range(i + 1))]
    if not rows:
        yield from _paragraph(
            "No letter occurs twice before the end, so there is nothing to find."
            f" Try a text that repeats: graphattn demo {''.join(tokens[1:8]) * 2}"
        )
        return

    def share(a_trace: Trace, head: int) -> float:
        """How much attention goes to what followed, where a letter has occurred before."""
        weights = a_trace[f"layer1.attention.head{head}.weights"]
        return _mean([sum(weights[i][j] for j in range(i + 1) if follows(i, j)) for i in rows])

    i = rows[-1]
    j = max(range(i + 1), key=trace[f"{INDUCTION}.weights"][i].__getitem__)
    yield from _paragraph(
        f"An induction head. {_at(tokens, i)} asks: where did {tokens[i]} occur before, and what came next? It"
        f" looks most at {_at(tokens, j)}. Where a letter has occurred before, head 0 spends"
        f" {share(trace, 0):.2f} of its attention on what followed, and head 1 {share(trace, 1):.2f}."
    )
    blind = _without_previous(specimen, trace)
    yield Text()
    yield from _paragraph(
        "Is step 2 really needed for that? Run again with the output of that head set to 0, and the two heads"
        f" spend {share(blind, 0):.2f} and {share(blind, 1):.2f} on what followed."
    )


def _without_previous(specimen: Specimen, trace: Trace) -> Trace:
    """The same run, with what the previous-token head found taken away."""
    shape = trace.spec(f"{PREVIOUS}.out").shape
    return specimen.run(patch={f"{PREVIOUS}.out": nested.full(shape, 0.0)})


def _one_weight(trace: Trace, tokens: Sequence[str]) -> Iterator[Text]:
    last = len(tokens) - 1
    yield from _heading(f"One row of it, number by number: {_at(tokens, last)}")
    scores, scaled, weights = (trace[f"{INDUCTION}.{name}"][last] for name in ("scores", "scaled", "weights"))
    width = trace.spec("layer1.attention.q_heads.part0").shape[-1]
    yield Text(f"  {'place':>5}  {'letter':6}  {'q · k':>9}  {f'÷ √{width}':>9}  {'softmax':>8}", style="dim")
    shown = sorted(range(last + 1), key=lambda j: -weights[j])[:4]
    for j in sorted(shown):
        yield Text(
            f"  {j:5}  {tokens[j]:6}  {scores[j]:9.4f}  {scaled[j]:9.4f}  {weights[j]:8.4f}",
            style="bold" if weights[j] == max(weights) else "",
        )
    rest = 1 - sum(weights[j] for j in shown)
    if last + 1 > len(shown):
        yield Text(f"  {'rest':>5}  {'':6}  {'':9}  {'':9}  {abs(rest):8.4f}", style="dim")


def _predictions(trace: Trace, tokens: Sequence[str], vocabulary: Sequence[str]) -> Iterator[Text]:
    yield from _heading("Step 4: the guesses")
    rows = [_softmax(row) for row in trace["logits"]]
    best = [max(range(len(row)), key=row.__getitem__) for row in rows]
    guesses = [vocabulary[j] for j in best]
    sure = [row[j] for row, j in zip(rows, best, strict=True)]
    after = _continuation(tokens)
    upcoming = [*tokens[1:], after or "?"]
    right = [guess == letter for guess, letter in zip(guesses, upcoming, strict=True)]
    for start in range(0, len(tokens), COLUMNS):
        part = slice(start, start + COLUMNS)
        if start:
            yield Text()
        yield _cells("reads", tokens[part])
        yield _cells("guesses", guesses[part], "bold")
        yield _cells("probability", map(_short, sure[part]))
        yield _cells("comes next", upcoming[part])
        marks = [
            "✓" if hit else " " if letter == "?" else "✗" for hit, letter in zip(right, upcoming, strict=True)
        ]
        yield _cells("", marks[part], "bold green")
    yield Text()
    last = len(tokens) - 1
    known = [right[i] for i in range(last) if tokens[i] in tokens[1:i]]
    new = [right[i] for i in range(last) if tokens[i] not in tokens[1:i]]
    told = f"Where a letter is new, the model can only guess: {sum(new)} of {len(new)} right."
    if known:
        told += f" Where it has occurred before: {sum(known)} of {len(known)} right."
    told += f" After the last {tokens[last]} it expects {guesses[last]}, with probability {sure[last]:.4f}"
    if after is None:
        told += "; the text does not repeat, so nobody can say whether that is right."
    else:
        told += f"; the text, if it goes on repeating, has {after}: {'right' if right[last] else 'wrong'}."
    yield from _paragraph(told)


# ---------------------------------------------------------------- layout


def _heading(text: str) -> Iterator[Text]:
    yield Text()
    yield Text(text, style="bold cyan")
    yield Text()


def _paragraph(text: str) -> Iterator[Text]:
    for line in wrapped(text, WIDTH):
        yield Text(line)


def _matrix(
    name: str, trace: Trace, tokens: Sequence[str], marked: Callable[[int, int], bool]
) -> Iterator[Text]:
    """Weights as a table: the rows look at the columns. `marked(i, j)` cells stand out on a terminal."""
    weights, hidden = trace[name], trace.masked(name)
    wide = len(tokens) <= WIDE
    size = 4 if wide else 2
    yield Text(f"  {name}: each row adds up to 1", style="dim")
    yield Text("      " + "".join(token.rjust(size) for token in tokens), style="dim")
    for i, row in enumerate(weights):
        line = Text("  ").append(f"{tokens[i]:>3} ", style="dim")
        for j, weight in enumerate(row):
            if hidden is not None and hidden[i][j]:
                line.append("·".rjust(size), style="dim")
            else:
                text = _short(weight) if wide else (str(min(int(weight * 10), 9)) if weight >= 0.1 else "")
                strong = weight >= 0.3
                style = "bold magenta" if marked(i, j) and strong else "bold" if strong else ""
                line.append(text.rjust(size), style=style)
        yield line
    unit = "" if wide else "   9 = .9 and more   blank = below .1"
    yield Text(f"      · = hidden: a letter cannot look ahead{unit}", style="dim")
    yield Text()


def _cells(name: str, cells: Iterable[str], style: str = "") -> Text:
    return Text(f"  {name:12}", style="dim").append(
        "".join(cell.rjust(4) for cell in cells), f"not dim {style}"
    )


def _short(weight: float) -> str:
    """Two decimals in three characters: .97, 1.0, and 0 for what rounds to nothing."""
    text = f"{weight:.2f}"
    return "1.0" if text == "1.00" else "0" if text == "0.00" else text[1:]


def _at(tokens: Sequence[str], place: int) -> str:
    return f"{tokens[place]} at place {place}"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _softmax(row: Sequence[float]) -> list[float]:
    exps = [math.exp(cell - max(row)) for cell in row]
    total = math.fsum(exps)
    return [cell / total for cell in exps]


def _continuation(tokens: Sequence[str]) -> str | None:
    """The letter that comes next if the text is a repeated string, else None."""
    text = tokens[1:]
    for period in range(1, len(text)):
        if len(text) > period and all(text[i] == text[i - period] for i in range(period, len(text))):
            return text[len(text) - period]
    return None
