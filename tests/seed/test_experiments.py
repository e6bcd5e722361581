"""`write_experiments`: model.py stands alone and gives our numbers; the texts say what was measured."""

from __future__ import annotations

import ast
import math
import random
import re
import shutil
import subprocess
import sys
from statistics import fmean

import pytest

from graphattn import GraphError, model
from graphattn.experiments import growth_measured, order_measured, scale_measured, write_experiments
from graphattn.experiments.model_file import model_source

SEVEN = ["softmax", "attention", "causal_mask", "multi_head", "pos_encoding", "layer_norm", "block"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiments") / "made" / "here"
    paths = write_experiments(folder)
    assert paths == [folder / name for name in ("model.py", "02-scale.txt", "05-perm.txt", "08-notes.md")]
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in paths)
    return folder


def alone(written, tmp_path, code):
    """Run code in an isolated Python, in a folder that holds model.py and nothing else."""
    shutil.copy(written / "model.py", tmp_path)
    command = [sys.executable, "-I", "-X", "utf8", "-c", f"import sys; sys.path.insert(0, '.'); {code}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


def normal(n, d, dice):
    return [[dice.gauss(0.0, 1.0) for _ in range(d)] for _ in range(n)]


def calls():
    """The name and arguments of many calls of the seven functions."""
    dice = random.Random(4)
    for n, m, d, h in ((4, 4, 8, 2), (1, 1, 1, 1), (5, 3, 6, 3), (3, 7, 64, 4), (8, 8, 16, 16), (2, 2, 2, 1)):
        Q, K, V = normal(n, d, dice), normal(m, d, dice), normal(m, 2 * h, dice)
        random_mask = [[dice.random() < 0.5 for _ in range(m)] for _ in range(n)]
        for mask in (
            None,
            random_mask,
            [[int(cell) for cell in row] for row in random_mask],
            [[False] * m] * n,
        ):
            yield "attention", (Q, K, V, mask)
            yield "multi_head", (Q, K, V, h, mask)
        X = normal(n, d, dice)
        for mask in (None, model.causal_mask(n), [[False] * n] * n):
            yield "block", (X, h, mask)
        yield "softmax", (X[0],)
        yield "layer_norm", (X[0],)
        yield "layer_norm", ([v * 1e150 for v in X[0]], 1e-12)
        yield "pos_encoding", (n, d)
        yield "causal_mask", (n,)
    yield "softmax", ([1000, 1001, 1002],)
    yield "softmax", ([-math.inf, 0.0, 1e308],)
    yield "layer_norm", ([3, 3, 3],)
    yield "attention", ([[1, 2]], [[3, 4], [5, 6]], [[1], [2]])
    big = [[1e200, -1e200], [1e308, 1e308]]
    yield "attention", (big, big, big, model.causal_mask(2))


@pytest.mark.slow
def test_model_py_alone_gives_our_numbers_bit_for_bit(written, tmp_path):
    given = list(calls())
    expected = [getattr(model, name)(*arguments) for name, arguments in given]
    (tmp_path / "calls.txt").write_text(repr(given), encoding="utf-8")
    code = (
        "import model; from math import inf;"
        "print([getattr(model, name)(*arguments) for name, arguments in"
        " eval(open('calls.txt', encoding='utf-8').read())])"
    )
    found = alone(written, tmp_path, code)
    assert found.rstrip("\n") == repr(expected)


@pytest.mark.slow
def test_model_py_passes_the_seeds_own_checks(written, tmp_path):
    code = """import model
assert [round(w, 4) for w in model.softmax([1, 2, 3])] == [0.09, 0.2447, 0.6652]
assert model.softmax([1000, 1001, 1002]) == model.softmax([0, 1, 2])
assert abs(sum(model.softmax([1000, 1001, 1002])) - 1) < 1e-12
X = [[0.5, -1.0, 2.0, 0.1], [1.5, 0.0, -0.5, 0.3], [-0.2, 0.7, 0.9, -1.1]]
mask = model.causal_mask(3)
out, weights = model.attention(X, X, X, mask)
assert all(weights[i][j] == 0.0 for i in range(3) for j in range(3) if j > i)
assert model.multi_head(X, X, X, 1, mask) == out
assert [len(row) for row in model.block(X, 2)] == [4, 4, 4]
try:
    model.multi_head(X, X, X, 3)
except ValueError as error:
    print(error)"""
    code = f"exec({code!r})"
    assert alone(written, tmp_path, code) == "4 does not divide into 3 equal parts\n"


@pytest.mark.slow
def test_model_py_needs_nothing_and_reads_well(written):
    text = (written / "model.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [ast.unparse(node) for node in imports] == ["import math"]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert [f.name for f in functions if f.name in SEVEN] == SEVEN
    assert all(ast.get_docstring(f) for f in functions if f.name in SEVEN)
    assert max(f.end_lineno - f.lineno for f in functions) < 20
    assert max(map(len, text.splitlines())) <= 112
    assert "graphattn." not in text and "lambda" not in text
    signatures = {f.name: ast.unparse(f.args) for f in functions}
    assert {name: signatures[name] for name in SEVEN} == {
        "softmax": "xs",
        "attention": "Q, K, V, mask=None",
        "causal_mask": "n",
        "multi_head": "Q, K, V, h, mask=None",
        "pos_encoding": "n, d",
        "layer_norm": "row, eps=1e-05",
        "block": "X, h, mask=None",
    }


def test_the_text_of_model_py(golden):
    golden("seed_model.py.txt", model_source())


def test_model_py_is_cut_out_of_the_ops(monkeypatch):
    """Another kernel, another file: there is no second copy."""
    from graphattn.dumps import function_source

    module = sys.modules["graphattn.ops.softmax"]
    source = function_source._parsed(module)
    changed = source.data.replace(b"peak = max(row)", b"peak = min(row)")
    assert changed != source.data
    real = function_source.inspect.getsource
    function_source._parsed.cache_clear()
    monkeypatch.setattr(
        function_source.inspect, "getsource", lambda m: changed.decode() if m is module else real(m)
    )
    assert "peak = min(xs)" in model_source()
    function_source._parsed.cache_clear()


# ---------------------------------------------------------------- the texts


def numbers_in(text):
    return re.findall(r"\d+\.\d+(?:e[-+]\d+)?", text)


@pytest.mark.slow
def test_scale_says_what_a_naive_computation_finds(written):
    """The same draws, the seed's lines by hand."""
    largest = {True: [], False: []}
    for draw in range(200):
        dice = random.Random(f"scale 0 64 {draw}")
        Q, K = normal(8, 64, dice), normal(8, 64, dice)
        for q in Q:
            scores = [sum(a * b for a, b in zip(q, k)) for k in K]
            for divided in (True, False):
                row = [s / 8.0 if divided else s for s in scores]
                raised = [math.exp(s - max(row)) for s in row]
                largest[divided].append(max(raised) / sum(raised))
    measured = scale_measured(64, 0)
    assert list(measured.divided) == pytest.approx(largest[True], abs=1e-12)
    assert list(measured.plain) == pytest.approx(largest[False], abs=1e-12)
    text = (written / "02-scale.txt").read_text(encoding="utf-8")
    for name, found in (("with the division", largest[True]), ("without it", largest[False])):
        assert f"{fmean(found):.4f} {name}" in text
        assert f"{min(found):.4f} to {max(found):.4f}" in text
    assert fmean(largest[True]) < 0.5 < 0.8 < fmean(largest[False])
    assert max(largest[False]) > 0.9999


def test_perm_shows_equivariance_and_its_absence(written):
    text = (written / "05-perm.txt").read_text(encoding="utf-8")
    lines = {line[:16].strip(): numbers_in(line) for line in text.splitlines() if "e" in line[20:]}
    for name in ("attention", "multi_head", "block"):
        smallest, largest, encoded_smallest, _ = map(float, lines[name])
        assert 0.0 <= smallest <= largest < 1e-14
        assert encoded_smallest > 0.1
    assert float(lines["block, causal"][0]) > 0.1
    measured = order_measured("attention", lambda x: model.attention(x, x, x)[0], 0)
    assert lines["attention"][2] == f"{min(measured.encoded):.1e}"


def test_notes_have_the_three_words_and_the_measured_numbers(written):
    text = (written / "08-notes.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) >= 3
    assert all(word in text for word in ("스케일링", "순서", "제곱"))
    measured = scale_measured(64, 0)
    assert f"{fmean(measured.divided):.4f}" in text and f"{fmean(measured.plain):.4f}" in text
    assert "from n = 4096 to 8192 it becomes 4 times as large" in text
    assert "| 8,192 | 67,108,864 | 512 | 8,589,934,592 | 4 | 67,108,864 | 2 |" in text


def test_growth_is_the_square():
    small, large = growth_measured(16), growth_measured(32)
    assert (small.cells, large.cells) == (256, 1024)
    assert large.flops == 4 * small.flops and large.projection == 2 * small.projection


@pytest.mark.slow
def test_the_seed_decides_the_draws(written, tmp_path):
    assert scale_measured(64, 0) == scale_measured(64, 0) != scale_measured(64, 1)
    for path in write_experiments(tmp_path, seed=1):
        before = (written / path.name).read_bytes()
        assert (path.read_bytes() == before) == (path.name == "model.py")
        assert b"\r" not in before


@pytest.mark.parametrize("seed", ["0", 1.0, None, True])
def test_a_seed_that_is_no_int(seed, tmp_path):
    with pytest.raises(GraphError) as error:
        write_experiments(tmp_path, seed=seed)
    assert str(error.value) == f"seed is {seed!r}; expected an int"


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(GraphError, match=r"^'.*file' was not made: .*; expected the path of a folder$"):
        write_experiments(str(tmp_path / "file"))
    with pytest.raises(GraphError, match=r"^3 was not made: .*; expected the path of a folder$"):
        write_experiments(3)
    with pytest.raises(GraphError, match=r"was not made: .*; expected the path of a folder$"):
        write_experiments("nul\0byte")
