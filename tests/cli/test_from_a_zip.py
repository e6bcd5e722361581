"""The package as a wheel has it, imported from a zip: nothing of it needs to lie in a folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

RUNS = (
    ("--version",), ("demo", "abab"), ("trace", "toy", "--tensor", "layer0.head1.weights"),
    ("render", "block", "-o", "block.svg"), ("view", "block", "-o", "block.html"),
    ("figure", "block", "head0.weights", "-o", "weights.svg"),
    ("export", "block", "block.c"), ("golden", "block", "-o", "golden"), ("ops", "softmax"),
    ("trace", "block", "-o", "run.json"), ("compare", "run.json", "run.json"),
    ("diagnose", "block", "run.json"), ("worksheet", "attention", "-o", "sheets"),
    ("export", "block", "block.onnx"), ("trace", "block.onnx"), ("trace", "block", "--engine", "onnxruntime"),
    ("experiments", "-o", "lab"), ("check", "lab/model.py"), ("workbook", "attention", "-o", "book.xlsx"),
)  # fmt: skip

IN_ONE = """
import graphattn, sys
from graphattn.cli import commands, main
assert ".zip" in graphattn.__file__, graphattn.__file__
for args in [*map(list, {runs!r}), *([name, "--help"] for name in commands.names())]:
    try:
        main.main(args)
    except SystemExit as ended:
        if ended.code:
            sys.exit(f"{{args}} ended with {{ended.code}}")
"""


@pytest.fixture(scope="module")
def zipped(tmp_path_factory) -> Path:
    """What a wheel holds: the packages that pyproject.toml lists, where it puts them, with their data."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    path = tmp_path_factory.mktemp("zip") / "graphattn.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for package in settings["packages"]:
            parts = package.split(".")
            folder = ROOT.joinpath(*(parts[1:] if parts[1:2] in (["passes"], ["dumps"]) else parts))
            data = settings["package-data"].get(package, [])
            for file in sorted({found for pattern in ("*.py", *data) for found in folder.glob(pattern)}):
                archive.write(file, "/".join([*parts, file.relative_to(folder).as_posix()]))
    return path


@pytest.mark.slow
def test_every_command_works_from_a_zip(zipped, tmp_path):
    code = IN_ONE.format(runs=RUNS)
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(zipped)!r})\n{code}"],
        cwd=tmp_path, capture_output=True, timeout=240, check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr.decode("utf-8")[-2000:]
    assert (tmp_path / "block.svg").stat().st_size > 5000
    assert b"rows sum to 1" in run.stdout
