/* SPDX-License-Identifier: Apache-2.0 */
/* templates.c - groups the kernels of one or many files by C++ template
 *
 * A variant is a kernel name. A template is all variants that differ only in template arguments. A
 * place is a variant on one device. Kernels that several libraries of a wheel contain are counted
 * once, except their bytes. */
#include "list/templates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "itanium/itanium.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

enum {
	DEVICES_MAX = 512, /* limit for a set of files; further devices are counted as one */
	ROWS_SHOWN = 20,
	ROWS_WHOLE = 24, /* a table not much longer than the shown part is shown whole */
	NAME_WIDTH = 31, /* columns for the name, next to the numbers, on 80 columns */
};

/* The maker of the device of a kernel. */
enum maker { FOR_CUDA, FOR_ROCM, FOR_SPIRV, FOR_OTHERS, MAKERS };

/* Minimum and maximum of the known values; most < least means that none is known. */
struct range {
	uint64_t least, most;
	bool is_known;
};

struct template
{
	const char *name; /* "gemm<>", not escaped */
	size_t variants;
	uint64_t devices[DEVICES_MAX / 64];
	struct range registers, stack, shared, occupancy;
	uint64_t code;
};

/* What local memory is used for. */
enum spill { SPILLS_NOT, SPILLS_ARRAY, SPILLS_MAYBE, SPILLS_LIKELY, SPILLS };

struct variant {
	struct mpk_span name;
	size_t of;
	enum maker maker;
	enum spill spill; /* the worst value over its places */
};

struct place {
	size_t variant;
	const char *target;
	enum spill spill;
	uint64_t registers, stack, spilled;
	struct mpk_cubin_local local;
};

struct mpk_templates {
	struct mpk_arena arena;
	struct template *items;
	struct variant *variants;
	struct place *places; /* places with local memory or spilled registers */
	size_t count, cap, variant_count, variant_cap, place_count, place_cap;
	struct mpk_strmap by_name, by_symbol, by_place, devices;
	size_t files, rows;
};

const char *const mpk_templates_orders[MPK_TEMPLATES_ORDERS] = { "code",     "registers", "stack",
								 "shared",   "variants",  "name",
								 "occupancy" };

struct mpk_templates *mpk_templates_create(void)
{
	return calloc(1, sizeof(struct mpk_templates));
}

void mpk_templates_destroy(struct mpk_templates *t)
{
	if (!t)
		return;
	free(t->items);
	free(t->variants);
	free(t->places);
	mpk_strmap_fini(&t->by_name);
	mpk_strmap_fini(&t->by_symbol);
	mpk_strmap_fini(&t->by_place);
	mpk_strmap_fini(&t->devices);
	mpk_arena_fini(&t->arena);
	free(t);
}

size_t mpk_templates_rows(const struct mpk_templates *t)
{
	return t->rows;
}

/* --- counting ------------------------------------------------------------------------------- */

static enum maker maker_of(const struct mpk_listed_kernel *k)
{
	const char *target = k->target;

	if (k->image &&
	    strncmp(k->image, mpk_format_spirv.word, strlen(mpk_format_spirv.word)) == 0)
		return FOR_SPIRV;
	if (strncmp(target, "sm_", 3) == 0 || strncmp(target, "compute_", 8) == 0)
		return FOR_CUDA;
	if (strncmp(target, "gfx", 3) == 0)
		return FOR_ROCM;
	return FOR_OTHERS;
}

/* Writes "ns::gemm<float, 4>" without the text between the brackets; the "<" of "operator<" is not
 * a bracket. */
static void without_arguments(const char *text, struct mpk_strbuf *out)
{
	unsigned depth = 0;

	for (const char *c = text; *c; c++) {
		bool is_operator = c - text >= 8 && strncmp(c - 8, "operator", 8) == 0;
		bool is_arrow = *c == '>' && c > text && c[-1] == '-';

		if (*c == '<' && !is_operator && !depth++)
			mpk_strbuf_puts(out, "<>");
		if (!depth)
			mpk_strbuf_putc(out, *c);
		if (*c == '>' && depth && !is_arrow)
			depth--;
	}
}

