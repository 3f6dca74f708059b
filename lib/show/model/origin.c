/* SPDX-License-Identifier: Apache-2.0 */
/* origin.c - prints a library's claims about itself: who signed it, what it was made from, and
 * metadata of its model
 *
 * None of these claims is verified, and the output says so: a name next to the word "signed" would
 * look like a proof. */
#include "model/origin.h"

#include <inttypes.h>
#include <string.h>

#include "dtype/dtype.h"
#include "text/escape.h"
#include "text/facts.h"
#include "text/json_read.h"
#include "text/phrase.h"
#include "text/table.h"
#include "trust/seal.h"

/* number of tools in the summary's line; JSON has all */
enum { TOOLS_SHOWN = 4 };

static struct mpk_span find_comment(const struct mpk_elf *elf, struct mpk_span file)
{
	struct mpk_span comment = { 0 };
	GElf_Shdr section;

	for (size_t i = 1; i < elf->section_count; i++) {
		const char *name = mpk_elf_section_name(elf, i);

		if (name && strcmp(name, ".comment") == 0 &&
		    mpk_elf_section(elf, i, &section, NULL) == MPK_OK)
			(void)mpk_span_sub(file, section.sh_offset, section.sh_size, &comment);
	}
	return comment;
}

enum mpk_code mpk_view_origin(const struct mpk_view *view, struct mpk_view_origin *out,
			      struct mpk_error *err)
{
	const struct mpk_image *image = view->image;
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };

	*out = (struct mpk_view_origin){ .has_provenance = false };
	/* only ELF files have these notes */
	if (!image->elf_class)
		return MPK_OK;
	/* an ELF file that cannot be opened has no notes here: --verify reports the problem */
	enum mpk_code code = mpk_elf_open_mapped(image->bytes, image->bytes_off, &elf, NULL, err);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? code : MPK_OK;
	out->comment = find_comment(&elf, image->bytes);
	mpk_origin_find(&elf, &out->notes);
	if (out->notes.provenance_count > 1)
		(void)mpk_fail(&out->problem, MPK_E_SYNTAX,
			       "%zu notes of provenance, where a file has one",
			       out->notes.provenance_count);
	else if (out->notes.provenance_count && !out->notes.provenance.len)
		(void)mpk_fail(&out->problem, MPK_E_SYNTAX,
			       "the provenance is longer than a note may be");
	if (!out->notes.provenance.len)
		return MPK_OK;
	code = mpk_provenance_read(out->notes.provenance, view->arena, &out->provenance,
				   &out->problem);
	out->has_provenance = code == MPK_OK;
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

/* --- text ------------------------------------------------------------------------ */

static void origin_put_signature(const struct mpk_origin *o, struct mpk_strbuf *out)
{
	if (!o->seal_count)
		return;
	mpk_strbuf_puts(out, "  signature  ");
	/* if there are several seals, it is unknown which one counts */
	if (o->seal_count > 1 || !o->has_seal) {
		mpk_strbuf_puts(out, o->seal_count > 1 ? "several, where a file has one\n"
						       : "of a form that is not known here\n");
		return;
	}
	mpk_strbuf_puts(out, "claims to be of ");
	mpk_ssh_fingerprint_put(o->seal.fingerprint, out);
	mpk_strbuf_puts(out, " (proven by verify --pubkey)\n");
}

/* Prints options on one line, then the inputs, with the digest before the name like sha256sum. */
static void put_details(const struct mpk_provenance *p, struct mpk_strbuf *out)
{
	char digits[MPK_DIGEST_TEXT];

	for (size_t i = 0; i < p->option_count; i++) {
		mpk_strbuf_puts(out, i ? " " : "             ");
		mpk_escape(out, mpk_span_str(p->options[i]));
	}
	mpk_strbuf_puts(out, p->option_count ? "\n" : "");
	for (size_t i = 0; i < p->input_count; i++) {
		const struct mpk_provenance_input *in = &p->inputs[i];

		mpk_strbuf_printf(out, "             sha256 %s ",
				  mpk_digest_print(in->sha256, MPK_DIGEST_BYTES, digits));
		mpk_escape(out, mpk_span_str(in->name));
		mpk_strbuf_printf(out, ", %s\n", MPK_SIZE(in->bytes));
	}
}

