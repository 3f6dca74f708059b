/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations are read by a grammar of a few rules and instructions are passed over token by
 * token: what a kernel takes and needs is in its declarations, and new instructions of new
 * PTX versions cost nothing. Lists grow in malloc'ed arrays and move to the arena at the end. */
#include "ptx/ptx.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "ptx/internal/parse.h"
#include "text/escape.h"

/* A read in progress. */
struct reader {
	struct mpk_lexer lex;
	struct mpk_arena *arena;
	struct mpk_ptx ptx;
	struct mpk_ptx_kernel *kernels; /* malloc'ed until the end, as are the others */
	size_t kernel_cap;
	struct mpk_ptx_shared *shared;
	size_t shared_cap;
	struct mpk_span *functions;
	size_t function_cap;
	struct mpk_ptx_param *params;
	size_t param_count, param_cap;
	struct mpk_strmap names;
	struct mpk_token before; /* what the statement before began with */
	const uint8_t *start;    /* of the statement, linking directives in front included */
	const uint8_t *end;      /* after the brace of the last body */
	bool has_target;
};

static void ptx_reader_fini(struct reader *r)
{
	free(r->kernels);
	free(r->shared);
	free(r->functions);
	free(r->params);
	mpk_strmap_fini(&r->names);
}

/* --- shared memory: FORMAT.md 2 --------------------------------------------------- */

static enum mpk_code ptx_add_shared(struct reader *r, const struct mpk_ptx_variable *v,
				    bool is_extern, size_t kernel, struct mpk_error *err)
{
	size_t n = r->ptx.shared_count;

	MPK_TRY_ALLOC(mpk_vec_reserve(&r->shared, &r->shared_cap, n + 1, sizeof *r->shared), err);
	r->shared[n] = (struct mpk_ptx_shared){
		.name = v->name,
		.bytes = v->open ? 0 : v->bytes,
		.align = v->align,
		.dynamic = is_extern && v->open,
		.kernel = kernel,
	};
	r->ptx.shared_count++;
	return MPK_OK;
}

/* After ".shared": modifiers and a list of names. */
static enum mpk_code read_shared(struct reader *r, bool is_extern, size_t kernel,
				 struct mpk_error *err)
{
	struct mpk_ptx_variable v;

	for (bool first = true;; first = false) {
		MPK_TRY(mpk_ptx_take_variable(&r->lex, first ? NULL : &v, &v, err));
		MPK_TRY(ptx_add_shared(r, &v, is_extern, kernel, err));
		if (!mpk_lexer_at(&r->lex, ','))
			return mpk_ptx_skip_past(&r->lex, ';', err);
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	}
}

/* --- kernels: FORMAT.md 3 --------------------------------------------------------- */

static enum mpk_code read_param(struct reader *r, struct mpk_error *err)
{
	struct mpk_ptx_variable v;

	if (!mpk_token_is_word(&r->lex.t, ".param"))
		return mpk_ptx_wanted(&r->lex, "'.param'", err);
	MPK_TRY(mpk_lexer_next(&r->lex, err));
	MPK_TRY(mpk_ptx_take_variable(&r->lex, NULL, &v, err));
	MPK_TRY_ALLOC(
		mpk_vec_reserve(&r->params, &r->param_cap, r->param_count + 1, sizeof *r->params),
		err);
	r->params[r->param_count++] = (struct mpk_ptx_param){
		.name = v.name,
		.type = v.type,
		.bytes = v.bytes,
		.align = v.align,
		.pointer = v.pointer,
	};
	return MPK_OK;
}

/* A kernel without parameters may have no parentheses. */
static enum mpk_code ptx_read_params(struct reader *r, struct mpk_ptx_kernel *k,
				     struct mpk_error *err)
{
	r->param_count = 0;
	if (!mpk_lexer_at(&r->lex, '('))
		return MPK_OK;
	MPK_TRY(mpk_lexer_next(&r->lex, err));
	while (!mpk_lexer_at(&r->lex, ')')) {
		MPK_TRY(read_param(r, err));
		if (mpk_lexer_at(&r->lex, ','))
			MPK_TRY(mpk_lexer_next(&r->lex, err));
		else if (!mpk_lexer_at(&r->lex, ')'))
			return mpk_ptx_wanted(&r->lex, "',' or ')'", err);
	}
	k->params = mpk_arena_keep(r->arena, r->params, r->param_count, sizeof *r->params);
	MPK_TRY_ALLOC(k->params, err);
	k->param_count = r->param_count;
	return mpk_lexer_next(&r->lex, err);
}

