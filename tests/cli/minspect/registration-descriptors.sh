# descriptors of OpenMP (clang-linker-wrapper) and SYCL lead their runtimes to each image; a moved or lost address is an error
cat >wreck.py <<'END'
"""wreck.py FILE HOW: each relocated word that has the beginning of an image, its end, or the address of the tables, in turn"""
import struct
import subprocess
import sys

data = open(sys.argv[1], "rb").read()
how, places = sys.argv[2], [int(a, 16) for a in sys.argv[3:]]
table, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
rela = [h for h in (struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)) if h[1] == 4]
for place in places:
    wreck = bytearray(data)
    for h in rela:
        for at in range(h[4], h[4] + h[5], 24):
            where, kind, addend = struct.unpack_from("<QQq", wreck, at)
            if where == place:
                struct.pack_into("<QQq", wreck, at, *((0, 0, 0) if how == "lose" else (where, kind, addend + 16)))
    assert wreck != data, hex(place)
    open("w.so", "wb").write(wreck)
    print(f"-- {how} {place:#x}", flush=True)
    subprocess.run(["minspect", "verify", "w.so"])
    got = subprocess.run(["minspect", "check", "--only", "registration", "w.so"], capture_output=True)
    assert got.returncode == 1, got
END
words() { readelf -rW "$1" | awk '/R_X86_64_RELATIVE/ { print $1, $NF }' | sort; }
for f in openmp sycl; do
	cp data/gpu/$f.so $f.so
	echo "== $f"
	minspect verify $f.so
	minspect check --only registration $f.so
done
# the array of two structs of four words, and the descriptor
words openmp.so >words.txt
python3 - words.txt >places.txt <<'END'
import sys
words = {int(a, 16): int(t, 16) for a, t in (line.split() for line in open(sys.argv[1]))}
# four words one after the other, twice, are the structs, and one more has their address
first, descriptor = next((t, a) for a, t in words.items() if all(t + 8 * i in words for i in range(8)))
print(*(hex(a) for a in (first, first + 8, first + 32, descriptor)))
END
read -r begin end next descriptor <places.txt
python3 wreck.py openmp.so lose "$begin" "$end" "$next" "$descriptor"
python3 wreck.py openmp.so move "$begin" "$end" "$descriptor"
# of two versions of SYCL's structs
python3 wreck.py sycl.so lose 0x8ba0 0x8ba8 0x8bf0
python3 wreck.py sycl.so move 0x8bf0
# stripped of its sections it is not said to be broken
cp openmp.so bare.so
strip --strip-section-headers bare.so 2>/dev/null || python3 -c "
data = bytearray(open('bare.so', 'rb').read())
data[40:48] = bytes(8)
data[60:64] = bytes(4)
open('bare.so', 'wb').write(data)"
minspect verify bare.so
echo "== images for several devices are a choice of the runtime's, as far as each kernel is in one that runs"
for a in gfx906 gfx90a gfx1100; do
	minspect check --only device --machine x86-64 --device-arch $a openmp.so || echo "status $?"
done
minspect check --only device --machine x86-64 --device-arch gfx906 --strict openmp.so >/dev/null
