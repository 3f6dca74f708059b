/* SPDX-License-Identifier: Apache-2.0 */
/* Proposes launch functions that are safe to call: if a kernel does not compare its index with a
 * bound, no more threads are started than there are elements. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "package/internal/package.h"
#include "text/escape.h"

/* --- Launch functions that call C functions, as mpack init prints them.
 *
 * An extent is proposed only if loops or declarations prove it. Otherwise each tensor gets an
 * extent of its own, and a comment asks the reader to decide. */

/* A function that is being written. */
struct call {
	struct mpk_init *in;
	const struct mpk_cfunction *f;
	const char **names; /* names of parameters, as expressions spell them */
	bool *is_extent;    /* for each parameter: whether its value follows from shapes */
	bool renamed;       /* some parameter's name differs from the one in C */
	/* index of the integer that is the length, judged by its name; SIZE_MAX: none */
	size_t length;
};

/* --- names ------------------------------------------------------------------------------------ */

static bool calls_choose_names(struct call *c)
{
	c->names = mpk_arena_array(c->in->arena, c->f->param_count + 1, sizeof *c->names);
	c->is_extent = mpk_arena_array(c->in->arena, c->f->param_count + 1, sizeof *c->is_extent);
	for (size_t i = 0; c->names && c->is_extent && i < c->f->param_count; i++) {
		struct mpk_span own = c->f->params[i].name;
		const char *wish = own.len ? mpk_arena_text(c->in->arena, own)
					   : mpk_arena_printf(c->in->arena, "p%zu", i);

		c->names[i] = wish ? mpk_init_free_name(c->in, c->names, i, wish) : NULL;
		if (!c->names[i])
			return false;
		c->renamed |= !mpk_span_is(own, c->names[i]);
	}
	return c->names && c->is_extent;
}

/* --- extents ---------------------------------------------------------------------------------- */

static bool calls_is_integer(const struct mpk_cfunction_value *v)
{
	return v->kind == MPK_CFUNCTION_NUMBER &&
	       (v->dtype.code == MPK_DTYPE_INT || v->dtype.code == MPK_DTYPE_UINT);
}

/* Finds the length by its name: it is the only integer, and is called as lengths usually are. */
static size_t calls_find_length(const struct call *c)
{
	static const char *const words[] = { "n",          "len",          "length", "size",
					     "count",      "num",          "numel",  "total",
					     "n_elements", "num_elements", "nelem" };
	size_t found = SIZE_MAX, integers = 0;

	for (size_t i = 0; i < c->f->param_count; i++) {
		if (!calls_is_integer(&c->f->params[i]))
			continue;
		integers++;
		for (size_t k = 0; k < MPK_ARRAY_COUNT(words); k++)
			if (strcasecmp(c->names[i], words[k]) == 0)
				found = i;
	}
	return integers == 1 ? found : SIZE_MAX;
}

static bool is_open_pointer(const struct mpk_cfunction_value *v)
{
	return v->kind == MPK_CFUNCTION_POINTER && !v->dim_count;
}

/* --- text --------------------------------------------------------------------------------------- */

/* Prints a type that every C compiler knows, independent of typedefs in the text. */
static const char *c_name(struct mpk_dtype t)
{
	static const struct {
		uint8_t code, bits;
		const char *name;
	} types[] = {
		{ MPK_DTYPE_FLOAT, 32, "float" },    { MPK_DTYPE_FLOAT, 64, "double" },
		{ MPK_DTYPE_FLOAT, 16, "_Float16" }, { MPK_DTYPE_BFLOAT, 16, "__bf16" },
		{ MPK_DTYPE_BOOL, 8, "bool" },       { MPK_DTYPE_INT, 8, "int8_t" },
		{ MPK_DTYPE_INT, 16, "int16_t" },    { MPK_DTYPE_INT, 32, "int" },
		{ MPK_DTYPE_INT, 64, "int64_t" },    { MPK_DTYPE_UINT, 8, "uint8_t" },
		{ MPK_DTYPE_UINT, 16, "uint16_t" },  { MPK_DTYPE_UINT, 32, "uint32_t" },
		{ MPK_DTYPE_UINT, 64, "uint64_t" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++)
		if (types[i].code == t.code && types[i].bits == t.bits)
			return types[i].name;
	return "void";
}

static void put_c_value(struct mpk_strbuf *out, const struct mpk_cfunction_value *v)
{
	mpk_strbuf_puts(out, v->read_only ? "const " : "");
	mpk_strbuf_puts(out, c_name(v->dtype));
	mpk_strbuf_puts(out, v->kind == MPK_CFUNCTION_POINTER ? " *" : " ");
}

static void put_prototype(struct call *c)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	put_c_value(&text, &c->f->result);
	mpk_strbuf_put_span(&text, c->f->name);
	mpk_strbuf_puts(&text, c->f->param_count ? "(" : "(void");
	for (size_t i = 0; i < c->f->param_count; i++) {
		mpk_strbuf_puts(&text, i ? ", " : "");
		put_c_value(&text, &c->f->params[i]);
		mpk_strbuf_put_span(&text, c->f->params[i].name);
		if (!c->f->params[i].name.len) /* a type without a name: "float " */
			text.len -= text.len && text.data[text.len - 1] == ' ';
	}
	mpk_strbuf_putc(&text, ')');
	c->in->out->failed |= text.failed;
	mpk_strbuf_puts(c->in->out, "calls   = ");
	if (!text.failed)
		mpk_init_put_text(c->in->out, mpk_span_of(text.data, text.len));
	mpk_strbuf_putc(c->in->out, '\n');
}