/* What follows a directive in front of a body; the rest of one that is not known
 * looks like none. */
static enum mpk_code read_directive(struct reader *r, const struct mpk_token *directive,
				    struct mpk_ptx_kernel *k, struct mpk_error *err)
{
	const struct {
		const char *name;
		uint32_t *numbers;
		size_t count;
	} rows[] = {
		{ ".maxntid", k->max_threads, 3 },       { ".reqntid", k->block, 3 },
		{ ".reqnctapercluster", k->cluster, 3 }, { ".minnctapersm", &k->min_blocks, 1 },
		{ ".maxnreg", &k->max_registers, 1 },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (mpk_token_is_word(directive, rows[i].name))
			return mpk_ptx_take_numbers(&r->lex, UINT32_MAX, rows[i].numbers,
						    rows[i].count, err);
	if (mpk_token_is_word(directive, ".pragma")) /* its ';' does not end the header */
		return mpk_ptx_skip_past(&r->lex, ';', err);
	return MPK_OK;
}

/* Between parameters and body. */
static enum mpk_code read_performance(struct reader *r, struct mpk_ptx_kernel *k,
				      struct mpk_error *err)
{
	while (!mpk_lexer_at(&r->lex, '{') && !mpk_lexer_at(&r->lex, ';')) {
		struct mpk_token t = r->lex.t;

		if (t.kind == MPK_TOKEN_END)
			return mpk_ptx_wanted(&r->lex, "'{' or ';'", err);
		MPK_TRY(mpk_lexer_next(&r->lex, err));
		MPK_TRY(read_directive(r, &t, k, err));
	}
	return MPK_OK;
}

/* ".local" and what follows; what does not parse as a variable is passed over, as it was before anybody asked. */
static enum mpk_code read_local(struct reader *r, uint64_t *bytes, struct mpk_error *err)
{
	struct mpk_ptx_variable v = { 0 }, *like = NULL;

	for (;;) {
		enum mpk_code code = mpk_ptx_take_variable(&r->lex, like, &v, err);

		if (code != MPK_OK)
			return code == MPK_E_SYNTAX && r->lex.t.kind != MPK_TOKEN_END ? MPK_OK
										      : code;
		if (!mpk_add_u64(*bytes, v.bytes, bytes))
			*bytes = UINT64_MAX;
		if (!mpk_lexer_at(&r->lex, ','))
			return MPK_OK;
		MPK_TRY(mpk_lexer_next(&r->lex, err));
		like = &v;
	}
}

/* A declaration at the beginning of a statement, as far as it is of interest. */
static enum mpk_code read_declaration(struct reader *r, size_t kernel, bool *is,
				      struct mpk_error *err)
{
	struct mpk_ptx_kernel ignored = { 0 };
	struct mpk_ptx_kernel *k = kernel == MPK_PTX_MODULE ? &ignored : &r->kernels[kernel];
	const struct mpk_token t = r->lex.t;

	*is = mpk_token_is_word(&t, ".shared") || mpk_token_is_word(&t, ".local") ||
	      mpk_token_is_word(&t, ".reg");
	if (!*is)
		return MPK_OK;
	MPK_TRY(mpk_lexer_next(&r->lex, err));
	if (mpk_token_is_word(&t, ".shared"))
		return read_shared(r, false, kernel, err);
	return mpk_token_is_word(&t, ".local")
		       ? read_local(r, &k->local_bytes, err)
		       : mpk_ptx_take_registers(&r->lex, &k->registers, err);
}

/* From '{' to its '}': only declarations at the beginning of a statement count. */
static enum mpk_code ptx_read_body(struct reader *r, size_t kernel, struct mpk_error *err)
{
	size_t depth = 0;
	bool start, is;

