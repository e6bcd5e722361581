"""README's first command is the whole of it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_line_with_demo_is_the_whole_command() -> None:
    line = next(line for line in README.splitlines() if "graphattn demo" in line)
    assert line.strip().startswith("python3 -m venv") and line.rstrip().endswith("graphattn demo")
