"""The command that prints each op's largest error."""

import importlib.util
import sys
from pathlib import Path

FILE = Path(__file__).parent.parent.parent / "benchmarks" / "accuracy.py"


def accuracy():
    spec = importlib.util.spec_from_file_location("accuracy_command", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_correctly_rounded_ops_are_half_an_ulp_off_at_most():
    rows = {row.op: row for row in accuracy().table(["add", "multiply", "divide", "sqrt", "reduce_sum"], 40)}
    assert list(rows) == ["add", "divide", "multiply", "reduce_sum", "sqrt"]
    for row in rows.values():
        assert 0 < max(row.samples, row.random) <= 0.5 + 1e-9


def test_softmax_and_layernorm_are_within_two_ulps_of_the_largest_cell():
    for row in accuracy().usual(20):
        if row.op.startswith(("softmax", "layernorm")):
            assert 0 < row.of_row <= 2, row


def test_what_it_prints(capsys):
    accuracy().main(["--inputs", "2", "softmax"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Largest errors in ulps; 2 random inputs each; Python ")
    assert lines[1].split() == ["samples", "random", "of", "row"]
    assert lines[2].split()[0] == "softmax" and len(lines) == 3


def test_an_error_would_be_seen():
    module = accuracy()
    errors = module.Errors()
    errors._row([1.0 + 2.0**-50], [1])
    assert errors.cell == errors.row == 4.0
