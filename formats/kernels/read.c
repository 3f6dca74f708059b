/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - kernels of GPUs with the table of their functions, in seven layouts, by kind and
 * release; and launch tags
 *
 * A payload does not say which layout it has. So those that its kind and generation allow are
 * tried, the likeliest first, and one is accepted if it reads to where another item may begin.
 * Layouts are named after what they store; FORMAT.md lists their fields. */
#include "kernels/kernels.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "payload.h"
#include "text/escape.h"
#include "wire.h"

/* Device payloads, for kinds with several layouts
 *
 * All layouts that a kind and generation may have are tried, the likeliest first. The one is used
 * after which the bytes end or a module begins; else the first that reads, so that damage after a
 * payload is not reported for the payload. If none reads, the failure that came furthest is
 * reported. */

/* The fewest bytes of a map entry: key, name, three vectors without elements (four from 0.21 on). */
enum { FUNCTION_MIN = 5 * 8, SOURCE_MIN = 2 * 8, SHADER_MIN = 8 + 4 + 8 };

struct reader {
	struct mpk_cursor *c;
	struct mpk_arena *arena;
	struct mpk_kernels *out;
	struct mpk_error *err;
	size_t start; /* position of the first byte of the payload */
};

/* Reads numbers of four bytes, one for each argument that has one. */
static enum mpk_code read_extra_tags(struct reader *r, struct mpk_function_info *f)
{
	int32_t *tags;
	size_t count;

	MPK_TRY(mpk_read_count(r->c, "arg_extra_tags", 4, &count, r->err));
	tags = mpk_arena_array(r->arena, count, sizeof *tags);
	if (!tags)
		return mpk_fail_nomem(r->err);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(mpk_read_i32(r->c, "arg_extra_tags", &tags[i], r->err));
	f->extra_tags = tags;
	f->extra_tag_count = count;
	return MPK_OK;
}

static enum mpk_code kernels_read_function(struct reader *r, struct mpk_function_info *f)
{
	struct mpk_strs tags;

	MPK_TRY(mpk_read_str(r->c, "function key", &f->key, r->err));
	MPK_TRY(mpk_read_str(r->c, "function name", &f->name, r->err));

	/* Each type takes four bytes in the file, which limits their number. */
	struct mpk_dtype *types;
	size_t count;

	MPK_TRY(mpk_read_count(r->c, "arg_types", 4, &count, r->err));
	types = mpk_arena_array(r->arena, count, sizeof *types);
	if (!types)
		return mpk_fail_nomem(r->err);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(mpk_dtype_read(r->c, "arg_types", &types[i], r->err));
	f->arg_types = types;
	f->arg_count = count;

	MPK_TRY(mpk_read_strs(r->c, "launch_param_tags", r->arena, &tags, r->err));
	f->launch_tags = tags.items;
	f->launch_tag_count = tags.count;
	return r->out->gen == MPK_GEN_LEGACY ? MPK_OK : read_extra_tags(r, f);
}

/* Reads the map of functions, by key. */
static enum mpk_code kernels_read_functions(struct reader *r)
{
	size_t least = r->out->gen == MPK_GEN_LEGACY ? FUNCTION_MIN - 8 : FUNCTION_MIN;
	struct mpk_function_info *functions;
	size_t count;

	MPK_TRY(mpk_read_count(r->c, "function table", least, &count, r->err));
	functions = mpk_arena_array(r->arena, count, sizeof *functions);
	if (!functions)
		return mpk_fail_nomem(r->err);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(kernels_read_function(r, &functions[i]));
	r->out->functions = functions;
	r->out->function_count = count;
	return MPK_OK;
}

static bool has_shaders(enum mpk_kernels_layout layout)
{
	return layout == MPK_KERNELS_SHADERS || layout == MPK_KERNELS_SHADERS_024 ||
	       layout == MPK_KERNELS_OPENCL_SPIRV;
}

static enum mpk_code read_sources(struct reader *r)
{
	bool shaders = has_shaders(r->out->layout);
	struct mpk_kernel_source *sources;
	size_t count;

