/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_page - the other forms in which minspect shows a file: the document of a page, drawings, whether
 * it loads elsewhere */
#include <string.h>

#include "view.h"

#include "check/check.h"
#include "graph/dot.h"
#include "map/map.h"
#include "model/node_info.h"
#include "page/page.h"

static void put_page(struct mpk_view *view, struct mpk_strbuf *out)
{
	struct mpk_page page;
	struct mpk_rope document = mpk_rope_of(&page.arena);
	struct mpk_span content;

	mpk_page_init(&page, true);
	if (mpk_view_show_info(view, false, NULL) == MPK_OK &&
	    mpk_view_read_texts(view, NULL, NULL) == MPK_OK &&
	    mpk_verify_kernels(view, NULL) == MPK_OK &&
	    mpk_page_add(&page, view, NULL, NULL) == MPK_OK) {
		FUZZ_REQUIRE(mpk_page_document(&page, &document, NULL) == MPK_OK);
		FUZZ_REQUIRE(mpk_rope_flat(&document, &content, NULL) == MPK_OK);
		mpk_strbuf_put(out, (const char *)content.data, content.len);
	}
	mpk_page_fini(&page);
}

static void put_map(const struct mpk_view *view, struct mpk_arena *arena, struct mpk_strbuf *out)
{
	struct mpk_size size;
	struct mpk_map map;

	if (mpk_size_read(view, arena, &size, NULL) != MPK_OK ||
	    mpk_map_read(view, &size, arena, &map, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < map.count; i++) {
		uint64_t sum = 0;

		for (size_t k = map.nodes[i].first; k; k = map.nodes[k].next)
			sum += map.nodes[k].bytes;
		FUZZ_REQUIRE(!map.nodes[i].first || sum == map.nodes[i].bytes);
	}
	mpk_answer_map.text(&(struct mpk_map_picture){ "x", &map }, (struct mpk_style){ 0 }, out);
}

static void check(struct mpk_view *view, struct mpk_arena *arena, struct mpk_strbuf *out)
{
	struct mpk_there there = { .has_release = true, .device = "sm_90" };
	const struct mpk_mapping map = { .bytes = view->image->bytes, .fd = -1 };
	struct mpk_check_result result = { 0 };
	struct mpk_check_code code = { 0 };

	FUZZ_REQUIRE(mpk_release_parse("0.24", &there.release));
	there.machine = mpk_target_parse("x86_64");
	there.machine_name = "x86-64";
	there.glibc_major = 2;
	there.glibc_minor = 28;
	there.cuda.sm = mpk_cuda_device_parse("sm_90");
	if (mpk_check_run(view, &map, &there, arena, &code, &result, NULL) == MPK_OK)
		mpk_answer_check.text(&result, (struct mpk_style){ 0 }, out);
	mpk_report_fini(&result.report);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct mpk_model_graphs graphs;
	struct fuzz_file file;

	if (!fuzz_file_open(bytes, arena, &file))
		return;
	check(&file.view, arena, &out);
	put_map(&file.view, arena, &out);
	mpk_answer_dot_tree.text(&file.view, (struct mpk_style){ 0 }, &out);
	if (mpk_model_graphs_read(&file.view, &graphs, NULL) == MPK_OK)
		mpk_answer_dot_model.text(&graphs, (struct mpk_style){ 0 }, &out);
	put_page(&file.view, &out);
	fuzz_printable(&out);
}
