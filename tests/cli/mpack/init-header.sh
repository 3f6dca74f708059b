# functions of an archive and of an object by the header that declares them
mkdir lib
cat >lib/math.h <<'END'
#ifndef MATH_H
#define MATH_H
#ifdef __cplusplus
extern "C" {
#endif
/* y = a * x + 1 */
int axpb(const float *x, float *y, float a, int n);
double mean(int n, const double x[n]);
float missing(float x);
static inline int own(int x) { return x; }
#ifdef __cplusplus
}
#endif
#endif
END
cat >axpb.c <<'END'
#include "lib/math.h"
int axpb(const float *x, float *y, float a, int n) { for (int i = 0; i < n; i++) y[i] = a * x[i] + 1; return n > 5; }
END
cat >mean.cc <<'END'
extern "C" double mean(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s / n; }
END
cc -c -fPIC axpb.c mean.cc
ar rc libown.a axpb.o mean.o
mpack init lib/math.h libown.a | tee mpack.toml
mpack build -o own.so
minspect --run axpb own.so --input 3xf32=1,2,3 --out 3xf32 --input 2
minspect --run mean own.so --input 4xf64=1,2,3,4
mpack init lib/math.h axpb.o mean.cc | grep -c '^name    = "[am]'
mpack init axpb.c lib/math.h mean.o | grep calls
mpack init lib/math.h || exit $?
