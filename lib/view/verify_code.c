/* Checks of device code against its format and against the table of kernels */
#include <inttypes.h>
#include <stdio.h>

#include "base/strmap.h"
#include "text/escape.h"
#include "view/inside.h"
#include "view/verify.h"

/* A run of code under a check. */
struct piece {
	struct mpk_verify *v;
	const struct mpk_view_node *node;
	const struct mpk_kernels *kernels;
	const struct mpk_inside_code *code;
	const struct mpk_inside_piece *piece;
};

/* Calls fn for every run of code of device modules. */
static void each_piece(struct mpk_verify *v, void (*fn)(const struct piece *p))
{
	for (size_t i = 0; i < v->view->count; i++) {
		const struct mpk_view_node *n = &v->view->nodes[i];
		const struct mpk_kernels *k = mpk_view_kernels(n);

		for (size_t c = 0; k && c < v->inside[i].piece_count; c++) {
			const struct mpk_inside_piece *piece = &v->inside[i].pieces[c];

			fn(&(struct piece){ v, n, k, &piece->code, piece });
		}
	}
}

void mpk_verify_kernels(struct mpk_verify *v,
			void (*fn)(struct mpk_verify *v, const struct mpk_view_node *n,
				   const struct mpk_kernels *k))
{
	for (size_t i = 0; i < v->view->count; i++) {
		const struct mpk_kernels *k = mpk_view_kernels(&v->view->nodes[i]);

		if (k)
			fn(v, &v->view->nodes[i], k);
	}
}

static void say_broken(const struct piece *p, uint64_t off, const char *what,
		       const struct mpk_error *e)
{
	char line[32] = "";

	if (e->code == MPK_E_NOMEM)
		p->v->report->failed = true;
	if (e->at.line)
		(void)snprintf(line, sizeof line, "line %u: ", (unsigned)e->at.line);
	mpk_verify_say(p->v, MPK_ERROR, "blob", off + (e->at.has_offset ? e->at.offset : 0),
		       p->node->path, "%s%s%s", what, line, e->text);
}

/* --- formats ------------------------------------------------------------------------ */

/* What the container of a fatbin and its images are is a check of its own. */
static void check_format(const struct piece *p)
{
	const struct mpk_inside_code *c = p->code;
	bool fits = mpk_probe_fits(p->node->node->kind, p->kernels->fmt, c->probe);
	struct mpk_error err = { 0 };

	if ((c->probe != MPK_PROBE_FATBIN || !fits) &&
	    mpk_probe_check(c->bytes, p->node->node->kind, p->kernels->fmt, &err) != MPK_OK)
		say_broken(p, c->off, "", &err);
	else if (c->probe == MPK_PROBE_CUBIN && !c->problem && c->u.cubin.relocatable)
		mpk_verify_say(p->v, MPK_WARNING, "blob", c->off, p->node->path,
			       "the cubin was made for a link (-rdc=true): no driver loads it");
}

static void code_format(struct mpk_verify *v)
{
	each_piece(v, check_format);
}

/* What stands in an image must be what its entry announces: drivers choose by that. */
static void check_image(const struct piece *p, size_t i)
{
	const struct mpk_fatbin_entry *e = &p->code->u.fatbin.entries[i];
	const struct mpk_inside_code *c = &p->code->images[i];
	unsigned sm = e->sm;
	char what[32];

	(void)snprintf(what, sizeof what, "image %zu: ", i);
	if (!e->data.len)
		mpk_verify_say(p->v, MPK_ERROR, "blob", c->off, p->node->path, "%sit is empty",
			       what);
	else if (c->problem)
		say_broken(p, c->off, what, c->problem);
	else if (c->probe == MPK_PROBE_CUBIN)
		sm = c->u.cubin.sm;
	else if (c->probe == MPK_PROBE_PTX)
		sm = c->u.ptx.sm;
	if (sm != e->sm)
		mpk_verify_say(p->v, MPK_WARNING, "blob", c->off, p->node->path,
			       "%sit is for sm_%u, its entry says %u", what, sm, e->sm);
}

