# models with caches carry what works on them, from C by dlopen alone; and how much each kind of model carries
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
for tool in cc strip; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
cc -std=gnu17 -I"$sdk/include" -o generate "$ROOT/tests/embed/standalone_state.c" -ldl
gunzip -c data/relax/decoder.so.gz >decoder.so
mpack build decoder.so --standalone -o state.so
./generate ./state.so
# README and mpack(1) have these limits
carried() {
	strip -o stripped "$1"
	bytes=$(($(wc -c <stripped) - $(wc -c <"$2")))
	[ $bytes -le $(($3 * 1024)) ] || echo "$1 carries $bytes bytes: more than $3 KiB"
}
mpack build data/relax/gelu.so --standalone -o plain.so
carried plain.so data/relax/gelu.so 400
carried state.so decoder.so 560
grep -o '[0-9]* KiB more, [0-9]* with caches' "$ROOT/README.md"
# nothing is looked for on the disk by a call
command -v strace >/dev/null || exit 0
cat >twice.c <<END
#include <dlfcn.h>
#include <unistd.h>
#include "mpk/standalone.h"
int main(void)
{
	static float x[96] __attribute__((aligned(64)));
	long long shape[2] = { 4, 24 };
	struct { void *data; int type, id, ndim; unsigned dtype; long long *shape, *strides; unsigned long long off; } t =
		{ x, 1, 0, 2, 2 | 32 << 8 | 1 << 16, shape, 0, 0 };
	struct mpks_cell in = mpks_tensor(&t), out = { 0 };
	void *library = dlopen("./plain.so", RTLD_NOW);
	mpks_function *f = (mpks_function *)dlsym(library, "__tvm_ffi_forward");
	mpks_drop *drop = (mpks_drop *)dlsym(library, MPK_STANDALONE_DROP);

	for (int i = 0; i < 20; i++) {
		if (i == 2)
			(void)access("/from-here", 0);
		if (f(0, &in, 1, &out))
			return 1;
		drop(&out);
	}
	return 0;
}
END
cc -I"$sdk/include" -o twice twice.c -ldl
strace -e trace=openat,access ./twice 2>calls || { echo "strace cannot trace here"; exit 0; }
sed '1,/from-here/d' calls | grep -c openat || :