	do {
		start = r->lex.t.kind == MPK_TOKEN_PUNCT && strchr("{};:", r->lex.t.text.data[0]);
		if (mpk_lexer_at(&r->lex, '{'))
			depth++;
		else if (mpk_lexer_at(&r->lex, '}'))
			depth--;
		else if (r->lex.t.kind == MPK_TOKEN_END)
			return mpk_ptx_wanted(&r->lex, "'}'", err);
		r->end = r->lex.t.text.data + r->lex.t.text.len;
		MPK_TRY(mpk_lexer_next(&r->lex, err));
		for (is = start && depth; is;)
			MPK_TRY(read_declaration(r, kernel, &is, err));
	} while (depth);
	return MPK_OK;
}

/* A kernel may be declared again, but not defined twice. */
static enum mpk_code ptx_add_kernel(struct reader *r, const struct mpk_ptx_kernel *k,
				    const struct mpk_token *where, struct mpk_error *err)
{
	size_t n = r->ptx.kernel_count, found;
	int rc = mpk_strmap_put(&r->names, k->name, n, &found);

	if (rc < 0)
		return mpk_fail_nomem(err);
	if (rc == 0 && (r->kernels[found].has_body && k->has_body))
		return mpk_fail_line(err, MPK_E_CONFLICT, where->line, where->column,
				     "PTX: a second kernel is called '%s'", MPK_QUOTE(k->name));
	if (rc == 0) {
		/* a declaration and its definition are one kernel */
		if (k->has_body)
			r->kernels[found] = *k;
		return MPK_OK;
	}
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->kernels, &r->kernel_cap, n + 1, sizeof *k), err);
	r->kernels[n] = *k;
	r->ptx.kernel_count++;
	return MPK_OK;
}

static enum mpk_code ptx_read_entry(struct reader *r, struct mpk_error *err)
{
	struct mpk_token where = r->lex.t;
	struct mpk_ptx_kernel k = { 0 };
	const uint8_t *start = r->start;
	size_t index;

	MPK_TRY(mpk_ptx_take_name(&r->lex, &k.name, err));
	MPK_TRY(ptx_read_params(r, &k, err));
	MPK_TRY(read_performance(r, &k, err));
	k.has_body = mpk_lexer_at(&r->lex, '{');
	MPK_TRY(ptx_add_kernel(r, &k, &where, err));
	if (!k.has_body)
		return mpk_lexer_next(&r->lex, err);
	(void)mpk_strmap_find(&r->names, k.name, &index);
	MPK_TRY(ptx_read_body(r, index, err));
	r->kernels[index].text = mpk_span_of(start, (size_t)(r->end - start));
	return MPK_OK;
}

/* A device function with a body: ".func (RESULT) NAME (PARAMETERS)". What it declares may
 * be used by any kernel. */
static enum mpk_code ptx_read_func(struct reader *r, struct mpk_error *err)
{
	size_t n = r->ptx.function_count;
	struct mpk_span name;

	if (mpk_lexer_at(&r->lex, '(')) {
		MPK_TRY(mpk_lexer_next(&r->lex, err));
		MPK_TRY(mpk_ptx_skip_past(&r->lex, ')', err));
	}
	MPK_TRY(mpk_ptx_take_name(&r->lex, &name, err));
	while (!mpk_lexer_at(&r->lex, '{')) {
		if (r->lex.t.kind == MPK_TOKEN_END)
			return mpk_ptx_wanted(&r->lex, "'{' or ';'", err);
		if (mpk_lexer_at(&r->lex, ';'))
			return mpk_lexer_next(&r->lex, err);
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	}
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->functions, &r->function_cap, n + 1, sizeof name), err);
	r->functions[r->ptx.function_count++] = name;
	return ptx_read_body(r, MPK_PTX_MODULE, err);
}

/* --- the module: FORMAT.md 3 ------------------------------------------------------ */

/* Both parts are bounded, so that a version can be compared as two small numbers. */
static enum mpk_code read_version(struct reader *r, struct mpk_error *err)
{
	struct mpk_span text = r->lex.t.text;
	const uint8_t *dot =
		r->lex.t.kind == MPK_TOKEN_WORD ? memchr(text.data, '.', text.len) : NULL;
	size_t head = dot ? (size_t)(dot - text.data) : 0;
	uint64_t major, minor;