static void calls_put_extents(struct call *c, size_t i)
{
	const struct mpk_cfunction_value *v = &c->f->params[i];
	struct mpk_strbuf *out = c->in->out;
	const char *own;

	mpk_strbuf_putc(out, '[');
	for (size_t d = 0; d < v->dim_count; d++) {
		mpk_strbuf_puts(out, d ? ", " : "");
		if (v->dims[d].param == SIZE_MAX)
			mpk_strbuf_printf(out, "%u", (unsigned)v->dims[d].number);
		else
			mpk_strbuf_puts(out, c->names[v->dims[d].param]);
	}
	if (!v->dim_count && c->length != SIZE_MAX) {
		mpk_strbuf_puts(out, c->names[c->length]);
	} else if (!v->dim_count) {
		own = mpk_arena_printf(c->in->arena, "%s_size", c->names[i]);
		own = own ? mpk_init_free_name(c->in, c->names, c->f->param_count, own) : NULL;
		out->failed |= !own;
		mpk_strbuf_puts(out, own ? own : "");
	}
	mpk_strbuf_putc(out, ']');
}

static void calls_put_lists(struct call *c)
{
	struct mpk_strbuf *out = c->in->out;
	const char *between = "";

	mpk_strbuf_puts(out, "params  = [");
	for (size_t i = 0; i < c->f->param_count; i++) {
		if (c->is_extent[i])
			continue;
		mpk_strbuf_puts(out, between);

		const struct mpk_cfunction_value *v = &c->f->params[i];
		struct mpk_dtype t =
			v->dtype.bits ? v->dtype : (struct mpk_dtype){ MPK_DTYPE_UINT, 8, 1 };
		char type[MPK_DTYPE_TEXT];

		mpk_strbuf_printf(c->in->out, "\"%s: %s%s", c->names[i], v->read_only ? "in " : "",
				  mpk_dtype_print(t, type));
		if (v->kind == MPK_CFUNCTION_POINTER)
			calls_put_extents(c, i);
		mpk_strbuf_putc(c->in->out, '"');

		between = ", ";
	}
	mpk_strbuf_puts(out, "]\n");
	if (!c->renamed)
		return;
	mpk_strbuf_puts(out, "args    = [");
	for (size_t i = 0; i < c->f->param_count; i++)
		mpk_strbuf_printf(out, "%s\"%s\"", i ? ", " : "", c->names[i]);
	mpk_strbuf_puts(out, "]\n");
}

static bool is_int(const struct mpk_cfunction_value *v)
{
	return calls_is_integer(v) && v->dtype.code == MPK_DTYPE_INT && v->dtype.bits == 32;
}

/* --- questions for the reader ----------------------------------------------------------------- */

/* Prints "# decide: a, b and c" for the parameters that is_one selects.
 * Returns  the number of these parameters */
static size_t calls_put_names(struct call *c, bool (*is_one)(const struct call *c, size_t i))
{
	size_t count = 0, put = 0;

	for (size_t i = 0; i < c->f->param_count; i++)
		count += is_one(c, i);
	for (size_t i = 0; i < c->f->param_count; i++) {
		if (!is_one(c, i))
			continue;
		mpk_strbuf_printf(c->in->out, "%s%s",
				  !put               ? "# decide: "
				  : put + 1 == count ? " and "
						     : ", ",
				  c->names[i]);
		put++;
	}
	return count;
}

