# What compares as equal has an order of its own: a qsort that turns ties around changes nothing that is
# said. C libraries differ there.
cat >ties.c <<'END'
#include <stdlib.h>
#include <string.h>
void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	char *at = base, *held = malloc(size);
	for (size_t i = 1, k; i < count; i++) {
		memcpy(held, at + i * size, size);
		for (k = i; k && compare(held, at + (k - 1) * size) <= 0; k--)
			memcpy(at + k * size, at + (k - 1) * size, size);
		memcpy(at + k * size, held, size);
	}
	free(held);
}
END
cc -shared -fPIC -o ties.so ties.c
# two members of an archive may define one symbol
echo 'int __tvm_ffi_main(void) { return 0; } const char __tvm_ffi__library_bin[16];' >a.c
echo 'int unused; int __tvm_ffi_main(void) { return 1; }' >b.c
cc -c a.c
cc -c b.c
ar rcs two.a a.o b.o
for action in --verbose --json --size --functions --verify; do
	for file in data/gpu/*.so data/gpu/*.o data/formats/*.so data/legacy/*.so data/relax/*.so data/device/*.so two.a; do
		[ -e "$file" ] || continue
		minspect $action "$file" >plain 2>&1 || true
		LD_PRELOAD=$PWD/ties.so minspect $action "$file" >turned 2>&1 || true
		cmp -s plain turned || { echo "$action $file"; diff plain turned | head -n 6; }
	done
done
for file in data/gpu/*.so; do
	minspect --diff "$file" data/gpu/cuda.so >plain 2>&1 || true
	LD_PRELOAD=$PWD/ties.so minspect --diff "$file" data/gpu/cuda.so >turned 2>&1 || true
	cmp -s plain turned || echo "--diff $file"
done
