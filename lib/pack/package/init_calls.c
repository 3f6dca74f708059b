/* SPDX-License-Identifier: Apache-2.0 */
/* init_calls.c - functions that call C functions, as mpack init prints them
 *
 * Extents are those that loops or declarations prove. Where nothing does, a tensor gets an extent of its own, and
 * a person is asked.
 */
#include <string.h>
#include <strings.h>

#include "package/internal/package.h"
#include "text/escape.h"

/* A function that is being written. */
struct call {
	struct mpk_init *in;
	const struct mpk_cfunction *f;
	const char **names; /* names of parameters, as expressions take them */
	bool *is_extent;    /* for each parameter: shapes tell its value */
	bool renamed;       /* a parameter has another name than in C */
	size_t length;      /* the parameter whose name makes it the length; SIZE_MAX: none */
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

/* Recognises a length by its name: the only integer, with a usual name of lengths. */
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

/* Prints a type that any C compiler takes, whatever typedefs the text has. */
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
		if (!c->f->params[i].name.len) /* "float " */
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

/* --- what a person is to decide ------------------------------------------------------------------ */

/* Prints "# decide: a, b and c" for the parameters that is_one selects.
 * Returns  how many */
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

/* Whether an integer may choose the elements that are touched, where some extents are unknown. */
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

static void put_returns(struct call *c)
{
	const struct mpk_cfunction_value *v = &c->f->result;
	bool status = c->f->is_defined ? c->f->returns_status : true;

	if (is_int(v))
		mpk_strbuf_printf(c->in->out, "returns = \"%s\"\n", status ? "status" : "value");
	else if (v->kind == MPK_CFUNCTION_POINTER)
		mpk_strbuf_puts(c->in->out, "returns = \"nothing\" # it is a pointer\n");
}

void mpk_init_put_call(struct mpk_init *in, const struct mpk_cfunction *f)
{
	struct call whole = { .in = in, .f = f }, *c = &whole;

	/* In generations without a prefix the symbol of a function is its name. */
	const char *own = mpk_arena_text(c->in->arena, c->f->name);

	if (own && c->in->abi && strcmp(c->in->abi, "ffi") != 0)
		own = mpk_arena_printf(c->in->arena, "call_%s", own);
	const char *name = own ? mpk_init_take_name(c->in, mpk_span_str(own)) : NULL;

	if (!name || !calls_choose_names(c)) {
		in->out->failed = true;
		return;
	}

	/* A number that a single array tells need not be passed; a name counts only where no
	 * body tells more. */
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
		mpk_strbuf_puts(out, "': whether there is one depends on who compiles the text\n");
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
	put_returns(c);
}
