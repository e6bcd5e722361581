"""Where nothing is installed but what graphattn depends on, what needs more says which extra that is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = [
    "numpy",
    "onnx",
    "onnxruntime",
    "torch",
    "mpmath",
    "tokenizers",
    "xlsxwriter",
    "openpyxl",
    "distributed",
    "dask",
]
MODEL = ROOT / "tests/data/models/bert"
BERT = ROOT / "tests/data/onnx/bert_dynamo.onnx"

COMMANDS = {
    "export block block.onnx": "onnx",
    f"trace {BERT}": "onnx",
    f"ops --onnx {BERT}": "onnx",
    "trace block --engine onnxruntime": "onnxruntime",
    "workbook block -o block.xlsx": "workbook",
    "trace block -o run.xlsx": "workbook",
    "worksheet attention -o sheets": "workbook",
    "check sheet.xlsx": "workbook",
    f"trace {MODEL} --text hello": "models",
    "heads toy --texts texts.txt --dask localhost:1": "dask",
    "demo abab": None,
    "trace block -o run.npz": None,
    "compare run.npz run.npz": None,
    "render block -o block.svg": None,
    "figure block head0.weights -o weights.pdf": None,
    "view block -o block.html": None,
    "golden block -o golden": None,
    "heads toy abab": None,
}
"""Command lines, and the extra that each needs."""
CALLS = {
    "graphattn.run(graph, feeds, numbers='mpmath')": "mpmath",
    "graphattn.run(graph, feeds, engine='onnxruntime')": "onnxruntime",
    "__import__('graphattn.onnx.backend')": "onnx",
    "importlib.import_module('graphattn.onnx').load('model.onnx')": "onnx",
    "importlib.import_module('graphattn.torch').record(1, 2)": "torch",
}

CODE = """
import contextlib, importlib, importlib.abc, io, json, sys

class Without(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {extras!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Without())
import graphattn
from graphattn.builtin import specimen
from graphattn.cli import main

said = []
for line in {commands!r}:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main.main(line.split())
        except SystemExit as ended:
            code = ended.code
    said.append([code, err.getvalue()])
graph, feeds = specimen("block").graph, specimen("block").feeds
for call in {calls!r}:
    try:
        eval(call)
        said.append([0, ""])
    except graphattn.GraphError as error:
        said.append([2, str(error)])
print(json.dumps(said))
"""


@pytest.mark.slow
def test_what_is_missing_is_named(tmp_path):
    """Commands and calls with every extra blocked."""
    (tmp_path / "texts.txt").write_text("abab\n", encoding="utf-8")
    for name in ("model.onnx", "sheet.xlsx"):
        (tmp_path / name).write_bytes(b"PK\x05\x06" + bytes(18))
    code = CODE.format(extras=EXTRAS, commands=list(COMMANDS), calls=list(CALLS))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=240, check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode("utf-8")[-2000:]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for (line, extra), (status, told) in zip(
        [*COMMANDS.items(), *CALLS.items()], json.loads(done.stdout), strict=True
    ):
        assert status == (2 if extra else 0), (line, told)
        if extra:
            assert re.search(rf"pip install 'graphattn\[{extra}\]'", told), (line, told)
            assert told.count("\n") <= 1 and extra in extras["optional-dependencies"], (line, told)
