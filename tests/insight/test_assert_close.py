"""graphattn.testing.assert_close, and the pytest fixture of the same."""

import subprocess
import sys

import pytest

from graphattn.builtin import specimen
from graphattn.testing import assert_close


def record(change=1.0):
    made = specimen("attention", n=3, d=4)
    trace = made.run()
    tensors = {name: trace[name] for name in trace.names}
    tensors["weights"] = [[change * v for v in row] for row in tensors["weights"]]
    tensors["out"] = [[change * v for v in row] for row in tensors["out"]]
    return made, trace, tensors


def test_what_agrees_passes():
    made, trace, tensors = record()
    assert assert_close(trace, tensors).agrees
    assert assert_close(made.graph, tensors, precision="float32").agrees


def test_the_message_is_the_report():
    _, trace, tensors = record(0.5)
    with pytest.raises(AssertionError) as told:
        assert_close(trace, tensors)
    assert str(told.value).startswith("different: weights is the first to differ; its inputs agree")
    assert "yours is the reference × 0.5" in str(told.value)


@pytest.mark.slow
def test_the_fixture(tmp_path):
    (tmp_path / "test_port.py").write_text(
        "from graphattn.builtin import specimen\n"
        "def test_port(graphattn_assert_close):\n"
        "    trace = specimen('attention', n=3, d=4).run()\n"
        "    graphattn_assert_close(trace, {name: trace[name] for name in trace.names})\n"
        "def test_wrong(graphattn_assert_close):\n"
        "    trace = specimen('attention', n=3, d=4).run()\n"
        "    graphattn_assert_close(trace, {'Q': trace['Q'], 'out': trace['V']})\n",
        encoding="utf-8",
    )
    options = ["-p", "no:cacheprovider", "-q"]
    if "graphattn" not in _plugins():
        options += [
            "-p",
            "graphattn.testing.pytest_plugin",
        ]  # an installation that is older than the entry point
    told = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        capture_output=True, encoding="utf-8", timeout=120, cwd=tmp_path,
    )  # fmt: skip
    assert "1 failed, 1 passed" in told.stdout, told.stdout + told.stderr
    assert "different: out" in told.stdout


def _plugins():
    from importlib.metadata import entry_points

    return {point.name for point in entry_points(group="pytest11")}