/* Returns the name of a symbol's template; NULL if memory is out. */
static const char *template_name(struct mpk_arena *arena, struct mpk_span symbol)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf whole = { 0 }, name = { 0 };

	if (!mpk_demangle(symbol, (struct mpk_demangle_form){ .no_params = true }, &whole))
		return mpk_arena_text(arena, symbol);
	without_arguments(mpk_strbuf_text(&whole), &name);
	const char *copy =
		name.failed ? NULL : mpk_arena_copy(arena, mpk_strbuf_text(&name), name.len);

	mpk_strbuf_fini(&name);
	return copy;
}

static enum mpk_code find_template(struct mpk_templates *t, struct mpk_span symbol, size_t *out,
				   struct mpk_error *err)
{
	const char *name = template_name(&t->arena, symbol);
	int rc;

	MPK_TRY_ALLOC(name, err);
	MPK_TRY_ALLOC(MPK_VEC_ROOM(t->items, t->count, t->cap), err);
	rc = mpk_strmap_put(&t->by_name, mpk_span_str(name), t->count, out);
	MPK_TRY_ALLOC(rc >= 0, err);
	if (rc)
		t->items[t->count++] = (struct template){ .name = name };
	return MPK_OK;
}

static enum mpk_code find_variant(struct mpk_templates *t, const struct mpk_listed_kernel *k,
				  size_t *out, struct mpk_error *err)
{
	struct mpk_span name;
	size_t of = 0;

	if (mpk_strmap_find(&t->by_symbol, k->name, out))
		return MPK_OK;
	name = mpk_span_of(mpk_arena_text(&t->arena, k->name), k->name.len);
	MPK_TRY_ALLOC(name.data, err);
	MPK_TRY(find_template(t, name, &of, err));
	MPK_TRY_ALLOC(MPK_VEC_ROOM(t->variants, t->variant_count, t->variant_cap), err);
	MPK_TRY_ALLOC(mpk_strmap_put(&t->by_symbol, name, t->variant_count, out) >= 0, err);
	t->variants[t->variant_count++] =
		(struct variant){ .name = name, .of = of, .maker = maker_of(k) };
	t->items[of].variants++;
	return MPK_OK;
}

static enum mpk_code find_device(struct mpk_templates *t, const char *target, size_t *out,
				 struct mpk_error *err)
{
	const char *copy;

	if (mpk_strmap_find(&t->devices, mpk_span_str(target), out))
		return MPK_OK;
	copy = mpk_arena_text(&t->arena, mpk_span_str(target));
	MPK_TRY_ALLOC(copy, err);
	*out = t->devices.count < DEVICES_MAX ? t->devices.count : DEVICES_MAX - 1;
	MPK_TRY_ALLOC(mpk_strmap_put(&t->devices, mpk_span_str(copy), *out, NULL) >= 0, err);
	return MPK_OK;
}

static void widen(struct range *r, struct mpk_figure_value v)
{
	if (v.state != MPK_FIGURE_KNOWN)
		return;
	if (!r->is_known || v.number < r->least)
		r->least = v.number;
	if (!r->is_known || v.number > r->most)
		r->most = v.number;
	r->is_known = true;
}

/* Spills that the compiler recorded are certain, spills seen in the instructions are likely, a
 * stack alone may be anything. */
static enum spill spill_of(const struct mpk_listed_kernel *k)
{
	const struct mpk_figure_value *v = k->figures.values;

	if (v[MPK_FIGURE_SPILLED_REGISTERS].number)
		return SPILLS;
	if (!v[MPK_FIGURE_STACK].number)
		return SPILLS_NOT;
	if (v[MPK_FIGURE_SPILLED_REGISTERS].state == MPK_FIGURE_KNOWN)
		return SPILLS_ARRAY;
	if (!k->facts || !k->facts->has_local)
		return SPILLS_MAYBE;
	/* spilled registers are stored and read again */
	return k->facts->local.stores && k->facts->local.loads ? SPILLS_LIKELY : SPILLS_ARRAY;
}

