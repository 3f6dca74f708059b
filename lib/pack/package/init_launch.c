/* SPDX-License-Identifier: Apache-2.0 */
/* What the code of a kernel says of its launch: dimensions, blocks, bounds, shared memory. */
#include <string.h>

#include "package/internal/package.h"
#include "ptx/ptx.h"

/* A plain search: what follows from it is a guess that a person reads. */
static bool contains(struct mpk_span text, const char *word)
{
	return text.len && memmem(text.data, text.len, word, strlen(word));
}

/* How the languages name an index along y and z. */
static const char *const indices[][2][3] = {
	{ { "get_global_id(1)", "get_group_id(1)", "get_local_id(1)" },
	  { "get_global_id(2)", "get_group_id(2)", "get_local_id(2)" } },
	{ { "blockIdx.y", "threadIdx.y", NULL }, { "blockIdx.z", "threadIdx.z", NULL } },
	{ { "%ctaid.y", "%tid.y", NULL }, { "%ctaid.z", "%tid.z", NULL } },
};

/* The highest dimension whose index is used, or that a fixed block has. */
static unsigned count_dims(struct mpk_span code, const char *const names[2][3],
			   const uint32_t block[3])
{
	unsigned dims = block[2] > 1 ? 3 : block[1] > 1 ? 2 : 1;

	for (unsigned d = 0; d < 2; d++)
		for (size_t i = 0; i < 3 && names[d][i]; i++)
			if (contains(code, names[d][i]))
				dims = d + 2 > dims ? d + 2 : dims;
	return dims;
}

/* The one kernel's part of a text, as far as it can be separated from what follows. */
static struct mpk_span ptx_body(const struct mpk_init_module *m, const struct mpk_code_kernel *k)
{
	struct mpk_span all = m->code->bytes;
	size_t from = (size_t)(k->name.data - all.data);
	const uint8_t *end = memmem(k->name.data, all.len - from, ".entry", 6);

	return mpk_span_of(k->name.data, end ? (size_t)(end - k->name.data) : all.len - from);
}

static bool is_word_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Whether an integer seems to keep threads from running past the end. Where there is no text to see that in, a
 * kernel that takes one and has a block of its own is believed to. */
static bool has_bound(const struct mpk_init_kernel *k, struct mpk_span body)
{
	for (size_t i = 0; i < k->param_count; i++) {
		const struct mpk_code_param *p = &k->params[i];

		if (p->kind == MPK_CODE_PARAM_NUMBER &&
		    (p->dtype.code == MPK_DTYPE_INT || p->dtype.code == MPK_DTYPE_UINT))
			return body.len ? contains(body, "setp.") : k->block[0] != 0;
	}
	return false;
}

/* --- dynamic shared memory ------------------------------------------------------------------ */

static enum mpk_code init_launch_add_shared(struct mpk_init *in, struct mpk_init_module *m,
					    struct mpk_span name)
{
	size_t found;

	return mpk_strmap_put(&m->shared, name, 0, &found) < 0 ? mpk_fail_nomem(in->err) : MPK_OK;
}

/* PTX declares shared memory for a kernel or for the module; an array without a size is
 * dynamic. */
static enum mpk_code list_ptx_shared(struct mpk_init *in, struct mpk_init_module *m)
{
	bool *owns = mpk_arena_array(in->arena, m->code->kernel_count, sizeof *owns);
	struct mpk_ptx p;

	MPK_TRY_ALLOC(owns, in->err);
	MPK_TRY(mpk_ptx_read(m->code->bytes, in->arena, &p, in->err));
	for (size_t i = 0; i < p.shared_count; i++) {
		const struct mpk_ptx_shared *v = &p.shared[i];

		if (v->dynamic && v->kernel == MPK_PTX_MODULE)
			MPK_TRY(init_launch_add_shared(in, m, v->name));
		else if (v->dynamic && v->kernel < m->code->kernel_count)
			owns[v->kernel] = true;
	}
	m->owns_shared = owns;
	m->has_shared = true;
	return MPK_OK;
}