static bool is_open(const struct call *c, size_t i)
{
	return is_open_pointer(&c->f->params[i]);
}

static bool is_void(const struct call *c, size_t i)
{
	return c->f->params[i].kind == MPK_CFUNCTION_POINTER && !c->f->params[i].dtype.bits;
}

/* Whether some extents are unknown and an integer may decide which elements are accessed. */
static bool is_loose(const struct call *c, size_t i)
{
	bool open = false;

	for (size_t k = 0; k < c->f->param_count; k++)
		open |= is_open_pointer(&c->f->params[k]);
	return open && c->length == SIZE_MAX && !c->is_extent[i] &&
	       calls_is_integer(&c->f->params[i]);
}

static void put_open_doubts(struct call *c)
{
	struct mpk_strbuf *out = c->in->out;
	size_t count = calls_put_names(c, is_open);

	if (count && c->length != SIZE_MAX)
		mpk_strbuf_printf(out, " %s taken to have %s elements, for that name alone\n",
				  count > 1 ? "are" : "is", c->names[c->length]);
	else if (count)
		mpk_strbuf_printf(out, ": how long %s, which the text does not tell\n",
				  count > 1 ? "they are" : "it is");
	count = calls_put_names(c, is_loose);
	if (count)
		mpk_strbuf_printf(
			out,
			" %s passed as %s: with a wrong value the function goes outside of a tensor\n",
			count > 1 ? "are" : "is", count > 1 ? "they come" : "it comes");
	count = calls_put_names(c, is_void);
	if (count)
		mpk_strbuf_printf(out, ": what %s to; bytes are taken\n",
				  count > 1 ? "they point" : "it points");
}

/* --- functions ---------------------------------------------------------------------------------- */

void mpk_init_put_call(struct mpk_init *in, const struct mpk_cfunction *f)
{
	struct call whole = { .in = in, .f = f }, *c = &whole;

	/* In generations without a prefix, a launch function would have the same symbol as the C
	 * function. */
	const char *own = mpk_arena_text(c->in->arena, c->f->name);

	if (own && c->in->abi && strcmp(c->in->abi, "ffi") != 0)
		own = mpk_arena_printf(c->in->arena, "call_%s", own);
	const char *name = own ? mpk_init_take_name(c->in, mpk_span_str(own)) : NULL;

	if (!name || !calls_choose_names(c)) {
		in->out->failed = true;
		return;
	}

	/* A number that the extent of one array gives need not be passed. A length that is only
	 * recognised by name counts only if there is no body to read. */
	bool open = false, told = false;

	for (size_t i = 0; i < c->f->param_count; i++) {
		const struct mpk_cfunction_value *v = &c->f->params[i];

		open |= is_open_pointer(v);
		for (size_t d = 0; d < v->dim_count; d++) {
			if (v->dims[d].param == SIZE_MAX)
				continue;
			c->is_extent[v->dims[d].param] = true;
			told = true;
		}
	}
	c->length = open && !told ? calls_find_length(c) : SIZE_MAX;
	if (c->length != SIZE_MAX)
		c->is_extent[c->length] = true;

	mpk_strbuf_putc(c->in->out, '\n');

	struct mpk_strbuf *out = c->in->out;

	if (c->f->condition.len) {
		mpk_strbuf_puts(out, "# decide: it stands within '");
		mpk_escape(out, c->f->condition);
		mpk_strbuf_puts(out, "': whether it exists depends on how the text is compiled\n");
	}
	put_open_doubts(c);
	if (is_int(&c->f->result) && !c->f->is_defined)
		mpk_strbuf_puts(
			out,
			"# decide: 0 is taken for success, and all else for an error; \"value\" makes it the result\n");

	mpk_strbuf_puts(c->in->out, "[[function]]\nname    = ");
	mpk_init_put_text(c->in->out, mpk_span_str(name));
	mpk_strbuf_putc(c->in->out, '\n');
	put_prototype(c);
	calls_put_lists(c);

	const struct mpk_cfunction_value *v = &c->f->result;
	bool status = c->f->is_defined ? c->f->returns_status : true;

	if (is_int(v))
		mpk_strbuf_printf(c->in->out, "returns = \"%s\"\n", status ? "status" : "value");
	else if (v->kind == MPK_CFUNCTION_POINTER)
		mpk_strbuf_puts(c->in->out, "returns = \"nothing\" # it is a pointer\n");
}

