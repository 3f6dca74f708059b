/* SPDX-License-Identifier: Apache-2.0 */
/* formats/payload: what TVM's payloads decode to, the parts they consist of, listings */
#include "harness.h"

#include <jansson.h>

#include "blob/blob.h"
#include "graphjson/graphjson.h"
#include "payload.h"
#include "payload_write.h"

struct loaded {
	struct mpk_arena arena;
	struct mpk_span blob;
	struct mpk_tree tree;
	struct mpk_payload p;
};

/* Decodes the payload of one node of a fixture. */
static void load(struct loaded *l, const char *file, enum mpk_generation gen, bool bare,
		 size_t node)
{
	struct mpk_error err = { 0 };
	const struct mpk_kind *kind;

	memset(l, 0, sizeof *l);
	l->blob = fixture_load(file);
	ck_assert_int_eq(bare ? mpk_blob_read_bare(l->blob, gen, &l->arena, &l->tree, &err)
			      : mpk_blob_read(l->blob, gen, &l->arena, &l->tree, &err),
			 MPK_OK);
	kind = mpk_kind_find(l->tree.nodes[node].kind);
	ck_assert_ptr_nonnull(kind);
	ck_assert_msg(mpk_payload_decode(kind, gen, mpk_source_of(&l->tree.nodes[node]), &l->arena,
					 &l->p, &err) == MPK_OK,
		      "%s: %s", file, err.text);
}

static void unload(struct loaded *l)
{
	mpk_arena_fini(&l->arena);
	fixture_free(l->blob);
}

#define CUR MPK_GEN_CURRENT
#define OLD MPK_GEN_LEGACY

static const struct fixture {
	const char *file;
	enum mpk_generation gen;
	bool bare;
	size_t node;
	const char *parts; /* names, separated by spaces */
} fixtures[] = {
	{ "formats/01_opencl_scale.blob", CUR, false, 1, "kernels.cl functions.json" },
	{ "formats/02_cuda_source_dynshmem.blob", CUR, false, 1, "kernels.cu functions.json" },
	{ "formats/03_cuda_ptx.blob", CUR, false, 1, "kernels.ptx functions.json" },
	{ "formats/04_metal.blob", CUR, false, 1, "kernels/add_kernel.metal functions.json" },
	{ "formats/05_webgpu.blob", CUR, false, 1, "kernels/add_kernel.wgsl functions.json" },
	{ "formats/06_relax_vm.blob", CUR, false, 0, "constants/6 bytecode.txt" },
	{ "formats/07_relax_opencl.blob", CUR, false, 0, "constants/6 bytecode.txt" },
	{ "formats/07_relax_opencl.blob", CUR, false, 2, "kernels.cl functions.json" },
	{ "formats/08_const_loader.blob", CUR, false, 0, "constants/b constants/w" },
	{ "formats/10_static_library.nohdr", CUR, true, 0, "library.o" },
	{ "formats/11_c.nohdr", CUR, true, 0, "code.c" },
	{ "formats/15_relax_cond.blob", CUR, false, 0, "bytecode.txt" },
	{ "formats/16_relax_vmtir.blob", CUR, false, 0, "bytecode.txt" },
	{ "formats/20_legacy_opencl.blob", OLD, false, 1, "kernels.cl functions.json" },
	{ "formats/21_legacy_metal_off.blob", OLD, false, 1, "kernels.metal functions.json" },
	{ "formats/22_legacy_webgpu.blob", OLD, false, 1,
	  "kernels/add_kernel.wgsl functions.json" },
	{ "formats/23_legacy_graph.blob", OLD, false, 0, "graph.json params/p0" },
	{ "formats/24_legacy_aot.blob", OLD, false, 0, "" },
	{ "formats/24_legacy_aot.blob", OLD, false, 1, "" },
	{ "formats/25_legacy_relay_vm.blob", OLD, false, 0,
	  "constants/0 constants/1 constants/2 bytecode.txt" },
};

START_TEST(parts_and_bytes_come_back)
{
	const struct fixture *f = &fixtures[_i];
	struct loaded l;
	struct mpk_extracted_files parts;
	struct mpk_span flat;
	char names[200] = "";

	load(&l, f->file, f->gen, f->bare, f->node);
	ck_assert_uint_eq(l.p.trailing, 0);
	ck_assert_int_eq(mpk_payload_extract(&l.p, &l.arena, &parts, NULL), MPK_OK);
	for (size_t i = 0; i < parts.count; i++) {
		const struct mpk_extracted_file *part = &parts.items[i];

		sprintf(names + strlen(names), "%s%s", i ? " " : "", part->name);
		if (part->stored)
			ck_assert_ptr_eq(part->data.data, l.blob.data + part->off);
		if (part->tensor)
			ck_assert_ptr_eq(part->data.data, part->tensor->data.data);
	}
	ck_assert_str_eq(names, f->parts);

	struct mpk_rope rope = mpk_rope_of(&l.arena);

	payload_write(&rope, &l.p);
	ck_assert_int_eq(mpk_rope_flat(&rope, &flat, NULL), MPK_OK);
	ck_assert(mpk_span_equal(flat, l.p.source.span));
	unload(&l);
}
END_TEST

