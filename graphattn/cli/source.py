"""What a command works on: SOURCE and the options that go with it, as a `Specimen`.

SOURCE is the name of a built-in graph, or a file: a graph or trace that was saved (text or JSON), a
Python file that defines a graph, an ONNX model, a program of PyTorch, or the weights of one head; or the
folder of a trained model.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from inspect import cleandoc
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from ..core.engines import need_engine
from ..core.errors import GraphError, suggest
from ..core.op import LEVELS
from ..core.specimen import Specimen
from ..core.words import listed
from . import completion
from .output import message

if TYPE_CHECKING:
    from ..core.graph import Graph
    from ..core.trace import Trace

TOY = "toy"
ONNX, TORCH = ".onnx", ".pt2"
PROGRAMS = (ONNX, TORCH)
"""Files that are read for what they are fed."""
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
SUFFIXES = (".txt", ".json", ".py", ".safetensors", ".npz", *PROGRAMS, *PICKLED)
MODEL_FILES = ("config.json", "model.safetensors", "model.safetensors.index.json")
SAVED = re.compile(r"graphattn (graph|trace) ")
SAVED_JSON = re.compile(r'"format"\s*:\s*"graphattn (graph|trace)"')
HELP = """

    \b
    SOURCE is one of
      attention, multi-head, block, encoder
                                     built-in graphs of the size that --n, --d, --heads give
      toy                            the trained model of `graphattn demo`
      a .txt or .json file           a graph or a trace that was saved
      a folder                       a trained model as it is downloaded (config.json and
                                     model.safetensors), with --text or --ids; or a trace that was
                                     saved with --csv
      a .py file                     executed: its Graph named `graph`, or the only one in it,
                                     with its `feeds` and `labels` if it has them
      a .onnx file                   an ONNX model, with --feeds where its sizes are open
      a .pt2 file                    a program of torch.export, read for what --feeds give
      a .safetensors, .npz or .json  one trained head: x, w_q, w_k, w_v, or q, k, v
    """


def graph_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """SOURCE and the options that `read_graph` takes."""
    own = cleandoc(command.__doc__ or "")  # Python 3.13 has taken its indentation away already
    command.__doc__ = f"{own}\n\n{cleandoc(HELP)}\n"
    return _with(GRAPH, command)


def specimen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """SOURCE and the options that `read_specimen` takes."""
    return graph_options(_with(FEEDS, command))


def fed_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """SOURCE and what feeds it, for a command that looks at the graph as it is: unpatched, without labels."""
    return graph_options(_with(FED, command))


def _with(options: tuple[Any, ...], command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


class Whole(click.ParamType):
    """A whole number of at least `least`."""

    name = "integer"

    def __init__(self, least: int) -> None:
        self.least = least

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        try:
            number = int(value)
        except ValueError:
            number = self.least - 1
        if number < self.least:
            self.fail(f"expected a whole number of {self.least} or more, got {str(value)[:40]!r}", param, ctx)
        return number


GRAPH = (
    click.argument("source", metavar="SOURCE", shell_complete=completion.sources),
    click.option("--n", type=Whole(1), help="Tokens of a built-in graph.  [4]"),
    click.option("--d", type=Whole(1), help="Features of a built-in graph.  [8]"),
    click.option("--heads", type=Whole(1), help="Heads of a built-in graph.  [2]"),
    click.option("--causal", is_flag=True, default=None, help="Hide later tokens from earlier ones."),
    click.option(
        "--projections/--no-projections",
        default=None,
        help="Whether X is projected to Q, K, V, or they are split from it as they are.",
    ),
    click.option("--text", help="What a trained model reads; for toy, letters from a to z."),
    click.option("--ids", metavar="I,J,…", help="Token ids that a trained model reads, instead of --text."),
    click.option("--layers", type=Whole(0), help="Build only so many layers of a trained model.  [all]"),
)
FED = (
    click.option("--seed", type=int, help="Draw the feeds at random, the same for the same seed.  [0]"),
    click.option(
        "--feeds",
        "feed_files",
        metavar="FILE",
        multiple=True,
        help="Feed these tensors, by name: .json, .csv, .npy, .npz, .safetensors. May be repeated.",
    ),
)
FEEDS = (
    *FED,
    click.option(
        "--allow-nonfinite", is_flag=True, default=None, help="Let infinities and NaN in the feeds in."
    ),
    click.option(
        "--patch",
        "patches",
        metavar="NAME=HOW",
        multiple=True,
        help="Replace a tensor: by zero, uniform (even weights) or a file. May be repeated.",
    ),
    click.option(
        "--labels",
        metavar="A,B,…",
        multiple=True,
        help="Names of the tokens, or with AXIS=A,B,… of another axis. May be repeated.",
    ),
)
LEVEL = click.option(
    "--level",
    default=None,
    metavar="LEVEL",
    shell_complete=completion.levels,
    help=f"How far to zoom in: {', '.join(LEVELS)}.  [op]",
)


ENGINE = click.option(
    "--engine", metavar="ENGINE",
    help="What computes: onnxruntime, for what is too large for Python (needs graphattn[onnxruntime]).  [ours]",
)  # fmt: skip
MODEL = ("text", "ids", "layers")
"""Options of trained models."""


def read_graph(source: str, feed_files: tuple[str, ...] = (), **options: Any) -> Graph:
    """The graph alone; feeds tell how large that of an ONNX model is. Raises a `GraphError` for what cannot be
    read."""
    if feed_files:
        return read_specimen(source, feed_files, drawn=False, **options).graph
    return _found(source, _given(options), None).graph


def _given(sizes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in sizes.items() if value is not None}


def read_specimen(
    source: str, feed_files: tuple[str, ...] = (), labels: tuple[str, ...] = (), seed: int | None = None,
    drawn: bool = True, patches: tuple[str, ...] = (), engine: str | None = None,
    recorded: Mapping[str, Any] | None = None, allow_nonfinite: bool | None = None, **options: Any,
) -> Specimen:  # fmt: skip
    """The graph, what to feed it, and its labels; without feeds of its own they are `drawn` at random. A
    program is fed what is `recorded` by the names of its inputs, too; who gives that says what is drawn. Raises
    a `GraphError` for what cannot be read."""
    given = _given(options)
    if is_program(source):
        _refuse(source, **given)
        found, feed_files, seed = _of_program(Path(source), feed_files, seed, recorded), (), None
    else:
        found = _found(source, given, seed)
    feeds, random = dict(found.feeds), set(found.drawn)
    trace = found.trace
    if drawn and trace is None and not feeds and found.graph.inputs and (seed is not None or not feed_files):
        from ..builtin import random_feeds

        feeds = random_feeds(found.graph, seed or 0)
        message(f"{source} has no feeds: they are drawn at random (--seed {seed or 0})")
        random = set(feeds)
    nonfinite = bool(allow_nonfinite or found.allow_nonfinite)
    for path in feed_files:
        read = _feeds_of(path, found.graph, nonfinite)
        feeds |= read
        random -= read.keys()
    named = {**found.labels, **dict(_label(entry, found.graph) for entry in labels)}
    if engine is not None:
        need_engine(engine)
    if feed_files or labels or patches or engine:
        need_unpatched(trace)
        trace = None
    specimen = replace(
        found, feeds=feeds, labels=named, trace=trace, engine=engine, drawn=random, allow_nonfinite=nonfinite
    )
    if not patches:
        return specimen
    from .patches import read_patches

    return replace(specimen, patch=read_patches(patches, specimen))


def is_program(source: str) -> bool:
    """Whether it is an ONNX model or a program of PyTorch, which is read for what it is fed."""
    return Path(source).suffix.lower() in PROGRAMS and Path(source).is_file()


def is_graph(source: str) -> bool:
    """Whether it is a graph that can be run, not a recording of numbers: what `compare` runs on the inputs of
    the other side. A file of tensors, a trained head too, is a recording."""
    from ..builtin import GRAPHS

    path = Path(source)
    if source in (*GRAPHS, TOY) or path.name in MODEL_FILES:
        return True
    if path.suffix.lower() in (".py", *PROGRAMS, *PICKLED):
        return True
    if path.is_dir():
        from ..models import is_model_folder

        return is_model_folder(path)
    if path.suffix.lower() not in (".txt", ".json") or not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(200).decode("utf-8", "replace")
    form = SAVED.match(start) or SAVED_JSON.search(start)
    return form is not None and form[1] == "graph"


def need_unpatched(trace: Trace | None) -> None:
    """Refuse to evaluate anew what was saved from a run with a patch, which would be lost."""
    if trace is not None and trace.patched:
        raise GraphError(
            f"the saved run has patched tensors ({', '.join(trace.patched)}), so it is not run again;"
            " expected no other level, labels, feeds or JSON of single tensors"
        )


def _found(source: str, options: dict[str, Any], seed: int | None) -> Specimen:
    from .. import builtin

    model = {name: options.pop(name) for name in MODEL if name in options}
    if source in builtin.GRAPHS:
        _refuse(source, **model)
        return builtin.specimen(source, **options, seed=seed or 0)
    _refuse(source, **options)
    if source == TOY:
        from ..weights import toy_induction

        text = model.pop("text", toy_induction.TEXT)
        _refuse(source, **model)
        return toy_induction.toy_induction(text)
    path = Path(source)
    if not path.exists():
        known = (*builtin.GRAPHS, TOY)
        raise GraphError(
            f"{source!r} is neither a file nor a built-in graph;"
            f" expected one of {', '.join(known)}, or a file{suggest(source, known)}{_on_the_hub(source)}"
        )
    if path.is_dir() or path.suffix.lower() in PICKLED or path.name in MODEL_FILES:
        from ..models import is_model_folder

        if path.name in MODEL_FILES and path.is_file() and is_model_folder(path.parent):
            raise GraphError(f"{source} is one file of a model; expected its folder, {path.parent}")
        if path.suffix.lower() in PICKLED or is_model_folder(path):
            return _of_model(path, model)
        if path.is_dir() and model:
            raise GraphError(f"{path} has no config.json; expected the folder of a model{_in_a_cache(path)}")
    _refuse(source, **model)
    if path.is_dir():
        return _of_folder(source)
    if path.suffix.lower() == ".py":
        return _of_python(path)
    if path.suffix.lower() in PROGRAMS:
        return _of_program(path, (), seed)
    if path.suffix.lower() in (".safetensors", ".npz"):
        from ..weights.extract import extract

        return extract(path)
    return _of_text(path)


def _on_the_hub(source: str) -> str:
    """What to say of a name that looks like that of a model to download."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", source) or Path(source).suffix in SUFFIXES:
        return ""
    return f"; nothing is downloaded: `hf download {source} --local-dir FOLDER` does that"


