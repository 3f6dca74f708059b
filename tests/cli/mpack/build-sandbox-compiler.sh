# A bug in a reader, planted, in builds that take compilers: the process that reads the package, the one that
# has LLVM, and the one that reads what the linker made can write nothing but their result, connect nowhere and
# start nothing. Without the sandbox they can.
mpack --version | grep -q '^sandbox files (Landlock), system calls (seccomp)$' ||
	{ echo "this system has no sandbox"; exit 77; }
cat >bug.c <<'END_OF_C'
#include "planted.h"
static void attempt(const char *who, int *once)
{
	if ((*once)++)
		return;
	fprintf(stderr, "-- %s\n", who);
	say("write elsewhere", open("made", O_WRONLY | O_CREAT, 0600) >= 0);
	say("write beside the output", open("place/made", O_WRONLY | O_CREAT, 0600) >= 0);
	try_all();
	say("executable memory", can_execute_memory());
}
void *elf_memory(char *image, size_t size)
{
	static int once;
	void *(*real)(char *, size_t) = dlsym(RTLD_NEXT, "elf_memory");
	attempt("ELF", &once);
	return real(image, size);
}
int LLVMTargetMachineEmitToMemoryBuffer(void *machine, void *module, int kind, char **error, void **out)
{
	static int once;
	void *llvm = dlopen("libLLVM.so.19.1", RTLD_LAZY | RTLD_NOLOAD);
	int (*real)(void *, void *, int, char **, void **) = dlsym(llvm, "LLVMTargetMachineEmitToMemoryBuffer");
	attempt("LLVM", &once);
	return real(machine, module, kind, error, out);
}
END_OF_C
cc -shared -fPIC -I "$ROOT/tests/modules" -o bug.so bug.c -ldl
cat >f.c <<'END_OF_C'
int __tvm_ffi_f(void *self, void *args, int n, void *out) { (void)self; (void)args; (void)n; (void)out; return 0; }
END_OF_C
cc -c -fPIC f.c
cp data/formats/01_opencl_scale.so s.so
mpack unpack s.so -o d 2>/dev/null
cat >p.toml <<'END_OF_TOML'
[package]
name = "p"
[[module]]
id = "host"
kind = "host"
sources = ["f.o"]
imports = ["cl"]
[[module]]
id = "cl"
kind = "opencl"
format = "cl"
data = "d/1-opencl/kernels.cl"
[[module.function]]
name = "scale_kernel"
args = ["handle", "handle", "float32", "int32"]
launch = ["blockIdx.x", "threadIdx.x"]
END_OF_TOML
touch mine
mkdir place tmp
export TMPDIR="$PWD/tmp"
for kind in so a tar; do
	echo "== $kind" >&2
	LD_PRELOAD=$PWD/bug.so mpack build p.toml --jobs 1 -o place/out.$kind
	ls -A mine place tmp
	# as without a bug, and as outside of the sandbox
	mpack build p.toml -o place/plain.$kind
	mpack build --no-sandbox p.toml -o place/free.$kind
	cmp place/out.$kind place/plain.$kind
	cmp place/out.$kind place/free.$kind
	rm place/*
done
echo "== twice" >&2
mpack build p.toml -o place/out.so --check-repro -v
LD_PRELOAD=$PWD/bug.so mpack build --no-sandbox --jobs 1 p.toml -o place/out.so 2>free.log
grep -c yes free.log
ls made
