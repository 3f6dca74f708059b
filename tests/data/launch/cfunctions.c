/* C functions of many types, for calls by launch functions */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef float real;

int axpb(const float *x, float *y, float a, int n)
{
	if (n > 1000)
		return -22;
	for (int i = 0; i < n; i++)
		y[i] = a * x[i] + 1;
	return 0;
}

double dot(const real *x, const double *y, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}

void transpose(const int16_t *in, int16_t *out, int rows, int cols)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < cols; j++)
			out[j * rows + i] = in[i * cols + j];
}

void scale(int n, double x[n], double by)
{
	while (n-- > 0)
		x[n] *= by;
}

/* each kind of number by value: what came, as numbers of 64 bits */
int64_t all(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g,
	    uint64_t h, bool i, float j, double k, int64_t *out)
{
	int64_t values[] = {
		a, b, c, d, e, f, g, (int64_t)h, i, (int64_t)(j * 4), (int64_t)(k * 8)
	};

	for (int n = 0; n < 11; n++)
		out[n] = values[n];
	return INT64_MIN + 1;
}

int8_t give_i8(int x)
{
	return (int8_t)x;
}
uint8_t give_u8(int x)
{
	return (uint8_t)x;
}
int16_t give_i16(int x)
{
	return (int16_t)x;
}
uint16_t give_u16(int x)
{
	return (uint16_t)x;
}
int give_i32(int x)
{
	return x + 1;
}
unsigned give_u32(int x)
{
	return (unsigned)x;
}
uint64_t give_u64(int x)
{
	return (uint64_t)x;
}
bool give_bool(int x)
{
	return x > 0;
}
float give_f32(int x)
{
	return (float)x / 4;
}
double give_f64(int x)
{
	return (double)x / 8;
}
void give_nothing(void)
{
}

static int own(int x)
{
	return x;
}

struct pair {
	int a, b;
};
int by_value(struct pair p)
{
	return own(p.a);
}
int of_text(const char *text)
{
	return *text;
}