/* If several libraries have the kernel, the worst place is kept. */
static enum mpk_code add_place(struct mpk_templates *t, const struct mpk_listed_kernel *k,
			       size_t variant, struct mpk_error *err)
{
	const struct mpk_figure_value *v = k->figures.values;
	struct place place = { .variant = variant,
			       .spill = spill_of(k),
			       .registers = v[MPK_FIGURE_REGISTERS].number,
			       .stack = v[MPK_FIGURE_STACK].number,
			       .spilled = v[MPK_FIGURE_SPILLED_REGISTERS].number,
			       .local =
				       k->facts ? k->facts->local : (struct mpk_cubin_local){ 0 } };
	const char *key;
	size_t at;
	int rc;

	if (place.spill == SPILLS_NOT)
		return MPK_OK;
	if (place.spill > t->variants[variant].spill)
		t->variants[variant].spill = place.spill;
	key = mpk_arena_printf(&t->arena, "%zu %s", variant, k->target);
	MPK_TRY_ALLOC(key, err);
	place.target = strchr(key, ' ') + 1;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(t->places, t->place_count, t->place_cap), err);
	rc = mpk_strmap_put(&t->by_place, mpk_span_str(key), t->place_count, &at);
	MPK_TRY_ALLOC(rc >= 0, err);
	if (rc)
		t->places[t->place_count++] = place;
	else if (place.spill > t->places[at].spill ||
		 (place.spill == t->places[at].spill && place.stack > t->places[at].stack))
		t->places[at] = place;
	return MPK_OK;
}

static enum mpk_code add_kernel(struct mpk_templates *t, const struct mpk_listed_kernel *k,
				struct mpk_error *err)
{
	const struct mpk_figure_value *v = k->figures.values;
	size_t variant = 0, device = 0;
	struct template *of;

	MPK_TRY(find_variant(t, k, &variant, err));
	MPK_TRY(find_device(t, k->target, &device, err));
	of = &t->items[t->variants[variant].of];
	of->devices[device / 64] |= UINT64_C(1) << device % 64;
	widen(&of->registers, v[MPK_FIGURE_REGISTERS]);
	widen(&of->stack, v[MPK_FIGURE_STACK]);
	widen(&of->shared, v[MPK_FIGURE_SHARED]);
	widen(&of->occupancy, v[MPK_FIGURE_OCCUPANCY]);
	of->code += v[MPK_FIGURE_CODE].number;
	t->rows++;
	return add_place(t, k, variant, err);
}

enum mpk_code mpk_templates_add(struct mpk_templates *t, const struct mpk_view *view,
				const struct mpk_kernel_list *list, struct mpk_error *err)
{
	size_t before = t->rows;

	for (size_t i = 0; i < list->count; i++)
		if (mpk_kernel_shows(view, &list->items[i]))
			MPK_TRY(add_kernel(t, &list->items[i], err));
	t->files += t->rows > before;
	return MPK_OK;
}

/* --- how many there are ---------------------------------------------------------------------- */

static void put_makers(const struct mpk_templates *t, struct mpk_strbuf *out)
{
	static const char *const words[] = { "CUDA", "ROCm", "SPIR-V", "other devices" };
	size_t counts[MAKERS] = { 0 }, put = 0;

	for (size_t i = 0; i < t->variant_count; i++)
		counts[t->variants[i].maker]++;
	for (size_t i = 0; i < MAKERS; i++) {
		if (!counts[i])
			continue;
		mpk_strbuf_puts(out, put ? ", " : "");
		mpk_put_number(out, counts[i]);
		if (!put++)
			mpk_strbuf_printf(out, " kernel%s", counts[i] == 1 ? "" : "s");
		/* if no kernel names a device, there is nothing to distinguish */
		if (i != FOR_OTHERS || counts[i] < t->variant_count)
			mpk_strbuf_printf(out, " for %s", words[i]);
	}
}

