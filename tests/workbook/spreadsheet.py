"""A real spreadsheet engine, for tests: LibreOffice opens a workbook, computes all formulas, and saves it.

LibreOffice trusts the values that stand in a file unless its profile says otherwise, so it is given one.
"""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path

import openpyxl

SOFFICE = shutil.which("soffice") or shutil.which("libreoffice")
RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode"><value>0</value></prop>
</item>
</oor:items>
"""


def recalculated(folder: Path, files: list[Path]) -> list[openpyxl.Workbook]:
    """The workbooks with the values that LibreOffice computes. Files are opened 60 at a time."""
    profile = folder / "profile"
    (profile / "user").mkdir(parents=True, exist_ok=True)
    (profile / "user" / "registrymodifications.xcu").write_text(RECALCULATE, encoding="utf-8")
    out = folder / "computed"
    for start in range(0, len(files), 60):
        subprocess.run(
            [SOFFICE, f"-env:UserInstallation={profile.as_uri()}", "--headless", "--convert-to", "xlsx",
             "--outdir", str(out), *map(str, files[start : start + 60])],
            check=True, capture_output=True, timeout=300,
        )  # fmt: skip
    return [openpyxl.load_workbook(out / file.name, data_only=True) for file in files]


def apart(a: object, b: object) -> float:
    """How far two cells differ, relative to what is above 1; infinite where they are of two kinds."""
    if isinstance(a, bool) or isinstance(b, bool):
        return 0.0 if a is b else math.inf
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return math.inf
    if min(a, b) < -1e300 or max(a, b) < -1e300:  # hidden cells, whatever was done to them
        return 0.0 if max(a, b) < -1e300 else math.inf
    return abs(a - b) / max(1.0, abs(a), abs(b))
