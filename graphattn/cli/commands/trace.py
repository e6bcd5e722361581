"""`graphattn trace`: evaluate a graph and print every step, number by number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from graphattn.dumps.forms import FORMS, Form, form_of, unknown_ending

from ...core.errors import GraphError, suggest
from ...progress import expected
from .. import completion
from ..output import OUTPUT, console, counted, emit, fitting_width, progress, terminal_width, wrote
from ..paint import TRACE, painter
from ..source import ENGINE, LEVEL, Whole, need_unpatched, read_specimen, specimen_options

GROUP = "See a computation"
TEXT = FORMS[0]


def form_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each form but text, and for its switches."""
    for form in reversed(FORMS[1:]):
        for switch, what in form.switches.items():
            flag = f"--{form.name}-{switch}"
            command = click.option(flag, is_flag=True, help=f"With --{form.name}: {what}.")(command)
        if form.folder:
            option = click.option(
                f"--{form.name}", metavar="FOLDER", help=f"Write into a new FOLDER, {form.help}."
            )
        else:
            implied = f"; -o FILE{form.endings[0]} implies it" if form.endings else ""
            option = click.option(
                f"--{form.name}", is_flag=True, help=f"{form.help[:1].upper()}{form.help[1:]}{implied}."
            )
        command = option(command)
    return command


@click.command(short_help="Run a graph and print every tensor of it.")
@specimen_options
@ENGINE
@LEVEL
@click.option(
    "--exact/--pretty", default=False,
    help="Every digit and nothing left out, which reads back bit for bit; or four decimals.  [--pretty]",
)  # fmt: skip
@form_options
@click.option(
    "--tensor", "patterns", metavar="PATTERN", multiple=True, shell_complete=completion.tensors,
    help="Only tensors whose names match, like '*.weights'. May be repeated.",
)  # fmt: skip
@click.option("--beside", is_flag=True, help="Only the tables of these tensors, side by side.")
@click.option(
    "--precision", "short", metavar="TYPE",
    help="Beside a run in float32, float16 or bfloat16: the error of each step, and what the step added."
    " Sums are taken in float32; in the type itself with float16:float16 or bfloat16:bfloat16.",
)  # fmt: skip
@click.option(
    "--heat", is_flag=True, help="Heat maps: colours on a terminal that has them, else shades.",
)  # fmt: skip
@click.option("--decimals", type=Whole(0), default=4, help="Decimals of a pretty number.  [4]")
@click.option(
    "--limit", type=Whole(2),
    help="Rows and columns of a tensor that are shown.  [12; on a terminal as many columns as fit]",
)  # fmt: skip
@click.option("--width", type=Whole(40), help="The longest line of text.  [the terminal's]")
@click.option(
    "--parameters/--no-parameters", default=True, help="Whether text shows trained tensors.  [--parameters]"
)
@OUTPUT
def command(
    level: str | None, exact: bool, patterns: tuple[str, ...], beside: bool, short: str | None, heat: bool,
    decimals: int, limit: int | None, width: int | None, parameters: bool, output: str | None, **options: Any,
) -> None:  # fmt: skip
    """Run SOURCE and print every tensor of it, step by step."""
    asked = {form.name: options.pop(form.name) for form in FORMS[1:]}
    switches = {
        form.name: {switch: options.pop(f"{form.name}_{switch}") for switch in form.switches} for form in FORMS
    }
    as_text = exact or beside or heat or short is not None
    form = _form(asked, switches, exact, short, bool(patterns), as_text, output)
    if beside and (not patterns or form is not TEXT or exact or short is not None):
        raise GraphError("--beside shows tables of text; expected it with --tensor, and no other form")
    if heat and (form is not TEXT or exact or beside or short is not None):
        raise GraphError("--heat is a form of its own; expected no other form beside it")
    folder = asked.get(form.name) or output if form.folder else None
    fitting = width or (fitting_width(output) if limit is None else None)
    limit = limit or 12
    writing = {
        "precision": "exact" if exact else "pretty", "decimals": decimals, "limit": limit,
        "only": patterns or None, "width": fitting, "parameters": parameters,
    }  # fmt: skip
    keep = patterns if patterns and "only" not in form.takes else None
    if short is not None and options["engine"] is not None:
        raise GraphError("--precision rounds after each operation, which no engine does; expected no --engine")
    specimen = read_specimen(**options)
    with progress("evaluating") as say:
        if specimen.trace is not None and level is None and keep is None:
            trace = specimen.trace
        else:
            need_unpatched(specimen.trace)
            graph = specimen.graph.at(level or "op")
            if not (heat or beside or short):
                form.check(graph)
            listener = counted(len(graph), say, expected(graph))
            trace = specimen.run(level=level, keep=keep, listeners=[listener])
        say("writing")
        taken = {**{name: writing[name] for name in form.takes}, **switches[form.name]}
        if heat:
            written = _heat(trace, patterns, limit, fitting, output)
        elif beside:
            from graphattn.dumps.tensor_text import tensor_text

            written = tensor_text(trace, patterns, decimals, limit, width or terminal_width())
        elif short is not None:
            from graphattn.dumps.precision_text import precision_text

            rounded = specimen.run(numbers=short)
            written = precision_text(trace, rounded)
        elif folder is not None:
            written = form.write(folder, trace, **taken)
        else:
            written = form.write(trace, **taken)
    if folder is not None:
        wrote(folder)
    elif written is not None:
        plain = form is not TEXT or beside or heat or short is not None or exact
        emit(written, output, exact=form.exact or exact, painted=None if plain else painter(TRACE))


