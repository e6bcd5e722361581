"""From a text to token ids, as a folder's tokenizer does it, and back to labels.

tokenizer.json, or vocab.txt for BERT's kin, or vocab.json with merges.txt for GPT-2's, through the
library `tokenizers` (an extra). Padding and truncation that the file asks for are switched off: every token
of the text is looked at, and no other. Ids can be given by hand without the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import GraphError
from .folder import Folder

TEXT_LIMIT = 2**20
"""The longest text that is split into tokens, in characters."""
FILE_LIMIT = 2**27
SPACES = str.maketrans({"Ġ": "␣", "▁": "␣", "Ċ": "⏎"})
"""How tokenizers write a space or a newline before a token, and how labels do."""


@dataclass(frozen=True)
class Tokens:
    """Token ids, a label for each, and labels of the whole vocabulary where a tokenizer is there."""

    ids: tuple[int, ...]
    labels: tuple[str, ...]
    vocabulary: tuple[str, ...] = ()


def tokens_of(folder: Folder, text: str | None, ids: Sequence[int] | None, vocabulary: int) -> Tokens:
    """The tokens of a text, or of ids that were given by hand; each id is below `vocabulary`."""
    if (text is None) == (ids is None):
        raise GraphError("a model reads either text or ids; expected one of them")
    if ids is None:
        tokenizer = folder.once("tokenizer", lambda: tokenizer_of(folder))
        encoding = tokenizer.encode(_text(text))
        names = folder.once(
            "vocabulary", lambda: tuple(label(tokenizer.id_to_token(i) or "") for i in range(vocabulary))
        )
        found = Tokens(tuple(encoding.ids), tuple(map(label, encoding.tokens)), names)
    else:
        found = _by_hand(folder, ids)
    if not found.ids:
        raise GraphError("the text has no tokens; expected one or more")
    for place, number in enumerate(found.ids):
        if not 0 <= number < vocabulary:
            raise GraphError(f"token {place} has id {number}; expected 0 to {vocabulary - 1}")
    return found


def label(token: str) -> str:
    """A token as people read it: `Ġcat` is ␣cat."""
    return token.translate(SPACES) or "∅"


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise GraphError(f"text is a {type(text).__name__}; expected text")
    if len(text) > TEXT_LIMIT:
        raise GraphError(f"the text has {len(text):,} characters; expected at most {TEXT_LIMIT:,}")
    return text


def _by_hand(folder: Folder, ids: Any) -> Tokens:
    if isinstance(ids, str) or not isinstance(ids, Sequence) or not all(type(i) is int for i in ids):
        raise GraphError("ids are no list of whole numbers; expected token ids like [101, 4937, 102]")
    names = None
    if folder.has("vocab.txt"):
        with folder.file("vocab.txt").open(encoding="utf-8", errors="replace") as file:
            names = [line.rstrip("\n") for line in file]
    labels = [names[i] if names and 0 <= i < len(names) else str(i) for i in ids]
    return Tokens(tuple(ids), tuple(map(label, labels)))


def tokenizer_of(folder: Folder) -> Any:
    """The tokenizer of a folder, from the library `tokenizers`."""
    try:
        import tokenizers
    except ImportError:
        raise GraphError(
            "a text is split by the package tokenizers: pip install 'graphattn[models]', or give token ids"
        ) from None
    names = [name for name in ("tokenizer.json", "vocab.txt", "vocab.json") if folder.has(name)]
    if not names:
        others = [path.name for path in sorted(folder.path.glob("*.model"))]
        convert = (
            f" ({others[0]} is not read: AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) of"
            " transformers writes tokenizer.json)"
        ) if others else ""  # fmt: skip
        raise GraphError(
            f"{folder.path} has no tokenizer.json and no vocab.txt; expected one, or token ids{convert}"
        )
    path = folder.file(names[0])
    if path.stat().st_size > FILE_LIMIT:
        raise GraphError(f"{path} is larger than {FILE_LIMIT:,} bytes; expected a smaller file")
    try:
        if path.name == "tokenizer.json":
            found = tokenizers.Tokenizer.from_file(str(path))
        elif path.name == "vocab.txt":
            settings = folder.json("tokenizer_config.json") if folder.has("tokenizer_config.json") else {}
            lower = settings.get("do_lower_case", True)
            found = tokenizers.BertWordPieceTokenizer(str(path), lowercase=bool(lower))
        else:
            found = _byte_pairs(tokenizers, folder, path)
    except (GraphError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the library raises Exception itself, and panics
        raise GraphError(f"{path} is no tokenizer that can be read: {str(error)[:120]}") from None
    found.no_padding()
    found.no_truncation()
    return found


def _byte_pairs(library: Any, folder: Folder, path: Path) -> Any:
    """GPT-2's tokenizer, of vocab.json and merges.txt, with the marks that RoBERTa and OPT put around texts."""
    found = library.ByteLevelBPETokenizer(str(path), str(folder.file("merges.txt")))
    settings = folder.json("tokenizer_config.json") if folder.has("tokenizer_config.json") else {}
    kind = str(folder.json("config.json").get("model_type"))
    marks: tuple[str, ...] = ()
    if kind in ("roberta", "opt"):
        marks = ("<s>", "$A", "</s>") if kind == "roberta" else ("</s>", "$A")
    elif settings.get("add_bos_token") is True:
        marks = ("<|endoftext|>", "$A")
    if marks:
        special = [(mark, found.token_to_id(mark)) for mark in dict.fromkeys(marks) if mark != "$A"]
        found.post_processor = library.processors.TemplateProcessing(" ".join(marks), special_tokens=special)
    return found