static size_t count_spills(const struct mpk_templates *t, enum spill spill)
{
	size_t n = 0;

	for (size_t i = 0; i < t->variant_count; i++)
		n += t->variants[i].spill == spill;
	return n;
}

/* "3 spill, 16 likely do" */
static void put_spills(const struct mpk_templates *t, struct mpk_strbuf *out)
{
	static const struct {
		enum spill spill;
		const char *one, *many;
	} rows[] = { { SPILLS, "spills", "spill" },
		     { SPILLS_LIKELY, "likely spills", "likely spill" },
		     { SPILLS_MAYBE, "may spill", "may spill" } };
	size_t put = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		size_t n = count_spills(t, rows[i].spill);

		if (!n)
			continue;
		mpk_strbuf_puts(out, put++ ? ", " : "; ");
		mpk_put_number(out, n);
		mpk_strbuf_printf(out, " %s", n == 1 ? rows[i].one : rows[i].many);
	}
	mpk_strbuf_puts(out, put ? " on some device" : "");
}

static void templates_line(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_templates_form *form = what;
	const struct mpk_templates *t = form->table;

	(void)style;
	if (!t->variant_count) {
		mpk_strbuf_puts(out, "no kernels");
		return;
	}
	put_makers(t, out);
	if (t->count < t->variant_count) {
		mpk_strbuf_puts(out, " of ");
		mpk_put_number(out, t->count);
		mpk_strbuf_printf(out, " template%s", t->count == 1 ? "" : "s");
	}
	if (form->many) {
		mpk_strbuf_puts(out, " in ");
		mpk_put_number(out, t->files);
		mpk_strbuf_printf(out, " file%s", t->files == 1 ? "" : "s");
	}
	put_spills(t, out);
}

/* --- the table ------------------------------------------------------------------------------- */

static uint64_t number_of(const struct template *t, enum mpk_templates_order order)
{
	switch (order) {
	case MPK_TEMPLATES_BY_CODE:
		return t->code;
	case MPK_TEMPLATES_BY_REGISTERS:
		return t->registers.most;
	case MPK_TEMPLATES_BY_STACK:
		return t->stack.most;
	case MPK_TEMPLATES_BY_SHARED:
		return t->shared.most;
	case MPK_TEMPLATES_BY_VARIANTS:
		return t->variants;
	case MPK_TEMPLATES_BY_OCCUPANCY: /* the lowest first */
		return t->occupancy.is_known ? 1 + 100 - t->occupancy.least : 0;
	case MPK_TEMPLATES_BY_NAME:
	case MPK_TEMPLATES_ORDERS:
		break;
	}
	return 0;
}

/* Sorts the larger number first; equal rows are sorted by name, which is unique. */
static int by_order(const void *a, const void *b, void *arg)
{
	const struct template *x = *(const struct template *const *)a;
	const struct template *y = *(const struct template *const *)b;
	const enum mpk_templates_order *order = arg;
	uint64_t n = number_of(x, *order), m = number_of(y, *order);

	return n != m ? (n < m ? 1 : -1) : mpk_natural_compare(x->name, y->name);
}

static const struct template **sort_templates(const struct mpk_templates *t,
					      enum mpk_templates_order order)
{
	const struct template **rows = calloc(t->count + 1, sizeof *rows);

	for (size_t i = 0; rows && i < t->count; i++)
		rows[i] = &t->items[i];
	if (rows && t->count)
		qsort_r(rows, t->count, sizeof *rows, by_order, &order);
	return rows;
}

/* Writes "32-128"; "" if nothing is known. */
static void cell_range(struct mpk_table *table, struct range r)
{
	if (!r.is_known)
		mpk_table_cell(table, "%s", "");
	else if (r.least == r.most)
		mpk_table_cell(table, "%" PRIu64, r.most);
	else
		mpk_table_cell(table, "%" PRIu64 "-%" PRIu64, r.least, r.most);
}