/* TVM ignores what stands behind the last field of a payload; so do we, but count it. */
START_TEST(trailing_bytes_are_counted)
{
	const struct fixture *f = &fixtures[_i];
	struct mpk_payload p;
	struct loaded l;
	uint8_t *longer;

	load(&l, f->file, f->gen, f->bare, f->node);
	longer = calloc(1, l.p.source.span.len + 3);
	memcpy(longer, l.p.source.span.data, l.p.source.span.len);
	ck_assert_int_eq(
		mpk_payload_decode(
			l.p.kind, f->gen,
			(struct mpk_source){ mpk_span_of(longer, l.p.source.span.len + 3), 0 },
			&l.arena, &p, NULL),
		MPK_OK);
	ck_assert_uint_eq(p.trailing, 3);
	free(longer);
	unload(&l);
}
END_TEST

/* Values that the README of the fixtures gives. */
START_TEST(const_loader_values)
{
	struct loaded l;

	load(&l, "formats/08_const_loader.blob", CUR, false, 0);

	const struct mpk_const_loader *c = &l.p.u.consts;
	static const char b[] = "\0\0\0\0\0\0\x0c\x40"; /* 3.5 */

	ck_assert_uint_eq(c->consts.names.count, 2);
	ck_assert(mpk_span_is(c->consts.names.items[1], "w"));
	ck_assert_uint_eq(c->consts.tensors[1].ndim, 1);
	ck_assert_int_eq(c->consts.tensors[1].shape[0], 2);
	ck_assert(mpk_span_equal(c->consts.tensors[1].data, mpk_span_of("\1\0\2\0", 4)));
	ck_assert_uint_eq(c->consts.tensors[0].ndim, 0);
	ck_assert(mpk_span_equal(c->consts.tensors[0].data, mpk_span_of(&b, 8)));
	for (size_t i = 0; i < c->symbols.count; i++)
		ck_assert_uint_eq(c->needs[i].count,
				  mpk_span_is(c->symbols.items[i], "sub0") ? 2 : 0);
	unload(&l);
}
END_TEST

START_TEST(parameter_file_values)
{
	static const char p1[8] = "\0\0\x80\x3f\0\0\0\xc0"; /* 1, -2 */
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_params p;
	struct mpk_span file, flat;
	struct guarded g;

	file = fixture_load("formats/09_params.bin");
	ck_assert_int_eq(mpk_params_read(file, &arena, &p, NULL), MPK_OK);
	ck_assert_uint_eq(p.names.count, 2);
	ck_assert_uint_eq(mpk_params_find(&p, mpk_span_str("p1")), 1);
	ck_assert_uint_eq(mpk_params_find(&p, mpk_span_str("p2")), 2);
	ck_assert(mpk_span_equal(p.tensors[0].data, mpk_span_of("\0\1\2", 3)));
	ck_assert(mpk_span_equal(p.tensors[1].data, mpk_span_of(p1, sizeof p1)));
	ck_assert_ptr_eq(p.tensors[1].data.data, file.data + p.tensors[1].data_off);
	mpk_params_write(&rope, &p);
	ck_assert_int_eq(mpk_rope_flat(&rope, &flat, NULL), MPK_OK);
	ck_assert(mpk_span_equal(flat, file));

	g = guarded_create(file.len);
	for (size_t n = 0; n < file.len; n++)
		ck_assert_int_eq(mpk_params_read(guarded_put(&g, mpk_span_of(file.data, n)), &arena,
						 &p, NULL),
				 MPK_E_CORRUPT);
	guarded_free(&g);
	mpk_arena_fini(&arena);
	fixture_free(file);
}
END_TEST

/* --- listings against TVM's own ------------------------------------------------------------ */

static const char *const listings[] = { "06_relax_vm", "15_relax_cond", "16_relax_vmtir" };

