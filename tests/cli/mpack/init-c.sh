# C functions in a manifest: what is guessed, what is asked, what is left out and why
cat >own.c <<'END'
#include <stddef.h>
struct s { int x; };
typedef float real;
static int helper(int x) { return x; }
int main(void) { return helper(0); }
int by_value(struct s s) { return s.x; }
int by_address(struct s *s) { return s->x; }
int of_text(const char *text) { return *text; }
int any(int n, ...) { return n; }
real sum(const real *x, size_t n)
{
	real s = 0;
	for (size_t i = 0; i < n; i++)
		s += x[i];
	return s;
}
void window(const double *x, double *y, int n, int width)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < width; k++)
			y[i] += x[i + k];
}
int count(const int *x, int len) { int c = 0; while (len--) c += x[len] != 0; return c; }
void any_bytes(void *p, size_t size) { (void)p; (void)size; }
#ifdef EXTRA
void extra(float *x) { *x = 0; }
#endif
float *of_pointer(float *x) { return x; }
void taken(float *min, float *p_size, float *) { }
END
mpack init own.c | tee mpack.toml
mpack check
cat >own.cc <<'END'
extern "C" int in_c(float *x, int n) { for (int i = 0; i < n; ++i) x[i] = 0; return 0; }
int mangled(int x) { return x; }
template <class T> int made(T x) { return 0; }
extern "C" { namespace n { void too(bool b, unsigned char c) { } } }
END
mpack init own.cc
# a file that is complete has functions for loaders, and its others are its own
echo 'int __tvm_ffi_f(void *s, void *a, int n, void *r) { return g(1); } int g(int x) { return x; }' >whole.c
mpack init whole.c
