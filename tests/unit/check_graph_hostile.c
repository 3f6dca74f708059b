/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that cannot be: refused when the model is looked up, with a sentence that says why. Behind
 * them come damaged payloads of a sound one, which may do anything but touch memory they do not
 * have. */
#include "graph_made.h"

struct hostile {
	const char *graph;
	enum mpk_code code;
	const char *said;
};

#define X INPUT("x")
#define TWICE(inputs) OPERATOR("out", "twice", "1", "0", inputs)
/* out = 2 * x, with some of it replaced */
#define SMALL(nodes, outputs, types, storages, shapes, more)                                       \
	GRAPH(nodes, "0", outputs, "0,1,2", types, storages, shapes, more)
#define TYPES F32 "," F32
#define SOUND X "," TWICE("[0,0,0]")

static const struct hostile graphs[] = {
	{ "{\"nodes\":", MPK_E_SYNTAX, "graph: " },
	{ "[]", MPK_E_CORRUPT, "the text is not an object" },
	{ "{}", MPK_E_CORRUPT, "nodes is not a list" },
	/* references */
	{ SMALL(X "," TWICE("[0,1,0]"), "[1,0,0]", TYPES, "0,1", "[4],[4]", ""), MPK_E_CORRUPT,
	  "an input of a node is not an output of a node before it" },
	{ SMALL(X "," TWICE("[1,0,0]"), "[1,0,0]", TYPES, "0,1", "[4],[4]", ""), MPK_E_CORRUPT,
	  "an input of a node is not an output of a node before it" },
	{ SMALL(X "," TWICE("[-1,0,0]"), "[1,0,0]", TYPES, "0,1", "[4],[4]", ""), MPK_E_CORRUPT,
	  "inputs of a node is not a number" },
	{ SMALL(SOUND, "[2,0,0]", TYPES, "0,1", "[4],[4]", ""), MPK_E_CORRUPT,
	  "an output is not an output of a node" },
	{ GRAPH(SOUND, "1", "[1,0,0]", "0,1,2", TYPES, "0,1", "[4],[4]", ""), MPK_E_CORRUPT,
	  "arg_nodes is not an input node" },
	{ GRAPH(SOUND, "7", "[1,0,0]", "0,1,2", TYPES, "0,1", "[4],[4]", ""), MPK_E_CORRUPT,
	  "arg_nodes is not an input node" },
	{ GRAPH(SOUND, "", "[1,0,0]", "0,1,2", TYPES, "0,1", "[4],[4]", ""), MPK_E_CORRUPT,
	  "node 'x': an input that is not in arg_nodes" },
	{ GRAPH(SOUND, "0", "[1,0,0]", "0,2,1", TYPES, "0,1", "[4],[4]", ""), MPK_E_CORRUPT,
	  "node_row_ptr is not ascending" },
	{ GRAPH(X "," OPERATOR("out", "twice", "2", "0", "[0,0,0]"), "0", "[1,0,0]", "0,1,2", TYPES,
		"0,1", "[4],[4]", ""),
	  MPK_E_CORRUPT, "node_row_ptr is not ascending by the outputs" },
	{ GRAPH(X "," OPERATOR("out", "twice", "99999999999", "0", "[0,0,0]"), "0", "[1,0,0]",
		"0,1,2", TYPES, "0,1", "[4],[4]", ""),
	  MPK_E_CORRUPT, "num_outputs of an operator is not a number" },
	/* storages */
	{ SMALL(SOUND, "[1,0,0]", TYPES, "0,-1", "[4],[4]", ""), MPK_E_CORRUPT,
	  "storage_id is not a number from 0 up" },
	{ SMALL(SOUND, "[1,0,0]", TYPES, "0,9223372036854775807", "[4],[4]", ""), MPK_E_CORRUPT,
	  "storage_id is not a number from 0 up" },
	{ SMALL(SOUND, "[1,0,0]", TYPES, "0", "[4],[4]", ""), MPK_E_CORRUPT,
	  "storage_id is not a list with one element for each tensor" },
	{ SMALL(SOUND, "[1,0,0]", TYPES, "3,3", "[4],[4]",
		",\"device_index\":[\"list_int\",[1,4]]"),
	  MPK_E_CORRUPT, "storage 3 is on devices of type 1 and 4" },
	{ SMALL(SOUND, "[1,0,0]", TYPES, "0,1", "[4],[4]",
		",\"device_index\":[\"list_int\",[1,-4]]"),
	  MPK_E_CORRUPT, "storage 1 is on a device of type -4" },
	{ SMALL(SOUND, "[1,0,0]", TYPES, "0,1", "[4],[4]",
		",\"device_index\":[\"list_int\",[4294967297,1]]"),
	  MPK_E_CORRUPT, "storage 0 is on a device of type 4294967297" },
	{ SMALL(SOUND, "[1,0,0]", TYPES, "0,1", "[4],[4]",
		",\"storage_scope\":[\"list_str\",[\"\",\"global.texture\"]]"),
	  MPK_E_UNSUPPORTED, "storage 1 is of scope 'global.texture'" },
	{ SMALL(SOUND, "[1,0,0]", TYPES, "0,1", "[4],[4]",
		",\"device_index\":[\"list_int\",[1,12]]"),
	  MPK_E_DEVICE, "device 0 of DLPack type 12" },
	/* types and shapes */
	{ SMALL(SOUND, "[1,0,0]", F32 ",\"float\"", "0,1", "[4],[4]", ""), MPK_E_CORRUPT,
	  "\"float\" is no type" },
	{ SMALL(SOUND, "[1,0,0]", TYPES, "0,1", "[4],[-4]", ""), MPK_E_CORRUPT, "shape" },
	{ SMALL(SOUND, "[1,0,0]", TYPES, "0,1", "[4],[4294967296,4294967296]", ""), MPK_E_CORRUPT,
	  "node 'out': a tensor of more than 2^63 bytes" },
	{ SMALL(SOUND, "[1,0,0]", TYPES, "0,1",
		"[4],[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", ""),
	  MPK_E_CORRUPT, "node 'out': a tensor of 33 dimensions" },
	/* functions */
	{ SMALL(X "," OPERATOR("out", "thrice", "1", "0", "[0,0,0]"), "[1,0,0]", TYPES, "0,1",
		"[4],[4]", ""),
	  MPK_E_LOAD, "node 'out': the code calls 'thrice', which is neither in its imports nor" },
	{ SMALL(X "," OPERATOR("out", "__copy", "1", "0", "[0,0,0],[0,0,0]"), "[1,0,0]", TYPES,
		"0,1", "[4],[4]", ""),
	  MPK_E_CORRUPT, "node 'out': a copy of 2 tensors to 1" },
	{ SMALL(X "," OPERATOR("out", "__copy", "0", "0", "[0,0,0]"), "[1,0,0]", TYPES, "0,1",
		"[4],[4]", ""),
	  MPK_E_CORRUPT, "node 'out': a copy of 1 tensors to 0" },
	{ SMALL(X "," OPERATOR("out", "__copy", "1", "0", "[0,0,0]"), "[1,0,0]", TYPES, "0,1",
		"[4],[5]", ""),
	  MPK_E_CORRUPT, "node 'out': a copy of 16 bytes into a tensor of 20" },
	{ SMALL(X "," OPERATOR("out", "__nop", "1", "0", ""), "[1,0,0]", TYPES, "0,1", "[4],[4]",
		""),
	  MPK_E_CORRUPT, "node 'out': a copy of 0 tensors to 1" },
	{ SMALL(X "," OPERATOR("out", "__nop", "1", "0", "[0,0,0]"), "[1,0,0]", TYPES, "0,1",
		"[4],[2]", ""),
	  MPK_E_CORRUPT, "node 'out': a copy of 16 bytes into a tensor of 8" },
};