	if (!head || !mpk_parse_u64(mpk_span_of(text.data, head), &major) ||
	    !mpk_parse_u64(mpk_span_of(dot + 1, text.len - head - 1), &minor) || major > 999 ||
	    minor > 999)
		return mpk_ptx_wanted(&r->lex, "a version such as 8.4", err);
	r->ptx.major = (unsigned)major;
	r->ptx.minor = (unsigned)minor;
	return mpk_lexer_next(&r->lex, err);
}

/* "sm_90", "sm_90a", "sm_100f" */
static bool parse_target(struct mpk_span text, unsigned *sm, char *suffix)
{
	uint64_t n;

	if (!mpk_span_starts(text, "sm_") || text.len < 4)
		return false;
	text = mpk_span_of(text.data + 3, text.len - 3);
	*suffix = '\0';
	if (text.data[text.len - 1] == 'a' || text.data[text.len - 1] == 'f')
		*suffix = (char)text.data[--text.len];
	if (!mpk_parse_u64(text, &n) || n > 9999)
		return false;
	*sm = (unsigned)n;
	return true;
}

/* A list: one sm_ target, and words such as debug or texmode_independent. */
static enum mpk_code read_target(struct reader *r, struct mpk_error *err)
{
	for (;;) {
		struct mpk_span text = r->lex.t.text;

		if (r->lex.t.kind != MPK_TOKEN_WORD)
			return mpk_ptx_wanted(&r->lex, "a target such as sm_90", err);
		if (mpk_span_starts(text, "sm_")) {
			if (!parse_target(text, &r->ptx.sm, &r->ptx.suffix))
				return mpk_ptx_wanted(&r->lex, "a target such as sm_90", err);
			r->has_target = true;
		} else if (mpk_span_is(text, "debug")) {
			r->ptx.debug = true;
		}
		MPK_TRY(mpk_lexer_next(&r->lex, err));
		if (!mpk_lexer_at(&r->lex, ','))
			return MPK_OK;
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	}
}

static enum mpk_code read_address_size(struct reader *r, struct mpk_error *err)
{
	uint32_t bits;

	MPK_TRY(mpk_ptx_take_numbers(&r->lex, 64, &bits, 1, err));
	if (bits != 32 && bits != 64)
		return mpk_fail_line(err, MPK_E_SYNTAX, r->lex.t.line, r->lex.t.column,
				     "PTX: .address_size must be 32 or 64");
	r->ptx.address_bits = bits;
	return MPK_OK;
}

/* One statement outside of functions. is_extern: .extern came right before. */
static enum mpk_code read_statement(struct reader *r, bool *is_extern, struct mpk_error *err)
{
	static const char *const variables[] = { ".global", ".const", ".tex",   ".local",
						 ".param",  ".reg",   ".alias", ".pragma" };
	struct mpk_token t = r->lex.t;
	bool was_extern = *is_extern;

	if (!r->start)
		r->start = t.text.data;
	*is_extern = mpk_token_is_word(&t, ".extern");
	MPK_TRY(mpk_lexer_next(&r->lex, err));
	if (mpk_token_is_word(&t, ".version"))
		return read_version(r, err);
	if (mpk_token_is_word(&t, ".target"))
		return read_target(r, err);
	if (mpk_token_is_word(&t, ".address_size"))
		return read_address_size(r, err);
	if (mpk_token_is_word(&t, ".entry"))
		return ptx_read_entry(r, err);
	if (mpk_token_is_word(&t, ".func"))
		return ptx_read_func(r, err);
	if (mpk_token_is_word(&t, ".shared"))
		return read_shared(r, was_extern, MPK_PTX_MODULE, err);
	if (mpk_token_is_punct(&t, '{')) /* .section NAME { ... } */
		return mpk_ptx_skip_past(&r->lex, '}', err);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(variables); i++)
		if (mpk_token_is_word(&t, variables[i]))
			return mpk_ptx_skip_past(&r->lex, ';', err);
	return MPK_OK; /* .visible, .weak, .file 1 "x.cu", ... */
}

/* For the head alone: nothing else may come first. */
static bool in_head(const struct mpk_token *t)
{
	return mpk_token_is_word(t, ".version") || mpk_token_is_word(t, ".target");
}

