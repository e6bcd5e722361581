"""`python benchmarks/corpus.py MODEL [--engine onnxruntime]`: heads over many sentences, one process and more.

MODEL is a model's folder, or toy. The same sentences, drawn from a few words:

    1 process           one after the other
    2 processes         a process pool of this machine
    2 workers of Dask   a local cluster, of which one worker is killed half-way (where it is installed)

Wall time, as a ratio to one process; and whether the table is the same to the last bit.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

from timing import build, told

from graphattn.core.specimen import Specimen
from graphattn.insight.heads.corpus import Read, heads_of_texts, processes
from graphattn.models import read_text
from graphattn.weights.toy_induction import toy_induction

WORDS = "the a cat dog tree sat ran up over near old red and then we saw it now"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--engine")
    given = parser.parse_args()
    draw = random.Random(0)
    read: Read = toy_induction if given.model == "toy" else partial(read_text, given.model)
    space = "" if given.model == "toy" else " "
    texts = [space.join(draw.choices(WORDS.split(), k=draw.randint(4, 7))) for _ in range(given.count)]
    print(f"{build()}   {len(texts)} sentences, wall time")
    start = perf_counter()
    alone = heads_of_texts(read, texts, engine=given.engine).record()
    one = perf_counter() - start
    print(f"{'1 process':36}{told(one)}, {told(one / len(texts))} a sentence", flush=True)

    def line(title, executor, read: Read) -> None:
        start = perf_counter()
        found = heads_of_texts(read, texts, executor, engine=given.engine).record()
        same = "the same table" if found == alone else "ANOTHER TABLE"
        print(f"{title:36}{(perf_counter() - start) / one:.2f} of it, {same}", flush=True)

    with processes(2) as pool:
        line("2 processes", pool, read)
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError:
        print("dask.distributed is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        mark = Path(folder) / "killed"
        settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
        with LocalCluster(**settings) as cluster, Client(cluster) as client:
            line("2 workers of Dask, one killed", client.get_executor(), partial(killed, mark, texts[-1], read))
        print(f"{'':36}a worker was killed: {mark.exists()}")


def killed(mark: Path, last: str, read: Read, text: str) -> Specimen:
    """Reads a text; the first worker that comes to the last one ends there and then."""
    if text == last and not mark.exists():
        mark.touch()
        os._exit(1)
    return read(text)


if __name__ == "__main__":
    main()
