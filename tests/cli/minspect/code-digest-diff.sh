# same code, or which kernels are other code; the exit status is that of --diff
compare()
{
	echo "\$ minspect --diff $*"
	minspect --diff "$@" || echo "status $?"
}
compare data/device/sums.sm_90.cubin --ignore=noise data/device/sums_lines.sm_90.cubin
compare data/device/sums.sm_90.cubin --ignore=noise data/device/sums_spill.sm_90.cubin
compare data/gpu/hip.so --ignore=noise data/gpu/hip-packed.so
compare data/gpu/hip.so --ignore=noise --json data/gpu/hip-packed.so
compare data/device/two.sm_75.cubin --ignore=noise --markdown data/device/two.sm_90.cubin
compare data/device/two.sm_75.cubin --ignore=noise --json data/device/two.sm_90.cubin
compare data/cuda/fatbin/saxpy_cuda.so --ignore=noise data/cuda/fatbin/vadd_cuda.so
# one byte of the code of one of two kernels, of a line table, of a note, of the name of a source
cat >patch.py <<'END'
import struct, sys

data = bytearray(open(sys.argv[1], "rb").read())
sections = struct.unpack_from("<Q", data, 40)[0]
count, names = struct.unpack_from("<HH", data, 60)
offset = lambda i: struct.unpack_from("<Q", data, sections + 64 * i + 24)[0]
done = False
for i in range(count):
    at = offset(names) + struct.unpack_from("<I", data, sections + 64 * i)[0]
    if data[at:].startswith(sys.argv[2].encode() + b"\0"):
        data[offset(i) + 20] ^= 1
        done = True
assert done
open(sys.argv[3], "wb").write(data)
END
for section in .text.copy .nv.constant0.sums .nv.info.sums .debug_line .nv_debug_ptx_txt .note.nv.tkinfo; do
	python3 patch.py data/device/sums_lines.sm_90.cubin $section patched.cubin
	echo "$section: $(minspect --diff data/device/sums_lines.sm_90.cubin --ignore=noise patched.cubin | paste -sd' ')"
done
# what it is not for
minspect --diff data/gpu/hip.so --ignore=paths data/gpu/hip.so || echo "status $?"
minspect --size --ignore=noise data/gpu/hip.so || echo "status $?"
