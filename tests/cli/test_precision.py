"""graphattn trace --precision: a short-float run beside one in doubles."""

import pytest
from click.testing import CliRunner

from graphattn.builtin import specimen
from graphattn.cli import main
from graphattn.dumps.precision_text import precision_text


def call(*args):
    return CliRunner().invoke(main, ["trace", "block", "--n", "3", "--d", "4", *args])


@pytest.mark.parametrize("numbers", ["float32", "float16", "bfloat16", "bfloat16:bfloat16"])
def test_it_prints_the_table_of_both_runs(numbers):
    result = call("--precision", numbers)
    block = specimen("block", n=3, d=4)
    assert result.exit_code == 0
    assert result.output == precision_text(block.run(), block.run(numbers=numbers))


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            ("--precision", "float31"),
            "--precision 'float31' is not a type to round to; expected one of float32, float16, bfloat16,"
            " float16:float16, bfloat16:bfloat16;"
            " did you mean 'float32'?",
        ),
        (
            ("--precision", "float16", "--json"),
            "--json and --precision do not go together; expected one of them",
        ),
        (
            ("--precision", "float16", "--tensor", "*weights"),
            "--precision is a table of all steps; expected no --exact and no --tensor beside it",
        ),
    ],
)
def test_what_does_not_go_with_it(args, words):
    result = call(*args)
    assert (result.exit_code, result.output) == (2, f"graphattn: {words}\n")
