# AArch64: a branch through the procedure linkage table leads to the same symbol wherever the table lies
command -v aarch64-linux-gnu-gcc >/dev/null || { echo "aarch64-linux-gnu-gcc is not installed"; exit 77; }
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
build() {
	out=$1
	shift
	aarch64-linux-gnu-gcc -O1 -fPIC -shared -nostdlib -Wl,--build-id=none -o "$out" host.c "$@"
}
build a.so -DCALLED=twice
build grown.so -DCALLED=twice -DGROWN
build other.so -DCALLED=thrice -DGROWN
minspect --diff a.so grown.so | sed 's/: [0-9]* -> [0-9]* bytes/: ... bytes/' || test $? = 1
minspect --diff grown.so other.so || test $? = 1
