"""Rules that every source file keeps: encodings are stated, passes and dumps name no op, and more."""

import ast

import pytest
from source import ROOT, modules, tree

import graphattn.ops  # noqa: F401  (fills the registry)
from graphattn.core.cells import FUNCTIONS
from graphattn.core.op import LEVELS, OPS

FAMILIES = {op.family for op in OPS.values()}
FILES = sorted(modules().items())


# ---------------------------------------------------------------- files are opened with an encoding

OPENERS = ("open", "fdopen", "NamedTemporaryFile", "TemporaryFile", "read_text", "write_text")


def unstated(module: ast.AST):
    """The calls that open a text file without saying which encoding."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        method = isinstance(function, ast.Attribute)
        name = function.attr if method else getattr(function, "id", "")
        if name not in OPENERS or (name.endswith("_text") and not method):  # our own write_text is bytes within
            continue
        if any(keyword.arg == "encoding" for keyword in node.keywords):
            continue
        modes = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
        if any(isinstance(m, ast.Constant) and isinstance(m.value, str) and m.value in BINARY for m in modes):
            continue
        if method and ast.unparse(function.value) in ("archive", "webbrowser"):
            continue  # a member of a zip file is bytes
        if ast.unparse(function) == "os.open":
            continue  # gives a number, which open() takes
        yield f"line {node.lineno}: {ast.unparse(node)}"


BINARY = {"rb", "wb", "xb", "ab", "r+b", "rb+", "w+b", "wb+"}


@pytest.mark.parametrize("name, path", FILES, ids=[name for name, _ in FILES])
def test_every_open_states_its_encoding(name, path):
    assert list(unstated(tree(path))) == []


def test_an_open_without_an_encoding_is_seen():
    planted = "open('f')\nopen('f', 'w')\npath.read_text()\nos.fdopen(3, 'w')\npath.open()"
    assert len(list(unstated(ast.parse(planted)))) == 5
    fine = "open('f', 'rb')\nopen('f', encoding='utf-8')\nos.fdopen(3, 'wb')\npath.open('rb')\nwrite_text(p, t)"
    assert list(unstated(ast.parse(fine))) == []


# ---------------------------------------------------------------- passes and dumps name no op

PLAIN: dict[tuple[str, str], str] = {}
"""A word that is also an op's name, and what it means there."""

TRANSLATORS = {"graphattn.dumps.c_source.expression", "graphattn.dumps.workbook.formulas"}
"""Modules that write the functions of cell expressions (`cells.FUNCTIONS`) in another language: many of those
go by the same words as ops."""


def allowed(name: str, word: str) -> bool:
    return (name, word) in PLAIN or (name in TRANSLATORS and word in FUNCTIONS)


def named(module: ast.AST):
    """Where an op is asked for by name: a text that is an op's name (and not a family or a level,
    which go by the same words), or a comparison or look-up with any op's name."""
    compared = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(ast.unparse(side).endswith("op.name") for side in sides):
                compared |= {id(part) for side in sides for part in ast.walk(side)}
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("OPS"):
            compared.add(id(node.slice))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("find", "apply")):
            compared |= {id(arg) for arg in node.args[:1]}
    for node in ast.walk(module):
        word = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if word in OPS and (id(node) in compared or word not in FAMILIES | set(LEVELS)):
            yield word, node.lineno


@pytest.mark.parametrize(
    "name, path", [f for f in FILES if f[0].startswith(("graphattn.passes", "graphattn.dumps"))], ids=str
)
def test_passes_and_dumps_name_no_op(name, path):
    assert [(word, line) for word, line in named(tree(path)) if not allowed(name, word)] == []


def test_the_list_of_plain_words_is_not_stale():
    for name in TRANSLATORS:
        assert {word for word, _ in named(tree(modules()[name]))} & FUNCTIONS.keys()
    for name, word in PLAIN:
        assert word in {found for found, _ in named(tree(modules()[name]))}


def test_an_op_that_is_named_is_seen():
    for planted in (
        "if node.op.name == 'softmax': pass", "x = node.op.name in ('softmax', 'matmul')", "OPS['softmax']",
        "find('matmul')", "graph.apply('softmax', x)", "kinds = {'layernorm': 1}",
    ):  # fmt: skip
        assert list(named(ast.parse(planted))), planted
    for fine in ("node.op.family == 'softmax'", "level == 'block'", "'softmax of x'"):
        assert not list(named(ast.parse(fine))), fine


# ---------------------------------------------------------------- and more


@pytest.mark.parametrize("name, path", FILES, ids=[name for name, _ in FILES])
def test_every_file_says_what_it_is(name, path):
    doc = ast.get_docstring(tree(path)) or ""
    empty = not tree(path).body
    assert empty or doc.partition("\n")[0].endswith((".", ":", "…", "?")) or ":" in doc or "=" in doc, name


EXECUTE = ("graphattn.cli", "graphattn.check")


@pytest.mark.parametrize("name, path", FILES, ids=[name for name, _ in FILES])
def test_nothing_that_runs_what_it_reads(name, path):
    """No pickle, no eval, no shell; only the command line and the grader execute a file, and say so."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in ("eval", "os.system") and not called.startswith(("pickle", "marshal"))
            assert called not in ("exec", "runpy.run_path") or name.startswith(EXECUTE), node.lineno
            assert not any(k.arg == "shell" for k in node.keywords), node.lineno


@pytest.mark.parametrize("path", sorted(ROOT.glob("tests/**/test_*.py")), ids=lambda path: path.stem)
def test_test_files_have_their_own_names(path):
    same = [other for other in ROOT.glob("tests/**/*.py") if other.name == path.name]
    assert same == [path]


def test_no_package_of_tests():
    assert not list(ROOT.glob("tests/**/__init__.py"))