/* Writes bytes in KiB, "16.2", "0". */
static const char *kib(uint64_t bytes, char out[24])
{
	if (!bytes)
		(void)snprintf(out, 24, "0");
	else if (bytes < 100 * 1024)
		(void)snprintf(out, 24, "%.1f", (double)bytes / 1024);
	else
		(void)snprintf(out, 24, "%.0f", (double)bytes / 1024);
	return out;
}

static void cell_kib_range(struct mpk_table *table, struct range r)
{
	char least[24], most[24];

	if (!r.is_known)
		mpk_table_cell(table, "%s", "");
	else if (r.least == r.most)
		mpk_table_cell(table, "%s", kib(r.most, most));
	else
		mpk_table_cell(table, "%s-%s", kib(r.least, least), kib(r.most, most));
}

/* Cuts namespaces at the front: the end of a name says more, and --filter finds it. */
static void cell_name(struct mpk_table *table, const char *name)
{
	const char *from = name;

	while (strlen(from) > NAME_WIDTH - (from > name ? 2u : 0u)) {
		const char *next = strstr(from, "::");

		if (!next)
			break;
		from = next + 2;
	}
	mpk_table_cell(table, "%s%s", from > name ? ".." : "", MPK_QUOTE(mpk_span_str(from)));
}

static size_t count_devices(const struct template *t)
{
	size_t n = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(t->devices); i++)
		n += (size_t)__builtin_popcountll(t->devices[i]);
	return n;
}

static size_t rows_of(const struct mpk_templates_form *form, size_t count)
{
	size_t most = form->top ? form->top : count > ROWS_WHOLE ? ROWS_SHOWN : count;

	return most < count ? most : count;
}

static void templates_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	static const char *const titles[] = { "variants", "devices", "regs", "stack",
					      "shared",   "occ %",   "code", "kernel" };
	const struct mpk_templates_form *form = what;
	const struct mpk_templates *t = form->table;
	const struct template **rows = sort_templates(t, form->order);
	size_t shown = rows_of(form, t->count);
	struct mpk_table table = { .right = 0x7f };
	char text[24];

	templates_line(what, style, out);
	mpk_strbuf_putc(out, '\n');
	if (!rows) {
		out->failed = true;
		return;
	}
	if (shown) {
		mpk_table_row(&table);
		for (size_t i = 0; i < MPK_ARRAY_COUNT(titles); i++)
			mpk_table_cell(&table, "%s", titles[i]);
	}
	for (size_t i = 0; i < shown; i++) {
		mpk_table_row(&table);
		mpk_table_cell(&table, "%zu", rows[i]->variants);
		mpk_table_cell(&table, "%zu", count_devices(rows[i]));
		cell_range(&table, rows[i]->registers);
		cell_range(&table, rows[i]->stack);
		cell_kib_range(&table, rows[i]->shared);
		cell_range(&table, rows[i]->occupancy);
		mpk_table_cell(&table, "%s", rows[i]->code ? kib(rows[i]->code, text) : "");
		cell_name(&table, rows[i]->name);
	}
	mpk_table_print(&table, "  ", out);
	mpk_table_fini(&table);
	free(rows);
	if (!t->variant_count)
		return;
	if (shown < t->count)
		mpk_strbuf_printf(out, "  and %zu more\n", t->count - shown);
	mpk_strbuf_printf(out,
			  "by %s; stack in bytes, shared memory and code in KiB; occ: occupancy\n"
			  "all variants and devices: --all or --json; order: --sort, --top N",
			  form->order == MPK_TEMPLATES_BY_CODE ? "size of code"
							       : mpk_templates_orders[form->order]);
	if (t->place_count) {
		mpk_strbuf_puts(out, "; spills:\n  minspect functions --spills ");
		mpk_put_word(out, mpk_span_str(form->file));
	}
	mpk_strbuf_putc(out, '\n');
}

const struct mpk_answer mpk_answer_templates = { .text = templates_text, .line = templates_line };

/* --- spills ---------------------------------------------------------------------------------- */