static void check_fatbin(const struct piece *p)
{
	const struct mpk_inside_code *c = p->code;
	bool loads = false;

	if (c->probe != MPK_PROBE_FATBIN)
		return;
	if (c->problem) {
		say_broken(p, c->off, "", c->problem);
		return;
	}
	for (size_t i = 0; i < c->u.fatbin.entry_count; i++) {
		enum mpk_fatbin_kind kind = c->u.fatbin.entries[i].kind;

		check_image(p, i);
		loads |= kind == MPK_FATBIN_PTX || kind == MPK_FATBIN_ELF;
	}
	if (!loads)
		mpk_verify_say(p->v, MPK_ERROR, "blob", c->off, p->node->path,
			       "the fatbin has no image that a driver can load");
	if (c->bytes.len > c->u.fatbin.used)
		mpk_verify_say(p->v, MPK_NOTE, "blob", c->off + c->u.fatbin.used, p->node->path,
			       "%" PRIu64 " bytes follow the fatbin",
			       c->bytes.len - c->u.fatbin.used);
}

static void fatbin_image(struct mpk_verify *v)
{
	each_piece(v, check_fatbin);
}

/* The execution model of the entry points that a runtime of this kind looks for. */
static const char *wanted_model(struct mpk_span kind, uint32_t *model)
{
	enum { GL_COMPUTE = 5, KERNEL = 6 };

	*model = mpk_span_is(kind, "opencl") ? KERNEL : GL_COMPUTE;
	return *model == KERNEL ? "Kernel" : "GLCompute";
}

static void check_spirv(const struct piece *p)
{
	const struct mpk_spirv *s = &p->code->u.spirv;
	uint32_t model;
	const char *wanted = wanted_model(p->node->node->kind, &model);

	if (p->code->probe != MPK_PROBE_SPIRV || p->code->problem)
		return;
	if (s->major != 1 || s->minor > 6)
		mpk_verify_say(p->v, MPK_WARNING, "blob", p->code->off, p->node->path,
			       "SPIR-V %u.%u is not a version that drivers are known to take",
			       s->major, s->minor);
	if (s->big_endian)
		mpk_verify_say(p->v, MPK_WARNING, "blob", p->code->off, p->node->path,
			       "the words of the SPIR-V are big-endian");
	for (size_t i = 0; i < s->entry_count; i++) {
		const char *is = mpk_spirv_model_name(s->entries[i].model);

		if (s->entries[i].model != model)
			mpk_verify_say(p->v, MPK_WARNING, "blob", p->code->off, p->node->path,
				       "entry point '%s' is of execution model %s, not %s",
				       MPK_QUOTE(mpk_span_str(s->entries[i].name)),
				       is ? is : "unknown", wanted);
	}
}

static void spirv_module(struct mpk_verify *v)
{
	each_piece(v, check_spirv);
}

/* --- kernels ------------------------------------------------------------------------ */

/* A source text may make kernels by macros: what is missing there is a warning. */
static void check_defined(const struct piece *p, struct mpk_span key)
{
	enum mpk_probe_kernel found = mpk_inside_defines(p->piece, key);

	if (found == MPK_PROBE_FUNCTION)
		mpk_verify_say(p->v, MPK_WARNING, "blob", p->code->off, p->node->path,
			       "kernel '%s' is a .func, not an .entry: no driver can launch it",
			       MPK_QUOTE(key));
	else if (found == MPK_PROBE_MISSING)
		mpk_verify_say(p->v, p->piece->defined.complete ? MPK_ERROR : MPK_WARNING, "blob",
			       p->code->off, p->node->path, "the code does not define kernel '%s'",
			       MPK_QUOTE(key));
}

static void check_all_defined(const struct piece *p)
{
	if (!mpk_probe_fits(p->node->node->kind, p->kernels->fmt, p->code->probe))
		return; /* code-format says so */
	if (p->piece->key)
		check_defined(p, *p->piece->key);
	for (size_t i = 0; !p->piece->key && i < p->kernels->function_count; i++)
		check_defined(p, p->kernels->functions[i].key);
}

static void kernel_defined(struct mpk_verify *v)
{
	each_piece(v, check_all_defined);
}

/* Layouts with one piece of code a kernel: table and pieces must be the same names. */
static void sources_in(struct mpk_verify *v, const struct mpk_view_node *n,
		       const struct mpk_kernels *k)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t found;

	if (k->layout == MPK_KERNELS_PLAIN)
		return;
	for (size_t i = 0; i < k->source_count; i++)
		if (mpk_strmap_put(&names, k->sources[i].key, i, &found) < 0)
			v->report->failed = true;
	for (size_t i = 0; i < k->function_count; i++)
		if (!mpk_strmap_find(&names, k->functions[i].key, &found))
			mpk_verify_say(v, MPK_ERROR, "blob", n->node->payload_off, n->path,
				       "there is no code for kernel '%s'",
				       MPK_QUOTE(k->functions[i].key));
	for (size_t i = 0; i < k->source_count; i++)
		if (!mpk_inside_has(&v->inside[n - v->view->nodes].table, k->sources[i].key))
			mpk_verify_say(v, MPK_WARNING, "blob", n->node->payload_off, n->path,
				       "there is code for '%s', which the table does not list",
				       MPK_QUOTE(k->sources[i].key));
}

