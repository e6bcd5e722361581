"""`graphattn experiments`: the first seed's own deliverables, measured anew."""

from __future__ import annotations

import click

from ..output import FORCE, message, progress

GROUP = "Look things up"


@click.command(short_help="Measure why attention is as it is.")
@click.option("-o", "--output", "folder", metavar="DIR", required=True, help="The folder to write into.")
@click.option("--seed", type=int, default=0, help="Seed of the random vectors.  [0]")
@FORCE
def command(folder: str, seed: int, force: bool) -> None:
    """Measure why attention is as it is, and write what came out into DIR.

    model.py (attention in seven functions, standard library only), 02-scale.txt (the weights with and
    without the division by √d), 05-perm.txt (attention does not see order, unless it is told), and
    08-notes.md (what the measurements say).
    """
    from ...experiments import write_experiments

    with progress("measuring"):
        written = write_experiments(folder, seed=seed, force=force)
    for path in written or ():
        message(f"wrote {path}")
