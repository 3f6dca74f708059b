/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"
#include "payload.h"
#include "wire.h"

static void put_function(const struct mpk_function_info *f, enum mpk_generation gen,
			 struct mpk_rope *rope)
{
	mpk_rope_put_str(rope, f->key);
	mpk_rope_put_str(rope, f->name);
	mpk_rope_put_u64(rope, f->arg_count);
	for (size_t i = 0; i < f->arg_count; i++)
		mpk_dtype_write(rope, f->arg_types[i]);
	mpk_rope_put_strs(rope, (struct mpk_strs){ f->launch_tags, f->launch_tag_count });
	if (gen == MPK_GEN_LEGACY)
		return;
	mpk_rope_put_u64(rope, f->extra_tag_count);
	for (size_t i = 0; i < f->extra_tag_count; i++)
		mpk_rope_put_u32(rope, (uint32_t)f->extra_tags[i]);
}

static void put_functions(const struct mpk_kernels *k, struct mpk_rope *rope)
{
	mpk_rope_put_u64(rope, k->function_count);
	for (size_t i = 0; i < k->function_count; i++)
		put_function(&k->functions[i], k->gen, rope);
}

static void put_data(const struct mpk_kernels *k, struct mpk_rope *rope)
{
	if (!k->content) {
		mpk_rope_put_blob(rope, k->data);
		return;
	}
	mpk_rope_put_u64(rope, k->content->len);
	mpk_rope_put_rope(rope, k->content);
}

static void put_texts(const struct mpk_kernels *k, struct mpk_rope *rope)
{
	mpk_rope_put_u64(rope, k->source_count);
	for (size_t i = 0; i < k->source_count; i++) {
		mpk_rope_put_str(rope, k->sources[i].key);
		mpk_rope_put_blob(rope, k->sources[i].data);
	}
}

static void put_shaders(const struct mpk_kernels *k, struct mpk_rope *rope)
{
	mpk_rope_put_u64(rope, k->source_count);
	for (size_t i = 0; i < k->source_count; i++) {
		const struct mpk_kernel_source *s = &k->sources[i];

		mpk_rope_put_str(rope, s->key);
		if (k->layout == MPK_KERNELS_SHADERS_024)
			mpk_rope_put_u64(rope, 4 + 8 + (uint64_t)s->data.len);
		mpk_rope_put_u32(rope, s->flag);
		mpk_rope_put_words(rope, s->data, 4);
	}
}

void mpk_kernels_write(const struct mpk_kernels *k, struct mpk_rope *rope)
{
	switch (k->layout) {
	case MPK_KERNELS_METAL_013:
		mpk_rope_put_str(rope, mpk_span_str(MPK_METAL_013_VERSION));
		put_texts(k, rope);
		put_functions(k, rope);
		mpk_rope_put_str(rope, k->fmt);
		return;
	case MPK_KERNELS_WEBGPU:
		put_functions(k, rope);
		put_texts(k, rope);
		return;
	case MPK_KERNELS_OPENCL_SPIRV:
		put_functions(k, rope);
		put_shaders(k, rope);
		return;
	case MPK_KERNELS_PLAIN:
		mpk_rope_put_str(rope, k->fmt);
		put_functions(k, rope);
		put_data(k, rope);
		return;
	case MPK_KERNELS_SOURCES:
		mpk_rope_put_str(rope, k->fmt);
		put_functions(k, rope);
		put_texts(k, rope);
		return;
	case MPK_KERNELS_SHADERS:
	case MPK_KERNELS_SHADERS_024:
		mpk_rope_put_str(rope, k->fmt);
		put_functions(k, rope);
		put_shaders(k, rope);
		return;
	}
}

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static enum mpk_code read_payload(struct mpk_cursor *c, struct mpk_arena *arena,
				  struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_kernels_read(c, mpk_span_str(out->kind->name), out->gen, arena, &out->u.kernels,
				err);
}

static void write_payload(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_kernels_write(&p->u.kernels, rope);
}

const struct mpk_codec mpk_codec_kernels = { MPK_PAYLOAD_KERNELS, read_payload, write_payload };
