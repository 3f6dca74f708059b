# GPU code among other data, by whatever means it was embedded: listed, measured, verified, judged, extracted
cat >embed.s <<'END'
	.section .rodata
	.byte 1, 2, 3
cubin: .incbin "data/device/sums.sm_90.cubin"
	.ascii "between"
	.section .lrodata, "a"
	.byte 1
fatbin: .incbin "data/device/tiny.size.fatbin"
	.section .data.rel.ro, "aw"
	.quad cubin
spirv: .incbin "data/device/kernel.spv"
	.byte 1, 2, 3, 4, 5
	.data
	.byte 7
bundle: .incbin "data/gpu/first.bundle"
	.section kernels_binary, "a"
	.incbin "data/gpu/mix.gfx90a.hsaco"
	.section cubin:sums, "a"
	.incbin "data/device/sums_spill.sm_90.cubin"
	.section .note.GNU-stack, "", @progbits
END
gcc -shared -o embed.so embed.s
gcc -c -o embed.o embed.s
ar rcsD embed.a embed.o
minspect embed.so | sed 1d
minspect functions embed.so | sed -n 's/^\([^ ].*\) at file.*/\1/p'
list() { minspect functions "$1" | sed -n 's/^[^ ]*:[0-9]  \(.*\) at file.*/\1/p' | sort; }
list embed.so >listed.txt
for f in embed.o embed.a; do
	list $f | cmp - listed.txt
done
minspect verify embed.so embed.o embed.a
minspect extract embed.so -o out
(cd out/gpu && find . -type f | sort)
minspect show .rodata:0 embed.so --raw | cmp - data/device/sums.sm_90.cubin
minspect show .data.rel.ro:3 embed.so --raw | cmp - data/device/kernel.spv
minspect show cubin:sums:2 embed.so --raw | cmp - data/device/sums_spill.sm_90.cubin
minspect check --only device --device-arch sm_90 embed.so >/dev/null
minspect check --only device --device-arch sm_70 embed.so >/dev/null || test $? = 1
# ld -b binary
cp data/device/sums.sm_90.cubin sums.cubin
ld -r -b binary -o binary.o sums.cubin
minspect binary.o | sed 1d
# without section headers
objcopy --strip-section-headers embed.so bare.so 2>/dev/null || python3 - <<'END'
image = bytearray(open("embed.so", "rb").read())
image[40:48] = bytes(8)
image[58:64] = bytes(6)
open("bare.so", "wb").write(image)
END
minspect bare.so | grep cubin
# magic numbers alone, and what was cut off, are no code
cat >none.s <<'END'
	.section .rodata
	.byte 0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0, 0, 0, 0, 1, 0, 0, 0
	.byte 0x7f, 'E', 'L', 'F', 2, 1, 1, 0x33
	.ascii "__CLANG_OFFLOAD_BUNDLE__ is a word\0CCOB\2\0\1\0"
	.byte 0x10, 0xff, 0x10, 0xad, 1, 0, 0, 0
	.byte 0x03, 0x02, 0x23, 0x07, 0, 0, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0
	.incbin "data/device/sums.sm_90.cubin", 0, 1000
	.incbin "data/device/tiny.size.fatbin", 0, 100
	.incbin "data/device/kernel.spv", 0, 100
	.section .note.GNU-stack, "", @progbits
END
gcc -shared -o none.so none.s
minspect none.so || test $? = 5
# it stays where it is when a library is thinned, and that is said
mpack thin --keep sm_80 --allow-missing embed.so -o thin.so
cmp thin.so embed.so
# a hole of a sparse file costs nothing
cat >hole.s <<'END'
	.data
	.space 4
	.incbin "data/device/sums.sm_90.cubin"
	.section .note.GNU-stack, "", @progbits
END
gcc -shared -o hole.so hole.s
python3 - <<'END'
import struct
image = open("hole.so", "rb").read()
off, = struct.unpack_from("<Q", image, 40)
count, = struct.unpack_from("<H", image, 60)
headers = bytearray(image[off : off + 64 * count])
large = 1 << 40
for i in range(1, count):
    kind, = struct.unpack_from("<I", headers, 64 * i + 4)
    flags, = struct.unpack_from("<Q", headers, 64 * i + 8)
    if kind == 1 and not flags & 2:  # a comment becomes a terabyte
        struct.pack_into("<QQ", headers, 64 * i + 24, 1 << 20, large)
with open("hole.so", "r+b") as f:
    f.seek((1 << 20) + large)
    f.write(headers)
    f.seek(40)
    f.write(struct.pack("<Q", (1 << 20) + large))
END
timeout 20 minspect hole.so | grep cubin
