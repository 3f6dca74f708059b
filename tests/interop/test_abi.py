# SPDX-License-Identifier: Apache-2.0
"""--check --abi beside the checker of Hugging Face's kernel hub, on the libraries of this environment."""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sysconfig

import pytest

from conftest import BIN

PEER = importlib.util.find_spec("kernel_abi_check")
pytestmark = pytest.mark.skipif(PEER is None, reason="kernel-abi-check is not installed")

POLICIES = ["manylinux_2_5", "manylinux_2_17", "manylinux_2_28", "manylinux_2_34"]
PYTHONS = ["3.2", "3.8", "3.11"]


def libraries():
    """The smaller ones: the peer reads each whole."""
    site = pathlib.Path(sysconfig.get_paths()["purelib"])
    found = sorted(p for p in site.rglob("*.so*") if p.is_file() and not p.is_symlink() and p.stat().st_size < 4 << 20)
    return [p for p in found if p.read_bytes()[:4] == b"\x7fELF"][:60]


def findings(look, paths, policy):
    done = look("--check", "--json", "--only", "abi", "--abi", policy, *paths)
    return {f["file"]: f for f in json.loads(done.stdout)["files"]}


@pytest.fixture
def look():
    """minspect, whose status is 1 where something breaks the policy."""
    def one(*args):
        return subprocess.run([os.path.join(BIN, "minspect"), *map(str, args)], capture_output=True, text=True,
                              timeout=300, check=False)
    return one


def versions(finding):
    """What errors say is wanted and denied."""
    found = [re.match(r"it requires (\S+) of ", f["message"]) for f in finding["findings"] if f["severity"] == "error"]
    return {m.group(1) for m in found if m}


def needed(path):
    """The versions of glibc that a library needs, as binutils reads them."""
    text = subprocess.run(["readelf", "-W", "--version-info", path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"Name: (GLIBC_2\.[0-9.]+)\s", text.partition(".gnu.version_r")[2]))


@pytest.mark.parametrize("policy", POLICIES)
def test_policies(look, policy):
    from kernel_abi_check import ObjectFile
    paths = libraries()
    assert len(paths) > 10
    ours = findings(look, paths, policy)
    agreed = 0
    for path in paths:
        theirs = {f"{s.dep}_{s.version}" for s in ObjectFile(path).check_manylinux(policy)}
        found = versions(ours[str(path)])
        if theirs:  # it says nothing of libraries without .symtab
            assert theirs == found, path
            agreed += 1
        most = [int(n) for n in policy.split("_")[1:]]
        late = {v for v in needed(path) if [int(n) for n in v[6:].split(".")[:2]] > most}
        assert late == {v for v in found if v.startswith("GLIBC_2")}, path
    assert agreed or policy != "manylinux_2_5"


@pytest.mark.parametrize("python", PYTHONS)
def test_stable_abi(look, python):
    from kernel_abi_check import ObjectFile
    paths = libraries()
    ours = findings(look, paths, f"abi3-{python}")
    agreed = 0
    for path in paths:
        theirs = {s.name for s in ObjectFile(path).check_python_abi(python)}
        errors = {f["message"].split(" ")[2].rstrip(",") for f in ours[str(path)]["findings"] if f["severity"] == "error"}
        if not theirs or ours[str(path)]["left_out"]:
            continue
        assert theirs == errors, path
        agreed += 1
    assert agreed
