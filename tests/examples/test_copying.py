"""examples/copying.py: a few steps of it lower the loss, twice the same gives the same, and what is
recorded in examples/copying/ (and told in README) is what its recorded weights do.

The whole training is not run here. `pytest --rewrite-golden` runs it, and records it anew.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from graphattn import run
from graphattn.core.tensor_file import read_tensors
from graphattn.dumps.graph_text import parse_graph

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "copying.py"
RECORDED = ROOT / "examples" / "copying"
FILES = ("model.txt", "weights.json", "attention.svg")

spec = importlib.util.spec_from_file_location("copying_example", SCRIPT)
assert spec and spec.loader
copying = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = copying
spec.loader.exec_module(copying)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The script, in a process of its own."""
    env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=True, timeout=600)


def started(seed: int = 0):
    """What the script begins with: held-out sequences, parameters, and the state of the dice."""
    rng = random.Random(seed)
    held_out = [copying.sequence(rng) for _ in range(copying.HELD_OUT)]
    return held_out, copying.initial(rng), rng


# ---------------------------------------------------------------- it learns


@pytest.mark.slow
def test_the_loss_falls() -> None:
    held_out, parameters, rng = started()
    losses = list(copying.train(parameters, 40, rng, held_out))
    assert abs(losses[0] - math.log(26)) < 0.3, "before the first step it can only guess"
    assert math.fsum(losses[-5:]) / 5 < losses[0] - 0.5


def test_the_loss_is_what_it_says() -> None:
    """The graph's loss is the one that `measure` computes by hand from the logits."""
    held_out, parameters, _ = started()
    batch = held_out[: copying.BATCH]
    trace = run(copying.training_graph(), {**parameters, **copying.feeds_of(batch)}, targets=["loss"])
    assert trace["loss"] == pytest.approx([copying.measure(parameters, batch).loss], rel=1e-12)


def test_targets_are_the_letters_that_can_be_known() -> None:
    letters = (16, 12, 23, 1, 25, 0) * 2
    (targets,) = copying.feeds_of([letters])["targets"]
    assert [sum(row) for row in targets] == [0.0] * 5 + [1.0] * 6
    assert [row.index(1.0) for row in targets[5:]] == list(letters[:6])


def test_adam_takes_first_a_step_of_its_rate() -> None:
    parameters = {"w": [[1.0, 1.0, 1.0]]}
    copying.Adam(parameters, rate=0.25).step({"w": [[4.0, -0.5, 0.0]]})
    assert parameters["w"][0] == pytest.approx([0.75, 1.25, 1.0], abs=1e-6)


def test_held_out_sequences_are_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([(1,) * 12, *[(2,) * 12] * 50])
    fed = []
    monkeypatch.setattr(copying, "sequence", lambda rng: next(drawn))
    feeds_of = copying.feeds_of
    monkeypatch.setattr(copying, "feeds_of", lambda batch: fed.extend(batch) or feeds_of(batch))
    parameters = copying.initial(random.Random(0))
    next(copying.train(parameters, 1, random.Random(0), [(1,) * 12]))
    assert fed == [(2,) * 12] * copying.BATCH


# ---------------------------------------------------------------- the script


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory):
    """The script run for a few steps, in a process of its own: what it said, and its folder."""
    folder = tmp_path_factory.mktemp("short")
    return script("--steps", "4", "-o", str(folder / "files")), folder / "files"


