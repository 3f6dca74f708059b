/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - chooses the next token from a model's output: penalties, softmax, sampling
 *
 * All functions compute in float and add in the same order as TVM's builtins, so that the same
 * random number chooses the same token. Of tokens with equal probabilities, the smaller one comes
 * first. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "executor/state/internal/state.h"
#include "runtime/devices.h"
#include "runtime/runtime.h"

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 }, i32 = { MPK_DTYPE_INT, 32, 1 },
			      i64 = { MPK_DTYPE_INT, 64, 1 };

/* --- arguments --------------------------------------------------------------------------------- */

/* Reads a tensor in host memory, which is changed in place. */
static enum mpk_code here(const char *name, const struct mpk_value *args, size_t i,
			  struct mpk_dtype dtype, struct mpk_tensor **out, struct mpk_error *err)
{
	MPK_TRY(mpk_relax_tensor(name, args, i, out, err));
	const struct mpk_dltensor *dl = &(*out)->dl;

	return mpk_state_check(mpk_dtype_equal(dl->dtype, dtype) && dl->ndim > 0 &&
				       mpk_dltensor_is_compact(dl) &&
				       mpk_dldevice_is_host(dl->device),
			       err, "%s: argument %zu must be a compact tensor of %s on the CPU",
			       name, i, dtype.code == MPK_DTYPE_FLOAT ? "float32" : "int32");
}

/* Copies a tensor of floats from any device to host memory. */
static enum mpk_code fetch(const char *name, const struct mpk_value *args, size_t i,
			   struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	struct mpk_tensor *t;

	MPK_TRY(mpk_relax_tensor(name, args, i, &t, err));
	MPK_TRY(mpk_state_check(mpk_dtype_equal(t->dl.dtype, f32) && t->dl.ndim > 0 &&
					mpk_dltensor_is_compact(&t->dl),
				err, "%s: argument %zu must be a compact tensor of float32", name,
				i));
	if (mpk_dldevice_is_host(t->dl.device))
		out->tensor = mpk_tensor_hold(t);
	else if (!runtime)
		return mpk_fail(err, MPK_E_INTERNAL, "a sampler is used outside of any call");
	else
		MPK_TRY(mpk_devices_copy_to_host(mpk_runtime_devices(runtime), &t->dl, &out->tensor,
						 err));
	out->kind = MPK_VALUE_TENSOR;
	return MPK_OK;
}

static int64_t row_length(const struct mpk_tensor *t)
{
	return t->dl.shape[t->dl.ndim - 1];
}

/* --- sampling ------------------------------------------------------------------------------------ */

struct choice {
	float p;
	int32_t token;
};

/* Sorts from the most likely token to the least; NaN comes last. */
static int by_probability(const void *left, const void *right)
{
	const struct choice *a = left, *b = right;

	if (a->p > b->p)
		return -1;
	if (a->p < b->p)
		return 1;
	if (isnan(a->p) != isnan(b->p))
		return isnan(a->p) ? 1 : -1;
	return a->token < b->token ? -1 : a->token > b->token;
}

/* Checks that a tensor is one row of floats. */
static enum mpk_code check_row(const char *name, const struct mpk_tensor *t, struct mpk_error *err)
{
	for (int32_t i = 0; i + 1 < t->dl.ndim; i++)
		MPK_TRY(mpk_state_check(t->dl.shape[i] == 1, err,
					"%s: of several rows it is unknown which to sample from",
					name));
	return mpk_state_check(row_length(t) > 0 && row_length(t) <= INT32_MAX, err,
			       "%s: there are no tokens to choose from", name);
}

static int32_t sample_logits(struct choice *c, size_t n, double temperature, double top_p,
			     double uniform)
{
	float sum = 0, scale = (float)(1.0 / temperature), top = c[0].p, reached = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		c[i].p = expf((c[i].p - top) * scale);
		sum += c[i].p;
	}
	for (size_t i = 0; i < n; i++) {
		float p = c[i].p / sum;

		if (reached < top_p)
			kept += p;
		reached += p;
		c[i].p = reached;
	}
	for (size_t i = 0; i < n; i++)
		if (uniform < c[i].p / kept)
			return c[i].token;
	return c[0].token;
}

static enum mpk_code choose_logits(const char *name, const struct mpk_value *args,
				   const struct mpk_tensor *t, int32_t *out, struct mpk_error *err)
{
	double temperature, top_p, uniform;
	const float *p = mpk_dltensor_data(&t->dl);
	size_t n = (size_t)row_length(t);
	struct choice *c;

	MPK_TRY(mpk_state_real(name, args, 1, &temperature, err));
	MPK_TRY(mpk_state_real(name, args, 2, &top_p, err));
	MPK_TRY(mpk_state_real(name, args, 3, &uniform, err));
	c = malloc(n * sizeof *c);
	MPK_TRY_ALLOC(c, err);
	for (size_t i = 0; i < n; i++)
		c[i] = (struct choice){ p[i], (int32_t)i };
	qsort(c, n, sizeof *c, by_probability);
	*out = temperature < 1e-6F ? c[0].token : sample_logits(c, n, temperature, top_p, uniform);
	free(c);
	return MPK_OK;
}

