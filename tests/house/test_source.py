"""Rules that every source file keeps: encodings are stated, passes and dumps name no op, and more.

Each rule is one test over all files, which tells of every file that breaks it.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterable

from source import ROOT, modules, nodes, tree

import graphattn.ops  # noqa: F401  (fills the registry)
from graphattn.core.cells import FUNCTIONS
from graphattn.core.op import LEVELS, OPS

FAMILIES = {op.family for op in OPS.values()}


def offenders(rule: Callable[[str, ast.Module], Iterable[object]]) -> dict[str, list[object]]:
    """What a rule finds wrong, by module."""
    found = {name: list(rule(name, tree(path))) for name, path in modules().items()}
    assert len(found) > 300
    return {name: wrong for name, wrong in found.items() if wrong}


def written(node: ast.AST, fits: Callable[[str], bool]) -> str:
    """An expression as it is written, where one of its names fits, else "": to write all of them takes long."""
    names = (getattr(part, "attr", "") or getattr(part, "id", "") for part in ast.walk(node))
    return ast.unparse(node) if any(map(fits, names)) else ""


# ---------------------------------------------------------------- files are opened with an encoding

OPENERS = ("open", "fdopen", "NamedTemporaryFile", "TemporaryFile", "read_text", "write_text")


def unstated(module: ast.AST):
    """The calls that open a text file without saying which encoding."""
    for node in nodes(module):
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


def test_every_open_states_its_encoding():
    assert offenders(lambda name, module: unstated(module)) == {}


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


def ends(node: ast.AST, text: str) -> bool:
    """Whether an expression, as it is written, ends with this text."""
    return written(node, lambda name: name.endswith(text.rpartition(".")[2])).endswith(text)


def named(module: ast.AST):
    """Where an op is asked for by name: a text that is an op's name (and not a family or a level,
    which go by the same words), or a comparison or look-up with any op's name."""
    compared = set()
    for node in nodes(module):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(ends(side, "op.name") for side in sides):
                compared |= {id(part) for side in sides for part in ast.walk(side)}
        elif isinstance(node, ast.Subscript) and ends(node.value, "OPS"):
            compared.add(id(node.slice))
        elif isinstance(node, ast.Call) and (ends(node.func, "find") or ends(node.func, "apply")):
            compared |= {id(arg) for arg in node.args[:1]}
    for node in nodes(module):
        word = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if word in OPS and (id(node) in compared or word not in FAMILIES | set(LEVELS)):
            yield word, node.lineno


def named_in_passes_and_dumps(name: str, module: ast.AST):
    if name.startswith(("graphattn.passes", "graphattn.dumps")):
        yield from ((word, line) for word, line in named(module) if not allowed(name, word))


def test_passes_and_dumps_name_no_op():
    assert offenders(named_in_passes_and_dumps) == {}
    assert list(named_in_passes_and_dumps("graphattn.dumps.rows", ast.parse("find('matmul')")))


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


def silent(name: str, module: ast.Module):
    """The file itself, where it does not begin with what it is."""
    doc = ast.get_docstring(module) or ""
    said = doc.partition("\n")[0].endswith((".", ":", "…", "?")) or ":" in doc or "=" in doc
    if module.body and not said:
        yield doc


def test_every_file_says_what_it_is():
    assert offenders(silent) == {}
    assert list(silent("planted", ast.parse("import math")))


EXECUTE = ("graphattn.cli", "graphattn.check")


def executing(name: str, module: ast.AST):
    """The calls that run what they are given: pickle, eval, a shell; only the command line and the grader
    execute a file, and say so."""
    barred, files, stores = ("eval", "os.system"), ("exec", "runpy.run_path"), ("pickle", "marshal")
    first = tuple(word.partition(".")[0] for word in barred + files + stores)
    for node in nodes(module):
        if isinstance(node, ast.Call):
            called = written(node.func, lambda word: word.startswith(first))
            file = called in files and not name.startswith(EXECUTE)
            shell = any(keyword.arg == "shell" for keyword in node.keywords)
            if called in barred or called.startswith(stores) or file or shell:
                yield node.lineno, ast.unparse(node)


def test_nothing_that_runs_what_it_reads():
    assert offenders(executing) == {}


def test_what_runs_what_it_reads_is_seen():
    planted = "eval(x)\nos.system(x)\npickle.load(f)\nmarshal.loads(b)\nrun(x, shell=True)"
    planted += "\nexec(x)\nrunpy.run_path(p)"
    assert len(list(executing("graphattn.core.run", ast.parse(planted)))) == 7
    assert len(list(executing("graphattn.cli.run", ast.parse(planted)))) == 5
    assert not list(executing("graphattn.core.run", ast.parse("self.eval(x)\nos.replace(a, b)\nrun(graph)")))


def test_test_files_have_their_own_names():
    names = Counter(path.name for path in ROOT.glob("tests/**/*.py"))
    tests = {path.name for path in ROOT.glob("tests/**/test_*.py")}
    assert [name for name in tests if names[name] > 1] == []


def test_no_package_of_tests():
    assert not list(ROOT.glob("tests/**/__init__.py"))