static void put_provenance(const struct mpk_view_origin *o, struct mpk_style style,
			   struct mpk_strbuf *out)
{
	const struct mpk_provenance *p = &o->provenance;

	/* an unreadable note may have been tampered with, so it is reported */
	if (!o->has_provenance && o->problem.code != MPK_OK)
		mpk_strbuf_printf(out, "  provenance %s\n", o->problem.text);
	if (!o->has_provenance)
		return;
	mpk_strbuf_puts(out, "  made by    ");
	for (size_t i = 0; i < p->tool_count && i < TOOLS_SHOWN; i++) {
		bool is_number = p->tools[i].version[0] >= '0' && p->tools[i].version[0] <= '9';

		mpk_strbuf_puts(out, i ? ", " : "");
		/* compilers and linkers include their names in the version */
		mpk_escape(out, mpk_span_str(is_number ? p->tools[i].name : ""));
		mpk_strbuf_puts(out, is_number ? " " : "");
		mpk_escape(out, mpk_span_str(p->tools[i].version));
	}
	mpk_strbuf_puts(out, p->tool_count > TOOLS_SHOWN ? ", ..." : "");
	mpk_put_also(out, p->input_count, "input");
	mpk_strbuf_putc(out, '\n');
	if (style.verbose)
		put_details(p, out);
}

static void put_compilers(struct mpk_span c, struct mpk_strbuf *out)
{
	for (size_t at = 0, len; at < c.len; at += len + 1) {
		len = strnlen((const char *)c.data + at, c.len - at);
		mpk_strbuf_puts(out, len ? "  compiler   " : "");
		mpk_escape(out, mpk_span_of(c.data + at, len));
		mpk_strbuf_puts(out, len ? "\n" : "");
	}
}

static void origin_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	struct mpk_view_origin o;

	if (mpk_view_origin(what, &o, NULL) != MPK_OK) {
		out->failed = true;
		return;
	}
	origin_put_signature(&o.notes, out);
	put_provenance(&o, style, out);
	if (style.verbose && !o.notes.provenance_count) /* provenance has more detail */
		put_compilers(o.comment, out);
}

/* --- JSON ------------------------------------------------------------------------ */

/* Key, fingerprint and signature have the text forms of OpenSSH, so that its tools can read
 * them. */
static void put_seal(const struct mpk_origin *n, uint64_t base, struct mpk_json *j,
		     struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "signature");
	struct mpk_strbuf key = { 0 }, fingerprint = { 0 }, armor = { 0 };

	mpk_ssh_key_put(&n->seal.key, &key);
	mpk_ssh_fingerprint_put(n->seal.fingerprint, &fingerprint);
	mpk_sshsig_put(&n->seal.key, n->seal.signature, &armor);
	mpk_json_take(j, o, "fingerprint", &fingerprint);
	mpk_json_take(j, o, "key", &key);
	mpk_json_text(j, o, "namespace", MPK_SSHSIG_NAMESPACE);
	mpk_json_u64(j, o, "offset", base + n->seal.off + MPK_SEAL_SIGNATURE_AT);
	mpk_json_u64(j, o, "bytes", MPK_ED25519_BYTES);
	mpk_json_take(j, o, "sshsig", &armor);
}

static void origin_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_view *view = what;
	struct mpk_view_origin o;

	if (mpk_view_origin(view, &o, NULL) != MPK_OK) {
		j->failed = true;
		return;
	}
	/* if there are several signatures, none is printed: a reader would take it for the one that
	 * counts */
	if (o.notes.has_seal && o.notes.seal_count == 1)
		put_seal(&o.notes, view->image->bytes_off, j, at);
	if (o.has_provenance)
		mpk_provenance_json(&o.provenance, j, mpk_json_object(j, at, "provenance"));
}

const struct mpk_answer mpk_answer_origin = { .text = origin_text, .json = origin_json };

