# what host code of nvcc registers when a thinned library is loaded: a runtime that tells, in the place of CUDA's
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
for tool in "$nvcc" gcc g++; do
	command -v "$tool" >/dev/null || { echo "nvcc is not installed"; exit 77; }
done
cat >runtime.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct wrapper {
	uint32_t magic, version;
	const uint8_t *container;
	const uint8_t **linked; /* what the code was linked of, as the linker's stub collects it */
};

static void list(const char *what, const uint8_t *p)
{
	uint64_t left;
	uint32_t magic;

	memcpy(&magic, p, 4);
	memcpy(&left, p + 8, 8);
	printf("%s%s", what, magic == 0xba55ed50 ? "" : " broken");
	for (p += 16; magic == 0xba55ed50 && left;) {
		uint32_t head, sm;
		uint64_t data;

		memcpy(&head, p + 4, 4);
		memcpy(&data, p + 8, 8);
		memcpy(&sm, p + 28, 4);
		printf(" %s%u", p[0] == 1 ? "compute_" : "sm_", sm);
		p += head + data;
		left -= head + data;
	}
	printf("\n");
}

void **__cudaRegisterFatBinary(void *registered)
{
	const struct wrapper *w = registered;
	static void *handle;

	printf("version %u ", w->version);
	list(w->magic == 0x466243b1 ? "code" : "no wrapper", w->container);
	for (const uint8_t **p = w->version == 2 ? w->linked : NULL; p && *p; p++)
		list("linked of", *p);
	return &handle;
}

void __cudaRegisterFunction(void **h, const char *host, char *device, const char *name)
{
	printf("kernel %s\n", name);
}

void __cudaRegisterFatBinaryEnd(void **h) {}
void __cudaUnregisterFatBinary(void **h) {}
char __cudaInitModule(void **h) { return 1; }
unsigned __cudaPushCallConfiguration(void) { return 0; }
int __cudaPopCallConfiguration(void) { return 0; }
int __cudaLaunchKernel(void) { return 0; }
int __cudaGetKernel(void) { return 0; }
int cudaLaunchKernel(void) { return 0; }
int cudaGetKernel(void) { return 0; }
END
cat >a.cu <<'END'
extern "C" __global__ void KERNEL(float *a, int n) { a[threadIdx.x] += n; }
extern "C" int ENTRY(float *a, int n) { KERNEL<<<1, n>>>(a, n); return n; }
END
gcc -w -shared -fPIC runtime.c -o libruntime.so
arch='-gencode=arch=compute_75,code=sm_75 -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90
	-gencode=arch=compute_100,code=sm_100 -gencode=arch=compute_120,code=[sm_120,compute_120]'
for i in 1 2 3; do
	test $i = 1 && rdc=false || rdc=true
	# shellcheck disable=SC2086
	"$nvcc" $arch -rdc=$rdc --compress-mode=none -DKERNEL=k$i -DENTRY=e$i -Xcompiler -fPIC -c a.cu -o $i.o
done
# shellcheck disable=SC2086
"$nvcc" $arch -Xcompiler -fPIC -dlink 2.o 3.o -o link.o
g++ -shared 1.o 2.o 3.o link.o -L. -lruntime -Wl,-rpath,"$PWD" -o five.so
load() { python3 -c "import ctypes, sys; ctypes.CDLL(sys.argv[1]); sys.stdout.flush()" "./$1" | sort; }
load five.so >all
cat all
for what in '--keep sm_90' '--keep sm_90 --drop-relocatable' '--keep sm_80,sm_120,compute_120' '--drop-debug --compress'; do
	# shellcheck disable=SC2086
	mpack thin five.so -o out.so --force $what
	echo "$what"
	load out.so >now
	grep -v kernel now
	grep kernel all >a
	grep kernel now | cmp - a
done
