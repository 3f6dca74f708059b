/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - checks whether a file of weights and its shards match the document, and compares two
 * files
 *
 * Places are checked with the document only; checksums and elements are read from all bytes once. A
 * shard with a problem is one finding, and its tensors are skipped. */
#include "weightfile/weightfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "compare/compare.h"
#include "io/digest.h"
#include "text/escape.h"
#include "zip/zip.h"

static void find_problem(struct mpk_report *report, enum mpk_severity severity, const char *check,
			 struct mpk_span shard, struct mpk_error *e)
{
	e->at = (struct mpk_where){ 0 }; /* the caller adds the file's name to all findings */
	if (shard.len)
		mpk_error_prefix(e, "%s: ", MPK_QUOTE(shard));
	mpk_report_add(report, severity, check, e);
}

static enum mpk_code check_digest(const struct mpk_weight_shard *shard, struct mpk_span bytes,
				  struct mpk_report *report, struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES];
	char text[MPK_DIGEST_TEXT];
	struct mpk_error e;

	if (!shard->md5.len)
		return MPK_OK;
	MPK_TRY(mpk_digest_span(MPK_DIGEST_MD5, bytes, digest, err));
	(void)mpk_digest_print(digest, mpk_digest_bytes(MPK_DIGEST_MD5), text);
	if (mpk_span_is(shard->md5, text))
		return MPK_OK;
	(void)mpk_fail(&e, MPK_E_CORRUPT, "its MD5 is %s, and the document says %s", text,
		       MPK_QUOTE(shard->md5));
	find_problem(report, MPK_ERROR, "shard", shard->name, &e);
	return MPK_OK;
}

static enum mpk_code check_shard(const struct mpk_weight_shard *shard,
				 const struct mpk_weight_place *place, struct mpk_report *report,
				 struct mpk_error *err)
{
	struct mpk_error e;

	if (place->problem) {
		e = *place->problem;
		find_problem(report, MPK_ERROR, "shard", shard->name, &e);
		return MPK_OK;
	}
	if (shard->has_bytes && shard->bytes != place->bytes.len) {
		(void)mpk_fail(&e, MPK_E_CORRUPT,
			       "it has %zu bytes, and the document says %" PRIu64, place->bytes.len,
			       shard->bytes);
		find_problem(report, MPK_ERROR, "shard", shard->name, &e);
	}
	return check_digest(shard, place->bytes, report, err);
}

static void check_elements(const struct mpk_weightfile *f, const struct mpk_tap *tap,
			   struct mpk_report *report)
{
	const struct mpk_weights *w = &f->set.weights;

	for (size_t i = 0; i < w->count; i++) {
		struct mpk_weight_figures g;
		struct mpk_span bytes;
		struct mpk_error e;

		if (tap && mpk_weight_set_bytes(&f->set, &w->items[i], &bytes))
			tap->see(tap->data, bytes);
		/* for quantized groups, the tensor of their scales gives the finding */
		if (!mpk_weight_figures_of(&f->set, &w->items[i], &g) || !g.not_finite || g.bits)
			continue;
		(void)mpk_fail(&e, MPK_E_CORRUPT,
			       "%" PRIu64 " of %" PRIu64
			       " elements of tensor '%s' are NaN or infinite",
			       g.not_finite, g.count, MPK_QUOTE(w->items[i].name));
		find_problem(report, MPK_WARNING, "not-finite", w->shards[w->items[i].shard].name,
			     &e);
	}
}

/* Ends of tensors are compared with the sizes of the files that exist. */
static enum mpk_code check_places(const struct mpk_weightfile *f, struct mpk_report *report,
				  struct mpk_error *err)
{
	size_t count = f->set.weights.shard_count;
	uint64_t *bytes = calloc(count + 1, sizeof *bytes);
	enum mpk_code code;

	MPK_TRY_ALLOC(bytes, err);
	for (size_t i = 0; i < count; i++)
		bytes[i] = f->set.places[i].problem ? UINT64_MAX : f->set.places[i].bytes.len;
	code = mpk_weights_lay_out(&f->set.weights, bytes, report, err);
	free(bytes);
	return code;
}

/* Each member of a zip archive has a checksum. */
static enum mpk_code check_members(const struct mpk_weightfile *f, struct mpk_report *report,
				   struct mpk_error *err)
{
	static const struct mpk_zip_options options = { .space = "file", .check_stored = true };
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_span file = f->set.places[0].bytes, content;
	struct mpk_zip_member *members;
	struct mpk_error e;
	size_t count;

	if (f->set.weights.format != &mpk_weights_npz)
		return MPK_OK;
	MPK_TRY(mpk_zip_list(file, "file", &arena, &members, &count, err));
	for (size_t i = 0; i < count; i++)
		if (mpk_zip_read(file, &members[i], &options, &arena, &content, &e) != MPK_OK) {
			mpk_error_prefix(&e, "%s: ", MPK_QUOTE(members[i].name));
			find_problem(report, MPK_ERROR, "shard", (struct mpk_span){ 0 }, &e);
		}
	return MPK_OK;
}