/* --- what a language model's library says of itself to an engine ------------------------------ */

/* --- where the text is ---------------------------------------------------------------------------- */

/* Returns the only text among the operands of a function that just returns it; empty if there is
 * none or more than one. */
static struct mpk_span text_in_byte_code(const struct mpk_relax *x, const struct mpk_relax_func *f)
{
	enum { INSTRUCTIONS_MAX = 16 };
	struct mpk_span found = { 0 };
	struct mpk_relax_instr instr;

	if (f->start < 0 || f->end - f->start > INSTRUCTIONS_MAX)
		return found;
	for (int64_t i = f->start; i < f->end; i++) {
		if (mpk_relax_instr(x, (size_t)i, &instr, NULL) != MPK_OK)
			return (struct mpk_span){ 0 };
		for (size_t k = 0; k < instr.arg_count; k++) {
			struct mpk_relax_arg arg = mpk_relax_arg(&instr, k);

			if (arg.kind != MPK_RELAX_ARG_CONST || arg.value < 0 ||
			    (uint64_t)arg.value >= x->const_count ||
			    x->consts[arg.value].kind != MPK_RELAX_STRING)
				continue;
			if (found.len)
				return (struct mpk_span){ 0 };
			found = x->consts[arg.value].u.string;
		}
	}
	return found;
}

/* It is unknown which constants a compiled function uses; the text is recognised by its keys. */
static struct mpk_span text_of_compiled(const struct mpk_relax *x)
{
	struct mpk_span found = { 0 };
	struct mpk_json_value v;

	for (size_t i = 0; i < x->const_count; i++) {
		struct mpk_span text = x->consts[i].u.string;

		if (x->consts[i].kind != MPK_RELAX_STRING || !text.len || text.data[0] != '{' ||
		    mpk_json_read(text, &v, NULL) != MPK_OK ||
		    !mpk_json_value_get(v, "quantization").text.len)
			continue;
		if (found.len)
			return (struct mpk_span){ 0 };
		found = text;
	}
	return found;
}

/* Returns the metadata text of an executable; empty if it has none. */
static struct mpk_span find_text(const struct mpk_view_node *n)
{
	const struct mpk_relax *x = mpk_view_relax(n);
	size_t i = 0;

	if (!x)
		return (struct mpk_span){ 0 };
	while (i < x->func_count && (!mpk_span_is(x->funcs[i].name, "_metadata") ||
				     x->funcs[i].kind == MPK_RELAX_PACKED))
		i++;
	if (i == x->func_count)
		return (struct mpk_span){ 0 };
	return x->funcs[i].kind == MPK_RELAX_VM ? text_in_byte_code(x, &x->funcs[i])
						: text_of_compiled(x);
}

/* --- what it says ---------------------------------------------------------------------------------- */

/* Keys of kinds TEXT_OR_NULL and I64_IF have the same names in the text and in our document. */
static const struct mpk_fact metadata_facts[] = {
	{ MPK_FACT(TEXT, "path", struct mpk_metadata, path, "of the executable") },
	{ MPK_FACT(TEXT_OR_NULL, "model_type", struct mpk_metadata, model_type) },
	{ MPK_FACT(TEXT_OR_NULL, "quantization", struct mpk_metadata, quantization) },
	{ MPK_FACT(TEXT_OR_NULL, "kv_state_kind", struct mpk_metadata, kv_state_kind) },
	{ MPK_FACT(I64_IF, "context_window_size", struct mpk_metadata, context_window_size,
		   "tokens, as the two below; -1: none") },
	{ MPK_FACT(I64_IF, "sliding_window_size", struct mpk_metadata, sliding_window_size) },
	{ MPK_FACT(I64_IF, "attention_sink_size", struct mpk_metadata, attention_sink_size) },
	{ MPK_FACT(I64_IF, "prefill_chunk_size", struct mpk_metadata, prefill_chunk_size) },
	{ MPK_FACT(I64_IF, "max_batch_size", struct mpk_metadata, max_batch_size) },
	{ MPK_FACT(I64_IF, "tensor_parallel_shards", struct mpk_metadata, tensor_parallel_shards) },
	{ MPK_FACT(I64_IF, "pipeline_parallel_stages", struct mpk_metadata,
		   pipeline_parallel_stages) },
	{ MPK_FACT(BOOL, "disaggregation", struct mpk_metadata, disaggregation) },
	{ MPK_FACT(COUNT, "params", struct mpk_metadata, param_count) },
	{ MPK_FACT(COUNT, "param_bytes", struct mpk_metadata, param_bytes) },
};