def _heat(
    trace: Any, patterns: tuple[str, ...], limit: int, room: int | None, output: str | None
) -> str | None:
    """The text of heat maps; None where they were printed in colours."""
    from graphattn.dumps.heat_text import heat_lines, plain_text

    out = console()
    if output is not None or not out.is_terminal or out.no_color:
        return plain_text(heat_lines(trace, patterns or None, limit, colour=False, room=room))
    from rich.text import Text

    for line in heat_lines(trace, patterns or None, limit, room=room):
        text = Text()
        for piece in line:
            text.append(piece.text, piece.style)
        out.print(text)
    return None


def _form(
    asked: dict[str, Any], switches: dict[str, dict[str, bool]], exact: bool, short: str | None,
    selected: bool, as_text: bool, output: str | None,
) -> Form:  # fmt: skip
    """The form that is asked for. Raises a `GraphError` where options contradict each other."""
    given = [form for form in FORMS[1:] if asked[form.name]]
    flags = [f"--{form.name}" for form in given] + ["--precision"] * (short is not None)
    if len(flags) > 1:
        raise GraphError(f"{' and '.join(flags)} do not go together; expected one of them")
    ending = form_of(output) if output else None
    if not given and ending is None and not as_text and output and Path(output).suffix:
        raise unknown_ending(output)
    form = given[0] if given else ending or TEXT
    for other in FORMS:
        for switch, on in switches[other.name].items():
            if on and other is not form:
                where = f"--{other.name}" + (" FOLDER" if other.folder else "")
                raise GraphError(f"--{other.name}-{switch} does not apply here; expected it with {where}")
    if given and form.folder and output is not None:
        raise GraphError(f"--{form.name} writes into {asked[form.name]!r}; expected no -o beside it")
    if short is not None:
        _check_precision(short, exact, selected)
        return TEXT
    if exact and not form.exact and "precision" not in form.takes:
        name = form.name.capitalize()
        raise GraphError(f"{name} is not exact; expected --exact with text, or --json or --csv")
    return form


def _check_precision(short: str, exact: bool, selected: bool) -> None:
    """Raise a `GraphError` for what `--precision` does not take."""
    from ...core.numbers import names
    from ...core.rounded import FORMATS

    types = [name for name in names() if name.partition(":")[0] in FORMATS]
    if short not in types:
        known = ", ".join(types) + suggest(short, types)
        raise GraphError(f"--precision {short!r} is not a type to round to; expected one of {known}")
    if exact or selected:
        raise GraphError("--precision is a table of all steps; expected no --exact and no --tensor beside it")