enum { BLOCK_USUAL = 256, NAME_COUNT_MAX = 256 };

/* A function that is being written. */
struct function {
	struct mpk_init *in;
	const struct mpk_init_module *m;
	const struct mpk_init_kernel *k;
	const char **names; /* names of parameters, as expressions spell them */
	/* index of the parameter with the number of elements; param_count: none */
	size_t length;
	/* all buffers have that length, also those that the text does not show */
	bool all_long;
	bool guarded;       /* an integer is compared with the index */
	const char *extent; /* the common length of buffers; NULL: each has its own */
	const char *total;  /* number of threads to start */
	const char *off;    /* "# " if the function is only proposed, as a comment */
};

static bool init_functions_is_integer(const struct mpk_code_param *p)
{
	return p->kind == MPK_CODE_PARAM_NUMBER &&
	       (p->dtype.code == MPK_DTYPE_INT || p->dtype.code == MPK_DTYPE_UINT);
}

static bool is_buffer(const struct mpk_code_param *p)
{
	return p->kind == MPK_CODE_PARAM_BUFFER ||
	       (p->kind == MPK_CODE_PARAM_UNKNOWN && p->bytes == 8);
}

/* --- names -------------------------------------------------------------------------------- */

/* Parameters of kernels may contain characters that a manifest does not allow. */
static const char *plain_name(struct function *f, size_t i)
{
	struct mpk_span name = f->k->params[i].name;
	char *text;

	if (!name.len || (name.data[0] >= '0' && name.data[0] <= '9'))
		return mpk_arena_printf(f->in->arena, "p%zu", i);
	text = mpk_arena_text(f->in->arena, name);
	for (char *p = text; p && *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9')))
			*p = '_';
	return text;
}

static bool choose_names(struct function *f)
{
	f->names = mpk_arena_array(f->in->arena, f->k->param_count + 1, sizeof *f->names);
	for (size_t i = 0; f->names && i < f->k->param_count; i++) {
		const char *wish = plain_name(f, i);

		f->names[i] = wish ? mpk_init_free_name(f->in, f->names, i, wish) : NULL;
		if (!f->names[i])
			return false;
	}
	return f->names != NULL;
}

/* --- sizes -------------------------------------------------------------------------------- */

static bool is_one_of(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strcasecmp(name, *words) == 0)
			return true;
	return false;
}

/* Finds the integer that is the length of all buffers: its name says so, or it is the only integer
 * with a usual name for lengths. */
static size_t find_length_by_name(const struct function *f)
{
	static const char *const certain[] = { "n_elements", "num_elements", "numel",
					       "nelem",      "len",          "length",
					       "count",      "total",        NULL };
	static const char *const alone[] = { "n", "size", "num", NULL };
	size_t found = f->k->param_count, integers = 0;

	for (size_t i = 0; i < f->k->param_count; i++) {
		if (!init_functions_is_integer(&f->k->params[i]))
			continue;
		integers++;
		if (is_one_of(f->names[i], certain))
			return i;
		if (is_one_of(f->names[i], alone))
			found = i;
	}
	return integers == 1 ? found : f->k->param_count;
}

/* Finds the integer that the text compares with the index along a dimension; param_count: none. */
static size_t bound_of(const struct function *f, unsigned dim)
{
	size_t bound = f->k->reach ? f->k->reach->bound[dim] : SIZE_MAX;

	return bound < f->k->param_count && init_functions_is_integer(&f->k->params[bound])
		       ? bound
		       : f->k->param_count;
}

/* Whether a buffer has as many elements as the length says: the kernel accesses it only at the
 * index. */
static bool is_long(const struct function *f, size_t i)
{
	const struct mpk_source_code_reach *reach = f->k->reach;

	return f->all_long ||
	       (is_buffer(&f->k->params[i]) && reach->used[i] && !reach->otherwise[i]);
}

static size_t find_length(struct function *f)
{
	size_t named = find_length_by_name(f), bound = bound_of(f, 0);

	f->all_long = named < f->k->param_count;
	if (f->all_long || f->k->dims > 1 || bound == f->k->param_count)
		return named;
	for (size_t i = 0; i < f->k->param_count; i++)
		if (is_long(f, i))
			return bound;
	return f->k->param_count;
}

