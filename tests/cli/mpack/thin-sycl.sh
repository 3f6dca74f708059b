# what a library registers with SYCL's runtime when its images have been thinned: a runtime that tells, in the place of Intel's
for tool in gcc ld.lld eu-elflint objcopy; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
test "$(uname -m)" = x86_64 || { echo "the library is for x86-64"; exit 77; }
cat >runtime.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct property { const char *name; const void *value; uint32_t type; uint64_t bytes; };
struct set { const char *name; const struct property *begin, *end; };
struct fields { const uint8_t *image, *image_end; const uint64_t *kernels, *kernels_end; const struct set *sets, *sets_end; };
struct image {
	uint16_t version;
	uint8_t kind, format;
	const char *target, *compile, *link;
	union {
		struct fields now;
		struct { const char *manifest, *manifest_end; struct fields then; };
	};
};
struct descriptor { uint16_t version, count; const char *images; };

static void put(const struct image *i, const struct fields *f)
{
	uint32_t sum = 0;

	for (const uint8_t *p = f->image; p < f->image_end; p++)
		sum = sum * 31 + *p;
	printf("  version %d format %d %s %td bytes %08x options '%s%s'", i->version, i->format, i->target,
	       f->image_end - f->image, sum, i->compile, i->link);
	for (const uint64_t *k = f->kernels; k < f->kernels_end; k += k[1] == 0x80001 ? 7 : 4)
		printf(" %s", (const char *)k[k[1] == 0x80001 ? 3 : 1]);
	for (const struct set *s = f->sets; s < f->sets_end; s++)
		for (const struct property *p = s->begin; p < s->end; p++)
			printf(" [%s: %s]", s->name, p->name);
	printf("\n");
}

void __sycl_register_lib(const struct descriptor *d)
{
	const char *at = d->images;

	printf("%d images\n", d->count);
	for (int n = d->count; n > 0; n--) {
		const struct image *i = (const void *)at;

		put(i, i->version == 3 ? &i->now : &i->then);
		at += i->version == 3 ? 80 : 96;
	}
}
END
gcc -w -shared -fPIC runtime.c -o libruntime.so
load() { python3 -c "import ctypes, sys; ctypes.CDLL('./libruntime.so', ctypes.RTLD_GLOBAL); ctypes.CDLL(sys.argv[1]).register_images(); sys.stdout.flush()" "./$1"; }
cp data/gpu/sycl.so whole.so
load whole.so
for what in '--keep spir64' '--keep spir64,spir64_gen' '--keep spir64,sm_120a' '--device-arch spir64_gen' \
	'--device-arch spir64_x86_64' '--keep nvptx64' '--keep spir64_gen' '--keep spir64_gen --allow-missing'; do
	echo "--- $what"
	# shellcheck disable=SC2086
	mpack thin whole.so -o thin.so --force -v $what || { echo "status $?"; continue; }
	load thin.so
	minspect thin.so | sed -n '/GPU code/,$p'
	minspect --verify thin.so
	eu-elflint --gnu-ld -q thin.so
	# the sizes that tools get
	objcopy -O binary --only-section=.tgtimg thin.so sizes
	python3 -c "import struct; print('sizes', *[s for _, s in struct.iter_unpack('<QQ', open('sizes', 'rb').read())])"
	# shellcheck disable=SC2086
	mpack thin thin.so -o again.so --force $what
	cmp thin.so again.so
done
echo "--- all of them dropped"
mpack thin whole.so -o none.so --force --keep gfx906 --allow-missing
load none.so
# other forms of relocations: packed ones, and values that are in the words, too
ar rcD gen.ar data/gpu/params.gfx906.hsaco
objcopy -O binary --only-section=__CLANG_OFFLOAD_BUNDLE__sycl-spir64_x86_64 data/gpu/sycl.so cpu.o
make() { as -I. -Idata/gpu -o made.o "$1"; shift; gcc -shared -nostdlib "$@" made.o; }
load whole.so >all
for how in '-fuse-ld=lld -Wl,--apply-dynamic-relocs' '-fuse-ld=lld -Wl,-z,separate-code'; do
	# shellcheck disable=SC2086
	make data/gpu/sycl.s $how -o other.so
	load other.so | cmp - all
	echo "--- $how"
	mpack thin other.so -o thin.so --force -v --keep spir64
	load thin.so
done
echo "--- packed relocations"
make data/gpu/sycl.s -Wl,-z,pack-relative-relocs -o packed.so
readelf -dW packed.so | grep -o RELRENT
load packed.so | cmp - all
mpack thin packed.so -o none.so --force --keep spir64 || echo "status $?"
# images that all have the same pointers may change places
sed 's/, add_sets, add_sets_end//; s/0, 0, help_sets, help_sets_end/mul_kernels, mul_kernels_end/' data/gpu/sycl.s >alike.s
make alike.s -Wl,-z,pack-relative-relocs -o packed.so
mpack thin packed.so -o thin.so --force --keep spir64
load thin.so
# what no descriptor names stays, in its place
sed '/^older_descriptor:/,/quad older/s/short 1, 2/short 9, 2/' data/gpu/sycl.s >unknown.s
make unknown.s -o unknown.so
echo "--- unknown"
mpack thin unknown.so -o thin.so --force -v --keep spir64_gen --allow-missing
minspect thin.so | sed -n '/GPU code/,$p'
# something that points to one of the structs would have another one there
sed 's/^descriptors:/&\t.quad today + 80/' data/gpu/sycl.s >pointed.s
make pointed.s -o pointed.so
mpack thin pointed.so -o none.so --force --keep spir64 2>error || echo "status $?"
sed 's/file+0x[0-9a-f]*/file+N/' error