enum mpk_code mpk_weightfile_verify(const struct mpk_weightfile *f, const struct mpk_tap *tap,
				    struct mpk_report *report, struct mpk_error *err)
{
	for (size_t i = 0; i < f->set.weights.shard_count; i++)
		MPK_TRY(check_shard(&f->set.weights.shards[i], &f->set.places[i], report, err));
	MPK_TRY(check_places(f, report, err));
	MPK_TRY(check_members(f, report, err));
	check_elements(f, tap, report);
	for (size_t i = 0; i < report->count; i++)
		mpk_error_at_file(&report->findings[i].error, f->name);
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* --- two files of weights, tensor by tensor, by name ------------------------------------------ */

/* Differences form the same list as for two libraries, so they print alike. The files may have
 * different formats, so a converted model can be compared with the original. */

/* A tensor of one side, with its bytes. */
struct side_tensor {
	struct mpk_span name;
	const struct mpk_weight *weight;
	struct mpk_tensor_record record;
	const struct mpk_weight_set *set;
};

static struct mpk_span side_name(const void *item)
{
	return ((const struct side_tensor *)item)->name;
}

/* Blocks whose values cannot be unpacked are compared as bytes. */
static void compare_blocks(struct mpk_differ *d, struct mpk_span name, const struct side_tensor *a,
			   const struct side_tensor *b)
{
	const char *x = a->weight->type ? a->weight->type : "?";
	const char *y = b->weight->type ? b->weight->type : "?";

	if (a->weight->coding != b->weight->coding || strcmp(x, y) != 0)
		(void)mpk_differ_change(d, "tensor", name, "%s -> %s", x, y);
	else if (!mpk_span_equal(a->record.data, b->record.data))
		(void)mpk_differ_bytes(d, "tensor", name, a->record.data, b->record.data);
}

enum { WORDS = 256 }; /* words converted to values at a time */

static void compare_value(struct mpk_tensor_diff *out, uint64_t i, double x, double y,
			  long double *gaps, long double *were)
{
	double gap = fabs(x - y);

	if (x == y || (isnan(x) && isnan(y)))
		return;
	if (!out->differing++)
		out->first = i;
	if (!isfinite(gap)) {
		out->unordered++;
		return;
	}
	*gaps += (long double)gap;
	*were += (long double)fabs(x);
	if (gap > out->max_abs) {
		out->max_abs = gap;
		out->max_at = i;
	}
}

/* Adds a difference of the tensor from the sums over all values, if there is one. */
static void add_values(struct mpk_differ *d, struct mpk_span name, struct mpk_tensor_diff *out,
		       const struct side_tensor *a, const struct side_tensor *b, long double gaps,
		       long double were, struct mpk_strbuf *text)
{
	if (out->count > out->unordered)
		out->mean_abs = (double)(gaps / (long double)(out->count - out->unordered));
	out->relative = mpk_tensor_relative(gaps, were);
	mpk_tensor_diff_text(out, &a->record, &b->record, text);
	mpk_differ_add_tensor(d, name, out, text);
}

/* Words are not numbers: a difference of 2^28 may mean that one packed value grew a little. So the
 * packed values are compared, if both sides pack them alike.
 * Returns  false: they do not */
static bool compare_groups(struct mpk_differ *d, struct mpk_span name, const struct side_tensor *a,
			   const struct side_tensor *b)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_weight_groups x, y;
	struct mpk_tensor_diff out = { .is_comparable = true, .has_values = true };
	long double gaps = 0, were = 0;

	if (!mpk_weight_groups_of(a->set, a->weight, &x) ||
	    !mpk_weight_groups_of(b->set, b->weight, &y) || x.bits != y.bits ||
	    x.group != y.group || x.axis != y.axis || x.words.len != y.words.len ||
	    x.words_long != y.words_long || x.inner != y.inner)
		return false;

	size_t of_word = 32 / x.bits, words = x.words.len / 4;

	out.count = (uint64_t)words * of_word;
	for (size_t at = 0; at < words; at += WORDS) {
		double v[WORDS * 8], w[WORDS * 8];
		size_t n = words - at < WORDS ? words - at : WORDS;

		mpk_weight_groups_read(&x, at, n, v);
		mpk_weight_groups_read(&y, at, n, w);
		for (size_t i = 0; i < n * of_word; i++)
			compare_value(&out, (uint64_t)at * of_word + i, v[i], w[i], &gaps, &were);
	}
	if (!out.differing)
		return true;
	mpk_strbuf_printf(&text, "int%u in groups of %" PRIu64 ": ", x.bits, x.group);
	add_values(d, name, &out, a, b, gaps, were, &text);
	return true;
}

static const char *type_of(const struct side_tensor *t)
{
	return t->weight->type ? t->weight->type : "?";
}