START_TEST(relax_listing_is_as_text)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_span want;
	struct loaded l;
	char name[80];

	sprintf(name, "formats/%s.as_text", listings[_i]);
	want = fixture_load(name);
	sprintf(name, "formats/%s.blob", listings[_i]);
	load(&l, name, CUR, false, 0);
	mpk_relax_dump(&l.p.u.relax, MPK_RELAX_ALL, &out);
	ck_assert_uint_eq(out.len, want.len);
	ck_assert_mem_eq(out.data, want.data, want.len);
	ck_assert_int_eq(mpk_relax_check(&l.p.u.relax, NULL), MPK_OK);
	mpk_strbuf_fini(&out);
	fixture_free(want);
	unload(&l);
}
END_TEST

START_TEST(relay_listing)
{
	struct mpk_strbuf out = { 0 };
	struct loaded l;

	load(&l, "formats/25_legacy_relay_vm.blob", OLD, false, 0);
	ck_assert_int_eq(l.p.u.relay.layout, MPK_RELAY_14);
	ck_assert(mpk_span_is(l.p.u.relay.version, "0.18.0"));
	mpk_relay_dump(&l.p.u.relay, MPK_RELAY_ALL, &out);
	/* TVM leaves the size register of alloc_storage unset when a shape follows */
	ck_assert_ptr_nonnull(strstr(out.data, "%2 = alloc_storage 64, 2, 32, 1, 0, 4\n"));
	ck_assert_ptr_nonnull(strstr(out.data, "invoke_packed vm_mod_fused_add, 1, %0, %5, %4\n"));
	ck_assert_ptr_nonnull(strstr(out.data, "     8: ret %4\n"));
	mpk_strbuf_fini(&out);

	/* every operand in turn points at nothing */
	struct mpk_relay *x = &l.p.u.relay;
	struct mpk_error err;
	struct mpk_relay_func f = x->funcs[0];

	ck_assert_int_eq(mpk_relay_check(x, NULL), MPK_OK);
	x->funcs = &f;
	f.register_file_size = 5;
	ck_assert_int_eq(mpk_relay_check(x, &err), MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "function \"main\", instruction 5: register 5 does not exist");
	f.register_file_size = 0;
	ck_assert_int_eq(mpk_relay_check(x, NULL), MPK_E_CORRUPT);
	f.register_file_size = 6;
	x->const_count = 2;
	ck_assert_int_eq(mpk_relay_check(x, NULL), MPK_E_CORRUPT);
	x->const_count = 3;
	x->primitives.count = 0;
	ck_assert_int_eq(mpk_relay_check(x, NULL), MPK_E_CORRUPT);
	unload(&l);
}
END_TEST

/* Each bit of the code is turned once: listing and check must cope with any words. */
START_TEST(any_bytecode_is_listed_and_checked)
{
	struct loaded l;

	load(&l, "formats/15_relax_cond.blob", CUR, false, 0);

	struct mpk_relax *x = &l.p.u.relax;
	size_t offsets = x->instr_offset.len, all = offsets + x->instr_data.len, faults = 0;
	struct guarded a = guarded_create(offsets), b = guarded_create(x->instr_data.len);
	struct mpk_span data = x->instr_data, offs = x->instr_offset;

	for (size_t bit = 0; bit < all * 8; bit++) {
		struct mpk_strbuf out = { 0 };

		x->instr_offset = guarded_put(&a, offs);
		x->instr_data = guarded_put(&b, data);
		if (bit / 8 < offsets)
			a.map[a.room - offsets + bit / 8] ^= (uint8_t)(1 << bit % 8);
		else
			b.map[b.room - all + bit / 8] ^= (uint8_t)(1 << bit % 8);
		mpk_relax_dump(x, MPK_RELAX_ALL, &out);
		ck_assert(!out.failed);
		faults += mpk_relax_check(x, NULL) != MPK_OK;
		mpk_strbuf_fini(&out);
	}
	/* most of the upper bits lead out of the tables */
	ck_assert_uint_gt(faults, all);
	guarded_free(&a);
	guarded_free(&b);
	unload(&l);
}
END_TEST

/* --- parts ----------------------------------------------------------------------------------- */

