"""Write docs/gallery.md: what the heads of the toy model and of all-MiniLM-L6-v2 do.

python tools/gallery.py FOLDER        FOLDER as tools/fetch_minilm.py left it
"""

from __future__ import annotations

import sys
from pathlib import Path

from graphattn import heads, pretrained
from graphattn.insight.heads import Heads
from graphattn.weights.toy_induction import toy_induction

PAGE = Path(__file__).parent.parent / "docs" / "gallery.md"
SENTENCE = "when mary and john went to the store, john gave a drink to mary."
SHOWN = ("previous", "next", "same", "first")


def block(found: Heads, by: str | None, limit: int, thumbnails: int) -> str:
    return f"```text\n{found.text(by, limit, thumbnails)}```\n"


def page(folder: str) -> str:
    parts = [
        "# A gallery of heads\n\nMade by `python tools/gallery.py FOLDER`, with the scores of `graphattn heads`"
        " ([models.md](models.md)). Queries go down, keys to the right; the darker, the more attention.\n",
        "## The toy model\n",
        block(heads(toy_induction("qmxbzqmxbz").run()), None, 4, 4),
        "## all-MiniLM-L6-v2\n",
    ]
    found = heads(pretrained(folder, text=SENTENCE).run())
    for pattern in SHOWN:
        parts += [f"### {pattern}\n", block(found, pattern, 3, 1)]
    return "\n".join(parts)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    PAGE.write_text(page(sys.argv[1]), encoding="utf-8", newline="\n")
    print(PAGE)