def _in_a_cache(path: Path) -> str:
    """Where the models are in a folder of Hugging Face's cache."""
    found = sorted(config.parent for config in path.glob("snapshots/*/config.json"))
    return f": {found[-1]}" if found else ""


def _refuse(source: str, **options: Any) -> None:
    """Options that would be ignored are an error."""
    from ..builtin import GRAPHS

    for name, value in options.items():
        if value is not None:
            flag = "no-projections" if value is False else name
            fitting = ", ".join(GRAPHS)
            if name in MODEL:
                fitting = f"{TOY}, or a model's folder" if name == "text" else "a model's folder"
            raise GraphError(f"--{flag} does not apply to {source}; expected it with {fitting}")


def model_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a trained model reads, as `pretrained` takes it."""
    ids = options.get("ids")
    if ids is not None:
        try:
            ids = [int(part) for part in ids.split(",")]
        except ValueError:
            raise GraphError(f"--ids is {ids[:40]!r}; expected whole numbers like 101,4937,102") from None
    return {"text": options.get("text"), "ids": ids, "layers": options.get("layers")}


def _of_model(path: Path, options: Mapping[str, Any]) -> Specimen:
    """A trained model, and what it reads."""
    from ..models import pretrained

    given = model_options(options)
    if given["text"] is None and given["ids"] is None and path.is_dir():
        raise GraphError(f"{path} is a model's folder; expected --text or --ids with it")
    found = pretrained(path, **given)
    for note in found.graph.notes:
        message(f"{path}: {note}")
    return found


def _of_program(
    path: Path, feed_files: tuple[str, ...], seed: int | None, recorded: Mapping[str, Any] | None = None
) -> Specimen:
    """An ONNX model or a program of PyTorch; its feeds go by the names of its inputs, and cotangents are fed
    beside them. What is not fed is drawn at random; where something was `recorded`, who asked says so."""
    from ..core.tensor_file import read_tensors

    feeds: dict[str, Any] = {}
    for file in feed_files:
        if Path(file).is_dir():
            raise GraphError(f"{file!r} is a folder; expected a file of feeds")
        read = read_tensors(file)
        if read.metadata:
            read.need_numbers(_inputs_of(path))
        feeds |= read.tensors
    beside = {name: feeds.pop(name) for name in _cotangents(path, feeds)}
    kind = _of_torch if path.suffix.lower() == TORCH else _of_onnx
    found = kind(path, feeds, seed or 0, recorded or {})
    for note in found.graph.notes:
        message(f"{path}: {note}")
    if found.drawn and recorded is None:
        message(f"{path} has no feeds for {listed(found.drawn)}: they are drawn at random (--seed {seed or 0})")
    return replace(found, feeds={**found.feeds, **beside})


def _cotangents(path: Path, feeds: Collection[str]) -> list[str]:
    """The feeds of a program that are named as cotangents are, and are none of its inputs."""
    from graphattn.passes.cotangents import PREFIX

    named = [name for name in feeds if name.startswith(PREFIX)]
    inputs = _inputs_of(path) if named else ()
    return [name for name in named if name not in inputs]


def _inputs_of(path: Path) -> Sequence[str]:
    """What the inputs of a program are called."""
    if path.suffix.lower() == TORCH:
        from ..torch.serialized import stored

        return [source.name for source in stored(path).inputs]
    from ..onnx import input_names

    return input_names(path)


def _of_onnx(path: Path, feeds: dict[str, Any], seed: int, recorded: Mapping[str, Any]) -> Specimen:
    from ..onnx import input_names, load

    given = {name: recorded[name] for name in (input_names(path) if recorded else ()) if name in recorded}
    return load(path, {**given, **feeds}, seed=seed)


def _of_torch(path: Path, feeds: dict[str, Any], seed: int, recorded: Mapping[str, Any]) -> Specimen:
    from ..builtin import random_feeds
    from ..core.graph import Graph
    from ..torch.calling import called
    from ..torch.serialized import stored

    program, missing = stored(path), Graph("inputs")
    feeds = {s.name: recorded[s.name] for s in program.inputs if s.dtype and s.name in recorded} | feeds
    for source in program.inputs:
        if source.dtype and source.name not in feeds:
            missing.input(source.name, source.sizes, kind=source.kind_of_cells)
    found = called(program, (), {**feeds, **random_feeds(missing, seed)}).specimen()
    return replace(found, drawn=[name for name in missing.inputs if name in found.feeds])


def _of_text(path: Path) -> Specimen:
    """A saved graph or trace, or the tensors of one head in JSON."""
    from graphattn.dumps.load import load_graph, load_trace, read_text

    text = read_text(path)
    form = SAVED.match(text) or SAVED_JSON.search(text)
    if form is None and path.suffix.lower() == ".json":
        from ..weights.extract import extract

        return extract(path)
    if form is None or form[1] == "graph":
        return Specimen(load_graph(path))
    return _of_trace(load_trace(path))


def _of_folder(source: str) -> Specimen:
    """A trace that was saved as a folder of CSV files."""
    from graphattn.dumps.csv_folder import is_csv_folder, read_csv_folder

    if not is_csv_folder(source):
        raise GraphError(
            f"{source!r} is a folder without config.json; expected a file, the folder of a model, or one of"
            " `graphattn trace --csv`"
        )
    return _of_trace(read_csv_folder(source))


def _of_trace(trace: Trace) -> Specimen:
    """A saved trace, and what it takes to run it again."""
    from graphattn.passes.zoom import fuse

    return Specimen(fuse(trace.graph), trace.feeds, trace.labels, trace=trace)


def _of_python(path: Path) -> Specimen:
    """Execute a file, and take the graph that it defines."""
    from ..core.graph import Graph

    names = execute(path)
    graph = names.get("graph")
    if not isinstance(graph, Graph):
        graphs = {id(value): value for value in names.values() if isinstance(value, Graph)}
        if len(graphs) != 1:
            raise GraphError(
                f"{path} defines {len(graphs) or 'no'} graphs; expected one, or one that is named `graph`"
            )
        (graph,) = graphs.values()
    given = {name: names.get(name) for name in ("feeds", "labels")}
    for name, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            raise GraphError(f"{path}: {name} is a {type(value).__name__}; expected a dict")
    return Specimen(graph, given["feeds"] or {}, given["labels"] or {})


def execute(path: Path) -> dict[str, Any]:
    """Run a Python file and return its names. What it prints goes to stderr."""
    code = path.read_bytes()
    module = ModuleType(f"graphattn_source_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where inspect finds the docstring of an op
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with redirect_stdout(sys.stderr):
            exec(compile(code, str(path), "exec"), vars(module))
    except SyntaxError as error:
        where = f"{path} line {error.lineno}" if error.lineno else f"{path}"
        raise GraphError(f"{where}: {error.msg}; expected Python") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _told_of(error, path) from None
    finally:
        with suppress(ValueError):
            sys.path.remove(str(path.resolve().parent))
    return vars(module)


def _told_of(error: BaseException, path: Path) -> GraphError:
    """A sentence about an exception of the file's own, with the line where it came from."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f"{path} line {line}" if line else f"{path}"
    kind = "" if isinstance(error, GraphError) else f"{type(error).__name__}: "
    return GraphError(f"{where}: {kind}{error}")


