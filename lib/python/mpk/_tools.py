# SPDX-License-Identifier: Apache-2.0
"""mpack and minspect as programs: console scripts, and what minspect says as JSON."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, NoReturn

try:
    from ._place import PROGRAMS as _PLACE  # type: ignore[import-not-found, unused-ignore]  # of `make install`
except ImportError:
    _PLACE = os.path.join("programs", "bin")  # of a wheel
_PROGRAMS = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), _PLACE))


class ToolError(RuntimeError):
    """A program failed: ``status`` is its exit status, the text what it said."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text or f"exit status {status}")
        self.status = status


def program(name: str) -> str:
    """The path of "mpack" or "minspect"."""
    return os.path.join(_PROGRAMS, name)


def _exec(name: str) -> NoReturn:
    os.execv(program(name), [name, *sys.argv[1:]])


def mpack() -> NoReturn:
    """The console script."""
    _exec("mpack")


def minspect() -> NoReturn:
    """The console script."""
    _exec("minspect")


def words(options: dict[str, Any]) -> list[str]:
    """Options from keywords: tvm="0.27" is --tvm 0.27, strict=True --strict, a list an option for each item."""
    made: list[str] = []
    for key, value in options.items():
        option = "--" + key.replace("_", "-")
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is True:
                made.append(option)
            elif item is not None and item is not False:
                made += [option, os.fspath(item) if isinstance(item, os.PathLike) else str(item)]
    return made


def run(name: str, args: list[str], fine: tuple[int, ...] = (0,)) -> str:
    """What a program prints. Raises ToolError where it ends with another status than those."""
    done = subprocess.run([program(name), *args], capture_output=True, check=False)
    if done.returncode not in fine:
        raise ToolError(done.returncode, done.stderr.decode("utf-8", "replace").strip())
    return done.stdout.decode("utf-8", "replace")


def ask(path: str | os.PathLike[str], args: list[str], fine: tuple[int, ...] = (0,)) -> Any:
    """The answer of minspect for one file."""
    document = json.loads(run("minspect", [*args, "--json", "--", os.fspath(path)], fine))
    files = document.get("files") if isinstance(document, dict) else None
    return files[0] if isinstance(files, list) and len(files) == 1 else document


def tree(path: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """What a file is: format, blob, functions, and "tree", its modules (minspect.schema.json). Nothing of it runs."""
    answer: dict[str, Any] = ask(path, words(options))
    return answer


def functions(path: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Every function and kernel, with what it takes (minspect-functions.schema.json)."""
    answer: dict[str, Any] = ask(path, ["--functions", *words(options)])
    return answer


def verify(path: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """The findings of --verify: damage, and kernels that no runtime could launch."""
    answer: dict[str, Any] = ask(path, ["--verify", *words(options)], (0, 1))
    return answer


def check(path: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Whether a file loads and runs: check(path, tvm="0.27", device_arch="sm_90"); "verdict" says it."""
    answer: dict[str, Any] = ask(path, ["--check", *words(options)], (0, 1))
    return answer


def memory(path: str | os.PathLike[str], **extents: int) -> dict[str, Any]:
    """What calls of a model take over time, from its code alone: memory("deploy.so", n=2048)["models"] has for each its
    "need_bytes" and for each function "peak_bytes", the steps and the storages (minspect-memory.schema.json).

    Symbolic extents that are not given are 1.
    """
    answer: dict[str, Any] = ask(path, ["memory", *words({"shape": [f"{name}={n}" for name, n in extents.items()]})])
    return answer
