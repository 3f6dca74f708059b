# SPDX-License-Identifier: Apache-2.0
"""What instructions do, beside nvdisasm's listing: each source line's figures, and how each instruction is scheduled.

CUDA_TOOLS names a folder with nvdisasm and nvcc's ptxas; else they are looked for in PATH and CUDA_HOME. CUBINS names more
cubins, and PTXS more PTX of nvcc, by globs."""
import collections
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import DATA, run


def tool(name):
    folders = [os.environ.get("CUDA_TOOLS"), os.environ.get("CUDA_HOME") and os.environ["CUDA_HOME"] + "/bin",
               "/usr/local/cuda/bin"]
    return next(filter(None, (shutil.which(name, path=path) for path in filter(None, folders))), shutil.which(name))


NVDISASM, PTXAS = tool("nvdisasm"), tool("ptxas")
needs_nvdisasm = pytest.mark.skipif(not NVDISASM, reason="there is no nvdisasm (PyPI: nvidia-cuda-nvdisasm)")

WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
SPACES = {"LD": ("generic", "load"), "ST": ("generic", "store"), "LDG": ("global", "load"), "STG": ("global", "store"),
          "LDS": ("shared", "load"), "STS": ("shared", "store"), "LDL": ("local", "load"), "STL": ("local", "store")}
MATRICES = {"LDSM": ("shared", "load"), "STSM": ("shared", "store")}
ATOMIC = re.compile(r"(ATOM[GS]?|RED[GS]?)$")
TENSOR = re.compile(r"([BDFHIOQ]G?MMA|UTC[A-Z]*MMA)$")
ASYNC = {"LDGSTS", "UTMALDG", "UTMASTG", "UBLKCP", "STAS"}


def count(work, opcode):
    """Adds an instruction by its name alone: "LDG.E.128"."""
    stem, *rest = opcode.split(".")
    if stem == "NOP":
        return
    work["all"] += 1
    if stem in SPACES:
        work[(*SPACES[stem], next((WIDTHS[word] for word in rest if word in WIDTHS), 4))] += 1
    elif stem in MATRICES:
        work[(*MATRICES[stem], None)] += 1
    elif ATOMIC.match(stem):
        work["atomic"] += 1
    elif TENSOR.match(stem):
        work["tensor"] += 1
    elif stem in ASYNC:
        work["async"] += 1


def listed(cubin):
    """By kernel: figures of each line, all instructions with their 128 bits and text."""
    text = subprocess.run([NVDISASM, "-c", "-g", "-hex", cubin], capture_output=True, text=True, check=True).stdout
    kernels, line, kernel = {}, None, None
    for row in text.splitlines():
        if section := re.match(r"//-{5,} \.text\.(\S+) +-", row):
            kernel = kernels[section[1]] = {"lines": collections.defaultdict(collections.Counter), "code": []}
            line = None
        elif named := re.match(r'\s*//## File "(.*?)", line (\d+)', row):
            line = named[1], int(named[2])
        elif code := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:\{ )?(@!?U?P\w+ +)?([A-Z][\w.]*)(.*?);?\s*/\* (0x[0-9a-f]+) \*/", row):
            count(kernel["lines"][line], code[3])
            kernel["code"].append([int(code[1], 16), code[3] + code[4], int(code[5], 16)])
        elif more := re.match(r"\s+/\* (0x[0-9a-f]+) \*/$", row):
            kernel["code"][-1][2] |= int(more[1], 16) << 64
    return kernels


def flat(figures):
    work = collections.Counter({name: figures[name] for name in ("all", "tensor", "async", "atomic")})
    for key, count in figures["memory"].items():
        space, access, width = key.split("_")
        work[(space, access, int(width) if width.isdigit() else None)] = count
    return +work


def shown(cubin):
    environment = {**os.environ, "PATH": os.environ["PATH"] + ":" + os.path.dirname(NVDISASM or "/usr/bin")}
    answer = json.loads(run("minspect", "disasm", "--json", "--all", cubin, env=environment).stdout)
    return [kernel for listing in answer["files"][0]["listings"] for kernel in listing["kernels"]]


SOURCE = pathlib.Path(__file__).parent / "work.ptx"
MADE = [f"sm_{sm}" for sm in (75, 80, 89, 90, 100, 120)]


