"""`python benchmarks/pretrained.py FOLDER`: a real model's folder, from the file to its heads.

FOLDER is all-MiniLM-L6-v2 as `tools/fetch_minilm.py` fetches it. CPU time of one thread, every number recorded:

    read        the folder, the first time, and for another text (`Folder` is opened once)
    run         8, 9, 16, 32 and 64 tokens, and what one token costs in each
    heads       the scores of all heads, as a part of the run
    torch       the same 9 tokens by transformers in float64, one thread, where it is installed: a ratio
    memory      the most that the process took, before torch
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from timing import build, once, told

from graphattn.insight.heads import heads
from graphattn.models import Folder, pretrained
from graphattn.models.tokens import tokenizer_of

WORDS = "the cat sat on the mat and the dog slept under a tree near the old stone house by the sea "
SIZES = (8, 9, 16, 32, 64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder")
    path = parser.parse_args().folder
    print(f"{build()}   CPU time of one thread")
    folder = Folder(path)
    line("read, the first time", told(once(lambda: pretrained(folder, "the cat sat on the mat"))))
    line("read, another text", told(once(lambda: pretrained(folder, "a dog"))))
    start, *words, end = tokenizer_of(folder).encode(WORDS * 4).ids
    seconds: dict[int, float] = {}
    for size in SIZES:
        model = pretrained(folder, ids=[start, *words[: size - 2], end])
        seconds[size] = min(once(model.run) for _ in range(3))
        line(f"run, {size} tokens", f"{told(seconds[size])}, {told(seconds[size] / size)} a token")
    nine = [start, *words[:7], end]
    trace = pretrained(folder, ids=nine).run()
    line("heads / run, 9 tokens", f"{once(lambda: heads(trace)) / seconds[9]:.3f}")
    line("memory", memory())
    line("run / torch in float64, 9 tokens", by_torch(path, nine, seconds[9]))


def by_torch(path: str, ids: Sequence[int], ours: float) -> str:
    try:
        import torch
        from transformers import BertModel
    except ImportError:
        return "torch and transformers are not installed"
    torch.set_num_threads(1)
    model = BertModel.from_pretrained(path, attn_implementation="eager").double().eval()
    rows = torch.tensor([list(ids)])

    def call() -> None:
        with torch.no_grad():
            model(input_ids=rows, output_attentions=True, output_hidden_states=True)

    call()
    return f"{ours / min(once(call, 5) for _ in range(3)):.0f}"


def memory() -> str:
    try:
        import resource
    except ImportError:
        return "not told on Windows"
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f"{most / (2**20 if sys.platform == 'darwin' else 2**10):.0f} MB"


def line(title: str, text: str) -> None:
    print(f"{title:36}{text}", flush=True)


if __name__ == "__main__":
    main()
