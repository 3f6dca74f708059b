# programs, position-independent and linked to one address, dynamic and static: each tells itself where its wrappers lead
command -v eu-elflint >/dev/null || { echo "eu-elflint is not installed"; exit 77; }
test "$(uname -m)" = x86_64 || { echo "the program is for x86-64"; exit 77; }
objcopy -O binary --only-section=.nv_fatbin data/gpu/cuda.so fat.bin
python3 - <<'END'
import struct
data = open("fat.bin", "rb").read()
head, size = struct.unpack_from("<HQ", data, 6)
open("fat.bin", "wb").write(data[:head + size])
END
cat >fat.s <<'END'
	.section .nv_fatbin, "a"
	.align 8
first: .incbin "fat.bin"
	.align 8
second: .incbin "fat.bin"
	.align 8
third: .incbin "fat.bin"
	.section .nvFatBinSegment, "aw"
	.align 8
	.globl wrappers
wrappers:
	.long 0x466243b1, 1
	.quad first, 0
	.long 0x466243b1, 1
	.quad second, 0
	.long 0x466243b1, 1
	.quad third, 0
	.data
	.globl named
named:	.quad second
	.section .note.GNU-stack, "", @progbits
END
cat >main.c <<'END'
#include <stdint.h>
#include <stdio.h>
struct wrapper { uint32_t magic, version; const unsigned char *data; void *filename; };
struct fatbin { uint32_t magic; uint16_t version, header; uint64_t bytes; };
extern struct wrapper wrappers[3];
extern const void *named;
_Thread_local int local = 7;
int main(void)
{
	for (int i = 0; i < 3; i++) {
		const struct fatbin *f = (const void *)wrappers[i].data;
		const unsigned char *at = wrappers[i].data + f->header, *end = at + f->bytes;

		printf("%d %x:", i, f->magic);
		while (at < end) { /* u16 kind, u32 header and u64 bytes of each image */
			printf(" %u sm_%u", *(const uint16_t *)at, *(const uint32_t *)(at + 28));
			at += *(const uint32_t *)(at + 4) + *(const uint64_t *)(at + 8);
		}
		printf(at == end ? "\n" : " and more\n");
	}
	printf("%d %s\n", local, named == wrappers[1].data ? "as named" : "not as named");
	return 0;
}
END
for mode in -pie -no-pie -static-pie "-static -no-pie"; do
	echo "--- $mode"
	case $mode in *no-pie) code=-fno-pie ;; *) code=-fPIE ;; esac
	cc -O1 $code $mode main.c fat.s -o program
	mpack thin -v program -o thin --keep sm_90,compute_90 --force 2>&1 | sed 's/.*: //'
	for file in program thin; do
		./$file
		minspect $file | grep -A 1 'GPU code'
		minspect --verify $file
	done
	test "$(wc -c <thin)" -lt "$(wc -c <program)" && echo smaller
	# of static programs eu-elflint does not know all that linkers write: nothing more is found
	eu-elflint --gnu-ld -q program >found || true
	eu-elflint --gnu-ld -q thin | grep -vxFf found || true
	strip -o stripped thin && ./stripped >out.txt && ./thin | cmp - out.txt
done
# notes that one program header names go together where they make room for another header
if command -v ld.gold >/dev/null; then
	cc -fuse-ld=gold -static -no-pie -fno-pie -O1 main.c fat.s -o program
	mpack thin program -o thin --keep sm_90,compute_90 --force
	./thin >out.txt
	readelf -n program >was && readelf -n thin | cmp - was
	eu-elflint --gnu-ld -q thin | grep -v 'invalid symbol index\|(__ehdr_start)' || true
fi