def compare(cubin):
    judge, kernels, lines = listed(cubin), shown(cubin), 0
    assert sorted(judge) == sorted(kernel["name"] for kernel in kernels)
    for kernel in kernels:
        wanted = judge[kernel["name"]]
        assert flat(kernel["instructions"]) == +sum(wanted["lines"].values(), collections.Counter()), kernel["name"]
        found = {(line["file"], line["line"]): flat(line["instructions"]) for line in kernel["lines"]}
        lines += len(found)
        if found:
            for place in wanted["lines"].keys() - {None} | found.keys():
                assert found.get(place) == +wanted["lines"][place], (kernel["name"], place)
        assert len(kernel["listing"]) == len(wanted["code"])
        for row, (address, text, bits) in zip(kernel["listing"], wanted["code"]):
            control = row["control"]
            none = lambda barrier: 7 if barrier is None else barrier
            assert row["address"] == address
            assert control["stall"] == bits >> 105 & 15 and control["yield"] == (bits >> 109 & 1 == 0)
            assert none(control["write_barrier"]) == bits >> 110 & 7 and none(control["read_barrier"]) == bits >> 113 & 7
            assert control["wait"] == [i for i in range(6) if bits >> 116 + i & 1]
            # what nvdisasm itself says of the same bits
            assert len(control["reuse"]) == text.count(".reuse"), (text, control)
        assert kernel["instructions"]["stall_cycles"] == sum(
            bits >> 105 & 15 for _, text, bits in wanted["code"] if not text.startswith("NOP"))
    return lines


@needs_nvdisasm
@pytest.mark.parametrize("target", MADE)
def test_made(target, tmp_path):
    """PTX with line tables that is assembled here."""
    if not PTXAS:
        pytest.skip("there is no ptxas (PyPI: nvidia-cuda-nvcc)")
    cubin = tmp_path / "work.cubin"
    done = subprocess.run([PTXAS, "-lineinfo", f"-arch={target}", SOURCE, "-o", cubin], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"ptxas does not assemble for {target}: {done.stderr.strip()}")
    assert compare(cubin) > 10


@needs_nvdisasm
@pytest.mark.parametrize("cubin", [*sorted((DATA / "device").glob("*.cubin")), *map(pathlib.Path, sorted(
    glob.glob(os.environ.get("CUBINS", ""))))], ids=lambda path: path.name)
def test_found(cubin):
    """Cubins of compilers, with line tables or not."""
    if "sm_52" in cubin.name:
        pytest.skip("sm_52 has other instructions, which are not counted")
    compare(cubin)


def counted(text):
    """The same of PTX as nvcc writes it, a statement a line."""
    files = dict(re.findall(r'^\s*\.file\s+(\d+) "(.*?)"', text, re.M))
    kernels, kernel, line = {}, None, None
    for row in text.splitlines():
        if entry := re.match(r"(?:\.visible |\.weak )?\.entry ([\w$]+)", row):
            kernel, line = kernels.setdefault(entry[1], collections.defaultdict(collections.Counter)), None
        elif re.match(r"(?:\.visible |\.weak )?\.func ", row):
            kernel = None
        elif loc := re.match(r"\s*\.loc\s+(\d+) (\d+)", row):
            line = files[loc[1]], int(loc[2])
        elif kernel is not None and (code := re.match(r"\s*(?:\{ *)?(?:@!?%p\d+ +)?([a-z]\w*)((?:[.:][\w:]+)*)[ \t;]", row)):
            stem, rest = code[1], code[2].split(".")[1:]
            work = kernel[line]
            work["all"] += 1
            spaces = [word.split("::")[0] for word in rest]
            if stem in ("mma", "wgmma") or stem == "wmma" and "mma" in rest:
                work["tensor"] += stem != "wgmma" or "mma_async" in rest
            elif stem in ("atom", "red"):
                work["atomic"] += 1
            elif stem == "cp" and "async" in rest:
                work["async"] += not {"commit_group", "wait_group", "wait_all"} & set(rest)
            elif stem in ("ld", "st", "ldu", "wmma", "ldmatrix") and not {"param", "const"} & set(spaces):
                space = next((word for word in spaces if word in ("global", "shared", "local")), "generic")
                access = "store" if stem == "st" or "store" in rest else "load"
                bits = int(re.search(r"\d+", rest[-1])[0]) * int(next((word[1] for word in rest if word in ("v2", "v4", "v8")), 1))
                work[(space, access, None if stem in ("wmma", "ldmatrix") else bits // 8)] += 1
    return kernels


@pytest.mark.parametrize("ptx", [SOURCE, *sorted((DATA / "device").glob("*.ptx")), *map(pathlib.Path, sorted(
    glob.glob(os.environ.get("PTXS", ""))))], ids=lambda path: path.name)
def test_ptx(ptx):
    judge = counted(ptx.read_text())
    kernels = shown(ptx)
    assert sorted(judge) == sorted(kernel["name"] for kernel in kernels)
    for kernel in kernels:
        wanted = judge[kernel["name"]]
        assert flat(kernel["instructions"]) == +sum(wanted.values(), collections.Counter()), kernel["name"]
        found = {(line["file"], line["line"]): flat(line["instructions"]) for line in kernel["lines"]}
        assert found == {place: +work for place, work in wanted.items() if place}, kernel["name"]
