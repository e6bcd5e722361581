"""Files are written whole or not at all.

The data goes into a temporary file in the same folder, which then takes the place of the old file
(`os.replace`): a reader never meets half a file, and a failed write leaves the old one as it was.
A link is followed, so that the file it points to is replaced and not the link. What is no plain
file (a pipe, a device) is written to directly. A folder is written beside its place in the same
way, and then renamed; one that holds anything else than what we wrote is left alone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from graphattn.core.errors import GraphError, suggest
from graphattn.core.words import typed


def ending_of(path: str | os.PathLike[str], endings: Collection[str], what: str) -> str:
    """The ending of a path, in lower case. Raises a `GraphError` that lists `endings` where it is none of
    them; `what` cannot be written so."""
    try:
        suffix = Path(path).suffix.lower()
    except TypeError:
        raise GraphError(f"path is {typed(path)}; expected a file name") from None
    if suffix not in endings:
        raise GraphError(
            f"{what} cannot be written to {os.fspath(path)!r}; expected a name that ends in"
            f" {', '.join(endings)}{suggest(suffix, endings)}"
        )
    return suffix


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write text as UTF-8, its line ends as they are; the path.

    Raises a `GraphError` where the folder does not exist or may not be written to.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise GraphError(
            f"{os.fspath(path)!r} was not written: its text holds {text[error.start]!r},"
            " which is half of a character; expected whole ones"
        ) from None
    return write_bytes(path, data)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write bytes; the path. Raises as `write_text`."""
    name = _checked(path)
    temporary = None
    try:
        target = Path(os.path.realpath(name))
        if target.is_dir():
            raise GraphError(f"{name!r} is a folder; expected a file name to write to")
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return Path(name)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException as error:
        _discard(temporary)
        if isinstance(error, GraphError) or not isinstance(error, (OSError, ValueError)):
            raise
        raise not_written(name, error) from None
    return Path(name)


def not_written(name: str, error: Exception) -> GraphError:
    """What is said where a path could not be written to."""
    reason = getattr(error, "strerror", None) or str(error)
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
    return GraphError(
        f"{name!r} was not written: {reason}; expected {'room' if full else 'a folder'} to write in"
    )


def need_free(folder: str | os.PathLike[str], ours: Mapping[str, Callable[[bytes], bool]]) -> None:
    """Raise a `GraphError` if a file stands in a folder under one of the names, unless its content is one
    of `ours`, so that nothing is lost where it is written anew."""
    for name, known in ours.items():
        path = Path(folder) / name
        try:
            content = path.read_bytes() if path.is_file() else b"" if os.path.lexists(path) else None
        except OSError:
            content = b""
        if content is not None and not known(content):
            raise GraphError(
                f"{os.fspath(path)!r} is there already and holds something else; expected another folder, or"
                " force=True to write over it"
            )


def _checked(path: Any) -> str:
    try:
        name = os.fspath(path)
    except TypeError:
        raise GraphError(f"path is {typed(path)}; expected a file name") from None
    if not isinstance(name, str) or not name or "\0" in name:
        raise GraphError(f"path is {name!r}; expected a file name")
    return name


def _mode(target: Path, usual: int = 0o666) -> int:
    """The rights of what is replaced, or those that a new file (or folder) would have got."""
    try:
        return target.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return usual & ~mask


def _discard(temporary: str | None) -> None:
    if temporary is not None:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def write_folder(
    path: str | os.PathLike[str],
    files: Iterable[tuple[str, str | bytes]],
    written: Callable[[Path], Collection[str]],
) -> Path:
    """Write a folder of files (text as UTF-8), by name, whole or not at all; the path.

    A folder that is there already is replaced only if it is empty, or holds nothing but what
    `written(folder)` says that it was written with. Raises as `write_text`, and where it is not replaced.
    """
    name = _checked(path)
    fresh = old = None
    try:
        target = Path(os.path.realpath(name))
        _need_replaceable(target, name, written)
        fresh = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent))
        for file, content in files:
            with open(fresh / file, "xb") as opened:
                opened.write(content if isinstance(content, bytes) else content.encode("utf-8"))
        os.chmod(fresh, _mode(target, 0o777))
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.", suffix=".old", dir=target.parent))
            os.replace(target, old / target.name)
        try:
            os.replace(fresh, target)
        except BaseException:
            if old is not None:
                os.replace(old / target.name, target)
            raise
    except OSError as error:
        raise not_written(name, error) from None
    finally:
        for rest in (fresh, old):
            if rest is not None:
                shutil.rmtree(rest, ignore_errors=True)
    return Path(name)


def _need_replaceable(target: Path, name: str, written: Callable[[Path], Collection[str]]) -> None:
    """Raise unless a folder can be written here without losing anything that is not ours."""
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise GraphError(f"{name!r} is a file; expected a folder to write into")
    if Path.cwd().is_relative_to(target):
        raise GraphError(f"{name!r} is where this runs; expected another folder to write into")
    found = sorted(os.listdir(target))
    ours = set(written(target)) if found else set()
    foreign = [
        entry for entry in found if entry not in ours or not stat.S_ISREG(os.lstat(target / entry).st_mode)
    ]
    if foreign:
        raise GraphError(
            f"{name!r} holds {foreign[0][:40]!r}, which was not written with a trace;"
            " expected a new folder, or one that such a trace is in"
        )
