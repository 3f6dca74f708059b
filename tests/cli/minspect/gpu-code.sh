# GPU code of any library: no module is needed to list, measure, verify and extract it
for f in cuda.so hip.so hip-packed.so cuda-rdc.o offload.o bundled.o; do
	minspect data/gpu/$f
done
minspect --functions --all data/gpu/cuda.so data/gpu/hip-packed.so data/gpu/bundled.o
minspect --size data/gpu/cuda.so | sed -n '/^GPU code/,$p'
minspect --verify data/gpu/*.so data/gpu/*.o
minspect --extract out data/gpu/cuda.so
(cd out && find . -type f | sort)
# packed and stored images of the same kernel for the same device: what is extracted is unpacked
cmp -n 4 out/gpu/0-0-sm_80.cubin out/gpu/1-0-sm_80.cubin
head -n 1 out/gpu/1-2-compute_90.ptx
minspect --extract amd data/gpu/hip-packed.so
(cd amd && find . -name '*.hsaco' -size +2k | sort)
# all objects of an archive
ar rcsD lib.a data/gpu/cuda-rdc.o data/gpu/offload.o
minspect lib.a
minspect 'lib.a(offload.o)' | grep GPU
# what is broken is a finding; the rest is still there
python3 - <<'END'
bytes = bytearray(open("data/gpu/hip-packed.so", "rb").read())
at = bytes.index(b"CCOB")
bytes[at + 200] ^= 0xff
open("broken.so", "wb").write(bytes)
bytes = bytearray(open("data/gpu/cuda.so", "rb").read())
at = bytes.index(b"\x50\xed\x55\xba")
bytes[at + 16 + 28] = 75  # the first entry's architecture
open("other.so", "wb").write(bytes)
bytes[at] = 0x51
open("junk.so", "wb").write(bytes)
END
minspect broken.so
minspect --verify broken.so other.so junk.so || test $? = 1
# will it run there?
for arch in sm_80 sm_86 sm_120 sm_75 gfx1100 gfx90a gfx90a:xnack- gfx942; do
	echo "$arch"
	for f in cuda.so hip.so hip-packed.so offload.o; do
		minspect --check --device-arch $arch data/gpu/$f | grep '\[device\]' || true
	done
done
# a bundle by itself is shown as it would be in a library, and packed
minspect data/gpu/first.bundle
mpack init data/gpu/first.bundle | grep '^kind\|  name'
# a library without any is none that is looked into
echo 'int f(void) { return 1; }' | cc -shared -x c -o none.so -
minspect none.so
