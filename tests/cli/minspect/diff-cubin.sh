# the same source with line information, and with fewer registers: what changed is told by kernel, and
# debug sections are no code
# what is told of instructions depends on what is installed: minspect/diff-sass has that
mkdir -p cuda/bin
printf '#!/bin/sh\necho "a stand-in" >&2; exit 1\n' >cuda/bin/nvdisasm
chmod +x cuda/bin/nvdisasm
export CUDA_HOME="$PWD/cuda"
for name in sums sums_lines sums_spill; do
	cat >$name.toml <<END
[package]
name = "sums"
[[module]]
id = "kernels"
kind = "cuda"
format = "cubin"
data = "$DATA/device/$name.sm_90.cubin"
[[module.function]]
name = "sums"
args = ["handle", "handle", "int32"]
launch = ["blockIdx.x", "threadIdx.x"]
[[module.function]]
name = "copy"
args = ["handle", "handle"]
launch = ["threadIdx.x"]
END
	mpack build $name.toml -o $name.blob
done
minspect --diff sums.blob sums_lines.blob || test $? = 1
minspect --diff sums.blob sums_spill.blob || test $? = 1
# another path of the source, in debug information alone
sed 's,/tmp/one,/tmp/two,g' sums_lines.blob >elsewhere.blob
minspect --diff sums_lines.blob elsewhere.blob || test $? = 1
# one byte of code: the figures stay
python3 - <<END
import struct
data = bytearray(open("sums.blob", "rb").read())
elf = data.index(b"\x7fELF")
sections = elf + struct.unpack_from("<Q", data, elf + 40)[0]
count, names = struct.unpack_from("<HH", data, elf + 60)
offset = lambda i: struct.unpack_from("<Q", data, sections + 64 * i + 24)[0]
for i in range(count):
    at = elf + offset(names) + struct.unpack_from("<I", data, sections + 64 * i)[0]
    if data[at:].startswith(b".text.copy\0"):
        data[elf + offset(i) + 20] ^= 1
open("patched.blob", "wb").write(data)
END
minspect --json --diff sums.blob patched.blob