static const struct mpk_fact memory_facts[] = {
	{ MPK_FACT(TEXT, "function", struct mpk_metadata_memory, function) },
	{ MPK_FACT(COUNT, "bytes", struct mpk_metadata_memory, bytes) },
};

static int64_t metadata_number(struct mpk_json_value v)
{
	int64_t n;

	return mpk_json_value_i64(v, &n) ? n : INT64_MIN;
}

/* Extents may be names instead of numbers. */
static uint64_t bytes_of_param(struct mpk_json_value param, struct mpk_arena *arena)
{
	struct mpk_json_items shape = mpk_json_items(mpk_json_value_get(param, "shape"));
	struct mpk_json_value extent;
	struct mpk_dtype dtype;
	const char *text = NULL;
	uint64_t count = 1;
	int64_t n;

	if (mpk_json_value_text(mpk_json_value_get(param, "dtype"), arena, &text, NULL) != MPK_OK ||
	    !text || !mpk_dtype_parse(mpk_span_str(text), &dtype))
		return 0;
	while (mpk_json_next(&shape, &extent))
		if (!mpk_json_value_i64(extent, &n) || n < 0 ||
		    __builtin_mul_overflow(count, (uint64_t)n, &count))
			return 0;
	return count > UINT64_MAX / 64 / 8
		       ? 0
		       : (count * dtype.bits * (dtype.lanes ? dtype.lanes : 1) + 7) / 8;
}

static enum mpk_code read_memory(struct mpk_json_value memory, struct mpk_arena *arena,
				 struct mpk_metadata *out, struct mpk_error *err)
{
	struct mpk_json_items items = mpk_json_items(memory);
	struct mpk_metadata_memory *list;
	struct mpk_json_value v;
	int64_t bytes;

	if (mpk_json_value_type(memory) != MPK_JSON_OBJECT)
		return MPK_OK;
	MPK_TRY_ARRAY(list, arena, mpk_json_value_count(memory) + 1, err);
	out->memory = list;
	while (mpk_json_next(&items, &v)) {
		struct mpk_metadata_memory *m = &list[out->memory_count];

		if (!mpk_json_value_i64(v, &bytes) || bytes < 0)
			continue;
		MPK_TRY(mpk_json_value_text(items.key, arena, &m->function, err));
		m->bytes = (uint64_t)bytes;
		out->memory_count++;
	}
	return MPK_OK;
}

static enum mpk_code read_text(struct mpk_json_value v, struct mpk_arena *arena,
			       struct mpk_metadata *out, struct mpk_error *err)
{
	struct mpk_json_items params = mpk_json_items(mpk_json_value_get(v, "params"));
	struct mpk_json_value param;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(metadata_facts); i++) {
		const struct mpk_fact *f = &metadata_facts[i];
		struct mpk_json_value found = mpk_json_value_get(v, f->key);
		void *member = (char *)out + f->off;

		if (f->kind == MPK_FACT_TEXT_OR_NULL)
			MPK_TRY(mpk_json_value_text(found, arena, member, err));
		else if (f->kind == MPK_FACT_I64_IF)
			*(int64_t *)member = metadata_number(found);
	}
	out->disaggregation = mpk_span_is(mpk_json_value_get(v, "disaggregation").text, "true");
	while (mpk_json_next(&params, &param)) {
		out->param_count++;
		if (__builtin_add_overflow(out->param_bytes, bytes_of_param(param, arena),
					   &out->param_bytes))
			out->param_bytes = 0;
	}
	return read_memory(mpk_json_value_get(v, "memory_usage"), arena, out, err);
}

