/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_manifest - mpack.toml beside some files: findings, or a package with its blob and generated host
 * code, as C and as LLVM IR */
#include <string.h>

#include "blob/blob.h"
#include "fuzz.h"
#include "launch/launch.h"
#include "package/package.h"

#define TEXT_FILE(name, text) { name, { (const uint8_t *)(text), sizeof(text) - 1 } }

static const struct mpk_memory_file files[] = {
	TEXT_FILE("k.cl", "__kernel void add(__global float* a, __global float* b, int n) {}\n"
			  "__kernel void twice(__global float* a, float s) {}\n"),
	TEXT_FILE("k.cu", "extern \"C\" __global__ void add(float* a, float* b, int n) {}\n"),
	TEXT_FILE("k.ptx",
		  ".version 7.0\n.target sm_52\n.address_size 64\n"
		  ".visible .entry add(.param .u64 a, .param .u64 b, .param .u32 n)\n{\nret;\n}\n"),
	TEXT_FILE("g.json", "{\"nodes\":[]}"),
	TEXT_FILE("h.c", "int x;\n"),
	TEXT_FILE("p.bin", "payload"),
};

static void print_rows(const struct mpk_package *p, struct mpk_arena *arena)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap kernels = { 0 };
	struct mpk_host_unit unit;

	for (size_t i = 0; i < p->launch_count; i++) {
		const struct mpk_launch *l = &p->launches[i];

		if (l->on_host)
			return;
		for (size_t k = 0; k < l->step_count; k++) {
			const char *key = mpk_arena_printf(arena, "%s.%s", l->steps[k].id,
							   l->steps[k].kernel);

			if (!key || mpk_strmap_put(&kernels, mpk_span_str(key), k, NULL) < 0)
				return;
		}
	}
	(void)!mpk_launch_put_rows(p->launches, p->launch_count, &kernels, arena, &out, NULL);
	if (mpk_launch_build_entries(p->launches, p->launch_count, arena, &unit, NULL) == MPK_OK)
		(void)!mpk_host_ll.print(&unit, &out, NULL);
}

static void print(const struct mpk_package *p, struct mpk_arena *arena)
{
	static const enum mpk_launch_mode modes[] = { MPK_LAUNCH_IMPORTS, MPK_LAUNCH_SYSTEM_LIB };
	struct mpk_host_unit unit;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(modes) && p->launch_count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

		if (mpk_launch_build(p->launches, p->launch_count, modes[i], "x_", arena, &unit,
				     NULL) != MPK_OK)
			continue;
		(void)!mpk_host_c.print(&unit, &out, NULL);
		(void)!mpk_host_ll.print(&unit, &out, NULL);
	}
}

static void read_back(const struct mpk_package *p, struct mpk_arena *arena)
{
	struct mpk_tree tree;
	struct mpk_span flat;

	FUZZ_REQUIRE(mpk_rope_flat(&p->blob, &flat, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_blob_read(flat, p->tree.gen, arena, &tree, NULL) == MPK_OK);
	FUZZ_REQUIRE(tree.count == p->tree.count);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_package_input input = { .text = bytes,
						 .path = "mpack.toml",
						 .memory_files = files,
						 .memory_file_count = MPK_ARRAY_COUNT(files) };
	struct mpk_report report = { 0 };
	struct mpk_package package = { 0 };

	/* no file of this machine */
	if (bytes.len &&
	    (memchr(bytes.data, '/', bytes.len) || memchr(bytes.data, '\\', bytes.len)))
		return;
	if (mpk_package_load(&input, arena, &report, &package, NULL) == MPK_OK) {
		print(&package, arena);
		print_rows(&package, arena);
		if (package.needs_blob)
			read_back(&package, arena);
	} else {
		FUZZ_REQUIRE(report.errors || report.failed);
	}
	mpk_package_close(&package);
	mpk_report_fini(&report);
}
