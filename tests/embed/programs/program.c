/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - a classifier, a generator that is stopped, saved and resumed, a server of four sessions, by mpk/run.h
 *
 *     program classify MODEL
 *     program generate MODEL FILE begin|go-on
 *     program serve MODEL
 */
#include <mpk/run.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int code, const struct mpkr_error *err)
{
	if (!code)
		return;
	fprintf(stderr, "%s\n", err->text);
	exit(1);
}

/* --- a classifier ------------------------------------------------------------------------------- */

static void classify(const char *path)
{
	static float data[2][20], extra[2][12], scores[2][12], sums[2];
	const int64_t data_shape[] = { 2, 20 }, scores_shape[] = { 2, 12 }, sums_shape[] = { 2 };
	const struct mpkr_tensor d = mpkr_tensor_on_host(data, MPKR_DTYPE_FLOAT, 32, 2, data_shape),
				 e = mpkr_tensor_on_host(extra, MPKR_DTYPE_FLOAT, 32, 2,
							 scores_shape),
				 s = mpkr_tensor_on_host(scores, MPKR_DTYPE_FLOAT, 32, 2,
							 scores_shape),
				 u = mpkr_tensor_on_host(sums, MPKR_DTYPE_FLOAT, 32, 1, sums_shape);
	const struct mpkr_tensor *in[] = { &d, &e }, *out[] = { &s, &u };
	struct mpkr_error err;
	mpkr_model *model;
	mpkr_function *f;

	check(mpkr_open(path, NULL, &model, &err), &err);
	check(mpkr_find(model, NULL, &f, &err), &err);
	for (int step = 0; step < 3; step++) {
		int best = 0;

		data[0][0] = (float)step;
		check(mpkr_call_into(f, in, 2, out, 2, &err), &err);
		for (int i = 1; i < 12; i++)
			if (scores[0][i] > scores[0][best])
				best = i;
		printf("class %d\n", best);
	}
	mpkr_drop(f);
	mpkr_close(model);
}

/* --- a language model ---------------------------------------------------------------------------- */

enum { EMBED, PREFILL, DECODE, ADD, BEGIN, END, POP, FUNCTIONS };

/* One sequence, number 0, in a cache of its own, with functions of sessions of its own: texts of several threads wait for none
 * of another. */
struct text {
	mpkr_model *model;
	mpkr_function *f[FUNCTIONS];
	mpkr_value *cache;
	struct mpkr_error err;
};

static mpkr_value *make(struct text *t, enum mpkr_kind kind, int64_t n)
{
	const int64_t one = 1;
	const struct mpkr_tensor of =
		mpkr_tensor_on_host(&n, MPKR_DTYPE_INT, 64, kind == MPKR_KIND_SHAPE, &one);
	mpkr_value *v;

	check(mpkr_value_make(t->model, kind, &of, &v, &t->err), &t->err);
	return v;
}

/* A builtin that changes the cache. Returns enum mpkr_code. */
static int change(struct text *t, int f, enum mpkr_kind kind, const int64_t *n, size_t count)
{
	struct mpkr_arg in[3] = { { .value = t->cache } };
	mpkr_value *nothing = NULL;
	int code;

	for (size_t i = 0; i < count; i++)
		in[1 + i].value = make(t, kind, n[i]);
	code = mpkr_call_value(t->f[f], in, 1 + count, &nothing, &t->err);
	mpkr_value_drop(nothing);
	for (size_t i = 0; i < count; i++)
		mpkr_value_drop(in[1 + i].value);
	return code;
}

static void text_begin(struct text *t, mpkr_model *model, int is_new)
{
	static const char *const names[FUNCTIONS] = { "embed",
						      "prefill",
						      "decode",
						      "vm.builtin.kv_state_add_sequence",
						      "vm.builtin.kv_state_begin_forward",
						      "vm.builtin.kv_state_end_forward",
						      "vm.builtin.kv_state_popn" };
	/* sequences, tokens in all, tokens in a pass, tokens in a page, no window */
	const int64_t sizes[5] = { 1, 64, 32, 16, 0 }, sequence = 0;
	struct mpkr_arg in[5];
	mpkr_function *found;

	*t = (struct text){ .model = model };
	for (int i = 0; i < FUNCTIONS; i++) {
		check(mpkr_find(model, names[i], &found, &t->err), &t->err);
		check(mpkr_session(found, &t->f[i], &t->err), &t->err);
		mpkr_drop(found);
	}
	check(mpkr_find(model, "create_paged_kv_cache", &found, &t->err), &t->err);
	for (int i = 0; i < 5; i++)
		in[i] = (struct mpkr_arg){ .value = make(t, MPKR_KIND_SHAPE, sizes[i]) };
	check(mpkr_call_value(found, in, 5, &t->cache, &t->err), &t->err);
	for (int i = 0; i < 5; i++)
		mpkr_value_drop(in[i].value);
	mpkr_drop(found);
	if (is_new)
		check(change(t, ADD, MPKR_KIND_NUMBER, &sequence, 1), &t->err);
}

static void text_end(struct text *t)
{
	mpkr_value_drop(t->cache);
	for (int i = 0; i < FUNCTIONS; i++)
		mpkr_drop(t->f[i]);
}

