/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the kernels of a cubin
 *
 * The facts about a kernel are spread over sections with its name, lists of attributes and, in old
 * files, fields of section headers. Kernels are found in the symbol table first; then the facts of
 * each section are added to its kernel. */
#include "cubin/cubin.h"

#include "base/cursor.h"
#include "base/num.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "cubin/elf.h"
#include "cubin/internal/cubin.h"
#include "text/escape.h"

enum {
	STT_FUNC = 2,
	OTHER_ENTRY = 0x10,   /* st_other of a kernel; a device function lacks it */
	SYSTEM_SHARED = 1024, /* from sm_90 on included in .nv.shared.NAME of linked files */
};

/* State of a read. */
struct reader {
	struct mpk_cubin_elf elf;
	struct mpk_arena *arena;
	struct mpk_span symbols, strings;
	size_t symbol_count;
	struct mpk_cubin *out;
	struct mpk_cubin_kernel *kernels; /* out->kernels, to be filled */
	size_t *kernel_symbols;           /* for each kernel the number of its symbol; ascending */
	struct mpk_cubin_stack *stacks;   /* for each kernel */
	uint32_t *section_kernels;        /* for each section its kernel, from 1; 0: none */
	struct mpk_strmap by_name;
	uint64_t
		bytes_spent; /* bytes of names and attributes read so far, since they may overlap */
};

static void cubin_reader_fini(struct reader *r)
{
	mpk_strmap_fini(&r->by_name);
}

/* --- kernels: FORMAT.md 2 ------------------------------------------------------------ */

static enum mpk_code find_symbols(struct reader *r, struct mpk_error *err)
{
	struct mpk_cubin_section s;

	for (size_t i = 0; i < r->elf.section_count; i++) {
		MPK_TRY(mpk_cubin_elf_section(&r->elf, i, &s, err));
		if (s.type != MPK_CUBIN_SHT_SYMTAB)
			continue;
		MPK_TRY(mpk_cubin_elf_data(&r->elf, &s, &r->symbols, err));
		if (s.link >= r->elf.section_count)
			break;
		MPK_TRY(mpk_cubin_elf_section(&r->elf, s.link, &s, err));
		MPK_TRY(mpk_cubin_elf_data(&r->elf, &s, &r->strings, err));
		r->symbol_count = r->symbols.len / MPK_CUBIN_SYMBOL_BYTES;
		return MPK_OK;
	}
	return mpk_fail(err, MPK_E_CORRUPT, "cubin: no symbol table, so no kernel can be found");
}

static bool is_kernel(const struct mpk_cubin_symbol *s)
{
	return s->type == STT_FUNC && (s->other & OTHER_ENTRY) && s->section != 0;
}

static enum mpk_code cubin_read_kernels(struct reader *r, struct mpk_error *err)
{
	struct mpk_cubin_symbol s;
	size_t count = 0;

	for (size_t i = 0; i < r->symbol_count; i++) {
		MPK_TRY(mpk_cubin_elf_symbol(&r->elf, r->symbols, r->strings, i, &s, err));
		MPK_TRY(mpk_cubin_spend(&r->elf, &r->bytes_spent, s.name.len, err));
		count += is_kernel(&s);
	}
	r->kernels = mpk_arena_array(r->arena, count, sizeof *r->kernels);
	r->kernel_symbols = mpk_arena_array(r->arena, count, sizeof *r->kernel_symbols);
	r->stacks = mpk_arena_array(r->arena, count, sizeof *r->stacks);
	r->section_kernels =
		mpk_arena_array(r->arena, r->elf.section_count, sizeof *r->section_kernels);
	MPK_TRY_ALLOC(r->kernels && r->kernel_symbols && r->stacks && r->section_kernels, err);
	for (size_t i = 0; i < r->symbol_count; i++) {
		MPK_TRY(mpk_cubin_elf_symbol(&r->elf, r->symbols, r->strings, i, &s, err));
		if (is_kernel(&s)) {
			size_t n = r->out->kernel_count, found;
			int rc = mpk_strmap_put(&r->by_name, s.name, n, &found);

			if (rc < 0)
				return mpk_fail_nomem(err);
			if (rc == 0)
				return mpk_fail(err, MPK_E_CORRUPT,
						"cubin: two kernels are called '%s'",
						MPK_QUOTE(s.name));
			r->kernels[n].name = s.name;
			r->kernel_symbols[n] = i;
			r->out->kernel_count++;
			if (s.section < r->elf.section_count)
				r->section_kernels[s.section] = (uint32_t)n + 1;
		}
	}
	r->out->kernels = r->kernels;
	return MPK_OK;
}

