# GPU code of any library is compared by device and kernel, in whatever container and packing it stands
# what is told of instructions depends on what is installed: minspect/diff-sass has that
mkdir -p cuda/bin
printf '#!/bin/sh\necho "a stand-in" >&2; exit 1\n' >cuda/bin/nvdisasm
chmod +x cuda/bin/nvdisasm
export CUDA_HOME="$PWD/cuda"
cat >make.py <<'PY'
# make.py NAME.so IMAGE=TARGET... [/ IMAGE=TARGET...]: a library with a bundle for each run of images
import struct, subprocess, sys

name, bundles = sys.argv[1], [[]]
for word in sys.argv[2:]:
    if word == "/":
        bundles.append([])
    else:
        bundles[-1].append(word.split("="))
data = b""
for images in bundles:
    triple = lambda t: "openmp-nvptx64-nvidia-cuda--" if t.startswith("sm_") else "hipv4-amdgcn-amd-amdhsa--"
    entries = [(open(f, "rb").read(), (triple(t) + t).encode()) for f, t in images]
    at = 32 + sum(24 + len(t) for _, t in entries)
    head, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)), b""
    for image, target in entries:
        body += b"\0" * (-(at + len(body)) % 16)
        head += struct.pack("<QQQ", at + len(body), len(image), len(target)) + target
        body += image
    data += b"\0" * (-len(data) % 16) + head + body
open("section.bin", "wb").write(data)
code = b'.section .hip_fatbin,"a",@progbits\n.balign 16\n.incbin "section.bin"\n.section .note.GNU-stack,"",@progbits\n'
subprocess.run(["cc", "-shared", "-nostdlib", "-Wl,--build-id=none", "-x", "assembler", "-o", name, "-"], input=code, check=True)
PY
compare() {
	echo "\$ minspect --diff $*"
	minspect --diff "$@" || echo "status $?"
}
for f in sums sums_lines sums_spill; do cp data/device/$f.sm_90.cubin $f; done
python3 make.py a.so sums=sm_90 data/gpu/mix.gfx90a.hsaco=gfx90a
# figures of NVIDIA's and AMD's kernels: .vgpr_count and .sgpr_spill_count stand in the metadata
python3 - <<'PY'
data = bytearray(open("data/gpu/mix.gfx90a.hsaco", "rb").read())
at = data.index(b".vgpr_count") + len(b".vgpr_count")
assert data[at] == 48
data[at] = 64
at = data.index(b".sgpr_spill_count") + len(b".sgpr_spill_count")
data[at] += 3
open("mix", "wb").write(data)
PY
python3 make.py b.so sums_spill=sm_90 mix=gfx90a
compare a.so b.so
minspect --json --diff a.so b.so | sed -n '/"figures"/,$p' | head -n 112
# the same kernels in two containers, in another order, are the same
python3 make.py apart.so data/gpu/mix.gfx90a.hsaco=gfx90a / sums=sm_90
compare a.so apart.so
# debug information is no kernel's
python3 make.py lines.so sums_lines=sm_90 data/gpu/mix.gfx90a.hsaco=gfx90a
compare a.so lines.so
# one byte of code: the figures stay
python3 - <<'PY'
import struct
data = bytearray(open("sums", "rb").read())
sections = struct.unpack_from("<Q", data, 40)[0]
count, names = struct.unpack_from("<HH", data, 60)
offset = lambda i: struct.unpack_from("<Q", data, sections + 64 * i + 24)[0]
for i in range(count):
    if data[offset(names) + struct.unpack_from("<I", data, sections + 64 * i)[0]:].startswith(b".text.copy\0"):
        data[offset(i) + 20] ^= 1
open("patched", "wb").write(data)
PY
python3 make.py patched.so patched=sm_90 data/gpu/mix.gfx90a.hsaco=gfx90a
compare a.so patched.so
# a device less, a device more, an image more
python3 make.py other.so sums=sm_90 / sums_spill=sm_90 data/gpu/mix.gfx906.hsaco=gfx906
compare a.so other.so
# what compilers made: code for another vendor, a library compiled anew, kernels that went
compare data/gpu/cuda.so data/gpu/hip.so
compare data/gpu/hip.so data/gpu/hip-packed.so
compare data/gpu/cuda.so data/gpu/cuda-rdc.o
compare data/gpu/cuda.so data/relax/gelu.so | head -n 5
# members of archives, both ways
python3 - <<'PY'
import zipfile
with zipfile.ZipFile("app.whl", "w", zipfile.ZIP_DEFLATED) as z:
    z.write("a.so", "pkg/a.so")
    z.write("b.so", "pkg/b.so")
PY
compare a.so 'app.whl!/pkg/a.so'
compare 'app.whl!/pkg/a.so' b.so
compare 'app.whl!/pkg/a.so' 'app.whl!/pkg/b.so'
compare a.so app.whl
# a baseline has the kernels of all of them; containers may come and go
echo "\$ minspect --baseline"
cp apart.so lib.so
minspect --baseline base.json --update-baseline lib.so
cat base.json
cp b.so lib.so
minspect --baseline base.json lib.so || echo "status $?"
cp a.so lib.so
minspect --baseline base.json --tolerance 100 lib.so
minspect --baseline w.json --update-baseline app.whl
minspect --baseline w.json --tolerance 100 b.so 'app.whl!/pkg/a.so'
cp b.so a.so
minspect --baseline w.json --tolerance 10 a.so | grep registers
# and so has a table
minspect --size --csv 'app.whl!/pkg/b.so' data/gpu/hip-packed.so data/gpu/cuda.so | grep ',kernel,\|^file,'
# code objects in modules have the same figures
minspect --extract hip data/gpu/hip.so >extracted
python3 - <<'PY'
import glob
data = bytearray(open(glob.glob("hip/gpu/0-*-gfx90a-xnack+.hsaco")[0], "rb").read())
open("old.hsaco", "wb").write(data)
at = data.index(b".vgpr_count") + len(b".vgpr_count")
data[at] += 2
open("new.hsaco", "wb").write(data)
PY
for f in old new; do
	mpack init $f.hsaco >$f.toml
	mpack build -q $f.toml -o $f.blob
done
compare old.blob new.blob
minspect --size --csv new.blob | grep ',kernel,'
