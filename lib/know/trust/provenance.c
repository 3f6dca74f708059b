/* SPDX-License-Identifier: Apache-2.0 */
/* provenance.c - the note of what a library was made from: written, and read back as a claim of the file */

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "text/escape.h"
#include "text/facts.h"
#include "text/json_read.h"
#include "trust/origin.h"

enum {
	VERSION_TEXT_MAX = 160,
	ITEMS_MAX = 20000, /* more than a note of MPK_PROVENANCE_MAX has of whatever it lists */
};

static const char type[] = "mpack-provenance";

/* --- without paths --------------------------------------------------------------- */

/* The part of a word that is an option and no path: "-I" of "-I/home/x". */
static size_t option_part(const char *word, size_t len)
{
	static const char *const names[] = { "-isystem", "-iquote",  "-idirafter",
					     "-include", "-imacros", "-isysroot" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (len > strlen(names[i]) && memcmp(word, names[i], strlen(names[i])) == 0)
			return strlen(names[i]);
	return len > 2 && word[0] == '-' && word[1] >= 'A' && word[1] <= 'Z' ? 2 : 0;
}

/* A path goes on to the end of the word, whatever characters are in it; what is in front of it stays as
 * far as it is no part of a folder's name. */
static void provenance_put_part(struct mpk_strbuf *out, const char *part, size_t len)
{
	const char *slash = memchr(part, '/', len);
	size_t keep = 0;

	if (!slash) {
		mpk_strbuf_put(out, part, len);
		return;
	}
	for (const char *c = part; c < slash; c++)
		if (*c == '=' || *c == ':')
			keep = (size_t)(c - part) + 1;
	keep += option_part(part + keep, len - keep);
	mpk_strbuf_put(out, part, keep);
	mpk_strbuf_puts(out, "<path>");
}

const char *mpk_provenance_option(const char *option, struct mpk_arena *arena)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	/* A comma ends an argument in what a driver hands on. */
	bool has_parts = strncmp(option, "-Wl,", 4) == 0 || strncmp(option, "-Wa,", 4) == 0 ||
			 strncmp(option, "-Wp,", 4) == 0;

	for (;;) {
		size_t len = has_parts ? strcspn(option, ",") : strlen(option);

		provenance_put_part(&out, option, len);
		if (!option[len])
			break;
		mpk_strbuf_putc(&out, ',');
		option += len + 1;
	}
	return out.failed ? NULL : mpk_arena_text(arena, mpk_span_str(mpk_strbuf_text(&out)));
}

const char *mpk_provenance_version(struct mpk_span said, struct mpk_arena *arena)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	const char *end = said.len ? memchr(said.data, '\n', said.len) : NULL;
	size_t len = end ? (size_t)(end - (const char *)said.data) : said.len, at = 0;

	while (at < len && out.len < VERSION_TEXT_MAX) {
		const char *word = (const char *)said.data + at;
		size_t n = 0;

		while (at + n < len && word[n] != ' ' && word[n] != '\t')
			n++;
		if (n && !memchr(word, '/', n)) {
			mpk_strbuf_puts(&out, out.len ? " " : "");
			mpk_escape(&out, mpk_span_of(word, n));
		}
		at += n + 1;
	}
	if (out.failed)
		return NULL;
	return out.len ? mpk_arena_text(arena, mpk_span_of(out.data, out.len)) : "unknown";
}

/* --- writing --------------------------------------------------------------------- */

static int provenance_by_name(const void *a, const void *b)
{
	const struct mpk_provenance_input *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : memcmp(x->sha256, y->sha256, sizeof x->sha256);
}

static const struct mpk_fact provenance_tool_facts[] = {
	{ MPK_FACT(TEXT, "name", struct mpk_provenance_tool, name) },
	{ MPK_FACT(TEXT, "version", struct mpk_provenance_tool, version) },
};

