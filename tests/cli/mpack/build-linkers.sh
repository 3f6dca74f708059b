# An extended library is a proper one: made by any linker, and changed by the tools that people
# run over libraries, it still loads with the blob at a page and every byte in place.
head -c 3000000 /dev/zero | tr '\0' w >weights.bin
cat >mpack.toml <<EOF
[package]
name = "linked"
root = "host"
[[module]]
id = "host"
kind = "host"
sources = ["host.c"]
imports = ["weights"]
[[module]]
id = "weights"
kind = "weights"
payload = "weights.bin"
EOF
cat >host.c <<'EOF'
#include <string.h>
static char text[100];
int __tvm_ffi_one(void) { return (int)strlen(strcpy(text, "literal")); }
EOF
cat >load.c <<'EOF'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	static char want[4000000];
	FILE *f = fopen("linked.blob", "rb");
	size_t n = f ? fread(want, 1, sizeof want, f) : 0;
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	const char *blob = lib ? dlsym(lib, "__tvm_ffi__library_bin") : NULL;
	int (*one)(void) = NULL;

	if (!blob)
		return puts(dlerror()), 1;
	*(void **)&one = dlsym(lib, "__tvm_ffi_one");
	if ((uintptr_t)blob % 4096 || memcmp(blob, want, n) != 0 || !one || one() != 7)
		return puts("not as it was packed"), 1;
	return argc != 2 || n < 3000000;
}
EOF
mpack build -o linked.blob
mpack build -o linked.so
cc load.c -o load -ldl
./load ./linked.so

# What the linter says of GNU ld's own output it may say of ours: numbers aside, the same.
if command -v eu-elflint >/dev/null; then
	cat >whole.s <<'EOF'
.section .lrodata, "al", @progbits
.globl __tvm_ffi__library_bin
.type __tvm_ffi__library_bin, @object
.balign 4096
__tvm_ffi__library_bin: .incbin "linked.blob"
.size __tvm_ffi__library_bin, . - __tvm_ffi__library_bin
.section .note.GNU-stack, "", @progbits
EOF
	cc -O2 -fPIC -c host.c whole.s
	cc -shared host.o whole.o -o plain.so
	for f in linked plain; do
		eu-elflint --gnu-ld $f.so 2>&1 | sed 's/[0-9][0-9]*/N/g' | sort -u >$f.lint || true
	done
	comm -23 linked.lint plain.lint
fi

# The note tells the digest of the blob that is there.
told_right()
{
	minspect -v --verify "$1" | grep -q 'note: the blob is what was packed'
}

# A tool that is not installed changes nothing; the others must leave the blob alone.
changed()
{
	cp linked.so changed.so
	! command -v "$1" >/dev/null ||
		{ "$@" changed.so && ./load ./changed.so && told_right changed.so; } ||
		echo "broken by: $*"
}
changed strip
changed strip --strip-unneeded
changed llvm-strip-19
changed eu-strip
changed objcopy --remove-section=.comment
changed patchelf --set-rpath /opt/somewhere
changed patchelf --set-soname other.so

for linker in bfd gold lld mold; do
	command -v ld.$linker >/dev/null || command -v "$linker" >/dev/null || continue
	mpack build -q -o $linker.so --ldflag -fuse-ld=$linker 2>stderr || { echo "$linker failed:"; cat stderr; }
	{ ./load ./$linker.so && told_right $linker.so; } || echo "broken by $linker"
done
