# tvm-ffi asks __tvm_ffi__metadata_<function> what a function takes; in C and in LLVM IR. Without tvm-ffi it fails
cat >ask.c <<'END'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
struct bytes { const char *data; size_t len; };
#ifdef TVM_FFI
int TVMFFIStringFromByteArray(const struct bytes *in, void *out)
{
	*(struct bytes *)out = *in;
	return 0;
}
#endif
int main(int argc, char **argv)
{
	struct bytes text = { "", 0 };
	int (*ask)(void *, const void *, int32_t, void *) =
		(int (*)(void *, const void *, int32_t, void *))dlsym(dlopen(argv[1], RTLD_NOW), argv[2]);
	int status = ask(NULL, NULL, 0, &text);

	printf("%d %.*s\n", status, (int)text.len, text.data);
	return argc != 3;
}
END
cc -DTVM_FFI -rdynamic -o ask ask.c -ldl
cc -o ask-without ask.c -ldl
for via in c llvm; do
	mpack build data/launch/opencl.toml --via=$via -o $via.so
	./ask "$PWD/$via.so" __tvm_ffi__metadata_saxpy
	./ask "$PWD/$via.so" __tvm_ffi__metadata_sum | sed 's/^0 //' | jq -c '.type_schema | fromjson'
	./ask-without "$PWD/$via.so" __tvm_ffi__metadata_sum
	# metadata is no function to call
	minspect --json $via.so | jq -r '.files[0].functions[].name' | paste -sd' '
done
mpack build data/launch/opencl.toml --abi=legacy -o old.so
nm -D old.so | grep -c metadata || true
minspect --functions old.so | sed -n 's/^  \(saxpy.*\)/\1/p'
