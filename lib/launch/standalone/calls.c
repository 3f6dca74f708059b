/* --- what the launch functions call --------------------------------------------------------- */

static char set_device_handle;

int mpk_sa_lookup(void *ctx, const char *name, void **out)
{
	(void)ctx;
	if (strcmp(name, "__tvm_set_device") == 0) {
		*out = &set_device_handle;
		return 0;
	}
	for (unsigned i = 0; i < mpk_sa_kernel_count; i++) {
		if (strcmp(mpk_sa_kernels[i].name, name) == 0) {
			*out = (void *)(uintptr_t)&mpk_sa_kernels[i];
			return 0;
		}
	}
	return fail("the library has no kernel %s", name);
}

/* binary16 by rounding to nearest even; the value came as a double. */
static uint64_t half_bits(double x)
{
	uint64_t bits, sign;
	int exponent;

	memcpy(&bits, &x, sizeof bits);
	sign = bits >> 48 & 0x8000;
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
	if (exponent == 1024)
		return sign | 0x7c00 | (fraction ? 0x200 : 0);
	if (exponent < -25)
		return sign;
	if (exponent > 15)
		return sign | 0x7c00;
	int shift = exponent >= -14 ? 42 : 42 + (-14 - exponent);
	uint64_t whole = fraction | UINT64_C(1) << 52;
	uint64_t kept = whole >> shift, rest = whole & ((UINT64_C(1) << shift) - 1);
	uint64_t tie = UINT64_C(1) << (shift - 1);
	kept += rest > tie || (rest == tie && (kept & 1));
	/* kept has its hidden bit at 10: adding the biased exponent minus one carries it in */
	return sign | (exponent >= -14 ? ((uint64_t)(exponent + 14) << 10) + kept : kept);
}

/* The bits of one kernel argument in the width that the kernel declares. */
static uint64_t narrowed(const unsigned char type[2], uint64_t cell)
{
	enum { FLOAT = 2, BFLOAT = 4 };
	double real;
	float single;
	uint32_t word;

	if (type[0] != FLOAT && type[0] != BFLOAT)
		return cell; /* little-endian: the low bytes are the narrower integer */
	memcpy(&real, &cell, sizeof real);
	if (type[0] == FLOAT && type[1] == 64)
		return cell;
	if (type[0] == FLOAT && type[1] == 16)
		return half_bits(real);
	single = (float)real;
	memcpy(&word, &single, sizeof word);
	if (type[0] == BFLOAT)
		word = (word + 0x7fff + (word >> 16 & 1)) >> 16;
	return word;
}

static int launch(const struct mpk_sa_kernel *k, const uint64_t *cells, int n)
{
	struct launch l = { .kernel = k,
			    .index = (unsigned)(k - mpk_sa_kernels),
			    .extent = { 1, 1, 1, 1, 1, 1 } };
	int rc;

	if ((unsigned)n != k->arg_count + k->tag_count || k->arg_count > ARGS_MAX)
		return fail("kernel %s: %u arguments expected, %d given", k->name,
			    k->arg_count + k->tag_count, n);
	for (unsigned i = 0; i < k->arg_count; i++) {
		l.values[i] = narrowed(k->types[i], cells[i]);
		l.args[i] = &l.values[i];
	}
	for (unsigned i = 0; i < k->tag_count; i++) {
		unsigned value = (unsigned)cells[k->arg_count + i];

		if (k->tags[i] < 6)
			l.extent[k->tags[i]] = value ? value : 1;
		else if (k->tags[i] == TAG_SHARED)
			l.shared = value;
	}
	pthread_mutex_lock(&lock);
	rc = mpk_sa_device_type == CUDA ? cuda_launch(&l) : cl_launch(&l);
	pthread_mutex_unlock(&lock);
	return rc;
}

static int call(void *f, const uint64_t *cells, int n)
{
	if (f == &set_device_handle) {
		current_device = n == 2 ? (int)cells[1] : 0;
		return 0;
	}
	return launch(f, cells, n);
}

#ifdef MPK_SA_LEGACY
HIDDEN int mpk_sa_call(void *f, const uint64_t *args, const int *codes, int32_t n, void *ret,
		       int *ret_code);

int mpk_sa_call(void *f, const uint64_t *args, const int *codes, int32_t n, void *ret,
		int *ret_code)
{
	enum { NOTHING = 4 };

	(void)codes;
	(void)ret;
	*ret_code = NOTHING;
	return call(f, args, n);
}
#else
struct any {
	int32_t type;
	uint32_t padding;
	uint64_t value;
};

HIDDEN int mpk_sa_call(void *f, const struct any *args, int32_t n, struct any *result);

int mpk_sa_call(void *f, const struct any *args, int32_t n, struct any *result)
{
	uint64_t cells[ARGS_MAX + 16];

	if (n < 0 || n > ARGS_MAX + 16)
		return fail("too many arguments");
	for (int32_t i = 0; i < n; i++)
		cells[i] = args[i].value;
	result->type = 0;
	return call(f, cells, n);
}
#endif

void *mpk_sa_stage(int32_t id, void *host, int64_t bytes, int32_t copy)
{
	void *p;

	pthread_mutex_lock(&lock);
	p = mpk_sa_device_type == CUDA ? cuda_alloc(id, bytes, copy ? host : NULL)
				       : cl_alloc(id, bytes, copy ? host : NULL);
	pthread_mutex_unlock(&lock);
	return p;
}

int mpk_sa_unstage(int32_t id, void *device, void *host, int64_t bytes, int32_t copy)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = mpk_sa_device_type == CUDA ? cuda_release(id, device, copy ? host : NULL, bytes)
					: cl_release(id, device, copy ? host : NULL, bytes);
	pthread_mutex_unlock(&lock);
	return rc;
}

void *mpk_sa_alloc(int32_t type, int32_t id, int64_t bytes, int32_t code, int32_t bits)
{
	(void)type;
	(void)code;
	(void)bits;
	return mpk_sa_stage(id, NULL, bytes, 0);
}

int mpk_sa_free(int32_t type, int32_t id, void *p)
{
	(void)type;
	return mpk_sa_unstage(id, p, NULL, 0, 0);
}
