# SPDX-License-Identifier: Apache-2.0
"""The SQL of mpack-ci(7) over an inventory of libraries: DuckDB gives what jq gives there."""
import json
import re

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