	MPK_TRY(mpk_read_count(r->c, "kernel map", shaders ? SHADER_MIN : SOURCE_MIN, &count,
			       r->err));
	sources = mpk_arena_array(r->arena, count, sizeof *sources);
	if (!sources)
		return mpk_fail_nomem(r->err);
	for (size_t i = 0; i < count; i++) {
		MPK_TRY(mpk_read_str(r->c, "kernel name", &sources[i].key, r->err));
		if (shaders) {
			/* u32 flag and words; from 0.24 on the record is inside a byte string */
			struct mpk_kernel_source *s = &sources[i];
			struct mpk_cursor *c = r->c, inner;
			struct mpk_span record;

			if (r->out->layout == MPK_KERNELS_SHADERS_024) {
				uint64_t base = mpk_cursor_offset(c) + 8;

				MPK_TRY(mpk_read_str(c, "shader", &record, r->err));
				inner = mpk_cursor_of(record, base, c->space);
				c = &inner;
			}
			MPK_TRY(mpk_read_u32(c, "shader flag", &s->flag, r->err));
			MPK_TRY(mpk_read_words(c, "shader words", 4, &s->data, r->err));
			if (c == &inner && mpk_cursor_left(c) != 0)
				return mpk_fail_offset(
					r->err, MPK_E_CORRUPT, c->space, mpk_cursor_offset(c),
					"shader: %zu bytes after its words", mpk_cursor_left(c));
		} else
			MPK_TRY(mpk_read_str(r->c, "kernel source", &sources[i].data, r->err));
	}
	r->out->sources = sources;
	r->out->source_count = count;
	return MPK_OK;
}

static enum mpk_code read_fmt(struct reader *r)
{
	return mpk_read_str(r->c, "format", &r->out->fmt, r->err);
}

static enum mpk_code read_metal_013(struct reader *r)
{
	struct mpk_span version;

	MPK_TRY(mpk_read_str(r->c, "version", &version, r->err));
	if (!mpk_span_is(version, MPK_METAL_013_VERSION))
		return mpk_fail_offset(r->err, MPK_E_CORRUPT, r->c->space, r->c->base + r->start,
				       "version is \"%s\", not \"%s\"", MPK_QUOTE(version),
				       MPK_METAL_013_VERSION);
	MPK_TRY(read_sources(r));
	MPK_TRY(kernels_read_functions(r));
	return read_fmt(r);
}

static enum mpk_code read_layout(struct reader *r)
{
	switch (r->out->layout) {
	case MPK_KERNELS_METAL_013:
		return read_metal_013(r);
	case MPK_KERNELS_WEBGPU:
	case MPK_KERNELS_OPENCL_SPIRV:
		MPK_TRY(kernels_read_functions(r));
		return read_sources(r);
	case MPK_KERNELS_PLAIN:
		MPK_TRY(read_fmt(r));
		MPK_TRY(kernels_read_functions(r));
		MPK_TRY(mpk_read_str(r->c, "data", &r->out->data, r->err));
		r->out->data_off = r->c->pos - r->out->data.len - r->start;
		return MPK_OK;
	case MPK_KERNELS_SOURCES:
	case MPK_KERNELS_SHADERS:
	case MPK_KERNELS_SHADERS_024:
		break;
	}
	MPK_TRY(read_fmt(r));
	MPK_TRY(kernels_read_functions(r));
	return read_sources(r);
}

/* Lists the layouts that a payload of this kind may have, the likeliest first (FORMAT.md 2).
 * Returns  their number */
static size_t candidates(struct mpk_span kind, enum mpk_generation gen,
			 enum mpk_kernels_layout out[3])
{
	bool current = gen == MPK_GEN_CURRENT;
	size_t n = 0;

	if (mpk_span_is(kind, "webgpu")) {
		out[n++] = MPK_KERNELS_WEBGPU;
		return n;
	}
	if (mpk_span_is(kind, "vulkan")) {
		if (current)
			out[n++] = MPK_KERNELS_SHADERS_024;
		out[n++] = MPK_KERNELS_SHADERS;
		return n;
	}
	if (mpk_span_is(kind, "metal")) {
		out[n++] = MPK_KERNELS_METAL_013;
		if (current)
			out[n++] = MPK_KERNELS_SOURCES;
	}
	out[n++] = MPK_KERNELS_PLAIN;
	if (mpk_span_is(kind, "opencl"))
		out[n++] = MPK_KERNELS_OPENCL_SPIRV;
	return n;
}

/* Every writer stores a format; two empty strings are more likely two empty tables. */
static bool plausible(const struct mpk_kernels *k)
{
	return k->layout != MPK_KERNELS_PLAIN || k->fmt.len > 0;
}

