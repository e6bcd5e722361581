"""Head scores over many texts, on any `concurrent.futures.Executor`: a process pool, or Dask on a cluster.

    heads_of_texts(read, texts)                      one process
    heads_of_texts(read, texts, executor=pool)       many

`read` makes a specimen of a text (`partial(read_text, folder)`), and is sent to the workers. What comes back
for each text are sums over rows; they are added in the order of the texts, exactly, so that the table is the
same whatever ran it. With `keep`, each text's sums are written to a file of JSON lines as they come, and texts
that stand there already are not run again. Where a worker of a process pool is lost, its texts are done again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ...core.errors import GraphError
from ...core.graph import Graph
from ...core.specimen import Specimen
from . import Head, Heads, means, scores, tokens_of

Read = Callable[[str], Specimen]
Sums = dict[str, list[dict[str, list[float]]]]
"""By head: the scores and those of an even head, each (Σ, rows) by pattern."""
TRIES = 3


def heads_of_texts(
    read: Read,
    texts: Sequence[str],
    executor: Executor | None = None,
    keep: str | Path | None = None,
    say: Callable[[str], None] = lambda state: None,
    engine: str | None = None,
) -> Heads:
    """Every head's scores as means over all rows of all texts; `engine` computes them. Raises a `GraphError`
    that names the text where one cannot be read."""
    if not texts:
        raise GraphError("there are no texts; expected one or more")
    keys = [hashlib.sha256(f"{_named(read)}\n{text}".encode()).hexdigest()[:16] for text in texts]
    found = _kept(keep)
    missing = list(dict.fromkeys(i for i, key in enumerate(keys) if key not in found))
    first = {keys[i]: i for i in reversed(missing)}  # a text that stands twice is run once
    say(f"{len(texts) - len(missing):,} of {len(texts):,} texts")
    work = partial(sums_of, read, engine=engine)
    for done, (i, sums) in enumerate(_run(work, texts, sorted(first.values()), executor), 1):
        found[keys[i]] = sums
        if keep is not None:
            with Path(keep).open("a", encoding="utf-8", newline="\n") as file:
                file.write(json.dumps({"text": keys[i], "heads": sums}) + "\n")
        say(f"{len(texts) - len(missing) + done:,} of {len(texts):,} texts")
    return _table([found[key] for key in keys])


def _named(read: Read) -> str:
    """Which model it is: what is kept of one is not taken for another's."""
    if isinstance(read, partial):
        return f"{_named(read.func)} {read.args!r} {read.keywords!r}"
    return getattr(read, "__qualname__", type(read).__qualname__)


def processes(count: int) -> Executor:
    """A pool of so many processes of this machine."""
    return ProcessPoolExecutor(count)


SEEN = 64
"""So many graphs are kept by a worker: texts of as many tokens have the same one, which is planned once."""
_graphs: list[Graph] = []


def _known(graph: Graph) -> Graph:
    """An equal graph that was run before, with all that is kept with it; else this one."""
    for place, known in enumerate(_graphs):
        if known == graph:
            _graphs.insert(0, _graphs.pop(place))
            return known
    _graphs.insert(0, graph)
    del _graphs[SEEN:]
    return graph


def sums_of(read: Read, text: str, engine: str | None = None) -> Sums:
    """What a worker does: the sums of every head on one text."""
    specimen = read(text)
    if engine is not None:
        specimen = replace(specimen, graph=_known(specimen.graph), engine=engine)
    trace = specimen.run()
    found: Sums = {
        name: [{pattern: list(pair) for pattern, pair in each.items()} for each in both]
        for name, _, *both in scores(trace, tokens_of(trace))
    }
    if not found:
        raise GraphError("the model has no head whose queries and keys are the same tokens; expected one")
    return found


def _run(
    work: Callable[[str], Sums], texts: Sequence[str], places: Sequence[int], executor: Executor | None
) -> Iterator[tuple[int, Sums]]:
    """(place, sums) of each text, as they come."""
    if executor is None:
        for i in places:
            try:
                yield i, work(texts[i])
            except GraphError as error:
                raise _of_text(i, error) from None
        return
    left, tries = list(places), 0
    while left:
        waiting: dict[Future[Sums], int] = {}
        try:
            waiting = {executor.submit(work, texts[i]): i for i in left}
            for future in as_completed(waiting):
                i = waiting[future]
                try:
                    sums = future.result()
                except GraphError as error:
                    raise _of_text(i, error) from None
                left.remove(i)
                yield i, sums
        except BrokenExecutor:  # a worker is lost, and the pool with it
            tries += 1
            if tries == TRIES or not isinstance(executor, ProcessPoolExecutor):
                raise GraphError(
                    f"the workers were lost {tries} times, {len(left)} texts before the end;"
                    " expected them to stay"
                ) from None
            executor = ProcessPoolExecutor()
        finally:
            for future in waiting:
                future.cancel()


def _of_text(place: int, error: GraphError) -> GraphError:
    return GraphError(f"text {place}: {error}")


def _kept(path: str | Path | None) -> dict[str, Sums]:
    """What an earlier run left; a last line that was cut short is taken away."""
    found: dict[str, Sums] = {}
    if path is None or not Path(path).exists():
        return found
    whole = 0
    with Path(path).open("rb+") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            try:
                record = json.loads(line)
                found[record["text"]] = record["heads"]
            except (ValueError, KeyError, TypeError, RecursionError):
                raise GraphError(
                    f"{path} holds no kept head scores; expected such a file, or a new one"
                ) from None
        file.truncate(whole)
    return found


def _table(sums: Sequence[Mapping[str, Any]]) -> Heads:
    """The heads of all texts; sums are exact, so their order makes no difference."""
    found = []
    for name in sums[0]:
        if any(name not in of_text for of_text in sums):
            raise GraphError(f"head {name} is not there for every text; expected one model for all")
        both = [
            {
                pattern: (
                    math.fsum(of_text[name][which][pattern][0] for of_text in sums),
                    sum(int(of_text[name][which][pattern][1]) for of_text in sums),
                )
                for pattern in sums[0][name][which]
            }
            for which in (0, 1)
        ]
        found.append(Head(name, means(both[0]), means(both[1])))
    return Heads(found, texts=len(sums))


__all__ = ["heads_of_texts", "processes", "sums_of"]
