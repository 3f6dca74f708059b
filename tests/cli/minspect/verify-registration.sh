# Wrappers by which the runtimes of CUDA and HIP get code for GPUs lead to it, in libraries, objects and archives
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
cat >wreck.py <<'END'
"""wreck.py IN - one file for each way in which a wrapper does not lead to its container"""
import struct
import sys

whole = open(sys.argv[1], "rb").read()
shoff, = struct.unpack_from("<Q", whole, 40)
count, strx = struct.unpack_from("<HH", whole, 60)
sections = [struct.unpack_from("<IIQQQQIIQQ", whole, shoff + 64 * i) for i in range(count)]


def name(s):
    return whole[sections[strx][4] + s[0]:].split(b"\0")[0].decode()


wrapper = next(s for s in sections if name(s) in (".nvFatBinSegment", ".hipFatBinSegment"))
index = sections.index(wrapper)
is_object = struct.unpack_from("<H", whole, 16)[0] == 1
relocations = [at for s in sections if s[1] == 4 and (not is_object or s[7] == index)
               for at in range(s[4], s[4] + s[5], 24)]
first = next(at for at in relocations
             if struct.unpack_from("<Q", whole, at)[0] == (8 if is_object else wrapper[3] + 8))
_, info, addend = struct.unpack_from("<QQq", whole, first)
faults = {
    "magic": [(wrapper[4], "<I", 0)],
    "version": [(wrapper[4] + 4, "<I", 7)],
    "null": [(first + 8, "<Qq", 0, 0), (wrapper[4] + 8, "<Q", 0)],
    "fixed": [(first + 8, "<Qq", 0, 0), (wrapper[4] + 8, "<Q", 0x1234)],
    "moved": [(first + 16, "<q", addend + 16)],
    "away": [(first + 16, "<q", addend + (1 << 40))],
}
for fault, writes in faults.items():
    image = bytearray(whole)
    for at, form, *values in writes:
        struct.pack_into(form, image, at, *values)
    open(fault + (".o" if is_object else ".so"), "wb").write(image)
END
cp data/gpu/cuda.so data/gpu/hip.so data/gpu/hip-packed.so .
cp data/gpu/cuda-rdc.o cuda.o
for f in cuda.so hip.so hip-packed.so cuda.o; do
	minspect verify $f
	mkdir -p wrecked
	cp $f wrecked/x.${f#*.}
	(cd wrecked && python3 ../wreck.py x.${f#*.} && rm x.* && for w in *; do minspect verify "$w" | head -n 1; done)
	rm -r wrecked
done
python3 wreck.py cuda.o
ar rcsD lib.a cuda.o magic.o
minspect verify lib.a || echo "status $?"
# GPU code that was compiled for a link of its own, which was forgotten
printf '%s\n' '.section __nv_relfatbin, "a"' '.balign 8' 'f: .incbin "data/device/tiny.lto.fatbin"' \
	'.section .nvFatBinSegment, "aw"' '.balign 8' '.long 0x466243b1, 1' '.quad f, 0' \
	'.text' 'call __cudaRegisterLinkedBinary_12345678_4_x_cu_f@PLT' '.section .note.GNU-stack, "", @progbits' >rdc.s
gcc -c rdc.s -o rdc.o
gcc -shared rdc.o -o rdc.so
minspect verify rdc.o
minspect verify rdc.so || echo "status $?"
minspect check --only registration rdc.so | head -n 1
mkdir none # no library of this machine counts
# the file loads all the same, which check says, and that its kernels are lost; also where a device alone is asked for
cp data/gpu/cuda.so x.so
python3 wreck.py x.so
for w in magic moved null; do
	minspect check --machine x86_64 --tvm 0.27 --libs none $w.so | sed 's/;.*//' | head -n 2
	minspect check --only registration $w.so >out || echo "status $?"
	minspect check --only device --device-arch sm_90 $w.so >out || echo "status $?"
	head -n 1 out
done
minspect check --only registration data/gpu/cuda.so
minspect check --json --only registration magic.so | grep -E '"(loads|verdict|check)"' || :
mkdir set
cp magic.so data/gpu/cuda.so set
minspect check --only device --device-arch sm_90 set | head -n 1
