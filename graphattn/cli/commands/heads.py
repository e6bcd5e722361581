"""`graphattn heads`: what each attention head of a model does on a text."""

from __future__ import annotations

import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click

from ...core.engines import need_engine
from ...core.errors import GraphError
from ..output import OUTPUT, emit, fitting_width, progress
from ..source import ENGINE, TOY, Whole, read_specimen, specimen_options

GROUP = "See a computation"


@click.command(short_help="What each attention head does on a text, ranked.")
@specimen_options
@ENGINE
@click.argument("words", metavar="[TEXT]", required=False)
@click.option("--by", metavar="SCORE", help="Rank by this column.  [what a head stands out in]")
@click.option("--limit", type=Whole(1), help="Rows of the table.  [all]")
@click.option("--thumbnails", type=Whole(0), default=6, help="Heads whose maps are drawn small.  [6]")
@click.option("--json", "as_json", is_flag=True, help="Every score as JSON.")
@click.option("--texts", metavar="FILE", help="Sum the scores over the lines of a file.")
@click.option("--processes", type=Whole(1), help="With --texts: so many processes of this machine.  [1]")
@click.option("--dask", metavar="ADDRESS", help="With --texts: the workers of a Dask scheduler.")
@click.option("--keep", metavar="FILE", help="With --texts: keep what is done in FILE, and go on from there.")
@OUTPUT
def command(
    words: str | None, by: str | None, limit: int | None, thumbnails: int, as_json: bool, texts: str | None,
    processes: int | None, dask: str | None, keep: str | None, output: str | None, **source: Any,
) -> None:  # fmt: skip
    """Score every head: how much of its attention goes to the previous token, the next, the same
    token, an earlier mention of it, what came after that (induction), the first token, separators,
    punctuation; and how evenly it is spread. A row `even` has what even attention would give. TEXT
    is what a trained model reads, as --text."""
    if words is not None and source.get("text") is not None:
        raise GraphError("both TEXT and --text are given; expected one of them")
    source["text"] = source.get("text") if words is None else words
    if texts is None:
        if processes or dask or keep:
            raise GraphError("--processes, --dask and --keep are for a corpus; expected --texts with them")
        specimen = read_specimen(**source)
        with progress("evaluating"):
            from ...insight.heads import heads

            found = heads(specimen.trace or specimen.run())
    else:
        found = _of_corpus(texts, processes, dask, keep, source)
    if as_json:
        emit(json.dumps(found.record(), ensure_ascii=False, indent=1), output, exact=True)
    else:
        emit(found.text(by, limit, thumbnails, fitting_width(output)), output)


def _of_corpus(
    texts: str, processes: int | None, dask: str | None, keep: str | None, source: dict[str, Any]
) -> Any:
    """The heads over the lines of a file."""
    from ...insight.heads import corpus
    from ...models import read_text
    from ...weights.toy_induction import toy_induction

    engine = source.pop("engine")
    if engine is not None:
        need_engine(engine)
    beside = [name for name, given in source.items() if name != "source" and given not in (None, ())]
    if beside:
        raise GraphError(f"--{beside[0]} does not go with --texts; expected a model alone")
    if processes and dask:
        raise GraphError("both --processes and --dask are given; expected one of them")
    path = Path(texts)
    if not path.is_file():
        raise GraphError(f"{texts!r} is no file; expected one with a text on each line")
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise GraphError(f"{texts} is not text in UTF-8: {error.reason} at byte {error.start}") from None
    model = source["source"]
    read = toy_induction if model == TOY else partial(read_text, model)
    with ExitStack() as stack, progress("reading texts") as say:
        executor = None
        if dask:
            try:
                from dask.distributed import Client  # pyright: ignore[reportMissingImports]
            except ImportError:
                raise GraphError(
                    "--dask needs the package distributed: pip install 'graphattn[dask]'"
                ) from None
            executor = stack.enter_context(Client(dask)).get_executor()
        elif processes and processes > 1:
            executor = stack.enter_context(corpus.processes(processes))
        return corpus.heads_of_texts(read, lines, executor, keep, say, engine)
