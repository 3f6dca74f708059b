# SPDX-License-Identifier: Apache-2.0
"""An inventory of libraries: the SQL of mpack-ci(7) gives what jq gives there, and rows of the package are the same by one
process and by workers of Dask."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from conftest import DATA, ROOT, run

duckdb = pytest.importorskip("duckdb", reason="duckdb could not be installed")


def test_the_query_of_the_manual(tmp_path, monkeypatch):
    page = (ROOT / "man" / "mpack-ci.7").read_text()
    sql = re.search(r"<<END\n(SELECT.*?)END\n", page, re.S).group(1)
    lines, wanted = [], []
    for library in sorted((DATA / "formats").glob("*.so")) + sorted((DATA / "cuda").rglob("*.so")):
        for file in json.loads(run("minspect", "--json", library).stdout)["files"]:
            targets = [t["name"] for node in file["tree"] or [] for t in node.get("targets") or []]
            lines.append(json.dumps({"file": file["file"], "bytes": file["bytes"], "machine": file["machine"],
                                     "targets": targets}))
            if targets and "sm_90" not in targets:
                wanted.append(file["file"])
    (tmp_path / "inventory.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    assert [row[0] for row in duckdb.sql(sql).fetchall()] == sorted(wanted) and wanted


FILES = [*sorted((DATA / "cuda").rglob("*.so")), *sorted((DATA / "gpu").glob("*.so")),
         *sorted((DATA / "device").glob("*.cubin"))]


def test_rows(mpk, tmp_path):
    """What two actions of minspect say of a file, and a row for what does not read."""
    (tmp_path / "no.so").write_text("no library")
    rows = list(mpk.inventory([*FILES, tmp_path / "no.so", tmp_path / "none.so"]))
    assert all(list(row) == list(mpk.INVENTORY_COLUMNS) for row in rows)
    assert all(value is None or isinstance(value, mpk.INVENTORY_COLUMNS[key]) for row in rows for key, value in row.items())
    files = {row["file"]: row for row in rows if row["row"] == "file"}
    assert list(files) == [*map(str, FILES), str(tmp_path / "no.so"), str(tmp_path / "none.so")]
    for path in FILES:
        assert files[str(path)]["bytes"] == path.stat().st_size and files[str(path)]["error"] is None
    assert all(files[str(tmp_path / name)]["error"] for name in ("no.so", "none.so"))
    for library in FILES:
        answer = json.loads(run("minspect", "code-digest", "--json", library).stdout)["files"][0]
        wanted = [(p["what"], p["name"], p["target"], p["digest"]) for p in answer["parts"] if p["what"] in ("image", "kernel")]
        assert [(r["row"], r["name"], r["target"], r["digest"]) for r in rows
                if r["file"] == str(library) and r["row"] != "file"] == wanted
    saxpy = next(r for r in rows if r["name"] == "saxpy_kernel" and r["file"].endswith("cubin/saxpy_cuda.so"))
    assert (saxpy["registers"], saxpy["bytes"], saxpy["stack_bytes"], saxpy["target"]) == (10, 640, 0, "sm_90")


def test_workers(mpk, tmp_path, monkeypatch):
    """The program of the manual on Dask's scheduler gives the rows of one process; DuckDB answers from Parquet."""
    pytest.importorskip("distributed", reason="distributed could not be installed")
    page = (ROOT / "man" / "mpack-ci.7").read_text()
    (tmp_path / "inventory.py").write_text(re.search(r"^import json\nimport sys\n.*?(?=^\.Ed)", page, re.S | re.M).group(0))
    shutil.copy(DATA / "cuda/cubin/saxpy_cuda.so", tmp_path / "saxpy_again.so")
    paths = [*map(str, FILES), str(tmp_path / "saxpy_again.so")]
    env = dict(os.environ, PYTHONPATH=str(pathlib.Path(mpk.__file__).parents[1]))
    done = subprocess.run([sys.executable, "inventory.py"], input="\n".join(paths), capture_output=True, text=True,
                          cwd=tmp_path, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(map(json.dumps, rows)) == sorted(map(json.dumps, mpk.inventory(paths)))
    (tmp_path / "rows.jsonl").write_text(done.stdout)
    monkeypatch.chdir(tmp_path)
    copy, shared, without = re.findall(r"<<END\n(.*?)END\n", page[page.index("DuckDB converts the rows"):], re.S)[:3]
    duckdb.sql(copy)
    digests = {}
    for row in rows:
        if row["row"] == "kernel":
            digests.setdefault(row["digest"], set()).add(row["file"])
    assert sorted(count for _, count in duckdb.sql(shared).fetchall()) == \
        sorted(len(files) for files in digests.values() if len(files) > 1)
    images = {}
    for row in rows:
        if row["row"] == "image":
            images.setdefault(row["file"], set()).add(row["target"])
    assert [r[0] for r in duckdb.sql(without).fetchall()] == sorted(f for f, t in images.items() if "sm_120" not in t)


def wheel(path, members):
    """A wheel with files of tests/data: by the name in it, the path there."""
    with zipfile.ZipFile(path, "w") as z:
        for name, of in members.items():
            z.write(DATA / of, name)


def test_packages(mpk, tmp_path, monkeypatch):
    """GNU parallel gives the rows of one process, and SQL over two releases finds what one would find by hand."""
    if not shutil.which("parallel"):
        pytest.skip("GNU parallel is not installed")
    page = (ROOT / "man" / "mpack-ci.7").read_text()
    page = page[page.index("With GNU parallel, a program"):]
    (tmp_path / "rows.py").write_text(re.search(r"^import json, sys, mpk\n.*?(?=^\.Ed)", page, re.S | re.M).group(0))
    command = re.search(r"^find fleet .*\n.*rows\.jsonl$", page, re.M).group(0).replace("-N 512", "-N 64")
    monkeypatch.chdir(tmp_path)
    env = dict(os.environ, PYTHONPATH=str(pathlib.Path(mpk.__file__).parents[1]), PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
               PARALLEL_HOME=str(tmp_path))
    sums, spill, tiny = "device/sums.sm_90.cubin", "device/sums_spill.sm_90.cubin", "device/tiny.sm_120a.cubin"
    for release, version, members in (("last.jsonl", "1.0", sums), ("rows.jsonl", "1.1", spill)):
        shutil.rmtree("fleet", ignore_errors=True)
        os.mkdir("fleet")
        wheel(f"fleet/alpha-{version}-py3-none-any.whl", {"alpha/k.cubin": members, "alpha/lib.so": "cuda/cubin/saxpy_cuda.so"})
        wheel(f"fleet/beta-{version}-py3-none-any.whl", {"beta/lib.so": "cuda/cubin/saxpy_cuda.so", "beta/more.so": "gpu/cuda.so"})
        wheel(f"fleet/gamma-{version}-py3-none-any.whl", {"gamma/t.cubin": tiny})
        for i in range(130):  # several parts of 64
            wheel(f"fleet/other{i}-{version}-py3-none-any.whl", {"other/t.cubin": "device/tiny.sm_100.cubin"})
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=env, timeout=300)
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in pathlib.Path("rows.jsonl").read_text().splitlines()]
        paths = sorted(f"fleet/{name}" for name in os.listdir("fleet"))
        assert sorted(map(json.dumps, rows)) == sorted(map(json.dumps, mpk.inventory(paths)))
        if release != "rows.jsonl":
            os.rename("rows.jsonl", release)
    table, without, shared, grown = re.findall(r"<<END\n(.*?)END\n", page, re.S)
    with duckdb.connect("fleet.db") as db:
        db.sql(table)
        packages = {}
        for row in rows:
            package = re.match(r"fleet/([a-z0-9]+)-", row["file"])[1]
            if row["row"] == "image":
                packages.setdefault(package, set()).add(row["target"])
        assert [r[0] for r in db.sql(without).fetchall()] == sorted(p for p, targets in packages.items() if "sm_120" not in targets)
        assert ("alpha", "beta", 1) in db.sql(shared).fetchall()
        got = db.sql(grown).fetchall()
    kernel = next(r for r in got if r[2] == "sums")
    assert kernel == ("alpha", "alpha/k.cubin", "sums", "sm_90", 7040, 10368, 80, 32, 0, 96)
    assert {r[0] for r in got} == {"alpha"} and any(r[2] is None and r[5] > r[4] for r in got)
