# sections of SYCL's compilers: images without a container, one after the other; damaged ones --verify tells of
cat >make.py <<'PY'
# make.py NAME.so SECTION FILE...: a library with a section of images
import subprocess, sys

data = b""
for f in sys.argv[3:]:
    data += b"\0" * (-len(data) % 16) + open(f, "rb").read()
open("section.bin", "wb").write(data)
code = '.section %s,"a",@progbits\n.balign 16\n.incbin "section.bin"\n.section .note.GNU-stack,"",@progbits\n' % sys.argv[2]
subprocess.run(["cc", "-shared", "-nostdlib", "-Wl,--build-id=none", "-x", "assembler", "-o", sys.argv[1], "-"], input=code.encode(), check=True)
PY
look() {
	echo "--- $1"
	minspect $1 | sed -n '/GPU code/,$p'
	minspect --verify $1 || echo "status $?"
}
kernel=data/device/kernel.spv
hsaco=data/gpu/mix.gfx906.hsaco
python3 make.py spirv.so __CLANG_OFFLOAD_BUNDLE__sycl-spir64 $kernel data/device/buffers.spv $kernel
look spirv.so
minspect --functions spirv.so
minspect --extract out spirv.so >extracted
for i in 0 2; do cmp out/gpu/$i.spv $kernel; done
cmp out/gpu/1.spv data/device/buffers.spv
python3 make.py native.so __CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen-unknown-unknown $hsaco $kernel $hsaco
look native.so
ar rcD both.a $hsaco $kernel
python3 make.py archive.so __CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen both.a $kernel
look archive.so
# pointers into the host's code are no image
printf '\1\2\3\4\5\6\7\10' >pointers
python3 make.py host.so __CLANG_OFFLOAD_BUNDLE__sycl-native_cpu pointers
look host.so
# what is damaged is told by both, and by --verify with its reason
python3 - <<'PY'
data = bytearray(open("data/device/kernel.spv", "rb").read())
data[20 + 2] = data[20 + 3] = 0xff
open("long.spv", "wb").write(data)
open("zstd", "wb").write(b"\x28\xb5\x2f\xfd" + b"\xff" * 60)
open("text", "wb").write(b"no code for any device")
PY
for f in long.spv zstd text; do
	python3 make.py broken.so __CLANG_OFFLOAD_BUNDLE__sycl-spir64 $kernel $f
	look broken.so
done