def _feeds_of(path: str, graph: Graph, nonfinite: bool) -> dict[str, Any]:
    """The tensors of a file, by input name; a lone matrix feeds the only input, unless it is named after a
    cotangent. What the graph would refuse is refused here, where the file is known."""
    from graphattn.passes.cotangents import cotangent_of

    from ..core import nested
    from ..core.tensor_file import read_tensors

    if Path(path).is_dir():
        raise GraphError(f"{path!r} is a folder; expected a file of feeds")
    file = read_tensors(path)
    feeds = dict(file.tensors)
    inputs = graph.inputs
    known = any(name in inputs or cotangent_of(graph, name) for name in feeds)
    if Path(path).suffix.lower() in (".csv", ".npy") and not known:
        if len(inputs) != 1:
            raise GraphError(
                f"{path} is named after none of the inputs; expected a file named {', '.join(list(inputs)[:8])}"
            )
        feeds = dict(zip(inputs, feeds.values(), strict=True))
    file.need_numbers(inputs)
    for name, value in feeds.items():
        if name in graph.fed:
            try:
                feeds[name] = nested.read(value, graph.fed[name], name, allow_nonfinite=nonfinite)
            except GraphError as error:
                raise GraphError(f"{path}: {error}") from None
        elif not cotangent_of(graph, name):
            known = listed(graph.fed, none="no feeds") + suggest(name, graph.fed)
            raise GraphError(f"{path}: graph {graph.name!r} has no input {name!r}; expected {known}")
    return feeds