static enum mpk_code from_logits(const struct mpk_value *args, size_t count,
				 struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.sample_top_p_from_logits";
	MPK_CLEANUP(mpk_value_drop) struct mpk_value logits = { 0 };
	int32_t token;

	MPK_TRY(mpk_relax_arity(name, count, 4, 4, err));
	MPK_TRY(fetch(name, args, 0, &logits, err));
	MPK_TRY(check_row(name, logits.tensor, err));
	MPK_TRY(choose_logits(name, args, logits.tensor, &token, err));
	*result = mpk_value_of_int(token);
	return MPK_OK;
}

/* Samples among the tokens whose probability is at least the given one; returns -1 if there are too
 * few of them to decide. */
static int32_t sample_from(const float *p, size_t n, float least, double top_p, double uniform,
			   struct choice *c)
{
	float reached = 0, kept = 0;
	size_t count = 0, i;

	for (i = 0; i < n; i++)
		if (p[i] >= least)
			c[count++] = (struct choice){ p[i], (int32_t)i };
	if (!count)
		return -1;
	qsort(c, count, sizeof *c, by_probability);
	if (uniform < c[0].p / top_p)
		return c[0].token;
	for (i = 0; i < count && reached < top_p; i++) {
		kept += c[i].p;
		reached += c[i].p;
		c[i].p = reached;
	}
	if (reached < top_p && least != 0.0F)
		return -1;
	for (i = 0; i < count; i++)
		if (uniform < c[i].p / kept)
			return c[i].token;
	return c[count - 1].token;
}

static enum mpk_code choose_prob(const char *name, const struct mpk_value *args,
				 const struct mpk_tensor *t, int32_t *out, struct mpk_error *err)
{
	const float *p = mpk_dltensor_data(&t->dl);
	size_t n = (size_t)row_length(t);
	double top_p, uniform;
	struct choice *c;

	MPK_TRY(mpk_state_real(name, args, 1, &top_p, err));
	MPK_TRY(mpk_state_real(name, args, 2, &uniform, err));
	c = malloc(n * sizeof *c);
	MPK_TRY_ALLOC(c, err);
	*out = top_p < 1 ? sample_from(p, n, (float)(top_p / 1024), top_p, uniform, c) : -1;
	if (*out < 0)
		*out = sample_from(p, n, 0.0F, top_p, uniform, c);
	free(c);
	return mpk_state_check(*out >= 0, err, "%s: no token has a probability", name);
}

static enum mpk_code from_prob(const struct mpk_value *args, size_t count, struct mpk_value *result,
			       struct mpk_error *err)
{
	static const char name[] = "vm.builtin.sample_top_p_from_prob";
	MPK_CLEANUP(mpk_value_drop) struct mpk_value prob = { 0 };
	int32_t token;

	MPK_TRY(mpk_relax_arity(name, count, 3, 3, err));
	MPK_TRY(fetch(name, args, 0, &prob, err));
	MPK_TRY(check_row(name, prob.tensor, err));
	MPK_TRY(choose_prob(name, args, prob.tensor, &token, err));
	*result = mpk_value_of_int(token);
	return MPK_OK;
}

/* Takes the last token if the probabilities add up to less than the random number. */
static void sample_rows(const struct mpk_tensor *prob, const float *uniform, int64_t *out)
{
	const float *p = mpk_dltensor_data(&prob->dl);
	int64_t rows = prob->dl.shape[0], n = row_length(prob);

	for (int64_t i = 0; i < rows; i++) {
		float reached = 0;

		out[i] = 0;
		for (int64_t k = 0; k < n; k++) {
			out[i] = k;
			reached += p[i * n + k];
			if (reached > uniform[i])
				break;
		}
	}
}

static enum mpk_code multinomial(const struct mpk_value *args, size_t count,
				 struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.multinomial_from_uniform";
	MPK_CLEANUP(mpk_value_drop) struct mpk_value prob = { 0 }, uniform = { 0 };
	struct mpk_tensor *made;

	MPK_TRY(mpk_relax_arity(name, count, 2, 2, err));
	MPK_TRY(fetch(name, args, 0, &prob, err));
	MPK_TRY(fetch(name, args, 1, &uniform, err));
	const int64_t shape[] = { prob.tensor->dl.shape[0], 1 };

	MPK_TRY(mpk_state_check((uint64_t)shape[0] <= uniform.tensor->bytes / sizeof(float) &&
					(uint64_t)(shape[0] * row_length(prob.tensor)) <=
						prob.tensor->bytes / sizeof(float),
				err, "%s: %lld rows want as many random numbers", name,
				(long long)shape[0]));
	MPK_TRY(mpk_tensor_create(i64, shape, 2, MPK_STORAGE_PRIVATE, &made, err));
	sample_rows(prob.tensor, mpk_dltensor_data(&uniform.tensor->dl), made->dl.data);
	*result = mpk_value_of_tensor(made);
	return MPK_OK;
}

