# cubins of ELF ABI 8: for sm_100 and later CUDA 12.8 wrote them, too, and the note of the tools tells which release it was
cat >make.py <<'END'
import struct
import sys

plain = open("data/device/sums.sm_90.cubin", "rb").read()
assert plain[7] == 0x41 and plain[8] == 8 and b"release 13.0" in plain


def cubin(sm, release):
    data = bytearray(plain.replace(b"release 13.0", b"release " + release))
    data[49] = sm  # of e_flags
    return bytes(data)


def lz4(data):
    """one run of literals"""
    more = len(data) - 15
    return b"\xf0" + b"\xff" * (more // 255) + bytes([more % 255]) + data


def fatbin(images, packed):
    body = b""
    for sm, release in images:
        data = cubin(sm, release)
        stored = lz4(data) if packed else data
        room = (len(stored) + 7) // 8 * 8
        body += struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, room, len(stored) if packed else 0, 0, 8, 1, sm, 0, 0,
                            0x2011 if packed else 0x11, 0, len(data) if packed else 0) + stored.ljust(room, b"\0")
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


for sm in 100, 120:
    open(f"old.{sm}.cubin", "wb").write(cubin(sm, b"12.9"))
    open(f"new.{sm}.cubin", "wb").write(cubin(sm, b"13.1"))
    for packed, name in (False, "stored"), (True, "packed"):
        open(f"old.{sm}.{name}.fatbin", "wb").write(fatbin([(sm, b"12.9")], packed))
        open(f"new.{sm}.{name}.fatbin", "wb").write(fatbin([(sm, b"13.1")], packed))
# another image tells by its ABI
open("new.100.both.fatbin", "wb").write(fatbin([(90, b"13.1"), (100, b"13.1")], True))
END
python3 make.py
ar rcD old.a old.100.cubin
ar rcD new.a new.100.cubin
for kind in old new; do
	printf '.section .nv_fatbin,"a"\n.align 8\n.incbin "%s.100.packed.fatbin"\n' $kind >$kind.s
	gcc -shared -nostdlib -o $kind.so $kind.s
done
for f in *.cubin *.fatbin old.a new.a old.so new.so; do
	case $f in *120*) arch=sm_120 ;; *) arch=sm_100 ;; esac
	for driver in 12.9 13.1; do
		minspect check --machine x86-64 --only device,driver --device-arch $arch --driver $driver $f >out && got=0 || got=$?
		echo "$f $driver: $got $(grep -o 'made by CUDA 13[^)]*' out | head -n 1)"
	done
done
# the CUDA runtime that a library needs refuses drivers of earlier major releases, whatever its own code is
for runtime in libcudart.so.12 libcudart.so.11.0 libcudart.so.10.2 libcudart-9335f6a2.so.12.9.79 libcudart_none.so.99; do
	printf 'int cudaMalloc(void) { return 0; }' | gcc -x c -shared -nostdlib -Wl,-soname,$runtime -o stub.so -
	printf 'int f(void) { return 0; }' | gcc -x c -shared -nostdlib -Wl,--no-as-needed -o needs.so - -x none ./stub.so
	for driver in 10.1 10.2 11.0 11.8 12.0; do
		minspect check --only driver --driver $driver needs.so >out && got=0 || got=$?
		echo "$runtime $driver: $got $(grep -o 'it needs .*' out)"
	done
done
