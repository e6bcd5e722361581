"""How large a page is, how long it takes to write, and how quickly it answers in a browser.

    python benchmarks/page.py            needs chromium and playwright

Times in the browser are medians of several, from the event to the next frame that is painted.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "page"))

from browser import launched

from graphattn.builtin import specimen
from graphattn.dumps.page import _resource, link, write_page
from graphattn.dumps.page.pack import packed_text
from graphattn.dumps.page.still import STILL
from graphattn.dumps.page.style import theme_css
from graphattn.weights.toy_induction import toy_induction

RUNS = {
    "block (4, 8, 2 heads)": specimen("block", causal=True),
    "toy": toy_induction("qmxbzqmxbz"),
    "block (64, 64, 4 heads)": specimen("block", n=64, d=64, heads=4, causal=True),
}
WEIGHTS = {
    "block (4, 8, 2 heads)": "attention.head0.weights",
    "toy": "layer1.attention.head0.weights",
    "block (64, 64, 4 heads)": "attention.head0.weights",
}
TIMED = """
async (act) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  await frame();
  const shown = () => document.querySelector('[data-value]')?.textContent;
  const before = shown();
  const started = performance.now();
  (0, window.acts[act])();
  await frame();
  while (act === 'slider' && shown() === before) await frame();
  return performance.now() - started;
}
"""
ACTS = """
const find = (selector) => document.querySelector(selector);
const cells = () => document.querySelectorAll('.maps > .map [data-at]');
let next = 0;
window.acts = {
  open: () => find('[data-toggle$=".weights"]').dispatchEvent(new MouseEvent('click', {bubbles: true})),
  cell: () => cells()[next = (next + 3) % 11].click(),
  slider: () => {
    find('[data-slider]').value = Math.random();
    find('[data-slider]').dispatchEvent(new InputEvent('input', {bubbles: true}));
  },
};
"""


def main() -> None:
    style = len(packed_text(theme_css() + _resource("page.css"))) + len(STILL)
    script = len(packed_text(_resource("page.js"))) + len(_resource("loader.js"))
    plain = len(_resource("page.js").encode())
    print(f"script {script:,} bytes packed ({plain:,} plain), style {style:,}, together {script + style:,}")
    folder = Path(tempfile.mkdtemp())
    reader = next(browser := launched())
    for name, what in RUNS.items():
        trace = what.run()
        spans = []
        for _ in range(3):
            started = time.perf_counter()
            path = write_page(folder / "page.html", trace)
            spans.append(time.perf_counter() - started)
        print(f"{name}: {path.stat().st_size:,} bytes, written in {min(spans):.2f} s")
        ready = []
        for _ in range(5):
            with reader.reading(path, link(trace, WEIGHTS[name], (3, 1))) as page:
                ready.append(float(page.locator("html").get_attribute("data-ready")))
        with reader.reading(path, link(trace, WEIGHTS[name], (3, 1)), bypass_csp=True) as page:
            page.evaluate(ACTS)
            acts = (
                ("cell", "open", "slider")
                if page.locator("table.grid [data-at]").count()
                else ("open", "slider")
            )
            told = {a: statistics.median(page.evaluate(TIMED, a) for _ in range(9)) for a in acts}
        shown = ", ".join(f"{act} {span:.0f} ms" for act, span in told.items())
        print(f"    ready {statistics.median(ready):.0f} ms, {shown}")
    browser.close()


if __name__ == "__main__":
    main()