@pytest.mark.slow
def test_twice_the_same(short, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told, folder = short
    assert copying.main(["--steps", "4", "--seed", "0", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out == told.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*FILES, "training.txt"])
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes(), path.name


def test_another_seed_is_another_training() -> None:
    assert started(0)[0] != started(1)[0]
    assert started(0)[1] != started(1)[1]


@pytest.mark.slow
def test_it_is_quiet_in_a_pipe(short) -> None:
    told, folder = short
    first, *rest = told.stderr.splitlines()
    assert re.fullmatch(r"trained for \d+\.\d s", first)
    assert rest == [f"wrote {folder / name}" for name in ("model.txt", "weights.json", "training.txt",
                                                          "attention.svg")]  # fmt: skip
    assert "\x1b" not in told.stdout


@pytest.mark.slow
def test_the_files_read_back(short) -> None:
    _, folder = short
    graph = parse_graph(text_of(folder / "model.txt"))
    trace = run(graph, read_tensors(folder / "weights.json").tensors)
    assert [len(row) for row in trace["logits"]] == [26] * 11
    assert trace.masked(copying.WEIGHTS)[0] == [False] + [True] * 10
    backward = parse_graph(text_of(folder / "training.txt"))
    assert {f"d_w_{p}" for p in "qkvo"} < set(backward.outputs)


@pytest.mark.slow
def test_a_folder_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert copying.main(["--steps", "1", "-o", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("expected a folder to write into")


@pytest.mark.parametrize("steps", ["0", "-3", "x", "1.5"])
def test_steps_that_are_none(steps: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        copying.main(["--steps", steps])
    assert error.value.code == 2
    assert "--steps" in capsys.readouterr().err


def test_the_curve() -> None:
    lines = list(copying.curve([3.0] * 60 + [0.0] * 60))
    assert len(lines) == 12
    assert lines[8].split("│")[1] == "█" * 30
    assert lines[-2:] == ["   0.00 └" + "─" * 60, "         step 1" + "step 120".rjust(54)]
    assert list(copying.curve([1.0]))[-1].split() == ["to", "step", "1"]


# ---------------------------------------------------------------- what is recorded


@pytest.fixture(scope="module")
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The output of the whole training, as it was recorded."""
    if request.config.getoption("--rewrite-golden"):
        folder = tmp_path_factory.mktemp("copying")
        told = script("-o", str(folder))
        (RECORDED / "output.txt").write_text(told.stdout, encoding="utf-8", newline="\n")
        for name in FILES:
            shutil.copyfile(folder / name, RECORDED / name)
    return text_of(RECORDED / "output.txt")


@pytest.mark.slow
def test_the_recorded_output_is_what_the_recorded_weights_do(recorded: str) -> None:
    held_out, before, _ = started()
    after = read_tensors(RECORDED / "weights.json").tensors
    after = {name: after[name] for name in before}
    parts = (
        copying.introduced(before, held_out),
        copying.concluded(after, held_out),
        copying.side_by_side(*(copying.attention_of(p, held_out[0]) for p in (before, after))),
    )
    for part in parts:
        assert "\n".join(part) + "\n" in recorded


def test_the_recorded_files_are_those_of_the_script(recorded: str) -> None:
    held_out, before, _ = started()
    stored = text_of(RECORDED / "weights.json")
    after = {name: json.loads(stored)[name] for name in before}
    assert stored == copying.weights_json(after, held_out[0])
    assert text_of(RECORDED / "model.txt") == str(copying.reading_graph())
    traces = [copying.attention_of(parameters, held_out[0]) for parameters in (before, after)]
    drawn = text_of(RECORDED / "attention.svg")
    assert drawn == copying.picture(*traces)
    cells = [element for element in ElementTree.fromstring(drawn).iter() if element.get("fill-opacity")]
    assert len(cells) == 2 * 11 * 12 / 2, "a cell for each letter that can be seen"


def test_it_has_learned(recorded: str) -> None:
    held_out, before, _ = started()
    after = read_tensors(RECORDED / "weights.json").tensors
    measured = copying.measure({name: after[name] for name in before}, held_out)
    assert measured.accuracy == 1.0 and measured.loss < 0.01
    assert measured.looks[copying.HALF - 1] > 0.95


def test_readme_tells_what_is_recorded(recorded: str) -> None:
    section = re.search(r"^## See it learn\n(.*?)^## ", text_of(ROOT / "README.md"), re.MULTILINE | re.DOTALL)
    assert section
    shown = re.search(r"^```text\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL)
    assert shown
    for part in shown[1].split("...\n"):
        assert part in recorded
    told = re.sub(r"^```.*?^```$|<img[^>]*>", "", section[1], flags=re.MULTILINE | re.DOTALL)
    numbers = re.findall(r"\d[\d.,]*\d%?|\d%?", told)
    assert numbers
    for number in numbers:
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", recorded), number