static const char *own_extent(struct function *f, size_t i)
{
	const char *wish = mpk_arena_printf(f->in->arena, "%s_size", f->names[i]);

	return wish ? mpk_init_free_name(f->in, f->names, f->k->param_count, wish) : NULL;
}

/* By convention, the result is the last buffer that is written. */
static size_t find_result(const struct function *f)
{
	size_t last = 0;
	bool written = false;

	for (size_t i = 0; i < f->k->param_count; i++) {
		const struct mpk_code_param *p = &f->k->params[i];

		if (!is_buffer(p) || (written && p->read_only))
			continue;
		last = i;
		written |= !p->read_only;
	}
	return last;
}

/* Decides how many threads to start: a length among the parameters, a bound in the code, or else
 * the size of the result. */
static bool choose_sizes(struct function *f)
{
	bool integers = false;

	for (size_t i = 0; i < f->k->param_count; i++)
		integers |= init_functions_is_integer(&f->k->params[i]);
	f->guarded = f->k->bounded;
	f->length = find_length(f);
	if (f->length < f->k->param_count)
		f->extent = f->names[f->length];
	else if (!integers)
		f->extent = mpk_init_free_name(f->in, f->names, f->k->param_count, "n");
	f->all_long |= !integers;
	if (!f->extent && f->k->dims <= 1 && bound_of(f, 0) < f->k->param_count)
		f->total = f->names[bound_of(f, 0)];
	else
		f->total = f->extent ? f->extent : own_extent(f, find_result(f));
	return f->total != NULL;
}

/* --- text --------------------------------------------------------------------------------- */

static void init_functions_put_param(struct function *f, size_t i)
{
	const struct mpk_code_param *p = &f->k->params[i];
	struct mpk_strbuf *out = f->in->out;
	struct mpk_dtype t = p->dtype;
	char type[MPK_DTYPE_TEXT];
	const char *extent;

	mpk_strbuf_printf(out, "\"%s: ", f->names[i]);
	if (!is_buffer(p)) {
		mpk_strbuf_printf(out, "%s\"", t.bits ? mpk_dtype_print(t, type) : "TYPE");
		return;
	}
	extent = f->extent && is_long(f, i) ? f->extent : own_extent(f, i);
	t.lanes = 1;
	mpk_strbuf_puts(out, p->read_only ? "in " : "");
	mpk_strbuf_puts(out, t.bits ? mpk_dtype_print(t, type) : "TYPE");
	mpk_strbuf_printf(out, "[%s", extent ? extent : "n");
	if (p->dtype.lanes > 1) /* a vector of three elements is as large as one of four */
		mpk_strbuf_printf(out, ", %u",
				  p->dtype.lanes == 3 && f->m->code->format == &mpk_format_opencl
					  ? 4U
					  : p->dtype.lanes);
	mpk_strbuf_puts(out, "]\"");
}

static void put_lists(struct function *f)
{
	struct mpk_strbuf *out = f->in->out;
	const char *between = "";

	mpk_strbuf_printf(out, "%sparams = [", f->off);
	for (size_t i = 0; i < f->k->param_count; i++) {
		if (i == f->length)
			continue;
		mpk_strbuf_puts(out, between);
		init_functions_put_param(f, i);
		between = ", ";
	}
	mpk_strbuf_printf(out, "]\n%sargs   = [", f->off);
	for (size_t i = 0; i < f->k->param_count; i++)
		mpk_strbuf_printf(out, "%s\"%s\"", i ? ", " : "", f->names[i]);
	mpk_strbuf_puts(out, "]\n");
}

static void put_block(struct function *f, const uint32_t block[3], unsigned dims)
{
	mpk_strbuf_printf(f->in->out, "%sblock  = [", f->off);
	for (unsigned d = 0; d < dims; d++)
		mpk_strbuf_printf(f->in->out, "%s%" PRIu32, d ? ", " : "", block[d]);
	mpk_strbuf_puts(f->in->out, "]\n");
}

/* Returns the largest block along a dimension that is certainly allowed. */
static uint32_t limit_block(const struct mpk_init_kernel *k, uint32_t wish)
{
	const struct mpk_source_code_reach *reach = k->reach;

	if (k->hides_threads || (reach && reach->hides_group_memory))
		return 1;
	return reach && reach->group_extent && reach->group_extent < wish ? reach->group_extent
									  : wish;
}

