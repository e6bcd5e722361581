"""What the tests of the page share: runs, their pages, the page's pure parts in Node, a real browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from graphattn.builtin import specimen
from graphattn.core.trace import Trace
from graphattn.weights.toy_induction import toy_induction

WEB = Path(__file__).resolve().parents[2] / "web"
TOKENS = {"token": ["the", "cat", "sat", "on"]}


def needed(what: str, there: Any) -> None:
    """Skip where a tool is missing; where they are required (`.ci/run`), that is a failure."""
    if not there:
        if os.environ.get("GRAPHATTN_BROWSER") == "required":
            pytest.fail(f"{what} is missing, and here it must be there")
        pytest.skip(f"{what} is not installed")


def run_of(name: str) -> Trace:
    """One of the runs that the page is tested on."""
    match name:
        case "block":
            return specimen("block", causal=True).run(labels=TOKENS)
        case "toy":
            return toy_induction("qmxbzqmxbz").run()
        case "heads":
            return specimen("multi-head", n=5, d=8, heads=4).run()
        case "attention":
            return specimen("attention", n=3, d=4, causal=True, projections=False).run()
        case "gradient":
            from graphattn import gradient, run
            from graphattn.builtin import random_feeds

            graph = gradient(specimen("block", n=3, d=4, causal=True).graph, of="Y")
            return run(graph, random_feeds(graph, 1))
    raise LookupError(name)


RUNS = ("block", "toy", "heads", "attention", "gradient")


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function that gives the page's pure parts a job, in Node."""
    needed("node", shutil.which("node"))
    needed("esbuild (npm ci in web/)", (WEB / "node_modules" / "esbuild").is_dir())
    folder = tmp_path_factory.mktemp("jobs")
    program = folder / "parts.mjs"
    subprocess.run(["node", "build.mjs", "--test", str(program)], cwd=WEB, check=True, timeout=120)

    def ask(job: dict[str, Any]) -> Any:
        path = folder / "job.json"
        path.write_text(json.dumps(job), encoding="utf-8")
        done = subprocess.run(
            ["node", str(program), str(path)], capture_output=True, encoding="utf-8", check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)

    return ask
