/* SPDX-License-Identifier: Apache-2.0 */
/* metadata.c - __tvm_ffi__metadata_<function>, which tells Python what a launch function takes
 *
 * The form is that of tvm-ffi's own exporter for C++: {"type_schema": TEXT}, TEXT being JSON again.
 */
#include "launch/internal/gen.h"

static const char *type_name(const struct mpk_launch_param *p)
{
	if (p->is_tensor)
		return "DLTensor*";
	if (mpk_dtype_is_bool(p->dtype))
		return "bool";
	return p->dtype.code == MPK_DTYPE_FLOAT || p->dtype.code == MPK_DTYPE_BFLOAT ? "float"
										     : "int";
}

/* Quotes within quotes: what stands in type_schema is escaped once. */
static void put_schema(const struct mpk_launch *l, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out,
			"{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\":"
			"{\\\"return\\\":[{\\\"type\\\":\\\"None\\\"}],\\\"params\\\":[");
	for (size_t i = 0; i < l->param_count; i++) {
		const struct mpk_launch_param *p = &l->params[i];

		mpk_strbuf_puts(out, i ? "," : "");
		mpk_strbuf_puts(out,
				p->optional ? "{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[" : "");
		mpk_strbuf_printf(out, "{\\\"type\\\":\\\"%s\\\"}", type_name(p));
		mpk_strbuf_puts(out, p->optional ? "]}" : "");
	}
	mpk_strbuf_puts(out, "]}}\"}");
}

void mpk_gen_metadata(struct mpk_gen *g, const char *string_from_bytes)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf schema = { 0 };
	int failed = mpk_host_label(g->f), bytes, make, result, out;
	const char *text;

	put_schema(g->launch, &schema);
	text = mpk_arena_copy(g->arena, mpk_strbuf_text(&schema), schema.len);
	if (schema.failed || !text) {
		g->f->failed = true;
		return;
	}
	out = mpk_host_arg(g->f, 3, MPK_HOST_PTR);
	bytes = mpk_host_slot(g->f, 16); /* TVMFFIByteArray */
	mpk_host_store(g->f, MPK_MEM_PTR, bytes, 0, mpk_host_text(g->f, text));
	mpk_host_store(g->f, MPK_MEM_I64, bytes, 8, mpk_host_const(g->f, (int64_t)schema.len));
	make = mpk_host_function(g->f, string_from_bytes);
	mpk_host_jump_if(g->f, mpk_gen_is_null(g, make), failed);
	result = mpk_host_call(g->f, make, 'i', "pp", (int[]){ bytes, out });
	mpk_host_jump_if(g->f, result, failed);
	mpk_host_return(g->f, 0);
	mpk_host_set_label(g->f, failed);
	mpk_host_return(g->f, -1);
}
