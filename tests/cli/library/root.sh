# a root with the C library alone, without /proc: a model is opened by its path, once, and not from memory
sdk=$(dirname "$BIN")/sdk
[ -e "$sdk" ] || { echo "this build has no library for applications"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "the fixtures are libraries for x86-64"; exit 77; }
command -v cc >/dev/null || { echo "cc is not installed"; exit 77; }
unshare -m true 2>/dev/null || { echo "only root has a root folder of its own"; exit 77; }
cat >call.c <<END
#include <mpk/run.h>
#include <stdio.h>

static unsigned char bytes[1 << 20];

int main(int argc, char **argv)
{
	static float x[4][24];
	const int64_t shape[] = { 4, 24 };
	struct mpkr_tensor t = mpkr_tensor_on_host(x, MPKR_DTYPE_FLOAT, 32, 2, shape);
	const struct mpkr_tensor *in[] = { &t };
	struct mpkr_result *result;
	struct mpkr_error err;
	mpkr_model *model, *again;
	mpkr_function *f;
	size_t count;
	FILE *file = fopen(argv[argc - 1], "rb");

	if (mpkr_open(argv[1], NULL, &model, &err) || mpkr_find(model, NULL, &f, &err) ||
	    mpkr_call(f, in, 1, &result, 1, &count, &err))
		printf("%d %s\n", err.code, err.text);
	else
		printf("%zu result of %d dimensions\n", count, result->tensor.ndim);
	if (mpkr_open(argv[1], NULL, &again, &err))
		printf("%d %s\n", err.code, err.text);
	count = fread(bytes, 1, sizeof bytes, file);
	if (mpkr_open_memory(bytes, count, NULL, &model, &err))
		printf("%d %s\n", err.code, err.text);
	return 0;
}
END
cc -std=gnu17 -DMPKR_STATIC -I"$sdk/include" -o call call.c "$sdk/lib/libmpkrun.a" -lm
mkdir root
ldd ./call | grep -oE '/[^ :()]*\.so[^ :()]*' | sort -u | xargs -I{} cp --parents {} root
cp call data/relax/gelu.so root
unshare -m chroot root /call /gelu.so