static const struct mpk_fact provenance_input_facts[] = {
	{ MPK_FACT(TEXT, "name", struct mpk_provenance_input, name) },
	{ MPK_FACT(COUNT, "bytes", struct mpk_provenance_input, bytes) },
	{ MPK_FACT(SHA256, "sha256", struct mpk_provenance_input, sha256) },
};

void mpk_provenance_json(const struct mpk_provenance *p, struct mpk_json *j, struct mpk_json_at *at)
{
	mpk_facts_json_list(MPK_FACTS(provenance_tool_facts), "tools", p->tools, p->tool_count,
			    sizeof *p->tools, j, at);
	mpk_json_texts(j, at, "options", p->options, p->option_count);
	mpk_facts_json_list(MPK_FACTS(provenance_input_facts), "inputs", p->inputs, p->input_count,
			    sizeof *p->inputs, j, at);
}

/* In order, and each once.
 * Returns  how many are left */
static size_t provenance_sort(struct mpk_provenance_input *inputs, size_t count)
{
	size_t n = 0;

	if (count)
		qsort(inputs, count, sizeof *inputs, provenance_by_name);
	for (size_t i = 0; i < count; i++)
		if (!n || provenance_by_name(&inputs[n - 1], &inputs[i]) != 0)
			inputs[n++] = inputs[i];
	return n;
}

enum mpk_code mpk_provenance_write(const struct mpk_provenance *p, struct mpk_arena *arena,
				   const char **out, struct mpk_error *err)
{
	struct mpk_provenance_input *inputs =
		mpk_arena_keep(arena, p->inputs, p->input_count, sizeof *inputs);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf printed = { 0 };
	struct mpk_provenance sorted = *p;
	const char *text = NULL;
	struct mpk_json j;

	MPK_TRY_ALLOC(inputs || !p->input_count, err);
	sorted.inputs = inputs;
	sorted.input_count = provenance_sort(inputs, p->input_count);
	mpk_json_init(&j, 0);
	mpk_json_text(&j, j.root, "type", type);
	mpk_json_u64(&j, j.root, "version", 1);
	mpk_provenance_json(&sorted, &j, j.root);
	if (mpk_json_line(&j, &printed, err) == MPK_OK)
		text = mpk_arena_text(arena, mpk_span_str(mpk_strbuf_text(&printed)));
	mpk_json_fini(&j);
	MPK_TRY_ALLOC(text, err);
	if (strlen(text) >= MPK_PROVENANCE_MAX)
		return mpk_fail(
			err, MPK_E_RANGE,
			"the provenance is longer than a note may be: too many inputs or options");
	*out = text;
	return MPK_OK;
}

/* --- reading --------------------------------------------------------------------- */

static enum mpk_code malformed(const char *what, struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_SYNTAX, "the provenance has no proper \"%s\"", what);
}

