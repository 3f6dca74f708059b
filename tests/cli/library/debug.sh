# a stripped library is unwound through, names kernels to perf, and has its debug file apart
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
command -v cc >/dev/null || { echo "cc is not installed"; exit 77; }
mkdir lib
strip -o lib/libmpk-run.so.0 "$sdk/lib/libmpk-run.so.0"
cc -std=gnu17 -rdynamic -I"$sdk/include" -o debug "$ROOT/tests/embed/debug.c" lib/libmpk-run.so.0
LD_LIBRARY_PATH=lib ./debug data/relax/registered.so
# by its build id
command -v gdb >/dev/null || { echo "gdb is not installed"; exit 77; }
id=$(readelf -n lib/libmpk-run.so.0 | sed -n 's|^ *Build ID: \(..\)\(.*\)|\1/\2|p')
mkdir -p "files/.build-id/$(dirname "$id")"
objcopy --only-keep-debug "$sdk/lib/libmpk-run.so.0" "files/.build-id/$id.debug"
gdb -nx -batch -iex 'set debuginfod enabled off' -iex "set debug-file-directory $PWD/files" -ex 'info line mpkr_find' lib/libmpk-run.so.0 2>&1 |
	sed -n 's/^Line [0-9]* of "\([^"]*\)".*/\1/p'
# a file that is opened by its path is known to gdb by its path, and so are kernels in it
cp data/relax/gelu.so model.so
cat >path.c <<END
#include <mpk/run.h>
int main(void)
{
	struct mpkr_options options = { .size = sizeof options, .flags = MPKR_BY_PATH };
	static float x[96];
	const int64_t shape[] = { 4, 24 };
	struct mpkr_tensor t = mpkr_tensor_on_host(x, MPKR_DTYPE_FLOAT, 32, 2, shape);
	const struct mpkr_tensor *in[] = { &t };
	struct mpkr_result *r;
	mpkr_function *f;
	mpkr_model *m;
	size_t n;
	return mpkr_open("model.so", &options, &m, 0) || mpkr_find(m, "forward", &f, 0) || mpkr_call(f, in, 1, &r, 1, &n, 0);
}
END
cc -std=gnu17 -I"$sdk/include" -o path path.c lib/libmpk-run.so.0
kernel=$(nm -D model.so | sed -n 's/.* T \(__tvm_ffi_.*\)/\1/p' | head -n 1)
LD_LIBRARY_PATH=lib gdb -nx -batch -iex 'set debuginfod enabled off' -iex "set debug-file-directory $PWD/files" -iex 'set breakpoint pending on' \
	-ex "break $kernel" -ex run -ex 'frame function main' ./path >log 2>&1
grep -q ' in main ()' log && grep -q "in $kernel (.*model.so\$" log && echo "gdb stops in a kernel, called by main" || cat log