static void put_ceildiv(struct function *f, const char *total, uint32_t block)
{
	if (block > 1)
		mpk_strbuf_printf(f->in->out, "\"ceildiv(%s, %" PRIu32 ")\"", total, block);
	else
		mpk_strbuf_printf(f->in->out, "\"%s\"", total);
}

/* Whether every dimension of the index is compared with an integer. */
static bool tells_grid(const struct function *f)
{
	for (unsigned d = 0; d < f->k->dims; d++)
		if (bound_of(f, d) == f->k->param_count)
			return false;
	return f->k->dims > 1;
}

/* Blocks of 16 by 16 threads in two dimensions and 8 by 8 in three, fewer where the kernel
 * allows fewer. Without a bound in the code for each dimension the grid is one block, which
 * is safe. */
static void put_grid_of_several(struct function *f)
{
	const struct mpk_init_kernel *k = f->k;
	uint32_t side = k->threads && k->threads < 64 ? 1 : k->threads && k->threads < 256 ? 8 : 16;
	uint32_t usual[3] = { limit_block(k, k->dims == 3 ? side / 2 + (side == 1) : side), 0, 1 };
	const uint32_t *block = k->block[0] ? k->block : usual;
	bool tells = tells_grid(f);

	usual[1] = usual[0];
	if (!f->guarded)
		usual[0] = usual[1] = 1;
	mpk_strbuf_printf(f->in->out, "%sgrid   = [", f->off);
	for (unsigned d = 0; d < k->dims; d++) {
		mpk_strbuf_puts(f->in->out, d ? ", " : "");
		if (tells)
			put_ceildiv(f, f->names[bound_of(f, d)], block[d]);
		else
			mpk_strbuf_puts(f->in->out, "1");
	}
	mpk_strbuf_puts(f->in->out, "]\n");
	put_block(f, block, k->dims);
}

/* --- questions for the reader -------------------------------------------------------------- */

/* Prints "a, b and c": the names of the parameters that is_one selects.
 * Returns  the number of these parameters */
static size_t init_functions_put_names(struct function *f,
				       bool (*is_one)(const struct function *f, size_t i))
{
	size_t count = 0, put = 0;

	for (size_t i = 0; i < f->k->param_count; i++)
		count += is_one(f, i);
	for (size_t i = 0; i < f->k->param_count; i++) {
		if (!is_one(f, i))
			continue;
		mpk_strbuf_printf(f->in->out, "%s%s",
				  !put               ? "# decide: "
				  : put + 1 == count ? " and "
						     : ", ",
				  f->names[i]);
		put++;
	}
	return count;
}

/* Whether an integer that is not checked against any buffer's length may decide which elements are
 * accessed. */
static bool is_unchecked(const struct function *f, size_t i)
{
	return i != f->length && init_functions_is_integer(&f->k->params[i]) &&
	       (!f->k->reach || f->k->reach->reaches[i]);
}

static bool is_used_otherwise(const struct function *f, size_t i)
{
	return f->k->reach && is_buffer(&f->k->params[i]) && f->k->reach->otherwise[i];
}

static void put_what_runs(struct function *f)
{
	struct mpk_strbuf *out = f->in->out;

	if (tells_grid(f))
		for (unsigned d = 0; d < f->k->dims; d++)
			mpk_strbuf_printf(out, "%s%s", d ? " by " : "a thread for each of ",
					  f->names[bound_of(f, d)]);
	else if (f->k->dims > 1)
		mpk_strbuf_puts(
			out, "one block is launched, as nothing tells which size goes with which "
			     "dimension of the grid");
	else if (f->guarded)
		mpk_strbuf_printf(out, "a thread for each of %s elements, and buffers of %s",
				  f->total, f->extent ? "that length" : "any length");
	else if (f->k->block[0] > 1)
		mpk_strbuf_printf(out, "%s elements, a multiple of %" PRIu32, f->total,
				  f->k->block[0]);
	else
		mpk_strbuf_printf(
			out,
			"a thread for each of %s elements, in blocks of one, as the kernel compares its index with nothing it takes",
			f->total);
	mpk_strbuf_puts(out, "\n");
}