static bool read_sha256(const char *text, uint8_t out[MPK_DIGEST_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	if (!text || strlen(text) != 2 * (size_t)MPK_DIGEST_BYTES ||
	    strspn(text, digits) != strlen(text))
		return false;
	for (size_t i = 0; i < MPK_DIGEST_BYTES; i++)
		out[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 |
				   (strchr(digits, text[2 * i + 1]) - digits));
	return true;
}

static bool read_bytes(struct mpk_json_value value, struct mpk_arena *arena, uint64_t *out)
{
	const char *digits = NULL;
	int64_t number;

	if (mpk_json_value_i64(value, &number) && number >= 0) {
		*out = (uint64_t)number;
		return true;
	}
	return mpk_json_value_text(value, arena, &digits, NULL) == MPK_OK && digits &&
	       *digits >= '0' && *digits <= '9' && mpk_parse_u64(mpk_span_str(digits), out);
}

/* what: of which array, for the error */
static enum mpk_code copy_text(struct mpk_json_value value, const char *what,
			       struct mpk_arena *arena, const char **out, struct mpk_error *err)
{
	MPK_TRY(mpk_json_value_text(value, arena, out, err));
	return *out ? MPK_OK : malformed(what, err);
}

/* The array of a name, of a number of elements that can be. */
static bool find_array(struct mpk_json_value root, const char *name, struct mpk_json_items *out,
		       size_t *count)
{
	struct mpk_json_value list = mpk_json_value_get(root, name);

	*out = mpk_json_items(list);
	*count = mpk_json_value_count(list);
	return mpk_json_value_type(list) == MPK_JSON_ARRAY && *count <= ITEMS_MAX;
}

static enum mpk_code read_options(struct mpk_json_value root, struct mpk_arena *arena,
				  struct mpk_provenance *out, struct mpk_error *err)
{
	struct mpk_json_items items;
	struct mpk_json_value option;
	const char **options;
	size_t count;

	if (!find_array(root, "options", &items, &count))
		return malformed("options", err);
	MPK_TRY_ARRAY(options, arena, count + 1, err);
	for (size_t i = 0; mpk_json_next(&items, &option); i++)
		MPK_TRY(copy_text(option, "options", arena, &options[i], err));
	out->options = options;
	out->option_count = count;
	return MPK_OK;
}

static enum mpk_code read_inputs(struct mpk_json_value root, struct mpk_arena *arena,
				 struct mpk_provenance *out, struct mpk_error *err)
{
	struct mpk_provenance_input *inputs;
	struct mpk_json_items items;
	struct mpk_json_value o;
	const char *sha256;
	size_t count;

	if (!find_array(root, "inputs", &items, &count))
		return malformed("inputs", err);
	MPK_TRY_ARRAY(inputs, arena, count + 1, err);
	for (size_t i = 0; mpk_json_next(&items, &o); i++) {
		MPK_TRY(copy_text(mpk_json_value_get(o, "name"), "inputs", arena, &inputs[i].name,
				  err));
		MPK_TRY(copy_text(mpk_json_value_get(o, "sha256"), "inputs", arena, &sha256, err));
		if (!read_bytes(mpk_json_value_get(o, "bytes"), arena, &inputs[i].bytes) ||
		    !read_sha256(sha256, inputs[i].sha256))
			return malformed("inputs", err);
	}
	out->inputs = inputs;
	out->input_count = count;
	return MPK_OK;
}

enum mpk_code mpk_provenance_read(struct mpk_span text, struct mpk_arena *arena,
				  struct mpk_provenance *out, struct mpk_error *err)
{
	struct mpk_provenance p = { 0 };
	struct mpk_json_value root;

	if (mpk_json_read(text, &root, NULL) != MPK_OK)
		return mpk_fail(err, MPK_E_SYNTAX, "the provenance is no JSON");

	int64_t version;

	if (!mpk_json_value_is(mpk_json_value_get(root, "type"), type))
		return malformed("type", err);
	if (!mpk_json_value_i64(mpk_json_value_get(root, "version"), &version) || version != 1)
		return mpk_fail(err, MPK_E_SYNTAX,
				"the provenance is of a version that this program does not know");

	struct mpk_provenance_tool *tools;
	struct mpk_json_items items;
	struct mpk_json_value o;
	size_t count;

	if (!find_array(root, "tools", &items, &count))
		return malformed("tools", err);
	MPK_TRY_ARRAY(tools, arena, count + 1, err);
	for (size_t i = 0; mpk_json_next(&items, &o); i++) {
		MPK_TRY(copy_text(mpk_json_value_get(o, "name"), "tools", arena, &tools[i].name,
				  err));
		MPK_TRY(copy_text(mpk_json_value_get(o, "version"), "tools", arena,
				  &tools[i].version, err));
	}
	p.tools = tools;
	p.tool_count = count;

	MPK_TRY(read_options(root, arena, &p, err));
	MPK_TRY(read_inputs(root, arena, &p, err));

	*out = p;
	return MPK_OK;
}
