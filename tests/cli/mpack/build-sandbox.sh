# A bug in a reader, planted: when a library that a manifest names as its base is read, the build can write
# beside its output and nowhere else, connect nowhere and start nothing. Without the sandbox it can.
mpack --version | grep -q '^sandbox files (Landlock), system calls (seccomp)$' ||
	{ echo "this system has no sandbox"; exit 77; }
cat >bug.c <<'END'
#include "planted.h"
void *elf_memory(char *image, size_t size)
{
	static int once;
	void *(*real)(char *, size_t) = dlsym(RTLD_NEXT, "elf_memory");
	if (once++)
		return real(image, size);
	say("write elsewhere", open("made", O_WRONLY | O_CREAT, 0600) >= 0);
	try_all();
	say("executable memory", can_execute_memory());
	return real(image, size);
}
END
cc -shared -fPIC -I "$ROOT/tests/modules" -o bug.so bug.c -ldl
touch mine
mkdir place
mpack unpack data/formats/01_opencl_scale.so -o d 2>/dev/null
grep -q '^base' d/mpack.toml || { echo "no base"; exit 1; }
LD_PRELOAD=$PWD/bug.so mpack build d/mpack.toml -o place/out.so
ls mine place
# as without a bug, and as outside of the sandbox
mpack build d/mpack.toml -o place/plain.so
mpack build --no-sandbox d/mpack.toml -o place/free.so
cmp place/out.so place/plain.so
cmp place/out.so place/free.so
# the other kinds that take no compiler, from a manifest and from a blob
for kind in blob c; do
	mpack build d/mpack.toml -o place/out.$kind --depfile place/out.d
	mpack build place/out.blob -o place/again.$kind
done
cmp place/out.blob place/again.blob
LD_PRELOAD=$PWD/bug.so mpack build --no-sandbox d/mpack.toml -o place/out.so
ls made
