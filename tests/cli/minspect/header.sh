# --header: what the library exports, declared for C and for Python; a typed call through it works
minspect --header add.h data/formats/14_llvm_noblob.so
cat add.pyi
sed -n '/add(A/,/^}/p' add.h
cat >call.c <<'END'
#include "add.h"
#include <stdio.h>
struct tensor { /* DLTensor */
	void *data;
	int32_t device, device_id, ndim;
	uint8_t code, bits;
	uint16_t lanes;
	int64_t *shape, *strides;
	uint64_t byte_offset;
};
int TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int count)
{
	for (int i = 0; i < count; i++)
		printf("%s", parts[i]);
	puts(kind);
	return 0;
}
int main(void)
{
	_Alignas(64) static float a[16], b[16], c[16];
	int64_t shape[] = { 16 }, other[] = { 4 };
	struct tensor A = { a, 1, 0, 1, 2, 32, 1, shape, NULL, 0 }, B = A, C = A;

	for (int i = 0; i < 16; i++)
		a[i] = i, b[i] = 100;
	B.data = b, C.data = c;
	int status = add_call(&A, &B, &C);

	printf("%d %g %g\n", status, c[0], c[15]);
	A.shape = other;
	printf("%d\n", add_call(&A, &B, &C));
	return 0;
}
END
cc -std=c11 -Wall -Wextra -Werror -rdynamic -o call call.c "$ROOT/tests/data/formats/14_llvm_noblob.so"
./call
# the older convention; and C++
minspect --header old.h data/legacy/mulsub_llvm.so
printf '#include "old.h"\n#include "add.h"\n' >both.cc
c++ -std=c++20 -Wall -Werror -fsyntax-only both.cc
minspect --header - data/legacy/mulsub_llvm.so | grep -A 7 '^static'
python3 -m py_compile old.pyi add.pyi

# names that are no names, and words that are taken
cat >odd.c <<'END'
const char *mark = " when calling:\n  `";
const char *texts[] = {
	"for(int: float32, A*/: Tensor([n */ 2], int8), A*/: bool)",
	"a.b(x: float32)",
};
int odd(void *s, const void *a, int n, void *r) __asm__("__tvm_ffi_a.b");
int odd(void *s, const void *a, int n, void *r) { return 0; }
int __tvm_ffi_for(void *s, const void *a, int n, void *r) { return 0; }
int __tvm_ffi_unknown(void *s, const void *a, int n, void *r) { return 0; }
END
cc -shared -fPIC -o odd.so odd.c
minspect --header odd.h odd.so
sed -n '/extern "C"/,$p' odd.h
sed -n '/^class/,$p' odd.pyi
printf '#include "odd.h"\n' | cc -std=c11 -Wall -Werror -fsyntax-only -x c -
minspect --header x.h odd.so odd.so || echo $?

# a model that carries its executor shows its own functions alone
mpack build "$DATA/relax/gelu.so" --standalone -o carried.so
minspect --header=carried.h carried.so
grep -n __tvm_ffi_ carried.h
printf '#include "carried.h"\nint main(void) { return __tvm_ffi_forward == 0; }\n' >carried.c
cc -std=c99 -Werror -pedantic -o carried carried.c ./carried.so && ./carried && echo linked
tail -n 3 carried.pyi