/* The likeliest token after `count` more, into *out. Of a call that was stopped the cache has nothing afterwards. */
static int text_feed(struct text *t, const int32_t *tokens, int64_t count, int32_t *out)
{
	const int64_t pass[2] = { 0, count };
	const struct mpkr_tensor ids = mpkr_tensor_on_host(tokens, MPKR_DTYPE_INT, 32, 1, &count);
	struct mpkr_arg in[2] = { { .tensor = &ids }, { .value = t->cache } };
	mpkr_value *hidden = NULL, *both = NULL, *first = NULL;
	struct mpkr_result *h = NULL, *logits = NULL;
	int code;

	check(change(t, BEGIN, MPKR_KIND_SHAPE, pass, 2), &t->err);
	code = mpkr_call_value(t->f[EMBED], in, 1, &hidden, &t->err);
	if (!code)
		code = mpkr_value_tensor(hidden, MPKR_DEVICE_CPU, &h, &t->err);
	if (!code) {
		const int64_t shape[3] = { 1, count, h->tensor.shape[1] };
		const struct mpkr_tensor x =
			mpkr_tensor_on_host(h->tensor.data, MPKR_DTYPE_FLOAT, 32, 3, shape);

		in[0].tensor = &x;
		code = mpkr_call_value(t->f[count > 1 ? PREFILL : DECODE], in, 2, &both, &t->err);
	}
	check(change(t, END, MPKR_KIND_NONE, NULL, 0), &t->err);
	if (code == MPKR_E_STOPPED)
		check(change(t, POP, MPKR_KIND_NUMBER, pass, 2), &t->err);
	if (!code)
		code = mpkr_value_item(both, 0, &first, &t->err);
	if (!code)
		code = mpkr_value_tensor(first, MPKR_DEVICE_CPU, &logits, &t->err);
	if (!code) {
		const float *scores = logits->tensor.data;

		*out = 0;
		for (int32_t i = 1; i < logits->tensor.shape[2]; i++)
			if (scores[i] > scores[*out])
				*out = i;
	}
	mpkr_free(h);
	mpkr_free(logits);
	mpkr_value_drop(hidden);
	mpkr_value_drop(both);
	mpkr_value_drop(first);
	return code;
}

static const int32_t prompt[5] = { 3, 1, 4, 1, 5 };

/* --- a generator --------------------------------------------------------------------------------- */

static void *stop(void *decode)
{
	mpkr_stop(decode);
	return NULL;
}

/* What is left to feed goes before the cache. */
static void save(struct text *t, const char *file, int32_t token)
{
	struct mpkr_result *bytes;
	FILE *to = fopen(file, "wb");

	check(mpkr_state_save(t->cache, NULL, 0, &bytes, &t->err), &t->err);
	if (!to || fwrite(&token, sizeof token, 1, to) != 1 ||
	    fwrite(bytes->tensor.data, (size_t)bytes->tensor.shape[0], 1, to) != 1 || fclose(to)) {
		perror(file);
		exit(1);
	}
	mpkr_free(bytes);
}

static int32_t load(struct text *t, const char *file)
{
	static char bytes[1 << 20];
	FILE *from = fopen(file, "rb");
	size_t len = from ? fread(bytes, 1, sizeof bytes, from) : 0;
	int32_t token;

	if (len < sizeof token) {
		fprintf(stderr, "%s: cannot be read\n", file);
		exit(1);
	}
	fclose(from);
	memcpy(&token, bytes, sizeof token);
	check(mpkr_state_load(t->cache, bytes + sizeof token, len - sizeof token, &t->err),
	      &t->err);
	return token;
}

static void generate(const char *path, const char *file, int is_new)
{
	struct mpkr_error err;
	mpkr_model *model;
	struct text t;
	int32_t token, next;
	int code = 0;

	check(mpkr_open(path, NULL, &model, &err), &err);
	text_begin(&t, model, is_new);
	if (is_new)
		check(text_feed(&t, prompt, 5, &token), &t.err);
	else
		token = load(&t, file);
	for (int i = 0; i < 6 && !code; i++) {
		if (is_new && i == 4) { /* somebody does not want to wait any longer */
			pthread_t other;

			pthread_create(&other, NULL, stop, t.f[DECODE]);
			pthread_join(other, NULL);
		}
		code = text_feed(&t, &token, 1, &next);
		if (!code) {
			printf("%d ", token);
			token = next;
		}
	}
	printf("%s\n", code == MPKR_E_STOPPED ? "stopped" : "");
	if (code != MPKR_E_STOPPED)
		check(code, &t.err);
	save(&t, file, token);
	text_end(&t);
	mpkr_close(model);
}

/* --- a server ------------------------------------------------------------------------------------ */

struct client {
	pthread_t thread;
	mpkr_model *model;
	int32_t first; /* of its prompt */
	int32_t said[8];
};

static void *serve_one(void *arg)
{
	struct client *c = arg;
	int32_t token, begin[5];
	struct text t;

	memcpy(begin, prompt, sizeof begin);
	begin[0] = c->first;
	text_begin(&t, c->model, 1);
	check(text_feed(&t, begin, 5, &token), &t.err);
	for (int i = 0; i < 8; i++) {
		c->said[i] = token;
		check(text_feed(&t, &token, 1, &token), &t.err);
	}
	text_end(&t);
	return NULL;
}

static void serve(const char *path)
{
	struct client c[4];
	struct mpkr_error err;
	mpkr_model *model;

	check(mpkr_open(path, NULL, &model, &err), &err);
	for (int i = 0; i < 4; i++) {
		c[i] = (struct client){ .model = model, .first = 3 + i };
		pthread_create(&c[i].thread, NULL, serve_one, &c[i]);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(c[i].thread, NULL);
		for (int k = 0; k < 8; k++)
			printf("%d%s", c[i].said[k], k < 7 ? " " : "\n");
	}
	mpkr_close(model);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "classify") == 0)
		classify(argv[2]);
	else if (argc == 5 && strcmp(argv[1], "generate") == 0)
		generate(argv[2], argv[3], strcmp(argv[4], "begin") == 0);
	else if (argc == 3 && strcmp(argv[1], "serve") == 0)
		serve(argv[2]);
	else
		return 2;
	return 0;
}