static void put_why(struct function *f)
{
	if (f->k->open) {
		mpk_strbuf_printf(f->in->out, "# decide: %s. Fill in:\n", f->k->open);
		return;
	}
	mpk_strbuf_puts(f->in->out, "# decide: ");
	put_what_runs(f);

	/* Lists facts that the code does not prove, one line each, for the reader to decide. */
	const struct mpk_source_code_reach *reach = f->k->reach;
	struct mpk_strbuf *out = f->in->out;
	size_t count = init_functions_put_names(f, is_used_otherwise);

	if (count)
		mpk_strbuf_printf(
			out,
			": how long %s: the kernel takes other elements of %s than the thread's own\n",
			count > 1 ? "they are" : "it is", count > 1 ? "them" : "it");
	count = init_functions_put_names(f, is_unchecked);
	if (count)
		mpk_strbuf_printf(
			out,
			" %s passed as %s: with a wrong value the kernel goes outside of a buffer\n",
			count > 1 ? "are" : "is", count > 1 ? "they come" : "it comes");
	if (f->k->hides_threads)
		mpk_strbuf_puts(out, "# decide: blocks of one thread, as the most that the kernel "
				     "allows is no number in the text\n");
	if (!reach || !reach->group_memory || f->k->block[0])
		return;
	if (reach->hides_group_memory)
		mpk_strbuf_puts(out, "# decide: blocks of one thread, as the size of the kernel's "
				     "work-group memory is no number in the text\n");
	else
		mpk_strbuf_printf(
			out,
			"# decide: the block, as the kernel's work-group memory is made for one: %" PRIu32
			" elements\n",
			reach->group_extent);
}

static void init_functions_put_function(struct function *f)
{
	struct mpk_strbuf *out = f->in->out;

	mpk_strbuf_putc(out, '\n');
	put_why(f);
	mpk_strbuf_printf(out, "%s[[function]]\n%sname   = ", f->off, f->off);
	mpk_init_put_text(out, mpk_span_str(f->k->function));
	mpk_strbuf_printf(out, "\n%skernel = ", f->off);

	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf kernel = { 0 };
	mpk_strbuf_printf(&kernel, "%s.", f->m->id);
	mpk_strbuf_put_span(&kernel, f->k->symbol);
	out->failed |= kernel.failed;
	mpk_init_put_text(out, mpk_span_of(kernel.data, kernel.len));
	mpk_strbuf_putc(out, '\n');
	put_lists(f);

	/* If the code has a bound, the grid may be rounded up. Without one the grid is rounded
	 * down, and blocks have one thread unless the kernel requires another block. */
	const struct mpk_init_kernel *k = f->k;
	uint32_t most = k->threads && k->threads < BLOCK_USUAL ? k->threads : BLOCK_USUAL;
	uint32_t block = k->block[0] ? k->block[0] : f->guarded ? limit_block(k, most) : 1;

	if (k->dims > 1) {
		put_grid_of_several(f);
	} else {
		mpk_strbuf_printf(f->in->out, "%sgrid   = [", f->off);
		if (f->guarded || block == 1)
			put_ceildiv(f, f->total, block);
		else
			mpk_strbuf_printf(f->in->out, "\"%s / %" PRIu32 "\"", f->total, block);
		mpk_strbuf_puts(f->in->out, "]\n");
		put_block(f, (uint32_t[3]){ block, 1, 1 }, 1);
	}
	if (k->shared)
		mpk_strbuf_printf(f->in->out,
				  "%sshared = \"0\" # decide: bytes of dynamic shared memory\n",
				  f->off);
}

/* A kernel that launch functions cannot call gets no proposal. */
static bool can_have(const struct mpk_init *in, const struct mpk_init_kernel *k)
{
	if (k->refusal || in->base || k->hides_params || k->param_count >= NAME_COUNT_MAX)
		return false;
	for (size_t i = 0; i < k->param_count; i++)
		if (k->params[i].kind == MPK_CODE_PARAM_IMAGE)
			return false;
	return true;
}

void mpk_init_put_functions(struct mpk_init *in, const struct mpk_init_module *m)
{
	for (size_t i = 0; i < m->kernel_count; i++) {
		struct function f = {
			.in = in, .m = m, .k = &m->kernels[i], .off = m->kernels[i].open ? "# " : ""
		};

		if (!can_have(in, f.k))
			continue;
		if (!choose_names(&f) || !choose_sizes(&f)) {
			in->out->failed = true;
			return;
		}
		init_functions_put_function(&f);
	}
}
