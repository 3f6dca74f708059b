# kernels of C++: the symbols in the manifest are those that a compiler makes
cat >k.cu <<'END'
#include "cuda_words.h"
struct Box { int x, y; };
typedef float real;
__global__ void plain(const float *__restrict__ A, float *B, int n) { if (blockIdx.x < n) B[blockIdx.x] = A[0]; }
extern "C" __global__ void c_name(float *A) { }
extern "C" {
__global__ void c_block(float *A) { }
}
namespace ops {
namespace inner {
__global__ void __launch_bounds__(64) nested(unsigned char *a, const unsigned char *b, unsigned n) { if (blockIdx.x < n) a[0] = 1; }
}
__global__ void once(double *a, double *b, const double *c, long long d, unsigned long e) { extern __shared__ double s[]; }
}
__global__ void every(bool a, char b, signed char c, unsigned char d, short e, unsigned short f, int g, unsigned int h,
		      long i, unsigned long j, long long k, unsigned long long l, float m, double n, size_t o, int64_t p,
		      uint8_t q, float **r, const int *s, const int *t, float4 *u, const float4 *v, Box *w, Box *x) { }
__global__ void grid(float *out, int w, int h) { out[blockIdx.y * w + blockIdx.x] = threadIdx.y; }
__global__ void boxes(Box b, float *out) { }
__global__ void typed(real *out) { }
template <typename T> __global__ void generic(T *out) { }
static __global__ void hidden(float *out) { }
namespace { __global__ void nameless(float *out) { } }
END
cat >cuda_words.h <<'END'
#include <stdint.h>
#include <stddef.h>
#define __global__
#define __launch_bounds__(n)
#define __shared__
struct float4 { float x, y, z, w; };
struct { int x, y, z; } blockIdx, threadIdx;
END
mpack init k.cu | tee mpack.toml
mpack check
sed -n 's/^  name *= "\(.*\)"/\1/p' mpack.toml | sort >ours
cp k.cu k.cc
c++ -c -O0 -x c++ k.cc -o k.o
nm --defined-only k.o | awk '$2 == "T" { print $3 }' | sort >theirs
comm -23 ours theirs
comm -13 ours theirs | c++filt

# PTX and cubins have such symbols: they tell names and types
sed 's/scale/_Z5scalePfPKffi/g' data/device/two.ptx >scale.ptx
mpack init scale.ptx | sed -n '/name   = "_Z/,$p'