/* What is in front of a definition and belongs to it. */
static bool is_linking(const struct mpk_token *t)
{
	return mpk_token_is_word(t, ".visible") || mpk_token_is_word(t, ".weak") ||
	       mpk_token_is_word(t, ".extern");
}

/* head: as far as the target, which nothing but the version may precede */
static enum mpk_code read_module(struct reader *r, bool head, struct mpk_error *err)
{
	bool is_extern = false;

	MPK_TRY(mpk_lexer_next(&r->lex, err));
	if (!mpk_token_is_word(&r->lex.t, ".version"))
		return mpk_ptx_wanted(&r->lex, "'.version'", err);
	while (r->lex.t.kind != MPK_TOKEN_END && !(head && r->has_target)) {
		if (head && !in_head(&r->lex.t))
			return mpk_ptx_wanted(&r->lex, "'.target sm_NN'", err);
		if (!is_linking(&r->before))
			r->start = NULL;
		r->before = r->lex.t;
		MPK_TRY(read_statement(r, &is_extern, err));
	}
	if (!r->has_target)
		return mpk_ptx_wanted(&r->lex, "'.target sm_NN'", err);
	return MPK_OK;
}

/* Out is set only when all lists were copied. */
static enum mpk_code ptx_keep(struct reader *r, struct mpk_ptx *out, struct mpk_error *err)
{
	struct mpk_ptx ptx = r->ptx;

	ptx.kernels = mpk_arena_keep(r->arena, r->kernels, ptx.kernel_count, sizeof *r->kernels);
	ptx.shared = mpk_arena_keep(r->arena, r->shared, ptx.shared_count, sizeof *r->shared);
	ptx.functions =
		mpk_arena_keep(r->arena, r->functions, ptx.function_count, sizeof *r->functions);
	MPK_TRY_ALLOC(ptx.kernels && ptx.shared && ptx.functions, err);
	*out = ptx;
	return MPK_OK;
}

/* NULs at the end belong to no token. */
static struct mpk_span without_end(struct mpk_span bytes)
{
	while (bytes.len && bytes.data[bytes.len - 1] == '\0')
		bytes.len--;
	return bytes;
}

/* The first token decides; comments before it are skipped by the lexer. */
bool mpk_ptx_is(struct mpk_span bytes)
{
	struct mpk_lexer lex = { .bytes = bytes, .language = "PTX" };

	/* assemblers of hosts have a .version, too, which takes a string */
	return mpk_lexer_next(&lex, NULL) == MPK_OK && mpk_token_is_word(&lex.t, ".version") &&
	       mpk_lexer_next(&lex, NULL) == MPK_OK && lex.t.kind == MPK_TOKEN_WORD &&
	       lex.t.text.data[0] >= '0' && lex.t.text.data[0] <= '9';
}

enum mpk_code mpk_ptx_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_ptx *out,
			   struct mpk_error *err)
{
	struct mpk_span text = without_end(bytes);
	MPK_CLEANUP(ptx_reader_fini)
	struct reader r = {
		.lex = { .bytes = text, .language = "PTX" },
		.arena = arena,
		.ptx = { .address_bits = 32, .terminated = text.len < bytes.len },
	};
	const uint8_t *nul = text.len ? memchr(text.data, 0, text.len) : NULL;

	if (nul)
		return mpk_fail_offset(
			err, MPK_E_CORRUPT, "payload", (size_t)(nul - text.data),
			"PTX: a NUL inside the text; a driver would stop reading here");
	MPK_TRY(read_module(&r, false, err));
	return ptx_keep(&r, out, err);
}

/* Stops at the target: the texts of kernels may be megabytes. */
enum mpk_code mpk_ptx_read_head(struct mpk_span bytes, struct mpk_ptx *out, struct mpk_error *err)
{
	MPK_CLEANUP(ptx_reader_fini)
	struct reader r = { .lex = { .bytes = without_end(bytes), .language = "PTX" } };

	MPK_TRY(read_module(&r, true, err));
	*out = (struct mpk_ptx){
		.major = r.ptx.major, .minor = r.ptx.minor, .sm = r.ptx.sm, .suffix = r.ptx.suffix
	};
	return MPK_OK;
}
