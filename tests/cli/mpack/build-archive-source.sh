# every member of an archive among the sources becomes part of the library: its functions
# are looked up by name, so that no linker sees who needs them
cat > f.c <<'C'
#include <stdint.h>
struct any { int32_t type; uint32_t pad; int64_t value; };
int64_t helper(int64_t x);
__attribute__((visibility("default"))) int __tvm_ffi_twice(void *self, const struct any *args,
							   int32_t count, struct any *result)
{
	(void)self, (void)count;
	*result = (struct any){ .type = 1, .value = helper(args[0].value) };
	return 0;
}
C
echo 'long helper(long x); long helper(long x) { return 2 * x; }' > helper.c
cc -fPIC -c f.c helper.c
ar rcs libf.a f.o helper.o
cat > m.toml <<'T'
[package]
name = "archive"
[[module]]
id      = "host"
kind    = "host"
sources = ["libf.a"]
T
mpack build m.toml -o f.so
minspect --run twice f.so --input 21 --expect 42
