# A library with a large blob loads in a program of musl.
command -v musl-gcc >/dev/null || { echo "musl-gcc is not installed"; exit 77; }
head -c 3000000 /dev/zero | tr '\0' w >weights.bin
printf '[package]\nname = "musl"\n[[module]]\nid = "w"\nkind = "weights"\npayload = "weights.bin"\n' >mpack.toml
cat >load.c <<'EOF'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	static char want[4000000];
	FILE *f = fopen("musl.blob", "rb");
	size_t n = f ? fread(want, 1, sizeof want, f) : 0;
	void *lib = dlopen("./musl.so", RTLD_NOW);
	const char *blob = lib ? dlsym(lib, "__tvm_ffi__library_bin") : NULL;

	if (!blob)
		return puts(dlerror()), 1;
	return n < 3000000 || (uintptr_t)blob % 4096 || memcmp(blob, want, n) != 0;
}
EOF
mpack build -o musl.blob
mpack build -o musl.so --cc musl-gcc
musl-gcc load.c -o load
./load
