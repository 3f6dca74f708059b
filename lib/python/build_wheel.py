# SPDX-License-Identifier: Apache-2.0
"""build_wheel.py VERSION BUILD OUT - the wheel of the package mpk, of what a build has left; the same bytes each time

A wheel is a zip archive (PEP 427): the package, the programs in it, metadata and a list of all with their digests.
The platform tag is read from the files: the newest version of the C library's symbols that any of them needs (PEP 600).
"""
import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "mpk_tools"
PROGRAMS = {"bin/mpack": "programs/bin/mpack", "bin/minspect": "programs/bin/minspect",
            "libexec/minspect/toml.so": "programs/libexec/minspect/toml.so",
            **{f"libexec/mpack/libmpkrun{kind}-pic.a": f"programs/libexec/mpack/libmpkrun{kind}-pic.a"
               for kind in ("", "-state", "-cpu", "-cpu-state")},
            "python/_core.abi3.so": "_core.abi3.so"}
METADATA = """Metadata-Version: 2.1
Name: mpk-tools
Version: {version}
Summary: Run, inspect and pack what Apache TVM compiled, without TVM
License: Apache-2.0
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """Wheel-Version: 1.0
Generator: mpk
Root-Is-Purelib: false
Tag: {tag}
"""
SCRIPTS = """[console_scripts]
minspect = mpk._tools:minspect
mpack = mpk._tools:mpack
"""


def oldest_libc(paths):
    """(2, 34): what all symbols of these files need."""
    newest = (2, 5)
    for path in paths:
        text = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
        for found in re.finditer(r"GLIBC_(\d+)\.(\d+)", text):
            newest = max(newest, tuple(map(int, found.groups())))
    return newest


def needed(path):
    text = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"NEEDED\s+(\S+)", text))


def main(version, build, out):
    files, elf = {}, []
    with tempfile.TemporaryDirectory() as scratch:
        for source, target in PROGRAMS.items():
            path = os.path.join(build, source)
            if not source.endswith(".a"):
                stripped = os.path.join(scratch, os.path.basename(source))
                subprocess.run(["strip", "-o", stripped, path], check=True)
                path = stripped
                elf.append(path)
            with open(path, "rb") as f:
                files["mpk/" + target] = (f.read(), 0o755)
        libc = oldest_libc(elf)
        others = {name for path in elf for name in needed(path)
                  if not re.match(r"(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|ld-linux.*)\.so", name)}
    if others:
        sys.exit("build_wheel: the programs need " + ", ".join(sorted(others)))
    for name in sorted(os.listdir(os.path.join(HERE, "mpk"))):
        if name.endswith((".py", ".pyi", ".typed")):
            with open(os.path.join(HERE, "mpk", name), "rb") as f:
                files["mpk/" + name] = (f.read(), 0o644)
    tag = f"cp39-abi3-manylinux_{libc[0]}_{libc[1]}_{platform.machine()}"
    info = f"{NAME}-{version}.dist-info/"
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
        files[info + "METADATA"] = (METADATA.format(version=version, readme=f.read()).encode(), 0o644)
    files[info + "WHEEL"] = (WHEEL.format(tag=tag).encode(), 0o644)
    files[info + "entry_points.txt"] = (SCRIPTS.encode(), 0o644)
    rows = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
            for name, (data, _) in files.items()]
    files[info + "RECORD"] = ("\n".join([*rows, info + "RECORD,,", ""]).encode(), 0o644)
    for old in os.listdir(out):
        if old.endswith(".whl"):
            os.unlink(os.path.join(out, old))
    path = os.path.join(out, f"{NAME}-{version}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, (data, mode) in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
    print(path)


main(*sys.argv[1:])
