# host code: one function grows and all behind it move, which changes no other; then one does something
# else, and at last the build id alone
cat >host.c <<'END'
#include <stdio.h>
#include <stdint.h>
#define EXPORT __attribute__((visibility("default")))
static int calls;
static __attribute__((noinline)) int helper(int n) { calls += n; return puts("helper was called") + n; }
EXPORT int32_t __tvm_ffi_first(void *self, const void *args, int32_t n, void *result)
{
	(void)self, (void)args, (void)result;
#ifdef GROWN
	for (int i = 0; i < n; i++)
		printf("%d of %d\n", i, n);
#endif
	return helper(n);
}
static __attribute__((noinline)) int inner(int n) { return n * FACTOR + calls; }
EXPORT int32_t __tvm_ffi_second(void *self, const void *args, int32_t n, void *result)
{
	(void)self, (void)args, (void)result;
	printf("second with %d\n", n);
	return helper(n) + inner(n) + THIRD;
}
END
# without the instructions, which differ from compiler to compiler: diff-host-code has those
compare() { minspect --diff "$@" | sed '/^  /d;s/; .* instruction.*//'; }
build() { # build OUT FLAG...
	out=$1
	shift
	cc -O1 -fPIC -shared -fvisibility=hidden -fcf-protection=none -Wl,--build-id=sha1 -o "$out" host.c "$@"
}
case $(uname -m) in x86_64 | aarch64) ;; *) echo "distances are told from other bytes on x86-64 and AArch64 only"; exit 77 ;; esac
build a.so -DFACTOR=300 -DTHIRD=70000
build grown.so -DFACTOR=300 -DTHIRD=70000 -DGROWN
build other.so -DFACTOR=301 -DTHIRD=70001
cmp -s a.so grown.so && exit 1
compare a.so grown.so | sed 's/: [0-9]* -> [0-9]* bytes/: ... bytes/' || test $? = 1
compare a.so other.so | sed 's/ of [0-9]* bytes/ of ... bytes/' || test $? = 1
# the id of the build stands in a note
python3 - <<'END'
data = bytearray(open("a.so", "rb").read())
at = data.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16
data[at] ^= 1
open("id.so", "wb").write(data)
END
compare a.so id.so || test $? = 1
# without symbols only exported functions are compared
strip -o a.stripped a.so
strip -o other.stripped other.so
compare a.stripped other.stripped | sed 's/ of [0-9]* bytes/ of ... bytes/' || test $? = 1