/* Returns the kernel that a section belongs to; NULL: it belongs to a device function. */
static struct mpk_cubin_kernel *cubin_kernel_of(struct reader *r, struct mpk_span name)
{
	size_t i;

	return mpk_strmap_find(&r->by_name, name, &i) ? &r->kernels[i] : NULL;
}

static struct mpk_cubin_kernel *kernel_at(struct reader *r, uint32_t symbol)
{
	size_t low;

	MPK_FIND_FIRST(low, r->out->kernel_count, i, r->kernel_symbols[i] < symbol);
	return low < r->out->kernel_count && r->kernel_symbols[low] == symbol ? &r->kernels[low]
									      : NULL;
}

/* --- attributes: FORMAT.md 4 --------------------------------------------------------- */

static struct mpk_cubin_stack *stack_at(void *arg, uint32_t symbol)
{
	struct reader *r = arg;
	const struct mpk_cubin_kernel *k = kernel_at(r, symbol);

	return k ? &r->stacks[k - r->kernels] : NULL;
}

/* .nv.info: figures by symbol number. */
static enum mpk_code take_module(struct reader *r, const struct mpk_cubin_attribute *a,
				 struct mpk_error *err)
{
	struct mpk_cubin_stack *stack;
	struct mpk_cubin_kernel *k;
	uint32_t symbol, value;

	if (a->id != MPK_CUBIN_REGISTERS && a->id != MPK_CUBIN_FRAME_BYTES &&
	    a->id != MPK_CUBIN_STACK_BYTES)
		return MPK_OK;
	MPK_TRY(mpk_cubin_attribute_need(a, 8, err));
	symbol = mpk_load_u32(a->data.data);
	value = mpk_load_u32(a->data.data + 4);
	if (a->id == MPK_CUBIN_FRAME_BYTES) {
		/* The frame is that of a kernel, or of a function that was put into a kernel's section. */
		struct mpk_cubin_stack *own = stack_at(r, symbol), *outer;
		struct mpk_cubin_symbol s;
		uint32_t kernel = 0;

		if (own) {
			own->has_frame = true;
			own->frame = value;
			return MPK_OK;
		}
		if (symbol >= r->symbol_count)
			return MPK_OK;
		MPK_TRY(mpk_cubin_elf_symbol(&r->elf, r->symbols, r->strings, symbol, &s, err));
		if (s.type == STT_FUNC && s.section < r->elf.section_count)
			kernel = r->section_kernels[s.section];
		if (kernel) {
			outer = &r->stacks[kernel - 1];
			/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): each kernel has a row */
			outer->inner = value > outer->inner ? value : outer->inner;
		}
		return MPK_OK;
	}
	k = kernel_at(r, symbol);
	stack = stack_at(r, symbol);
	if (k && a->id == MPK_CUBIN_REGISTERS) {
		k->registers = value;
	} else if (stack) {
		stack->has_total = true;
		stack->total = value;
	}
	return MPK_OK;
}

static enum mpk_code take_triple(const struct mpk_cubin_attribute *a, uint32_t out[3],
				 struct mpk_error *err)
{
	MPK_TRY(mpk_cubin_attribute_need(a, 12, err));
	for (size_t i = 0; i < 3; i++)
		out[i] = mpk_load_u32(a->data.data + 4 * i);
	return MPK_OK;
}

/* .nv.info.KERNEL: all attributes but the parameters. */
static enum mpk_code take_kernel(struct mpk_cubin_kernel *k, const struct mpk_cubin_attribute *a,
				 struct mpk_error *err)
{
	switch (a->id) {
	case MPK_CUBIN_MAX_THREADS:
		return take_triple(a, k->max_threads, err);
	case MPK_CUBIN_REQUIRED_BLOCK:
		return take_triple(a, k->block, err);
	case MPK_CUBIN_CLUSTER:
		return take_triple(a, k->cluster, err);
	case MPK_CUBIN_PARAM_BYTES:
		k->param_bytes = a->value;
		return MPK_OK;
	case MPK_CUBIN_BARRIERS:
		k->barriers = a->value;
		return MPK_OK;
	default:
		return MPK_OK;
	}
}