def _label(entry: str, graph: Graph) -> tuple[str, list[str]]:
    """(axis, names) of `the,cat,sat` or `feature=a,b`; names with commas in "quotes"."""
    import csv

    sizes: dict[str, set[int]] = {}
    for node in graph.nodes.values():
        for spec in node.outputs:
            for axis, size in zip(spec.axes, spec.shape, strict=True):
                if axis:
                    sizes.setdefault(axis, set()).add(size)
    axis, sign, rest = entry.partition("=")
    if not sign or not axis.isidentifier():
        axis, rest = "token", entry
    try:
        names = next(csv.reader([rest], skipinitialspace=True), [])
    except csv.Error:
        raise GraphError(f'--labels {entry[:40]!r}: a name with a newline in it stands in "quotes"') from None
    if axis not in sizes:
        raise GraphError(f"--labels {entry!r}: the graph has no axis {axis!r}; expected {_listed(sizes)}")
    if len(names) not in sizes[axis]:
        fitting = " or ".join(map(str, sorted(sizes[axis])))
        raise GraphError(f"--labels {entry!r} has {len(names)} names for axis {axis!r}; expected {fitting}")
    return axis, names


def _listed(axes: Any) -> str:
    return "AXIS=A,B,… with one of " + ", ".join(axes) if axes else "no labels, since no axis has a name"