enum mpk_code mpk_kernels_read(struct mpk_cursor *c, struct mpk_span kind, enum mpk_generation gen,
			       struct mpk_arena *arena, struct mpk_kernels *out,
			       struct mpk_error *err)
{
	enum mpk_kernels_layout layouts[3];
	size_t count = candidates(kind, gen, layouts);
	struct mpk_error now, furthest = { 0 };
	struct mpk_kernels fallback = { 0 };
	size_t fallback_pos = 0;

	for (size_t i = 0; i < count; i++) {
		struct mpk_cursor at = *c;
		struct mpk_kernels k = { .layout = layouts[i], .gen = gen };
		struct reader r = { &at, arena, &k, &now, c->pos };
		enum mpk_code code = read_layout(&r);

		if (code == MPK_OK && plausible(&k) &&
		    mpk_item_follows(&at, gen != MPK_GEN_CURRENT)) {
			*c = at;
			*out = k;
			return MPK_OK;
		}
		if (code == MPK_OK && !fallback_pos) {
			fallback = k;
			fallback_pos = at.pos;
		}
		if (code != MPK_OK && (i == 0 || now.at.offset > furthest.at.offset))
			furthest = now;
	}
	/* Every layout has at least 8 bytes, so 0 means that none was read. */
	if (!fallback_pos) {
		if (err)
			*err = furthest;
		return mpk_failed(furthest.code);
	}
	c->pos = fallback_pos;
	*out = fallback;
	return MPK_OK;
}

static enum mpk_code kernels_read_payload(struct mpk_cursor *c, struct mpk_arena *arena,
					  struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_kernels_read(c, mpk_span_str(out->kind->name), out->gen, arena, &out->u.kernels,
				err);
}

const struct mpk_payload_reader mpk_reader_kernels = { MPK_PAYLOAD_KERNELS, kernels_read_payload };

/* --- launch tags, in both spellings ---------------------------------------------------------- */

static const struct {
	const char *text;
	enum mpk_launch_tag tag;
} tags[] = {
	{ "blockIdx.x", MPK_TAG_GRID_X },
	{ "blockIdx.y", MPK_TAG_GRID_Y },
	{ "blockIdx.z", MPK_TAG_GRID_Z },
	{ "threadIdx.x", MPK_TAG_BLOCK_X },
	{ "threadIdx.y", MPK_TAG_BLOCK_Y },
	{ "threadIdx.z", MPK_TAG_BLOCK_Z },
	{ "clusterCtaIdx.x", MPK_TAG_CLUSTER_X },
	{ "clusterCtaIdx.y", MPK_TAG_CLUSTER_Y },
	{ "clusterCtaIdx.z", MPK_TAG_CLUSTER_Z },
	{ "preferredClusterCtaIdx.x", MPK_TAG_PREFERRED_CLUSTER_X },
	{ "preferredClusterCtaIdx.y", MPK_TAG_PREFERRED_CLUSTER_Y },
	{ "preferredClusterCtaIdx.z", MPK_TAG_PREFERRED_CLUSTER_Z },
	{ "tir.use_dyn_shared_memory", MPK_TAG_DYN_SHARED },
	{ "tirx.use_dyn_shared_memory", MPK_TAG_DYN_SHARED },
	/* "programtic" is TVM's spelling */
	{ "tir.use_programtic_dependent_launch", MPK_TAG_PROGRAMMATIC },
	{ "tirx.use_programtic_dependent_launch", MPK_TAG_PROGRAMMATIC },
	{ "tir.use_cooperative_launch", MPK_TAG_COOPERATIVE },
	{ "tirx.use_cooperative_launch", MPK_TAG_COOPERATIVE },
};

enum mpk_launch_tag mpk_launch_tag_parse(struct mpk_span tag)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tags); i++) {
		if (mpk_span_is(tag, tags[i].text))
			return tags[i].tag;
	}
	return mpk_span_starts(tag, "paramWriteAccess:[") ? MPK_TAG_WRITE_ACCESS : MPK_TAG_UNKNOWN;
}

bool mpk_launch_tag_takes_argument(enum mpk_launch_tag tag)
{
	return tag <= MPK_TAG_DYN_SHARED;
}

const struct mpk_function_info *mpk_kernels_find(const struct mpk_kernels *k, struct mpk_span key)
{
	for (size_t i = 0; i < k->function_count; i++) {
		if (mpk_span_equal(k->functions[i].key, key))
			return &k->functions[i];
	}
	return NULL;
}
