"""What every test file shares: golden files, and a hypothesis profile that gives the same examples each time.

`golden("name.txt", text)` compares text with tests/golden/name.txt, read as UTF-8 with its newlines as they
are. A missing golden file fails; `pytest --rewrite-golden` writes the files anew (with "\\n"), for a person to
read in the diff before committing.
"""

from __future__ import annotations

import difflib
import gc
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

GOLDEN = Path(__file__).parent / "golden"

os.environ.pop("COLUMNS", None)  # text is not fitted into the terminal that the tests are run from
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes need not compile graphattn again

settings.register_profile(
    "graphattn",
    derandomize=True,
    deadline=None,
    max_examples=60,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("graphattn")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        default=False,
        help="write tests/golden anew from what the code prints now, instead of comparing",
    )


def pytest_collection_finish() -> None:
    """What is there before the first test stays to the end; the garbage collector need not look through it."""
    gc.freeze()


def _told(path: Path) -> str:
    """A path as seen from the repository's root."""
    root = GOLDEN.parents[1]
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def compare_golden(path: Path, text: str, rewrite: bool = False) -> None:
    """Fail with a sentence and a diff unless the file at `path` holds exactly `text`."""
    if not isinstance(text, str):
        raise TypeError(f"a golden file holds text, and {path.name} was given {type(text).__name__}")
    if rewrite:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        return
    if not path.is_file():
        pytest.fail(
            f"the golden file {_told(path)} does not exist: "
            "read the output, then write it with `pytest --rewrite-golden`",
            pytrace=False,
        )
    with open(path, encoding="utf-8", newline="") as file:
        expected = file.read()
    if text != expected:
        lines = difflib.unified_diff(
            expected.splitlines(), text.splitlines(), _told(path), "printed now", lineterm=""
        )
        shown = list(lines)[:80] or ["(only the newlines differ)"]
        pytest.fail(f"{_told(path)} is not what is printed now:\n" + "\n".join(shown), pytrace=False)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str | Path, str], None]:
    """golden(name, text): text is what tests/golden/name holds; a path stands for itself."""
    rewrite = bool(request.config.getoption("--rewrite-golden"))

    def compare(name: str | Path, text: str) -> None:
        compare_golden(GOLDEN / name, text, rewrite)

    return compare


@pytest.fixture
def cli(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """cli("trace", "block", ...) -> (exit status, stdout, stderr), in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*args: object) -> tuple[int, str, str]:
        from graphattn.cli import main

        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main(list(map(str, args)))
        out, err = capsys.readouterr()
        return caught.value.code or 0, out, err  # type: ignore[return-value]

    return call
