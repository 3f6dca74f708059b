# SPDX-License-Identifier: Apache-2.0
"""What many files hold, as rows for engines that map over files and for tables in Parquet."""
from __future__ import annotations

import csv
import io
import itertools
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from typing import Any

from . import _tools

# Each row has all of these, so that engines need no schema besides; None: it has none, or nobody knows.
INVENTORY_COLUMNS: dict[str, type] = {
    "row": str, "file": str, "name": str, "target": str, "bytes": int, "registers": int, "spilled_registers": int,
    "stack_bytes": int, "shared_bytes": int, "digest": str, "error": str,
}
_FIGURES = ("registers", "spilled_registers", "stack_bytes", "shared_bytes")
_BATCH = 64
_USAGE, _INTERNAL = 2, 70  # exit statuses


def _output(args: list[str], paths: list[str]) -> str:
    """What minspect prints. A file that does not read makes its status another than 0, and the others are answered."""
    done = subprocess.run([_tools.program("minspect"), "-q", *args, "--", *paths], capture_output=True, check=False)
    if done.returncode < 0 or done.returncode in (_USAGE, _INTERNAL):
        raise _tools.ToolError(done.returncode, done.stderr.decode("utf-8", "replace").strip())
    return done.stdout.decode("utf-8", "replace")


def _row(**known: Any) -> dict[str, Any]:
    return {**dict.fromkeys(INVENTORY_COLUMNS), **known}


def _sizes(paths: list[str]) -> tuple[dict[str, int], dict[tuple[str, str, str], dict[str, Any]]]:
    """Bytes of each file, and figures of each kernel by file, name and target; of several the largest."""
    files: dict[str, int] = {}
    kernels: dict[tuple[str, str, str], dict[str, Any]] = {}
    for line in csv.DictReader(io.StringIO(_output(["size", "--csv"], paths), newline="")):
        number = {key: int(value) for key, value in line.items() if key in (*_FIGURES, "bytes") and value.isdigit()}
        if line["row"] == "file":
            files[line["file"]] = number.get("bytes", 0)
        elif line["row"] == "kernel":
            known = kernels.setdefault((line["file"], line["name"], line["target"]), {})
            for key, value in number.items():
                known[key] = max(value, known.get(key, 0))
    return files, kernels


def _batch(paths: list[str]) -> Iterator[dict[str, Any]]:
    files, kernels = _sizes(paths)
    for line in _output(["code-digest", "--json=lines"], paths).splitlines():
        for entry in json.loads(line).get("files", ()):
            name = entry["file"]
            if "error" in entry:
                yield _row(row="file", file=name, error=entry["error"]["message"])
                continue
            yield _row(row="file", file=name, bytes=files.get(name), digest=entry["digest"])
            for part in entry["parts"]:
                if part["what"] not in ("kernel", "image"):
                    continue
                figures = kernels.get((name, part["name"] or "", part["target"] or ""), {})
                yield _row(row=part["what"], file=name, name=part["name"], target=part["target"],
                           digest=part["digest"], **figures)


def inventory(paths: Iterable[str | os.PathLike[str]]) -> Iterator[dict[str, Any]]:
    """Rows of what files hold: libraries, wheels, archives, cubins, folders of them. Nothing of them runs.

    Each is a dictionary with all of `INVENTORY_COLUMNS`: a row "file" for each file or library of a wheel, then a row
    "image" and "kernel" for each image and kernel of its GPU code. Kernels of one digest are the same code, whatever
    file they lie in. A file that does not read is a row "file" with `error`.

    It is what engines map over parts of a list of paths; see mpack-ci(7) for Dask, GNU parallel and DuckDB.

    Raises ToolError: minspect itself failed, as when it was killed.
    """
    rest = iter(paths)
    while batch := [os.fspath(p) for p in itertools.islice(rest, _BATCH)]:
        yield from _batch(batch)