/* Sorts by severity, then by the size of the stack; the devices of one kernel stay in order. */
static int by_spill(const void *a, const void *b, void *arg)
{
	const struct place *x = a, *y = b;
	const struct mpk_templates *t = arg;
	const struct variant *v = &t->variants[x->variant], *w = &t->variants[y->variant];

	if (v->spill != w->spill)
		return v->spill < w->spill ? 1 : -1;
	if (x->variant != y->variant) {
		if (x->stack != y->stack)
			return x->stack < y->stack ? 1 : -1;
		return x->variant < y->variant ? -1 : 1;
	}
	return mpk_natural_compare(x->target, y->target);
}

/* All places of one kernel. */
struct spilling {
	const struct place *worst;
	struct range stack, registers;
	struct mpk_span targets[MPK_NAMES_SHOWN];
	size_t count;
};

/* Writes the evidence of spilling in words. */
static void put_evidence(const struct place *p, struct mpk_strbuf *out)
{
	switch (p->spill) {
	case SPILLS:
		mpk_strbuf_printf(out, "%" PRIu64 " register%s", p->spilled,
				  p->spilled == 1 ? "" : "s");
		break;
	case SPILLS_LIKELY:
		mpk_strbuf_printf(out, "likely: %" PRIu32 " store%s, %" PRIu32 " load%s",
				  p->local.stores, p->local.stores == 1 ? "" : "s", p->local.loads,
				  p->local.loads == 1 ? "" : "s");
		break;
	case SPILLS_MAYBE:
		mpk_strbuf_puts(out, "unknown");
		break;
	case SPILLS_ARRAY:
	case SPILLS_NOT:
		mpk_strbuf_puts(out, "no: an array or a call");
		break;
	}
}

/* Puts the name of a kernel, demangled before a long symbol is cut: the cut one is no symbol. */
static void cell_kernel(struct mpk_table *table, struct mpk_span symbol)
{
	enum { KERNEL_WIDTH = 96 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };

	if (mpk_symbol_name(symbol, false, KERNEL_WIDTH, &name))
		symbol = mpk_span_of(name.data, name.len);
	mpk_table_cell(table, "%s", MPK_QUOTE(symbol));
}

static void put_spilling(const struct mpk_templates *t, const struct spilling *s,
			 struct mpk_table *table)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf devices = { 0 }, evidence = { 0 };

	for (size_t i = 0; i < s->count && i < 2; i++) {
		mpk_strbuf_puts(&devices, i ? ", " : "");
		mpk_escape(&devices, s->targets[i]);
	}
	if (s->count > 2)
		mpk_strbuf_printf(&devices, " and %zu more", s->count - 2);
	mpk_table_row(table);
	cell_range(table, s->stack);
	cell_range(table, s->registers);
	put_evidence(s->worst, &evidence);
	mpk_table_cell(table, "%s", mpk_strbuf_text(&evidence));
	mpk_table_cell(table, "%s", mpk_strbuf_text(&devices));
	cell_kernel(table, t->variants[s->worst->variant].name);
}

/* Returns the next kernel's places, which are consecutive from *at on. */
static struct spilling next_spilling(const struct mpk_templates *t, const struct place *places,
				     size_t *at)
{
	size_t variant = places[*at].variant;
	struct spilling s = { .worst = &places[*at] };

	for (; *at < t->place_count && places[*at].variant == variant; ++*at) {
		const struct place *p = &places[*at];

		if (p->spill > s.worst->spill)
			s.worst = p;
		widen(&s.stack, mpk_figure_of(p->stack));
		widen(&s.registers, mpk_figure_of(p->registers));
		if (s.count < MPK_ARRAY_COUNT(s.targets))
			s.targets[s.count] = mpk_span_str(p->target);
		s.count++;
	}
	return s;
}

static size_t count_stacks(const struct mpk_templates *t)
{
	return t->variant_count - count_spills(t, SPILLS_NOT);
}

/* Counts kernels with certain or possible spills. */
static size_t count_spilling(const struct mpk_templates *t)
{
	return count_stacks(t) - count_spills(t, SPILLS_ARRAY);
}