/* Compares two tensors of which at least one consists of blocks: the result tells how far
 * quantizing moved the values.
 * Returns  false: one of them cannot be unpacked, or the shapes differ */
static bool compare_values(struct mpk_differ *d, struct mpk_span name, const struct side_tensor *a,
			   const struct side_tensor *b)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	struct mpk_tensor_diff out = { .is_comparable = true, .has_values = true };
	bool is_other_type = strcmp(type_of(a), type_of(b)) != 0;
	struct mpk_weight_values x, y;
	long double gaps = 0, were = 0;

	if (!mpk_weight_values_open(a->set, a->weight, &x) ||
	    !mpk_weight_values_open(b->set, b->weight, &y) || x.count != y.count ||
	    a->weight->ndim != b->weight->ndim)
		return false;
	for (size_t i = 0; i < a->weight->ndim; i++)
		if (a->weight->shape[i] != b->weight->shape[i])
			return false;
	out.count = x.count;
	for (uint64_t at = 0; at < x.count;) {
		double v[MPK_WEIGHT_RUN], w[MPK_WEIGHT_RUN];
		size_t n = mpk_weight_values_read(&x, at, v);

		(void)mpk_weight_values_read(&y, at, w);
		for (size_t i = 0; i < n; i++)
			compare_value(&out, at + i, v[i], w[i], &gaps, &were);
		at += n;
	}
	if (!out.differing && !is_other_type)
		return false; /* different bytes may have the same values */
	if (!out.differing) {
		(void)mpk_differ_change(d, "tensor", name, "%s -> %s, of the same values",
					type_of(a), type_of(b));
		return true;
	}
	mpk_strbuf_puts(&text, type_of(a));
	if (is_other_type)
		mpk_strbuf_printf(&text, " -> %s", type_of(b));
	mpk_strbuf_puts(&text, ": ");
	add_values(d, name, &out, a, b, gaps, were, &text);
	return true;
}

static void compare_weights(struct mpk_differ *d, struct mpk_span name, const void *a,
			    const void *b)
{
	const struct side_tensor *x = a, *y = b;

	if (x->weight->coding == MPK_WEIGHT_BLOCKS || y->weight->coding == MPK_WEIGHT_BLOCKS) {
		if (!compare_values(d, name, x, y))
			compare_blocks(d, name, x, y);
		return;
	}
	if (!compare_groups(d, name, x, y))
		mpk_differ_tensors(d, name, &x->record, &y->record);
}

static struct side_tensor *side_of(const struct mpk_weightfile *f, struct mpk_arena *arena)
{
	const struct mpk_weights *w = &f->set.weights;
	struct side_tensor *out = mpk_arena_array(arena, w->count + 1, sizeof *out);

	for (size_t i = 0; out && i < w->count; i++) {
		const struct mpk_weight *t = &w->items[i];
		struct mpk_span bytes = { 0 };

		(void)mpk_weight_set_bytes(&f->set, t, &bytes); /* the set was checked */
		out[i] = (struct side_tensor){ .name = t->name,
					       .weight = t,
					       .set = &f->set,
					       .record = { .dtype = mpk_weight_stored(t),
							   .shape = t->shape,
							   .ndim = t->ndim,
							   .data = bytes } };
	}
	return out;
}

/* Counts tensors of the older file that the newer one has unchanged. */
static size_t count_common(const struct mpk_weights *older, const struct mpk_difference *items,
			   size_t count)
{
	size_t left = older->count;

	for (size_t i = 0; i < count && left; i++)
		left -= items[i].sign != MPK_DIFF_ADDED;
	return left;
}

enum mpk_code mpk_weightfile_diff(const struct mpk_weightfile *older,
				  const struct mpk_weightfile *newer, struct mpk_arena *arena,
				  struct mpk_diff *out, struct mpk_error *err)
{
	static const struct mpk_diff_thing tensor = { .what = "tensor",
						      .bytes = sizeof(struct side_tensor),
						      .name = side_name,
						      .compare = compare_weights };
	struct side_tensor *a, *b;
	struct mpk_diff diff = { .older = { .name = older->name, .bytes = older->bytes },
				 .newer = { .name = newer->name, .bytes = newer->bytes } };
	struct mpk_differ d = { &diff, arena, "", "", MPK_DIFF_LINES_MAX, 0 };

	MPK_TRY(mpk_weight_set_check(&older->set, err));
	MPK_TRY(mpk_weight_set_check(&newer->set, err));
	a = side_of(older, arena);
	b = side_of(newer, arena);
	MPK_TRY_ALLOC(a && b, err);
	mpk_differ_match(&d, &tensor, a, older->set.weights.count, b, newer->set.weights.count);
	diff.of_weights = true;
	diff.equal_tensors = count_common(&older->set.weights, diff.items, diff.count);
	*out = diff;
	out->items = mpk_arena_keep(arena, diff.items, diff.count, sizeof *diff.items);
	free(diff.items);
	return diff.failed || (diff.count && !out->items) ? mpk_fail_nomem(err) : MPK_OK;
}