static void kernel_code(struct mpk_verify *v)
{
	mpk_verify_kernels(v, sources_in);
}

/* --- parameters --------------------------------------------------------------------- */

/* One kernel under the check of parameters. */
struct parameters {
	struct mpk_verify *v;
	const struct mpk_view_node *node;
	const struct mpk_function_info *f;
};

/* The bytes of argument i as a launch passes it; 0: not known for certain. */
static uint64_t argument_bytes(const struct mpk_function_info *f, size_t i, uint64_t pointer)
{
	enum { TENSOR_MAP = 1, TENSOR_MAP_BYTES = 128 };
	struct mpk_dtype t = f->arg_types[i];

	if (t.lanes != 1)
		return 0;
	if (t.code == MPK_DTYPE_HANDLE)
		return i < f->extra_tag_count && f->extra_tags[i] == TENSOR_MAP ? TENSOR_MAP_BYTES
										: pointer;
	return t.bits == 32 || t.bits == 64 ? t.bits / 8U : 0;
}

static uint64_t parameter_bytes(const struct mpk_inside_kernel *k, size_t i)
{
	return k->ptx ? k->ptx->params[i].bytes : k->cubin->params[i].bytes;
}

static void say_count(const struct parameters *p, const struct mpk_inside_kernel *k,
		      enum mpk_severity severity, size_t count)
{
	mpk_verify_say(p->v, severity, "blob", k->code->off, p->node->path,
		       "kernel '%s' has %zu parameters in the code, %zu in the table",
		       MPK_QUOTE(p->f->key), count, p->f->arg_count);
}

static void compare(const struct mpk_inside_kernel *k, void *arg)
{
	const struct parameters *p = arg;
	uint64_t pointer = k->ptx ? k->code->u.ptx.address_bits / 8 : 8;
	size_t count = k->ptx ? k->ptx->param_count : k->cubin ? k->cubin->param_count : 0;

	/* macros may make parameters; Metal and WGSL have others than those of the table */
	if (k->source && (k->code->probe == MPK_PROBE_OPENCL || k->code->probe == MPK_PROBE_CUDA) &&
	    k->source->param_count != p->f->arg_count)
		say_count(p, k, MPK_WARNING, k->source->param_count);
	if (!k->ptx && !k->cubin)
		return;
	if (count != p->f->arg_count) {
		say_count(p, k, MPK_ERROR, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t table = argument_bytes(p->f, i, pointer);
		uint64_t code = parameter_bytes(k, i);
		char type[MPK_DTYPE_TEXT];

		if (table && table != code)
			mpk_verify_say(p->v, MPK_ERROR, "blob", k->code->off, p->node->path,
				       "argument %zu of kernel '%s' has %" PRIu64
				       " bytes in the code, %" PRIu64 " in the table (%s)",
				       i, MPK_QUOTE(p->f->key), code, table,
				       mpk_dtype_print(p->f->arg_types[i], type));
	}
}

static void kernel_parameters(struct mpk_verify *v)
{
	for (size_t n = 0; n < v->view->count; n++) {
		const struct mpk_kernels *k = mpk_view_kernels(&v->view->nodes[n]);

		for (size_t i = 0; k && i < k->function_count; i++) {
			struct parameters p = { v, &v->view->nodes[n], &k->functions[i] };

			mpk_inside_each(&v->inside[n], k, i, compare, &p);
		}
	}
}

const struct mpk_check mpk_checks_code[] = {
	{ "code-format", "code is what it claims to be", code_format },
	{ "fatbin-image", "a fatbin is whole, its images what their entries say", fatbin_image },
	{ "spirv-module", "SPIR-V is of a version and model that drivers take", spirv_module },
	{ "kernel-defined", "the code defines every kernel of the table", kernel_defined },
	{ "kernel-parameters", "kernels take what the table says", kernel_parameters },
	{ "kernel-code", "each kernel has code of its own", kernel_code },
	{ NULL, NULL, NULL },
};