/* --- in place ------------------------------------------------------------------------------------ */

/* Tokens outside of the logits would make the kernel write out of bounds. */
static enum mpk_code check_tokens(const char *name, const struct mpk_tensor *logits,
				  const struct mpk_tensor *ids, struct mpk_error *err)
{
	const int32_t *id = mpk_dltensor_data(&ids->dl);
	uint64_t all = logits->bytes / sizeof(float);

	for (int64_t i = 0; i < row_length(ids); i++)
		MPK_TRY(mpk_state_check(id[i] >= 0 && (uint64_t)id[i] < all, err,
					"%s: there is no token %d", name, (int)id[i]));
	return MPK_OK;
}

static enum mpk_code repetition(const struct mpk_value *args, size_t count,
				struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.apply_repetition_penalty";
	struct mpk_tensor *logits, *ids;
	double penalty;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 3, 3, err));
	MPK_TRY(here(name, args, 0, f32, &logits, err));
	MPK_TRY(here(name, args, 1, i32, &ids, err));
	MPK_TRY(mpk_state_real(name, args, 2, &penalty, err));
	MPK_TRY(check_tokens(name, logits, ids, err));
	const int32_t *id = mpk_dltensor_data(&ids->dl);
	float *p = mpk_dltensor_data(&logits->dl);

	for (int64_t i = 0; i < row_length(ids) && ids->bytes; i++) {
		double was = p[id[i]];

		p[id[i]] = (float)(was <= 0 ? was * penalty : was / penalty);
	}
	return MPK_OK;
}

static enum mpk_code presence(const struct mpk_value *args, size_t count, struct mpk_value *result,
			      struct mpk_error *err)
{
	static const char name[] = "vm.builtin.apply_presence_and_frequency_penalty";
	struct mpk_tensor *logits, *ids, *counts;
	double once, each;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 5, 5, err));
	MPK_TRY(here(name, args, 0, f32, &logits, err));
	MPK_TRY(here(name, args, 1, i32, &ids, err));
	MPK_TRY(here(name, args, 2, i32, &counts, err));
	MPK_TRY(mpk_state_real(name, args, 3, &once, err));
	MPK_TRY(mpk_state_real(name, args, 4, &each, err));
	MPK_TRY(check_tokens(name, logits, ids, err));
	MPK_TRY(mpk_state_check((uint64_t)row_length(ids) <= counts->bytes / sizeof(int32_t), err,
				"%s: fewer counts than tokens", name));
	const int32_t *id = mpk_dltensor_data(&ids->dl), *n = mpk_dltensor_data(&counts->dl);
	float *p = mpk_dltensor_data(&logits->dl);

	for (int64_t i = 0; i < row_length(ids) && ids->bytes; i++)
		p[id[i]] = (float)(p[id[i]] - (n[i] * each + once));
	return MPK_OK;
}

/* Uses only the first row, as in TVM. The maximum starts at the smallest positive float, also as in
 * TVM. */
static void softmax(float *p, int64_t n, float scale)
{
	float top = FLT_MIN;
	double sum = 0;

	for (int64_t i = 0; i < n; i++) {
		float x = p[i] * scale, before = top;

		top = x > top ? x : top;
		sum = sum * expf(before - top) + expf(x - top);
	}
	for (int64_t i = 0; i < n; i++)
		p[i] = (float)(expf(p[i] * scale - top) / sum);
}

static enum mpk_code temper(const struct mpk_value *args, size_t count, struct mpk_value *result,
			    struct mpk_error *err)
{
	static const char name[] = "vm.builtin.apply_softmax_with_temperature";
	struct mpk_tensor *logits;
	double temperature;

	(void)result;
	MPK_TRY(mpk_relax_arity(name, count, 2, 2, err));
	MPK_TRY(here(name, args, 0, f32, &logits, err));
	MPK_TRY(mpk_state_real(name, args, 1, &temperature, err));
	if (logits->bytes)
		softmax(mpk_dltensor_data(&logits->dl), row_length(logits),
			(float)(1.0 / temperature));
	return MPK_OK;
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_sample(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_sample_builtins = { rows, MPK_ARRAY_COUNT(rows) };