START_TEST(unsound_graphs)
{
	const struct hostile *h = &graphs[_i];
	struct made_model m = { 0 };
	struct mpk_error err = { 0 };

	made_load(&m, "GraphExecutorFactory",
		  made_payload(&m.arena, &(struct made_factory){ .graph = h->graph }, 0), kernels);
	/* what is wrong once stays wrong */
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(made_find(&m, &err), h->code);
		ck_assert_text(err, h->said);
	}
	made_close(&m);
}
END_TEST

START_TEST(parameters_of_another_size)
{
	struct mpk_tensor_record record = weight_record();
	const struct made_factory f = {
		.graph = ADD_WEIGHT, .params = &record, .param_names = weight_name, .param_count = 1
	};
	static const int64_t three[] = { 3 };
	struct made_model m = { 0 };
	struct mpk_error err = { 0 };

	record.shape = three;
	record.data.len = 12;
	made_load(&m, "GraphExecutorFactory", made_payload(&m.arena, &f, 0), kernels);
	ck_assert_int_eq(made_find(&m, &err), MPK_E_CORRUPT);
	ck_assert_text(err, "parameter 'w' has 12 bytes, its tensor 16");
	made_close(&m);
}
END_TEST

/* Storage ids are names, not indices: a large one costs nothing. */
START_TEST(large_storage_ids)
{
	struct mpk_value r;
	struct made_model m;

	open_graph(&m, SMALL(SOUND, "[1,0,0]", TYPES, "4294967295,4294967294", "[4],[4]", ""));
	r = call_one(&m, 4, 1);
	ck_assert_float_eq(element(&r, 3), 8);
	mpk_value_drop(&r);
	made_close(&m);
}
END_TEST

