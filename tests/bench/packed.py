# SPDX-License-Identifier: Apache-2.0
"""Standalone libraries packed with zstd beside the same as they are: bytes of the file, and seconds to open and call once.

A model by itself, whose weights become no smaller; and with PTX of 400 kernels and code objects for GPUs of AMD, which
are unpacked, though the model, which then runs on the CPU, does not call them.
"""
import pathlib
import subprocess
import time

KIB = 1024
RUNS = 20

MODULE = """
[[module]]
id = "{id}"
kind = "{kind}"
format = "{format}"
data = "{id}"

  [[module.function]]
  name = "saxpy"
  args = ["handle", "handle", "float32", "int32"]
  launch = ["blockIdx.x", "threadIdx.x"]
"""


def ptx(root):
    """A module of 400 kernels, as many a compiler emits them: of each other they differ in names and constants."""
    text = (root / "tests/data/launch/kernels.ptx").read_text()
    at = text.index(".visible")
    return text[:at] + text[at:] + "".join(
        text[at:].replace("saxpy", f"saxpy{i}").replace("transpose", f"transpose{i}").replace("reduce", f"reduce{i}")
        .replace("scale_half", f"scale_half{i}").replace("tile", f"tile{i}").replace("sums", f"sums{i}")
        for i in range(100))


def least(command):
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def packed(b, root):
    """Size and load time side by side."""
    folder = pathlib.Path(b.path("packed"))
    folder.mkdir()
    run = lambda *words: subprocess.run(words, check=True, capture_output=True, cwd=folder)
    sdk = pathlib.Path(b.bin).parent / "sdk/include"
    run("cc", "-O2", "-std=gnu17", f"-I{sdk}", "-o", "call", root / "tests/embed/standalone.c", "-ldl")
    mpack = pathlib.Path(b.bin) / "mpack"
    run(mpack, "unpack", root / "tests/data/relax/gelu.so", "-o", "parts")
    manifest = folder / "parts/mpack.toml"
    plain = manifest.read_text()
    kernels = {"p": ("cuda", "ptx", ptx(root).encode()),
               "h": ("hip", "hsaco", (root / "tests/data/launch/kernels.bundle").read_bytes())}
    for what, ids in (("a model of 13 KiB", ""), ("with kernels for GPUs, 660 KiB", "ph")):
        modules = ""
        for name in ids:
            kind, form, data = kernels[name]
            (folder / "parts" / name).write_bytes(data)
            modules += MODULE.format(id=name, kind=kind, format=form)
        imports = ", ".join(f'"{name}"' for name in ["1-host", *ids])
        manifest.write_text(plain.replace('["1-host"]', f"[{imports}]") + modules)
        run(mpack, "build", manifest, "-o", "model.so", "--force")
        row = {"group": "packed", "what": what}
        for name, more in (("plain", []), ("packed", ["--compress", "zstd"])):
            run(mpack, "build", "model.so", "--standalone", *more, "-o", f"{name}.so", "--force")
            run("strip", f"{name}.so")
            row[f"{name}_bytes"] = (folder / f"{name}.so").stat().st_size
            row[f"{name}_seconds"] = least([folder / "call", folder / f"{name}.so", "forward", "4", "24"])
        b.rows.append(row)
        print(f"{what:<46} {row['plain_bytes'] / KIB:>7.1f} KiB, {row['plain_seconds'] * 1e3:.2f} ms; packed "
              f"{row['packed_bytes'] / KIB:.1f} KiB, {row['packed_seconds'] * 1e3:.2f} ms", flush=True)
