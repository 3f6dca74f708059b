/* SPDX-License-Identifier: Apache-2.0 */
/* tree_made.h - module trees made up at random: graphs of any shape, device modules with code that fits their
 * kernel tables and without, names that no file can have
 *
 * All of it lives in the static arena. */
#ifndef MPK_TESTS_UNIT_TREE_MADE_H
#define MPK_TESTS_UNIT_TREE_MADE_H

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "harness.h"
#include "kernels/kernels.h"
#include "manifest/manifest.h"
#include "package/package.h"

static struct mpk_arena arena;

enum { NODES_MAX = 9 };

struct made {
	uint64_t state;
	enum mpk_generation gen;
	size_t count;
	struct mpk_module modules[NODES_MAX];
	struct mpk_rope contents[NODES_MAX];
	size_t imports[NODES_MAX][NODES_MAX];
};

HARNESS_FN struct mpk_span random_bytes(struct made *m, size_t most)
{
	size_t len = random_below(&m->state, most + 1);
	uint8_t *data = mpk_arena_alloc(&arena, len + 1);

	ck_assert_ptr_nonnull(data);
	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)random_next(&m->state);
	return mpk_span_of(data, len);
}

/* Names as compilers give them, and now and then one that no file can have. */
HARNESS_FN struct mpk_span random_name(struct made *m, size_t number)
{
	static const char *const odd[] = {
		"../../etc/passwd", "a b", "\"quoted\"\\", "",  "\xc3\xa4", "tab\there",
		"\xff\xfe",         "CON", "x.metal",      "K", "k"
	};

	if (random_below(&m->state, 6) == 0)
		return mpk_span_str(odd[random_below(&m->state, MPK_ARRAY_COUNT(odd))]);
	return mpk_span_str(mpk_arena_printf(&arena, "kernel_%zu", number));
}

static const char ptx_head[] = ".version 7.0\n.target sm_80\n.address_size 64\n";

HARNESS_FN struct mpk_span random_code(struct made *m, const struct mpk_kernels *k)
{
	struct mpk_rope text = mpk_rope_of(&arena);
	struct mpk_span flat;
	bool ptx = mpk_span_is(k->fmt, "ptx"), cl = mpk_span_is(k->fmt, "cl");

	if (random_below(&m->state, 5) == 0 || (!ptx && !cl))
		return random_bytes(m, 90);
	if (ptx)
		mpk_rope_put_bytes(&text, mpk_span_str(ptx_head));
	for (size_t i = 0; i < k->function_count; i++) {
		mpk_rope_put_bytes(&text, mpk_span_str(ptx ? ".visible .entry " : "// Function: "));
		mpk_rope_put_bytes(&text, k->functions[i].key);
		mpk_rope_put_bytes(&text,
				   mpk_span_str(ptx ? "()\n{\nret;\n}\n" : "\n__kernel void "));
		if (cl)
			mpk_rope_put_bytes(&text, k->functions[i].key);
		mpk_rope_put_bytes(&text, mpk_span_str(cl ? "(void) {}\n" : ""));
	}
	ck_assert_int_eq(mpk_rope_flat(&text, &flat, NULL), MPK_OK);
	return flat;
}

HARNESS_FN struct mpk_function_info random_function(struct made *m, size_t number)
{
	static const struct mpk_dtype types[] = { { 3, 64, 1 }, { 0, 32, 1 }, { 2, 32, 4 },
						  { 6, 8, 1 },  { 1, 1, 1 },  { 77, 3, 2 } };
	static const char *const tags[] = { "blockIdx.x", "threadIdx.x",
					    "tir.use_dyn_shared_memory", "no such tag" };
	size_t args = random_below(&m->state, 4), launch = random_below(&m->state, 4);
	struct mpk_dtype *arg = mpk_arena_array(&arena, args, sizeof *arg);
	struct mpk_span *tag = mpk_arena_array(&arena, launch, sizeof *tag);
	int32_t *extra = mpk_arena_array(&arena, args, sizeof *extra);
	struct mpk_function_info f = { .key = random_name(m, number),
				       .arg_types = arg,
				       .arg_count = args,
				       .launch_tags = tag,
				       .launch_tag_count = launch,
				       .extra_tags = extra };

	ck_assert(arg && tag && extra);
	for (size_t i = 0; i < args; i++) {
		arg[i] = types[random_below(&m->state, random_below(&m->state, 4) ? 3 : 6)];
		extra[i] = random_below(&m->state, 20) == 0;
	}
	for (size_t i = 0; i < launch; i++)
		tag[i] = mpk_span_str(tags[i == 3 || random_below(&m->state, 9) == 0 ? 3 : i]);
	if (m->gen == MPK_GEN_CURRENT && random_below(&m->state, 4))
		f.name = f.key;
	if (m->gen != MPK_GEN_LEGACY)
		f.extra_tag_count = args;
	return f;
}

HARNESS_FN void put_kernels(struct made *m, enum mpk_kernels_layout layout, const char *fmt,
			    struct mpk_rope *out)
{
	struct mpk_kernels k = { .layout = layout,
				 .gen = m->gen,
				 .fmt = mpk_span_str(fmt),
				 .function_count = random_below(&m->state, 4) };
	struct mpk_function_info *f = mpk_arena_array(&arena, k.function_count, sizeof *f);
	struct mpk_kernel_source *s = mpk_arena_array(&arena, k.function_count, sizeof *s);

