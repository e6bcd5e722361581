r"""Tensors as LaTeX tables, to be put into a paper.

    % weights = softmax(masked)   token 3 × token 3
    \begin{tabular}{l|rrr}
     & the & cat & sat \\ \hline
    the & $1.0000$ & $\cdot$ & $\cdot$ \\
    \end{tabular}

A slice of more than two axes is a table each. Nothing but LaTeX's own packages is needed; labels in other
scripts need an engine that knows them.

>>> escape("50% of x_i & y")
'50\\% of x\\_i \\& y'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from graphattn.core.trace import Trace
from graphattn.dumps.rows import StepRow, TensorRow, as_read, shape_text, step_rows
from graphattn.dumps.table import HIDDEN, LEFT_OUT, NO_CELLS, Exact, Pretty, index_text, one_cell, slices
from graphattn.dumps.trace_text import form_of, printing

SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}  # fmt: skip
CELLS = {HIDDEN: r"$\cdot$", LEFT_OUT: r"$\cdots$", "inf": r"$\infty$", "-inf": r"$-\infty$"}


def escape(text: str) -> str:
    """Text in which no letter is taken for a command."""
    return "".join(SPECIAL.get(letter, letter) for letter in text)


def trace_latex(trace: Trace, decimals: int = 4, limit: int = 12, only: Iterable[str] | None = None) -> str:
    """A table for each recorded tensor; arguments as for `trace_text`."""
    form = form_of("pretty", decimals, limit)
    with printing():
        blocks = [
            block
            for row in as_read(step_rows(trace, only))
            for tensor in row.tensors
            if tensor.value is not None
            for block in _blocks(tensor, row, form, trace)
        ]
    return "\n\n".join(blocks) + "\n"


def _blocks(tensor: TensorRow, row: StepRow, form: Pretty | Exact, trace: Trace) -> Iterator[str]:
    made = f"{tensor.name} = {row.written.expression}" if tensor.name == row.name else tensor.name
    comment = _comment(f"{made}   {shape_text([tensor.spec])}")
    if not tensor.spec.rank:
        yield f"{comment}\n{_cell(one_cell(tensor, form, trace.numbers))}"
        return
    if not tensor.spec.size:
        yield f"{comment}\n{escape(NO_CELLS)}"
        return
    for part in slices(tensor, form, trace.numbers):
        if part.index is None:
            yield "% ... slices are left out"
            continue
        where = f"\n{_comment(index_text(tensor, part.index))}" if part.index else ""
        heads = " & ".join(CELLS.get(head, escape(head)) for head in part.heads)
        lines = [
            " & ".join([CELLS.get(name, escape(name)), *map(_cell, cells)]) + r" \\"
            for name, cells in zip(part.names, part.cells, strict=True)
        ]
        body = "\n".join([f" & {heads} \\\\ \\hline", *lines])
        columns = f"l|{'r' * len(part.heads)}"
        yield f"{comment}{where}\n\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}"


def _comment(text: str) -> str:
    return "% " + " ".join(text.split())


def _cell(text: str) -> str:
    if text in CELLS:
        return CELLS[text]
    if re.fullmatch(r"-?[\d.]+", text):
        return f"${text}$"
    scientific = re.fullmatch(r"(-?[\d.]+)e([+-])0*(\d+)", text)
    if scientific:
        sign = "-" if scientific[2] == "-" else ""
        return f"${scientific[1]} \\cdot 10^{{{sign}{scientific[3]}}}$"
    return escape(text)