static bool is_param(const struct mpk_cubin_attribute *a)
{
	return a->id == MPK_CUBIN_PARAM || a->id == MPK_CUBIN_PARAM_V2;
}

static enum mpk_code read_kernel_info(struct reader *r, struct mpk_cubin_kernel *k,
				      struct mpk_cursor c, struct mpk_error *err)
{
	struct mpk_cursor again = c;
	struct mpk_cubin_attribute a;
	struct mpk_cubin_param *params;
	size_t count = 0;

	while (mpk_cursor_left(&c)) {
		MPK_TRY(mpk_cubin_attribute_next(&c, &a, err));
		count += is_param(&a);
		MPK_TRY(take_kernel(k, &a, err));
	}
	MPK_TRY_ARRAY(params, r->arena, count, err);
	while (mpk_cursor_left(&again)) {
		MPK_TRY(mpk_cubin_attribute_next(&again, &a, err));
		if (is_param(&a)) {
			size_t ordinal;

			MPK_TRY(mpk_cubin_attribute_need(&a, 12, err));
			ordinal = mpk_load_u16(a.data.data + 4);
			if (ordinal >= count || params[ordinal].bytes)
				return mpk_fail_offset(
					err, MPK_E_CORRUPT, "payload", a.off,
					"cubin: parameter %zu of %zu is out of place or described twice",
					ordinal, count);
			params[ordinal].offset = mpk_load_u16(a.data.data + 6);
			params[ordinal].bytes = a.id == MPK_CUBIN_PARAM_V2
							? mpk_load_u16(a.data.data + 8)
							: mpk_load_u32(a.data.data + 8) >> 18;
		}
	}
	k->params = params;
	k->param_count = count;
	return MPK_OK;
}

static enum mpk_code read_info(struct reader *r, const struct mpk_cubin_section *s,
			       struct mpk_error *err)
{
	struct mpk_cubin_attribute a;
	struct mpk_cubin_kernel *k;
	struct mpk_cursor c;
	struct mpk_span data;

	MPK_TRY(mpk_cubin_elf_data(&r->elf, s, &data, err));
	MPK_TRY(mpk_cubin_spend(&r->elf, &r->bytes_spent, data.len, err));
	c = mpk_cursor_of(data, s->off, "payload");
	if (mpk_span_starts(s->name, ".nv.info.")) {
		k = cubin_kernel_of(r, mpk_span_from(s->name, strlen(".nv.info.")));
		return k ? read_kernel_info(r, k, c, err) : MPK_OK;
	}
	while (mpk_cursor_left(&c)) {
		MPK_TRY(mpk_cubin_attribute_next(&c, &a, err));
		MPK_TRY(take_module(r, &a, err));
	}
	return MPK_OK;
}

/* --- sections: FORMAT.md 3 ----------------------------------------------------------- */

static enum mpk_code take_code(struct reader *r, const struct mpk_cubin_section *s,
			       struct mpk_error *err)
{
	struct mpk_cubin_kernel *k = cubin_kernel_of(r, mpk_span_from(s->name, strlen(".text.")));
	struct mpk_span code;

	if (!k)
		return MPK_OK;
	MPK_TRY(mpk_cubin_elf_data(&r->elf, s, &code, err));
	k->code_off = s->off;
	k->code_bytes = s->size;
	/* older assemblers stored registers here; attributes take precedence */
	if (!k->registers)
		k->registers = s->info >> 24;
	if (!k->barriers)
		k->barriers = (uint32_t)(s->flags >> 20 & 0x7f);
	return MPK_OK;
}

static void take_shared(struct reader *r, const struct mpk_cubin_section *s)
{
	struct mpk_cubin_kernel *k =
		cubin_kernel_of(r, mpk_span_from(s->name, strlen(".nv.shared.")));
	bool reserved = r->out->sm >= 90 && !r->out->relocatable && s->size >= SYSTEM_SHARED;

	if (k)
		k->shared_bytes = s->size - (reserved ? SYSTEM_SHARED : 0);
}

