"""`graphattn ops`: every op in a table; `graphattn ops NAME`: all there is to know of one; with
`--markdown`, the page that `docs/ops.md` is; `graphattn ops --onnx MODEL`: the operators of a model."""

from __future__ import annotations

import click

from ...core.errors import GraphError
from .. import completion
from ..output import OUTPUT, emit, fitting_width
from ..paint import CARD, painter

GROUP = "Look things up"


@click.command(short_help="List every op, or print the card of one.")
@click.argument("name", required=False, shell_complete=completion.ops)
@click.option(
    "--markdown", "as_markdown", is_flag=True,
    help="Markdown, one section for each op; -o FILE.md implies it.",
)  # fmt: skip
@click.option(
    "--onnx", "model", metavar="FILE.onnx",
    help="Which operators an ONNX model has, how often, and which of them are read. Status 1 where one is not.",
)  # fmt: skip
@OUTPUT
@click.pass_context
def command(
    context: click.Context, name: str | None, as_markdown: bool, model: str | None, output: str | None
) -> None:
    """List every op, or print the card of the op NAME.

    A card has the formula, the signature, shapes and cost on the op's own samples, what it is made of,
    and an example with numbers.
    """
    if model is not None:
        if name is not None or as_markdown:
            raise GraphError(
                "--onnx lists the operators of a model; expected neither NAME nor --markdown with it"
            )
        from ...onnx import operators
        from ...onnx.inventory import inventory_text

        found = operators(model)
        emit(inventory_text(found), output)
        context.exit(0 if all(operator.read for operator in found) else 1)
    from ...core.graph import Graph
    from ...core.op import find

    Graph()  # fills the registry
    if as_markdown or (output or "").lower().endswith((".md", ".markdown")):
        from ..ops_page import page, section

        emit(section(find(name)) if name else page(), output)
    else:
        from ..op_card import card, table

        width = fitting_width(output)
        emit(card(find(name), width) if name else table(width), output, painted=painter(CARD))