/* No memory is taken before a call, and then the failure is an error like any other. */
START_TEST(more_memory_than_there_is)
{
	struct mpk_value x = f32_made(4, 1);
	struct mpk_error err = { 0 };
	struct made_model m;

	open_graph(&m,
		   GRAPH(SOUND "," OPERATOR("big", "twice", "1", "0", "[0,0,0]"), "0", "[1,0,0]",
			 "0,1,2,3", TYPES "," F32, "0,1,2", "[4],[4],[2305843009213693951]", ""));
	for (int round = 0; round < 2; round++)
		ck_assert_int_eq(try_call(&m, &x, 1, &err), MPK_E_NOMEM);
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

/* A view that is larger than the input of its storage: kernels get memory that has room for it. */
START_TEST(views_beyond_an_input)
{
	struct mpk_value x = f32_made(4, 1);
	struct mpk_value r;
	struct made_model m;

	open_graph(&m,
		   GRAPH(X "," OPERATOR("r", "__nop", "1", "0", "[0,0,0]") "," OPERATOR(
				 "out", "twice", "1", "0", "[1,0,0]"),
			 "0", "[2,0,0]", "0,1,2,3", TYPES "," F32, "0,0,1", "[4],[64],[64]", ""));
	r = made_call(&m, &x, NULL, 1);
	ck_assert_uint_eq(mpk_tensor_count(r.tensor), 64);
	mpk_value_drop(&r);
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

/* Kernels that check nothing: reads all that it is given, writes all of the last. */
KERNEL(touch)
{
	UNUSED_KERNEL_ARGS;
	static volatile unsigned sum;

	for (int i = 0; i < count; i++) {
		const struct mpk_dltensor *t = ARG(i);
		size_t bytes = (size_t)count_of(t) * mpk_dtype_bytes(t->dtype);

		for (size_t k = 0; k < bytes; k++)
			sum += ((const uint8_t *)t->data)[k];
		if (i > 0 && i + 1 == count && bytes)
			memset(t->data, 1, bytes);
	}
	return 0;
}

static const struct made_kernel touching[] = {
	{ "add", touch },
	{ "twice", touch },
	{ "both", touch },
	{ NULL, NULL },
};

/* Every byte of a sound payload, flipped: refused, or run. */
START_TEST(damaged_payloads)
{
	const struct mpk_tensor_record record = weight_record();
	const struct made_factory f = {
		.graph = ADD_WEIGHT, .params = &record, .param_names = weight_name, .param_count = 1
	};
	struct mpk_arena arena = { 0 };
	struct mpk_span payload = made_payload(&arena, &f, 0);
	struct mpk_value x = f32_made(4, 1);
	size_t ran = 0, refused = 0;

	for (size_t i = 0; i < payload.len; i++) {
		struct made_model m = { 0 };
		struct mpk_error err = { 0 };
		struct mpk_value r = { 0 };
		uint8_t *copy = malloc(payload.len);

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, payload.data, payload.len);
		copy[i] = (uint8_t)(copy[i] ^ 1U << i % 8);
		made_load(&m, "GraphExecutorFactory", mpk_span_of(copy, payload.len), touching);
		if (made_find(&m, &err) == MPK_OK &&
		    mpk_function_call(m.run, &(struct mpk_args){ &x, NULL, 1 }, &r, &err) == MPK_OK)
			ran++;
		else
			refused++;
		mpk_value_drop(&r);
		made_close(&m);
		free(copy);
	}
	ck_assert_uint_gt(ran, 0);
	ck_assert_uint_gt(refused, 0);
	mpk_value_drop(&x);
	mpk_arena_fini(&arena);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("graph_hostile");
	TCase *tc = tcase_create("graph_hostile");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, unsound_graphs, 0, (int)MPK_ARRAY_COUNT(graphs));
	tcase_add_test(tc, parameters_of_another_size);
	tcase_add_test(tc, large_storage_ids);
	tcase_add_test(tc, more_memory_than_there_is);
	tcase_add_test(tc, views_beyond_an_input);
	tcase_add_test(tc, damaged_payloads);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