	ck_assert(f && s);
	for (size_t i = 0; i < k.function_count; i++) {
		f[i] = random_function(m, i);
		s[i] = (struct mpk_kernel_source){ .key = f[i].key,
						   .data = mpk_span_str("fn kernel_0() {}") };
		if (layout >= MPK_KERNELS_SHADERS) {
			s[i].data.len &= ~(size_t)3;
			s[i].flag = (uint32_t)random_below(&m->state, 3);
		}
	}
	k.functions = f;
	k.data = random_code(m, &k);
	k.sources = s;
	k.source_count = layout == MPK_KERNELS_PLAIN ? 0 : k.function_count;
	mpk_kernels_write(&k, out);
}

/* One payload and its kind; the old containers have no length, so that a kind must be
 * known there and its payload whole. */
HARNESS_FN void put_module(struct made *m, size_t i)
{
	static const char *const raw[] = { "my_runtime", "",     "host",
					   "rocm",       "a/b",  "x\xff",
					   "_x",         "cuda", "GraphExecutorFactory" };
	struct mpk_module *module = &m->modules[i];
	struct mpk_rope *out = &m->contents[i];
	bool current = m->gen == MPK_GEN_CURRENT;

	*out = mpk_rope_of(&arena);
	module->content = out;
	switch (random_below(&m->state, current ? 8 : 6)) {
	case 0:
		module->kind = mpk_span_str("cuda");
		put_kernels(m, MPK_KERNELS_PLAIN, "ptx", out);
		return;
	case 1:
		module->kind = mpk_span_str("opencl");
		put_kernels(m, MPK_KERNELS_PLAIN, "cl", out);
		return;
	case 2:
		module->kind = mpk_span_str("webgpu");
		put_kernels(m, MPK_KERNELS_WEBGPU, "", out);
		return;
	case 3:
		module->kind = mpk_span_str("vulkan");
		put_kernels(m, current ? MPK_KERNELS_SHADERS_024 : MPK_KERNELS_SHADERS, "vulkan",
			    out);
		return;
	case 4:
		module->kind = mpk_span_str("GraphExecutorFactory");
		mpk_rope_put_str(out, mpk_span_str(random_below(&m->state, 3) ? "{\"nodes\": []}"
									      : "no JSON"));
		mpk_rope_put_u64(out, 0);
		mpk_rope_put_u64(out, 0);
		mpk_rope_put_str(out, mpk_span_str(random_below(&m->state, 3) ? "default" : ""));
		return;
	case 5:
		module->kind = mpk_span_str("const_loader");
		for (size_t k = 0; k < 4; k++)
			mpk_rope_put_u64(out, 0);
		return;
	default:
		module->kind = mpk_span_str(raw[random_below(&m->state, MPK_ARRAY_COUNT(raw))]);
		mpk_rope_put_view(out, random_bytes(m, 60));
	}
}

/* A graph in which every module but the first is imported by an earlier one; hosts: how many
 * modules at most are host code. */
HARNESS_FN void make_graph(struct made *m, size_t hosts)
{
	m->count = 1 + random_below(&m->state, NODES_MAX);
	for (size_t i = 0; i < m->count; i++) {
		m->modules[i].imports = m->imports[i];
		if (hosts && (random_below(&m->state, 3) == 0 || i == 0)) {
			m->modules[i].is_host = true;
			hosts--;
		} else {
			put_module(m, i);
		}
	}
	for (size_t i = 1; i < m->count; i++)
		for (size_t n = 1 + random_below(&m->state, 2); n; n--) {
			struct mpk_module *parent = &m->modules[random_below(&m->state, i)];

			m->imports[parent - m->modules][parent->import_count++] = i;
		}
}

/* What a tree may have that no manifest says. */
HARNESS_FN bool may_be_refused(const struct mpk_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		struct mpk_span kind = tree->nodes[i].kind;

		if (kind.len == 0 || mpk_span_is(kind, "host") || mpk_span_is(kind, "x\xff"))
			return true;
	}
	return tree->count == 1 && tree->nodes[0].is_lib;
}

/* What a package loader that knows only the files makes of them. */
HARNESS_FN void check_rebuilds(const struct mpk_unpack *plan, struct mpk_span blob,
			       const char *what)
{
	struct mpk_report report = { 0 };
	struct mpk_package package = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_span again;
	struct mpk_package_input input = { .text = plan->files[plan->count - 1].bytes,
					   .path = "mpack.toml",
					   .memory_files = plan->files,
					   .memory_file_count = plan->count - 1 };

	ck_assert_str_eq(plan->files[plan->count - 1].name, "mpack.toml");
	ck_assert_msg(mpk_package_load(&input, &arena, &report, &package, &err) == MPK_OK, "%s: %s",
		      what, err.text);
	ck_assert_int_eq(mpk_rope_flat(&package.blob, &again, NULL), MPK_OK);
	ck_assert_msg(mpk_span_equal(again, blob), "%s: %zu bytes became %zu others", what,
		      blob.len, again.len);
	mpk_package_close(&package);
	mpk_report_fini(&report);
}

#endif