static enum mpk_code take_section(struct reader *r, const struct mpk_cubin_section *s,
				  struct mpk_error *err)
{
	struct mpk_cubin_kernel *k;

	if (mpk_span_starts(s->name, ".text."))
		return take_code(r, s, err);
	if (mpk_span_is(s->name, ".nv.info") || mpk_span_starts(s->name, ".nv.info."))
		return read_info(r, s, err);
	if (mpk_span_is(s->name, ".note.nv.tkinfo")) {
		/* --- notes: FORMAT.md 5 --------------------------------------------------- */
		struct mpk_span data;

		MPK_TRY(mpk_cubin_elf_data(&r->elf, s, &data, err));
		mpk_cubin_take_tool_note(data, r->out);
		return MPK_OK;
	}
	if (mpk_span_is(s->name, ".nv.callgraph")) {
		struct mpk_span graph;

		MPK_TRY(mpk_cubin_elf_data(&r->elf, s, &graph, err));
		MPK_TRY(mpk_cubin_spend(&r->elf, &r->bytes_spent, graph.len, err));
		return mpk_cubin_stack_calls(graph, stack_at, r, err);
	}
	if (mpk_span_starts(s->name, ".nv.shared.")) {
		take_shared(r, s);
	} else if (mpk_span_starts(s->name, ".nv.constant0.")) {
		k = cubin_kernel_of(r, mpk_span_from(s->name, strlen(".nv.constant0.")));
		if (k)
			k->bank0_bytes = s->size;
	} else if (mpk_span_is(s->name, ".nv.constant3")) {
		r->out->constant_bytes = s->size;
	} else if (mpk_span_is(s->name, ".nv.global") || mpk_span_is(s->name, ".nv.global.init")) {
		if (!mpk_add_u64(r->out->global_bytes, s->size, &r->out->global_bytes))
			return mpk_fail(err, MPK_E_CORRUPT, "cubin: variables beyond 2^64 bytes");
	}
	return MPK_OK;
}

#define UNTOLD UINT32_MAX

/* The sum is used if there is one; a frame alone only for a kernel that calls nothing. */
static bool stack_bytes(const struct mpk_cubin_stack *s, uint32_t *out)
{
	uint32_t bytes = s->has_total ? s->total : s->frame;

	if (s->has_total ? s->total == UNTOLD : !s->has_frame || s->calls)
		return false;
	if (s->calls_out || s->inner > bytes)
		return false;
	*out = bytes;
	return true;
}

enum mpk_code mpk_cubin_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_cubin *out,
			     struct mpk_error *err)
{
	struct mpk_cubin cubin = { 0 };
	MPK_CLEANUP(cubin_reader_fini)
	struct reader r = { .arena = arena, .out = &cubin };

	MPK_TRY(mpk_cubin_read_head(bytes, &cubin, err));
	MPK_TRY(mpk_cubin_elf_open(bytes, MPK_CUBIN_EM_CUDA, "cubin", &r.elf, err));
	MPK_TRY(find_symbols(&r, err));
	MPK_TRY(cubin_read_kernels(&r, err));

	for (size_t i = 0; i < r.elf.section_count; i++) {
		struct mpk_cubin_section s;

		MPK_TRY(mpk_cubin_elf_section(&r.elf, i, &s, err));
		MPK_TRY(mpk_cubin_spend(&r.elf, &r.bytes_spent, s.name.len, err));
		MPK_TRY(take_section(&r, &s, err));
		if (mpk_span_starts(s.name, ".nv_debug_ptx_txt") && !cubin.debug_ptx.len)
			MPK_TRY(mpk_cubin_elf_data(&r.elf, &s, &cubin.debug_ptx, err));
	}
	for (size_t i = 0; i < r.out->kernel_count; i++) {
		struct mpk_cubin_kernel *k = &r.kernels[i];

		if (!k->code_bytes)
			return mpk_fail(err, MPK_E_CORRUPT, "cubin: kernel '%s' has no code",
					MPK_QUOTE(k->name));
		k->has_stack = stack_bytes(&r.stacks[i], &k->stack_bytes);
	}

	*out = cubin;
	return MPK_OK;
}
