# Notes that a stranger wrote: control characters, damage, too many, too long. What is shown is escaped, and
# nothing is taken for a signature.
cat >notes.py <<'END'
import json, struct, sys
# a second file with these notes in place of those of mpack: each (type, text)
def add(out, *notes):
    data = bytearray(open("data/formats/01_opencl_scale.so", "rb").read())
    shoff, shentsize, shnum = (struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58))
    table = data[shoff:shoff + shnum * shentsize]
    for type, text in notes:
        data += bytes(-len(data) % 4)
        size = 12 + 8 + len(text) + -len(text) % 4
        table += struct.pack("<IIQQQQIIQQ", 1, 7, 0, 0, len(data), size, 0, 0, 4, 0)
        data += struct.pack("<III", 6, len(text), type) + b"mpack\0\0\0" + text + bytes(-len(text) % 4)
    data += bytes(-len(data) % 8)
    struct.pack_into("<Q", data, 40, len(data))
    struct.pack_into("<H", data, 60, len(table) // 64)
    open(out, "wb").write(data + table)
SEAL, MADE = 0x6d706b01, 0x6d706b02
def made(**more):
    return json.dumps(dict({"type": "mpack-provenance", "version": 1, "tools": [], "options": [],
                            "inputs": []}, **more)).encode() + b"\0"
ugly = "\x1b[31m\u202e\u0007\u009b\n</script>"
add("ugly.so", (MADE, made(tools=[{"name": ugly, "version": ugly}] * 9, options=[ugly],
    inputs=[{"name": ugly, "bytes": "18446744073709551615", "sha256": "0" * 64}])))
add("cut.so", (MADE, made()[:-9]))
add("deep.so", (MADE, b"[" * 100000))
add("twice.so", (MADE, made()), (MADE, made()))
add("long.so", (MADE, made(options=["x" * 2000000])))
add("surrogate.so", (MADE, made().replace(b'"tools": []', b'"tools": [{"name": "\\ud800", "version": "1"}]')))
add("seal.so", (SEAL, bytes([1, 1, 0, 0]) + b"\x1b" * 128))
add("seals.so", *[(SEAL, bytes([1, 1, 0, 0]) + bytes(range(128)))] * 2)
add("short.so", (SEAL, b"\1\1"))
add("newer.so", (SEAL, bytes([2, 1, 0, 0]) + bytes(range(128))))
add("empty.so", (SEAL, bytes(132)), (MADE, bytes(40)))
data = bytearray(open("seal.so", "rb").read())  # the size of its text leaves the file
at = data.rindex(b"mpack\0\0\0\1\1")
struct.pack_into("<I", data, at - 8, 0xfffffff0)
open("huge.so", "wb").write(data)
END
python3 notes.py
echo "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f" >key.pub
for f in ugly cut deep twice long surrogate seal seals short newer empty huge; do
	echo "== $f"
	minspect -v $f.so | sed -n '/signature  \|provenance \|made by/,/^$/p' | sed '/^$/d'
	minspect --verify $f.so
	minspect --verify --pubkey key.pub $f.so | sed '$d'
	minspect --json $f.so | python3 -c 'import json, sys; f = json.load(sys.stdin)["files"][0]
print(sorted(set(f) & {"signature", "provenance"}))'
	status=0
	minspect --sbom $f.so >sbom 2>err || status=$?
	test $status = 0 || { cat err; echo "= $status"; }
done
minspect --sbom=spdx ugly.so | LC_ALL=C grep -c '[[:cntrl:]]' || echo "no control characters"
