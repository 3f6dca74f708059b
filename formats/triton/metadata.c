/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.c - the JSON that Triton's compiler writes for each kernel; keys that tell nothing of a launch are passed over */
#include "triton/triton.h"

#include <inttypes.h>

#include "text/escape.h"
#include "text/json_read.h"

struct reader {
	struct mpk_json_value root;
	struct mpk_error *err;
};

/* No block has more of it; of a grid of them 64 bits hold the sum. */
enum { SCRATCH_MAX = 1 << 30, THREADS_MAX = 1024, CLUSTER_MAX = 16 };

static enum mpk_code metadata_wrong(const struct reader *r, const char *key, const char *want)
{
	return mpk_fail(r->err, MPK_E_CORRUPT, "Triton's metadata: '%s' is not %s", key, want);
}

/* A number within bounds; what is not there is its default, where it has one. */
static enum mpk_code read_number(const struct reader *r, const char *key, int64_t least,
				 int64_t most, int64_t otherwise, int64_t *out)
{
	struct mpk_json_value v = mpk_json_value_get(r->root, key);
	enum mpk_json_type type = mpk_json_value_type(v);

	*out = otherwise;
	if ((type == MPK_JSON_NONE || type == MPK_JSON_NULL) && otherwise >= least)
		return MPK_OK;
	if (mpk_json_value_i64(v, out) && *out >= least && *out <= most)
		return MPK_OK;
	return mpk_fail(r->err, MPK_E_CORRUPT,
			"Triton's metadata: '%s' is not a number from %" PRId64 " to %" PRId64, key,
			least, most);
}

static enum mpk_code read_flag(const struct reader *r, const char *key, bool *out)
{
	struct mpk_json_value v = mpk_json_value_get(r->root, key);
	enum mpk_json_type type = mpk_json_value_type(v);

	*out = mpk_span_is(v.text, "true");
	return type == MPK_JSON_BOOLEAN || type == MPK_JSON_NONE || type == MPK_JSON_NULL
		       ? MPK_OK
		       : metadata_wrong(r, key, "true or false");
}

/* An object with names since Triton 3, a list of backend and architecture before. */
static enum mpk_code read_target(const struct reader *r, int64_t *warp, unsigned *arch)
{
	struct mpk_json_value target = mpk_json_value_get(r->root, "target"), backend, number;
	struct mpk_json_items items = mpk_json_items(target);
	int64_t n = 0;

	backend = mpk_json_value_get(target, "backend");
	number = mpk_json_value_get(target, "arch");
	if (mpk_json_value_type(target) == MPK_JSON_ARRAY && mpk_json_next(&items, &backend))
		(void)mpk_json_next(&items, &number);
	if (mpk_json_value_type(backend) == MPK_JSON_STRING && !mpk_json_value_is(backend, "cuda"))
		return mpk_fail(r->err, MPK_E_UNSUPPORTED,
				"Triton's metadata: the kernel is for %s, and cubins are CUDA's",
				MPK_QUOTE(backend.text));
	if (mpk_json_value_i64(number, &n) && n > 0 && n < 1000)
		*arch = (unsigned)n;
	if (mpk_json_value_i64(mpk_json_value_get(target, "warp_size"), &n) && n > 0 && n <= 64)
		*warp = n;
	return MPK_OK;
}

/* "cluster_dims" up to Triton 3.3, the number of blocks along x in every release. */
static enum mpk_code read_cluster(const struct reader *r, uint32_t out[3])
{
	struct mpk_json_value dims = mpk_json_value_get(r->root, "cluster_dims"), v;
	struct mpk_json_items items = mpk_json_items(dims);
	int64_t n;

	MPK_TRY(read_number(r, "num_ctas", 1, CLUSTER_MAX, 1, &n));
	out[0] = (uint32_t)n;
	out[1] = out[2] = 1;
	if (mpk_json_value_type(dims) != MPK_JSON_ARRAY)
		return MPK_OK;
	for (unsigned i = 0; i < 3; i++) {
		if (!mpk_json_next(&items, &v) || !mpk_json_value_i64(v, &n) || n < 1 ||
		    n > CLUSTER_MAX)
			return metadata_wrong(r, "cluster_dims", "a list of three sizes");
		out[i] = (uint32_t)n;
	}
	return MPK_OK;
}

static enum mpk_code read_scratch(const struct reader *r, const char *size, const char *align,
				  struct mpk_triton_scratch *out)
{
	int64_t bytes, alignment;

	MPK_TRY(read_number(r, size, 0, SCRATCH_MAX, 0, &bytes));
	MPK_TRY(read_number(r, align, 1, SCRATCH_MAX, 1, &alignment));
	*out = (struct mpk_triton_scratch){ (uint64_t)bytes, (uint64_t)alignment };
	return MPK_OK;
}

static enum mpk_code read_launch(const struct reader *r, struct mpk_triton *out)
{
	int64_t warps, warp = 32, shared;

	MPK_TRY(read_target(r, &warp, &out->arch));
	MPK_TRY(read_number(r, "num_warps", 1, THREADS_MAX, 0, &warps));
	if (warps * warp > THREADS_MAX)
		return metadata_wrong(r, "num_warps", "a number of warps that a block has");
	out->threads = (uint32_t)(warps * warp);
	MPK_TRY(read_number(r, "shared", 0, SCRATCH_MAX, -1, &shared));
	out->shared_bytes = (uint64_t)shared;
	MPK_TRY(read_cluster(r, out->cluster));
	MPK_TRY(read_scratch(r, "global_scratch_size", "global_scratch_align", &out->global));
	MPK_TRY(read_scratch(r, "profile_scratch_size", "profile_scratch_align", &out->profile));
	MPK_TRY(read_flag(r, "launch_cooperative_grid", &out->cooperative));
	MPK_TRY(read_flag(r, "launch_pdl", &out->programmatic));
	out->descriptor_count =
		mpk_json_value_count(mpk_json_value_get(r->root, "tensordesc_meta"));
	return MPK_OK;
}

enum mpk_code mpk_triton_read(struct mpk_span text, struct mpk_arena *arena, struct mpk_triton *out,
			      struct mpk_error *err)
{
	struct reader r = { .err = err };
	struct mpk_triton t = { 0 };

	MPK_TRY(mpk_json_read(text, &r.root, err));
	MPK_TRY(mpk_json_value_text(mpk_json_value_get(r.root, "name"), arena, &t.name, err));
	if (!t.name || !*t.name ||
	    mpk_json_value_type(mpk_json_value_get(r.root, "num_warps")) == MPK_JSON_NONE)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"this is JSON, but not what Triton notes of a kernel: 'name' and 'num_warps' are not there");
	MPK_TRY(mpk_json_value_text(mpk_json_value_get(r.root, "triton_version"), arena, &t.version,
				    err));
	MPK_TRY(read_launch(&r, &t));
	*out = t;
	return MPK_OK;
}
