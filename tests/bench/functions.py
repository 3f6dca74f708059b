# SPDX-License-Identifier: Apache-2.0
"""What `minspect --functions` costs: texts of errors are looked for among all constants of a library."""
import subprocess

COUNT = 500
BYTES = 100_000_000


def sources(b):
    """Functions as TVM leaves them, and constants of the size of a model's weights between them."""
    lines = ['const char *mark = " when calling:\\n  `";', "extern int show(const char *);"]
    for i in range(COUNT):
        params = f"A: Tensor([16, n], float32), B: Tensor([n, {i + 1}], float32), C: Tensor([n], float32)"
        lines.append(f"int __tvm_ffi_layer{i}(void *s, const void *a, int n, void *r) "
                     f'{{ return show("layer{i}({params})"); }}')
    b.noise("constants.bin", BYTES)
    constants = '.section .rodata\n.globl constants\nconstants: .incbin "constants.bin"\n' \
                '.section .note.GNU-stack,"",@progbits\n'
    return b.write("functions.c", "\n".join(lines) + "\n"), b.write("constants.s", constants)


def functions(b, root):
    """Signatures of a small library, and of one of 100 MB with several hundred functions."""
    small = str(root / "tests/data/formats/03_cuda_ptx.so")
    b.row("functions", "minspect --functions, 24 KB | readelf -a", ["minspect", "--functions", small],
          ["readelf", "-aW", small], "5 ms", ("wall", 0.005))
    large = b.path("functions.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", *sources(b), "-o", large], check=True, cwd=b.folder)
    told = subprocess.run(["minspect", "--functions", large], capture_output=True, check=True, text=True).stdout
    found = sum(line.startswith("  layer") and "f32[16, n]" in line for line in told.splitlines())
    b.row("functions", "minspect --functions, 100 MB | nm -D", ["minspect", "--functions", large],
          ["nm", "-D", large], "50 ms", ("wall", 0.050), extra={"functions": COUNT, "signatures": found})
    for name in ("functions.so", "functions.c", "constants.s", "constants.bin"):
        (b.folder / name).unlink()
