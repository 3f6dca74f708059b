# AArch64: a branch through the procedure linkage table leads to the same symbol wherever the table lies, and
# pages that differ to the same data with what is added to them
for tool in aarch64-linux-gnu-gcc clang-19 ld.lld-19; do
	command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
cat >host.c <<'C'
#define EXPORT __attribute__((visibility("default")))
extern int twice(int), thrice(int);
EXPORT int __tvm_ffi_first(void *self, const void *args, int n, void *result)
{
#ifdef GROWN
	for (int i = 0; i < n; i++)
		n += twice(i);
#endif
	return twice(n);
}
EXPORT int __tvm_ffi_second(void *self, const void *args, int n, void *result) { return twice(n) + twice(n + 1); }
EXPORT int __tvm_ffi_third(void *self, const void *args, int n, void *result) { return CALLED(n); }
C
# without the instructions, which differ from compiler to compiler: diff-host-code has those
compare() { minspect --diff "$@" | sed '/^  /d;s/; .* instruction.*//'; }
build() {
	out=$1
	shift
	aarch64-linux-gnu-gcc -O1 -fPIC -shared -nostdlib -Wl,--build-id=none -o "$out" host.c "$@"
}
build a.so -DCALLED=twice
build grown.so -DCALLED=twice -DGROWN
build other.so -DCALLED=thrice -DGROWN
compare a.so grown.so | sed 's/: [0-9]* -> [0-9]* bytes/: ... bytes/' || test $? = 1
compare grown.so other.so || test $? = 1
cat >data.c <<'C'
#define EXPORT __attribute__((visibility("default")))
extern int show(const char *, double), shared[];
static int calls;
static double factors[] = { 1.5, 2.5 };
#ifdef GROWN
static char before[20000];
EXPORT int __tvm_ffi_first(void *self, const void *args, int n, void *result) { return before[n]++ + show("a longer text than before", n); }
#else
EXPORT int __tvm_ffi_first(void *self, const void *args, int n, void *result) { return show("short", n); }
#endif
EXPORT int __tvm_ffi_second(void *self, const void *args, int n, void *result)
{
	for (int i = 0; i < n; i++)
		calls += show(TEXT, factors[i % 2]) + shared[i];
	return show("the end", 2.75) + calls;
}
EXPORT int __tvm_ffi_third(void *self, const void *args, int n, void *result) { return calls++ * 7; }
C
data() {
	out=$1
	shift
	"$@" -O1 -fPIC -shared -nostdlib -fvisibility=hidden -Wl,--build-id=none -o "$out" data.c
}
# lld computes near addresses by one instruction
for linker in bfd lld; do
	case $linker in
	bfd) compiler=aarch64-linux-gnu-gcc ;;
	lld) compiler='clang-19 --target=aarch64-linux-gnu -fuse-ld=lld-19' ;;
	esac
	data $linker.so $compiler '-DTEXT="%d of %g"'
	data far.so $compiler '-DTEXT="%d of %g"' -DGROWN
	data text.so $compiler '-DTEXT="%d or %g"' -DGROWN
	cmp -s $linker.so far.so && exit 1
	for other in far text; do
		compare $linker.so $other.so |
			sed 's/: [0-9]* -> [0-9]* bytes/: ... bytes/;s/[0-9]* of [0-9]* bytes/... bytes/' || test $? = 1
	done
done