START_TEST(function_table_is_valid_json)
{
	struct mpk_span tags[] = { mpk_span_str("blockIdx.x"),
				   mpk_span_of("\"\\\n\xff\xe2\x82\xac", 7) };
	struct mpk_dtype types[] = { { 3, 64, 1 }, { 2, 32, 1 } };
	int32_t extra[] = { 1, 0 };
	struct mpk_function_info f = { .key = mpk_span_str("k\"1"),
				       .arg_types = types,
				       .arg_count = 2,
				       .launch_tags = tags,
				       .launch_tag_count = 2,
				       .extra_tags = extra,
				       .extra_tag_count = 2 };
	struct mpk_payload p = { .tag = MPK_PAYLOAD_KERNELS,
				 .gen = CUR,
				 .kind = mpk_kind_find(mpk_span_str("cuda")) };
	struct mpk_arena arena = { 0 };
	struct mpk_extracted_files parts;
	json_t *root, *info;

	p.u.kernels = (struct mpk_kernels){
		.gen = CUR, .fmt = mpk_span_str("cubin"), .functions = &f, .function_count = 1
	};
	ck_assert_int_eq(mpk_payload_extract(&p, &arena, &parts, NULL), MPK_OK);
	ck_assert_uint_eq(parts.count, 2);
	ck_assert_str_eq(parts.items[0].name, "kernels.cubin");
	root = json_loadb((const char *)parts.items[1].data.data, parts.items[1].data.len, 0, NULL);
	info = json_object_get(json_object_get(root, "func_info"), "k\"1");
	ck_assert_str_eq(json_string_value(json_array_get(json_object_get(info, "arg_types"), 1)),
			 "float32");
	ck_assert_str_eq(
		json_string_value(json_array_get(json_object_get(info, "launch_param_tags"), 1)),
		"\"\\\n\xef\xbf\xbd\xe2\x82\xac");
	ck_assert_int_eq(
		json_integer_value(json_array_get(json_object_get(info, "arg_extra_tags"), 0)), 1);
	json_decref(root);
	mpk_arena_fini(&arena);
}
END_TEST

/* Names come from strangers: nothing may leave the directory or fall on another's file. */
START_TEST(names_are_safe_and_unique)
{
	struct mpk_span names[] = { mpk_span_str("../../etc/passwd"),
				    mpk_span_str("w"),
				    mpk_span_str("w-3"),
				    mpk_span_str("w"),
				    mpk_span_str(""),
				    mpk_span_str(".."),
				    mpk_span_of("a\0b", 3) };
	struct mpk_tensor_record tensors[7] = { 0 };
	struct mpk_payload p = { .tag = MPK_PAYLOAD_CONSTS,
				 .gen = CUR,
				 .kind = mpk_kind_find(mpk_span_str("const_loader")) };
	struct mpk_arena arena = { 0 };
	struct mpk_extracted_files parts;

	p.u.consts.consts = (struct mpk_params){ .names = { names, 7 }, .tensors = tensors };
	ck_assert_int_eq(mpk_payload_extract(&p, &arena, &parts, NULL), MPK_OK);
	ck_assert_uint_eq(parts.count, 7);
	ck_assert_str_eq(parts.items[0].name, "constants/_._.__etc_passwd-0");
	ck_assert_str_eq(parts.items[1].name, "constants/w");
	ck_assert_str_eq(parts.items[4].name, "constants/-4");
	ck_assert_str_eq(parts.items[6].name, "constants/a_b-6");
	ck_assert(mpk_span_equal(parts.items[5].title, names[5]));
	for (size_t i = 0; i < parts.count; i++) {
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(parts.items[i].name, parts.items[j].name);
	}
	mpk_arena_fini(&arena);
}
END_TEST

/* --- the table ------------------------------------------------------------------------------- */

START_TEST(every_kind_has_a_row_and_a_codec)
{
	size_t count = 0;

	for (const struct mpk_kind *k; (k = &mpk_kinds[count])->name; count++) {
		ck_assert_ptr_eq(mpk_kind_find(mpk_span_str(k->name)), k);
		ck_assert(k->codec && k->codec->reader->read);
		ck_assert_int_eq(k->codec->reader->tag == MPK_PAYLOAD_RECORD, k->schema != NULL);
		ck_assert_uint_le(k->first, k->last);
	}
	ck_assert_uint_ge(count, 40);
	ck_assert_ptr_null(mpk_kind_find(mpk_span_str("_import_tree")));
	ck_assert_ptr_null(mpk_kind_find(mpk_span_str("")));
}
END_TEST

int main(void)
{
	const int fixture_count = sizeof fixtures / sizeof *fixtures;
	Suite *s = suite_create("payload");
	TCase *t = tcase_create("payload");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, parts_and_bytes_come_back, 0, fixture_count);
	tcase_add_loop_test(t, trailing_bytes_are_counted, 0, fixture_count);
	tcase_add_test(t, const_loader_values);
	tcase_add_test(t, parameter_file_values);
	tcase_add_loop_test(t, relax_listing_is_as_text, 0, sizeof listings / sizeof *listings);
	tcase_add_test(t, relay_listing);
	tcase_add_test(t, any_bytecode_is_listed_and_checked);
	tcase_add_test(t, function_table_is_valid_json);
	tcase_add_test(t, names_are_safe_and_unique);
	tcase_add_test(t, every_kind_has_a_row_and_a_codec);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