enum mpk_code mpk_view_metadata(const struct mpk_view *view, const struct mpk_metadata **out,
				struct mpk_error *err)
{
	struct mpk_metadata *made;
	struct mpk_json_value v;
	struct mpk_span text;

	*out = NULL;
	for (size_t i = 0; i < view->count; i++) {
		text = find_text(&view->nodes[i]);
		if (!text.len || mpk_json_read(text, &v, NULL) != MPK_OK ||
		    mpk_json_value_type(v) != MPK_JSON_OBJECT)
			continue;
		made = mpk_arena_alloc(view->arena, sizeof *made);
		MPK_TRY_ALLOC(made, err);
		*made = (struct mpk_metadata){ .path = view->nodes[i].path };
		MPK_TRY(read_text(v, view->arena, made, err));
		*out = made;
		return MPK_OK;
	}
	return MPK_OK;
}

/* --- shown ----------------------------------------------------------------------------------------- */

/* Appends ", context of 512 tokens" if the number is given. */
static void put_number(int64_t n, const char *before, const char *after, bool *any,
		       struct mpk_strbuf *out)
{
	if (n <= 0)
		return;
	mpk_strbuf_printf(out, "%s%s%" PRId64 "%s", *any ? ", " : "", before, n, after);
	*any = true;
}

static void metadata_put_word(const char *text, const char *before, bool *any,
			      struct mpk_strbuf *out)
{
	if (!text)
		return;
	mpk_strbuf_printf(out, "%s%s", *any ? ", " : "", before);
	mpk_escape(out, mpk_span_str(text));
	*any = true;
}

static void metadata_line(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_metadata *m;
	bool any = false;

	(void)style;
	if (mpk_view_metadata(what, &m, NULL) != MPK_OK) {
		out->failed = true;
		return;
	}
	if (!m)
		return;
	mpk_strbuf_puts(out, "  model      ");
	metadata_put_word(m->model_type, "", &any, out);
	metadata_put_word(m->quantization, "quantization ", &any, out);
	put_number(m->context_window_size, "a context of ", " tokens", &any, out);
	put_number(m->sliding_window_size, "a window of ", " tokens", &any, out);
	put_number(m->attention_sink_size, "", " of them sinks", &any, out);
	put_number(m->prefill_chunk_size, "", " tokens in a pass", &any, out);
	put_number(m->max_batch_size, "batches of ", "", &any, out);
	if (m->tensor_parallel_shards > 1)
		put_number(m->tensor_parallel_shards, "", " shards", &any, out);
	if (m->pipeline_parallel_stages > 1)
		put_number(m->pipeline_parallel_stages, "", " stages", &any, out);
	if (m->param_count) {
		mpk_strbuf_puts(out, any ? "; " : "");
		mpk_put_count(out, m->param_count, "weight");
		mpk_strbuf_printf(out, " of %s", MPK_SIZE(m->param_bytes));
		any = true;
	}
	for (size_t i = 0; i < m->memory_count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(out, i ? ", " : any ? "; memory: " : "memory: ");
		mpk_escape(out, mpk_span_str(m->memory[i].function));
		mpk_strbuf_printf(out, " %s", MPK_SIZE(m->memory[i].bytes));
		any = true;
	}
	mpk_put_more(out, m->memory_count);
	mpk_strbuf_puts(out, any ? "\n" : "says nothing of itself\n");
}

static void metadata_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_view *view = what;
	const struct mpk_metadata *m;
	struct mpk_json_at *o;

	if (mpk_view_metadata(view, &m, NULL) != MPK_OK || !m)
		return;
	o = mpk_json_object(j, at, "metadata");
	mpk_facts_json(MPK_FACTS(metadata_facts), m, j, o);
	mpk_facts_json_list(MPK_FACTS(memory_facts), "memory", m->memory, m->memory_count,
			    sizeof *m->memory, j, o);
}

const struct mpk_answer mpk_answer_metadata = { .line = metadata_line, .json = metadata_json };
