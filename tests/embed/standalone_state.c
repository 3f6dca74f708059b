/* SPDX-License-Identifier: Apache-2.0 */
/* standalone_state.c - a language model that carries its executor and its cache, called by dlopen alone: prints tokens
 *
 * The tokens are those of the program in mpk-run(3), which calls the same model through libmpk-run.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpk/standalone.h"

/* To the byte DLPack's. */
struct tensor {
	void *data;
	int32_t device_type, device_id, ndim;
	uint8_t code, bits;
	uint16_t lanes;
	int64_t *shape, *strides;
	uint64_t byte_offset;
};

static void *library;
static mpks_error *error;
static mpks_item *take;
static mpks_drop *drop;
static mpks_shape *make_shape;

static void *find(const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		printf("there is no %s\n", name);
		exit(1);
	}
	return found;
}

static void check(int code)
{
	if (code) {
		puts(error());
		exit(1);
	}
}

static struct mpks_cell call(const char *name, const struct mpks_cell *args, int32_t count)
{
	struct mpks_cell out = { 0 };
	char symbol[128];

	(void)snprintf(symbol, sizeof symbol, "__tvm_ffi_%s", name);
	mpks_function *f = (mpks_function *)find(symbol);

	check(f(NULL, args, count, &out));
	return out;
}

static struct mpks_cell shape(int64_t n)
{
	struct mpks_cell cell = { 0 };

	check(make_shape(&n, 1, &cell));
	return cell;
}

/* The likeliest token after some. */
static int32_t next(const char *function, struct mpks_cell cache, const int32_t *tokens,
		    int64_t count)
{
	struct tensor ids = { .data = (void *)(uintptr_t)tokens,
			      .device_type = 1,
			      .ndim = 1,
			      .code = 0,
			      .bits = 32,
			      .lanes = 1,
			      .shape = &count };
	struct mpks_cell begin[3] = { cache, shape(0), shape(count) }, in[2], both, logits, out;
	const struct tensor *h, *l;
	int32_t best = 0;

	out = call("vm.builtin.kv_state_begin_forward", begin, 3);
	drop(&begin[1]);
	drop(&begin[2]);
	in[0] = mpks_tensor(&ids);
	out = call("embed", in, 1);
	h = mpks_result(&out);
	int64_t extents[3] = { 1, count, h->shape[1] };
	struct tensor x = *h;

	x.ndim = 3;
	x.shape = extents;
	x.strides = NULL;
	in[0] = mpks_tensor(&x);
	in[1] = cache;
	both = call(function, in, 2);
	drop(&out);
	out = call("vm.builtin.kv_state_end_forward", &cache, 1);
	check(take(&both, 0, &logits));
	l = mpks_result(&logits);
	for (int32_t i = 1; i < l->shape[2]; i++)
		if (((const float *)l->data)[i] > ((const float *)l->data)[best])
			best = i;
	drop(&logits);
	drop(&both);
	return best;
}

int main(int argc, char **argv)
{
	const int64_t sizes[5] = { 1, 64, 32, 16, 0 };
	const int32_t prompt[5] = { 3, 1, 4, 1, 5 };
	struct mpks_cell in[5], cache, add[2] = { { 0 } };
	int32_t token;

	library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library) {
		puts(argc > 1 ? dlerror() : "standalone_state LIBRARY");
		return 2;
	}
	error = (mpks_error *)find(MPK_STANDALONE_ERROR);
	take = (mpks_item *)find(MPK_STANDALONE_ITEM);
	drop = (mpks_drop *)find(MPK_STANDALONE_DROP);
	make_shape = (mpks_shape *)find(MPK_STANDALONE_SHAPE);
	for (int i = 0; i < 5; i++)
		in[i] = shape(sizes[i]);
	cache = call("create_paged_kv_cache", in, 5);
	for (int i = 0; i < 5; i++)
		drop(&in[i]);
	add[0] = cache;
	add[1].type = MPKS_INT;
	(void)call("vm.builtin.kv_state_add_sequence", add, 2);
	token = next("prefill", cache, prompt, 5);
	for (int i = 1; i < 12; i++) {
		printf("%d ", token);
		token = next("decode", cache, &token, 1);
	}
	printf("%d\n", token);
	drop(&cache);
	return 0;
}