static void put_spills_rows(const struct mpk_templates_form *form, const struct place *places,
			    struct mpk_strbuf *out)
{
	const struct mpk_templates *t = form->table;
	struct mpk_table table = { .right = 3 };
	size_t kernels = count_spilling(t), shown = 0;
	size_t rows = rows_of(form, kernels);

	if (!kernels)
		return;

	mpk_table_row(&table);
	mpk_table_cell(&table, "%s", "stack");
	mpk_table_cell(&table, "%s", "regs");
	mpk_table_cell(&table, "%s", "spills");
	mpk_table_cell(&table, "%s", "devices");
	mpk_table_cell(&table, "%s", "kernel");
	for (size_t i = 0; i < t->place_count && shown < rows; shown++) {
		struct spilling s = next_spilling(t, places, &i);

		put_spilling(t, &s, &table);
	}
	mpk_table_print(&table, "  ", out);
	mpk_table_fini(&table);
	if (shown < kernels)
		mpk_strbuf_printf(out, "  and %zu more: --top %zu\n", kernels - shown, kernels);
}

/* Returns NULL if memory is out. */
static struct place *sorted_places(const struct mpk_templates *t)
{
	struct place *places = calloc(t->place_count + 1, sizeof *places);

	if (places && t->place_count) {
		memcpy(places, t->places, t->place_count * sizeof *places);
		qsort_r(places, t->place_count, sizeof *places, by_spill, (void *)(uintptr_t)t);
	}
	return places;
}

static void spills_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_templates_form *form = what;
	const struct mpk_templates *t = form->table;
	struct place *places = sorted_places(t);

	templates_line(what, style, out);
	if (!places) {
		out->failed = true;
		return;
	}
	mpk_strbuf_puts(out, t->place_count ? "\n" : "; none has a stack\n");
	put_spills_rows(form, places, out);
	if (count_spills(t, SPILLS_ARRAY)) {
		mpk_strbuf_puts(out, "  ");
		mpk_put_count(out, count_spills(t, SPILLS_ARRAY), "kernel");
		mpk_strbuf_printf(out,
				  " %s a stack for an array or a call, not for registers: "
				  "minspect functions --sort stack FILE\n",
				  count_spills(t, SPILLS_ARRAY) == 1 ? "has" : "have");
	}
	if (count_spilling(t)) {
		mpk_strbuf_puts(
			out,
			"stack in bytes of a thread. \"spills\" is what the compiler wrote down; \"likely\":\n"
			"the code stores to fixed places of its stack and loads from there; \"unknown\":\n"
			"the stack alone is known, as of sm_60 and older; ptxas -v tells bytes of spills\n");
	}
	free(places);
}

static void spills_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_templates_form *form = what;
	const struct mpk_templates *t = form->table;
	struct place *places = sorted_places(t);
	struct mpk_json_at *list = mpk_json_array(j, at, "spills"), *o, *targets;
	size_t shown = 0;

	j->failed |= !places;
	for (size_t i = 0; places && i < t->place_count && shown < form->top; shown++) {
		struct spilling s = next_spilling(t, places, &i);
		struct mpk_strbuf evidence = { 0 };

		put_evidence(s.worst, &evidence);
		o = mpk_json_object(j, list, NULL);
		mpk_json_span(j, o, "name", t->variants[s.worst->variant].name);
		mpk_json_u64(j, o, "stack_bytes", s.stack.most);
		mpk_json_u64(j, o, "registers", s.registers.most);
		mpk_json_take(j, o, "spills", &evidence);
		targets = mpk_json_array(j, o, "targets");
		for (size_t k = 0; k < s.count && k < MPK_ARRAY_COUNT(s.targets); k++)
			mpk_json_span(j, targets, NULL, s.targets[k]);
		mpk_json_u64(j, o, "devices", s.count);
	}
	mpk_json_u64(j, at, "with_stack", count_stacks(t));
	free(places);
}

const struct mpk_answer mpk_answer_spills = { .text = spills_text, .json = spills_json };
