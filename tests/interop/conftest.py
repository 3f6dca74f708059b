# SPDX-License-Identifier: Apache-2.0
"""What the interop tests share: running the programs under test, and the count at the end."""
import importlib
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
BIN = os.environ["PATH"].split(":")[0]


def run(program, *args, status=0, **options):
    """Run a program under test; fail the test when its exit status is not `status`."""
    command = [os.path.join(BIN, program), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == status, (
        f"{' '.join(command)}\nexit status {done.returncode}, expected {status}\n"
        f"{done.stdout}{done.stderr}")
    return done


@pytest.fixture
def mpack():
    return lambda *args, **options: run("mpack", *args, **options)


@pytest.fixture
def minspect():
    return lambda *args, **options: run("minspect", *args, **options)


@pytest.fixture(scope="session")
def mpk(tmp_path_factory):
    """The Python package: its sources and the extension of the build that is tested."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(ROOT / "lib/python/mpk", folder / "mpk", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(pathlib.Path(BIN).parent / "python/_core.abi3.so", folder / "mpk")
    (folder / "mpk/programs").symlink_to(pathlib.Path(BIN).parent)
    sys.path.insert(0, str(folder))
    return importlib.import_module("mpk")


def pytest_terminal_summary(terminalreporter):
    stats = terminalreporter.stats
    count = {name: len(stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
    pytest.summary = "{} passed, {} failed, {} skipped".format(
        count["passed"], count["failed"] + count["error"], count["skipped"])
    for report in stats.get("skipped", []):
        print(f"SKIP: {report.nodeid}: {report.longrepr[-1]}")


def pytest_unconfigure():
    print(getattr(pytest, "summary", "0 passed, 1 failed, 0 skipped"))