/* Variables outside of kernels count for those that name them, and for those that call what may. */
static enum mpk_code find_ptx_shared(struct mpk_init *in, struct mpk_init_module *m, size_t kernel,
				     struct mpk_span body, bool *out)
{
	if (!m->has_shared)
		MPK_TRY(list_ptx_shared(in, m));
	*out = m->owns_shared[kernel] ||
	       (m->shared.count &&
		(mpk_source_code_mentions_any(body, &m->shared) || contains(body, "call")));
	return MPK_OK;
}

/* The name in front of the bracket of "extern __shared__ float s[];". */
static struct mpk_span name_before(const uint8_t *begin, const uint8_t *bracket)
{
	const uint8_t *end = bracket;

	while (end > begin && end[-1] <= ' ')
		end--;
	for (bracket = end; end > begin && is_word_byte(end[-1]);)
		end--;
	return mpk_span_of(end, (size_t)(bracket - end));
}

static enum mpk_code list_source_shared(struct mpk_init *in, struct mpk_init_module *m)
{
	static const char opening[] = "extern __shared__";
	struct mpk_span text = m->code->source->index.bytes;
	const uint8_t *at = text.data, *end = at + text.len, *bracket = at;

	m->has_shared = true;
	while ((at = memmem(at, (size_t)(end - at), opening, sizeof opening - 1))) {
		struct mpk_span name;

		at += sizeof opening - 1;
		if (bracket < at) /* else the one that was found before */
			bracket = memchr(at, '[', (size_t)(end - at));
		if (!bracket)
			break;
		name = name_before(at, bracket);
		if (name.len)
			MPK_TRY(init_launch_add_shared(in, m, name));
	}
	return MPK_OK;
}

static enum mpk_code find_source_shared(struct mpk_init *in, struct mpk_init_module *m,
					struct mpk_span body, bool *out)
{
	if (!m->has_shared)
		MPK_TRY(list_source_shared(in, m));
	*out = contains(body, "HIP_DYNAMIC_SHARED") ||
	       mpk_source_code_mentions_any(body, &m->shared);
	return MPK_OK;
}

/* --- a kernel ------------------------------------------------------------------------------- */

static enum mpk_code init_launch_read_source(struct mpk_init *in, struct mpk_init_module *m,
					     size_t i, struct mpk_init_kernel *k)
{
	const struct mpk_source_code *source = m->code->content;
	const struct mpk_source_code_kernel *s = &source->kernels[i];
	struct mpk_source_code_reach *reach = mpk_arena_alloc(in->arena, sizeof *reach);

	MPK_TRY_ALLOC(reach, in->err);
	MPK_TRY(mpk_source_code_reach_read(s, &m->code->source->index, in->arena, reach, in->err));
	k->reach = reach;
	k->text = s->params;
	k->hides_block = s->hides_group;
	k->hides_threads = s->hides_max_threads;
	k->bounded = reach->guarded;
	if (m->code->format == &mpk_format_cuda)
		MPK_TRY(find_source_shared(in, m, s->body, &k->shared));
	k->dims = count_dims(s->body, indices[m->code->format == &mpk_format_opencl ? 0 : 1],
			     k->block);
	return MPK_OK;
}

enum mpk_code mpk_init_read_launch(struct mpk_init *in, struct mpk_init_module *m, size_t i,
				   struct mpk_init_kernel *k)
{
	const struct mpk_code_kernel *code = &m->code->kernels[i];
	const struct mpk_code_format *f = m->code->format;
	struct mpk_span body = { 0 };
	uint64_t threads = code->max_threads[0];

	memcpy(k->block, code->block, sizeof k->block);
	threads *= code->max_threads[1] ? code->max_threads[1] : 1;
	threads *= code->max_threads[2] ? code->max_threads[2] : 1;
	k->threads = threads < 1024 ? (uint32_t)threads : 1024;
	if (f->is_source)
		return init_launch_read_source(in, m, i, k);
	if (f == &mpk_format_ptx) {
		body = ptx_body(m, code);
		MPK_TRY(find_ptx_shared(in, m, i, body, &k->shared));
	}
	k->dims = count_dims(body, indices[2], k->block);
	if (!body.len && k->dims == 1)
		k->dims = 0; /* machine code does not tell */
	k->hides_shared = !body.len && f->param_bytes && strcmp(m->kind, "opencl") != 0;
	k->bounded = has_bound(k, body);
	return MPK_OK;
}
