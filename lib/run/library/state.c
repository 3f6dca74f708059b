/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - saves and restores caches and recurrent states as bytes
 *
 * A state is meaningful only to its model, so it contains a digest of the model's blob. For a large
 * blob, which consists mostly of weights, only samples are hashed, so that saving takes no longer
 * than the state's own bytes need. Weights bound from files are not part of the digest.
 */
#include <string.h>

#include "library/internal/library.h"

/* --- which model ------------------------------------------------------------------------------- */

enum { PIECES = 256, PIECE_BYTES = 1 << 16 };

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static void add(uint64_t digest[2], struct mpk_span bytes)
{
	uint64_t word = 0;
	size_t i = 0;

	for (; i + 8 <= bytes.len; i += 8) {
		memcpy(&word, bytes.data + i, 8);
		digest[0] = mix(digest[0], word);
		digest[1] = mix(digest[1] + digest[0], word);
	}
	word = 0;
	if (i < bytes.len)
		memcpy(&word, bytes.data + i, bytes.len - i);
	digest[0] = mix(digest[0], word);
	digest[1] = mix(digest[1] + digest[0], bytes.len);
}

static void model_digest(const struct mpkr_model *model, int64_t out[2])
{
	uint64_t digest[2] = { 1, 2 };
	size_t count = model->tree ? model->tree->count : 0;

	for (size_t i = 0; i < count; i++) {
		struct mpk_span p = model->tree->nodes[i].payload;

		add(digest, model->tree->nodes[i].kind);
		if (p.len <= (size_t)PIECES * PIECE_BYTES) {
			add(digest, p);
			continue;
		}
		for (size_t k = 0; k < PIECES; k++)
			add(digest, mpk_span_of(p.data + (p.len - PIECE_BYTES) / (PIECES - 1) * k,
						PIECE_BYTES));
		add(digest, mpk_span_of(p.data + p.len - PIECE_BYTES, PIECE_BYTES));
		digest[0] = mix(digest[0], p.len);
	}
	out[0] = (int64_t)digest[0];
	out[1] = (int64_t)digest[1];
}

/* --- calls -------------------------------------------------------------------------------------- */

/* @arg     borrowed */
static enum mpk_code call_state(const struct mpkr_value *state, const char *name,
				struct mpk_value arg, struct mpk_value *result,
				struct mpk_error *err)
{
	struct mpkr_model *model = state->model;
	struct mpk_function *f;
	struct mpk_value args[3] = { state->value, arg };
	struct mpk_memory *before;
	int64_t digest[2];
	enum mpk_code code;

	MPK_TRY(mpk_runtime_find_global(model->runtime, name, &f, err));
	if (!f)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "this build has no caches");
	if (state->value.kind != MPK_VALUE_OBJECT)
		return mpk_fail(err, MPK_E_USAGE, "a value that is no state: %s",
				mpkr_value_type(state));
	model_digest(model, digest);
	MPK_TRY(mpk_value_of_shape(digest, 2, &args[2], err));
	before = mpk_run_takes(model);
	code = mpk_function_call(f, &(struct mpk_args){ args, NULL, 3 }, result, err);
	(void)mpk_memory_swap(before);
	mpk_value_drop(&args[2]);
	return code;
}

static enum mpk_code save_state(const struct mpkr_value *state, const int64_t *ids, size_t count,
				struct mpkr_result **out, struct mpk_error *err)
{
	struct mpk_value wanted = { 0 }, bytes = { 0 };
	enum mpk_code code;

	if (!state || !out || (count && !ids))
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	if (ids)
		MPK_TRY(mpk_value_of_shape(ids, count, &wanted, err));
	code = call_state(state, "mpk.state_save", wanted, &bytes, err);
	mpk_value_drop(&wanted);
	MPK_TRY(code);
	*out = mpk_run_result(state->model, bytes.tensor);
	if (*out)
		return MPK_OK;
	mpk_value_drop(&bytes);
	return mpk_fail_nomem(err);
}

int mpkr_state_save(const mpkr_value *state, const int64_t *ids, size_t count,
		    struct mpkr_result **out, struct mpkr_error *err)
{
	struct mpkr_result *made = NULL;
	struct mpk_error failure;

	if (save_state(state, ids, count, out ? &made : NULL, &failure) != MPK_OK)
		return mpk_run_report(&failure, err);
	*out = made;
	return MPKR_OK;
}

static enum mpk_code load_state(mpkr_value *state, const void *bytes, size_t len,
				struct mpk_error *err)
{
	int64_t extent = (int64_t)len;
	struct mpk_dltensor dl = { .data = (void *)(uintptr_t)bytes,
				   .device = { MPK_DL_CPU, 0 },
				   .ndim = 1,
				   .dtype = { MPK_DTYPE_UINT, 8, 1 },
				   .shape = &extent };
	struct mpk_value nothing = { 0 };
	struct mpk_tensor *t;
	enum mpk_code code;

	if (!state || !bytes)
		return mpk_fail(err, MPK_E_USAGE, "a pointer that is needed is NULL");
	MPK_TRY(mpk_tensor_wrap(&dl, NULL, &t, err));
	code = call_state(state, "mpk.state_load", mpk_value_of_tensor(t), &nothing, err);
	mpk_tensor_drop(t);
	mpk_value_drop(&nothing);
	return code;
}

int mpkr_state_load(mpkr_value *state, const void *bytes, size_t len, struct mpkr_error *err)
{
	struct mpk_error failure;

	if (load_state(state, bytes, len, &failure) == MPK_OK)
		return MPKR_OK;
	return mpk_run_report(&failure, err);
}
