/* SPDX-License-Identifier: Apache-2.0 */
/* exports.c - which symbols of a library are its blob, its functions and TVM's helpers, and the
 * bytes of a symbol in formats that do not store sizes
 *
 * Symbols are walked twice: the meaning of a name depends on the generation, which is known only
 * after all symbols have been seen. */
#include "object/exports.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "object/object.h"
#include "text/phrase.h"

/* --- names ------------------------------------------------------------------------------------ */

bool mpk_symbol_suffix(const char *name, const char *suffix, size_t *prefix_len)
{
	size_t n = strlen(name), m = strlen(suffix);

	if (n < m || memcmp(name + n - m, suffix, m) != 0)
		return false;
	*prefix_len = n - m;
	return true;
}

enum { NAME_MAX_BYTES = 16384 };

/* A name of a hostile file may be very long: one beyond the limit counts as none and is not an
 * error. */
const char *mpk_object_name(struct mpk_span table, uint64_t off)
{
	struct mpk_span name;

	if (mpk_span_text(table, off, NAME_MAX_BYTES, &name))
		return (const char *)name.data;
	return off < table.len && table.len - off > NAME_MAX_BYTES ? "" : NULL;
}

/* --- places: Mach-O and COFF give a symbol a section and an address. Its bytes extend to the next
 * symbol of the section, or to the section's end. The symbols are sorted by place once, so that
 * this is linear after the sort. --- */

/* Sorts by section first: in objects the addresses of different sections overlap. */
static int object_by_place(const void *a, const void *b)
{
	const struct mpk_object_symbol *x = *(struct mpk_object_symbol *const *)a;
	const struct mpk_object_symbol *y = *(struct mpk_object_symbol *const *)b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* A symbol whose address is outside of its section stays, without content. */
static void object_place(const struct mpk_object *object, struct mpk_object_symbol *s, uint64_t end)
{
	const struct mpk_object_section *section = &object->sections[s->section - 1];
	uint64_t into = s->address - section->address;

	if (s->address < section->address || into > section->content.len)
		return;
	if (end > section->content.len)
		end = section->content.len;
	s->content_off = section->content_off + into;
	(void)mpk_span_sub(section->content, into, end - into, &s->content);
}

/* Symbols without a section (undefined, absolute) have no place. */
enum mpk_code mpk_object_place(struct mpk_object *object, struct mpk_error *err)
{
	struct mpk_object_symbol **order = calloc(object->symbol_count + 1, sizeof *order);
	size_t count = 0;

	MPK_TRY_ALLOC(order, err);
	for (size_t i = 0; i < object->symbol_count; i++)
		if (object->symbols[i].defined && object->symbols[i].section)
			order[count++] = &object->symbols[i];
	if (count)
		qsort(order, count, sizeof(struct mpk_object_symbol *), object_by_place);
	for (size_t i = 0, next = 0; i < count; i++) {
		const struct mpk_object_symbol *s = order[i];
		uint64_t end = UINT64_MAX;

		/* several names of one place have the same bytes */
		for (next = next > i ? next : i + 1; next < count &&
						     order[next]->section == s->section &&
						     order[next]->address == s->address;)
			next++;
		if (next < count && order[next]->section == s->section)
			end = order[next]->address - object->sections[s->section - 1].address;
		object_place(object, order[i], end);
	}
	free(order);
	return MPK_OK;
}

enum mpk_code mpk_elf_check_names(const char *whose, uint64_t base, uint64_t size, size_t count,
				  uint64_t bytes, struct mpk_error *err)
{
	enum { EACH = 4, LEAST = 1 << 20 };

	if (bytes <= LEAST || (bytes - LEAST) / EACH <= size)
		return MPK_OK;
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", base,
			       "the names of %s overlap: those of the first %zu have %" PRIu64
			       " bytes, the file has %" PRIu64,
			       whose, count, bytes, size);
}

#define FFI_PREFIX "__tvm_ffi_"

/* Names with the prefix of functions that are not functions (tvm-blob(5), SYMBOLS). */
static bool is_ffi_special(const char *name)
{
	size_t prefix;

	return mpk_name_starts(name, FFI_PREFIX MPK_GETTER_METADATA) ||
	       mpk_name_starts(name, FFI_PREFIX MPK_GETTER_DOC) ||
	       mpk_name_starts(name, "__tvm_ffi__cubin_") ||
	       mpk_symbol_suffix(name, "__tvm_ffi__library_bin", &prefix) ||
	       mpk_symbol_suffix(name, "__tvm_ffi__library_ctx", &prefix) ||
	       mpk_symbol_suffix(name, "__tvm_ffi_library_bin", &prefix) ||
	       mpk_symbol_suffix(name, "__tvm_ffi_library_ctx", &prefix);
}

/* Notes what a symbol says about the generation. */
static void marks_add(struct mpk_marks *marks, const struct mpk_symbol *s)
{
	/* pointers that a library defines, or the functions that it imports instead */
	static const char *const hybrid[] = { "TVMFFIFunctionCall",
					      "TVMFFIErrorSetRaisedFromCStr" };
	static const char *const legacy[] = { "TVMFuncCall", "TVMAPISetLastError" };
	/* functions that a library in a program calls for each of its functions */
	static const char *const registering[] = { "TVMBackendRegisterSystemLibSymbol",
						   "TVMFFIEnvModRegisterSystemLibSymbol" };
	const char *name = s->name;
	size_t prefix;

	bool function = s->defined && mpk_name_starts(name, FFI_PREFIX) && !is_ffi_special(name);
	bool current = s->defined && mpk_symbol_suffix(name, "__tvm_ffi__library_ctx", &prefix);
	bool hybrid_ctx = s->defined && mpk_symbol_suffix(name, "__tvm_ffi_library_ctx", &prefix);
	bool legacy_ctx = s->defined && mpk_symbol_suffix(name, "__tvm_module_ctx", &prefix);
	bool pointer = s->defined && mpk_name_starts(name, "__TVM");
	bool registers = mpk_name_is_one_of(name, registering, MPK_ARRAY_COUNT(registering));

	marks->current |= function || current;
	marks->hybrid |= hybrid_ctx;
	marks->legacy |= legacy_ctx;
	marks->tvm |= function || current || hybrid_ctx || legacy_ctx || pointer ||
		      (s->defined && strcmp(name, "__tvm_main__") == 0) ||
		      (!s->defined && registers);
	if (!pointer && (s->defined || !mpk_name_starts(name, "TVM")))
		return;
	name += pointer ? 2 : 0;
	marks->hybrid |= mpk_name_is_one_of(name, hybrid, MPK_ARRAY_COUNT(hybrid));
	marks->legacy |= mpk_name_is_one_of(name, legacy, MPK_ARRAY_COUNT(legacy));
}

/* Whether a symbol is defined, and visible outside of its file. */
static bool is_global(const struct mpk_symbol *s)
{
	return s->defined && s->name[0] &&
	       (s->bind == STB_GLOBAL || s->bind == STB_WEAK || s->bind == STB_GNU_UNIQUE) &&
	       (s->visibility == STV_DEFAULT || s->visibility == STV_PROTECTED);
}

/* Whether a symbol is a __TVM... pointer that the loader sets. */
static bool symbol_is_context(const struct mpk_symbol *s)
{
	return is_global(s) && s->type == STT_OBJECT && mpk_name_starts(s->name, "__TVM");
}

/* Whether a symbol is the data of __tvm_main__, which names the entry function. */
static bool symbol_is_entry_name(const struct mpk_symbol *s)
{
	return is_global(s) && s->type == STT_OBJECT && strcmp(s->name, "__tvm_main__") == 0;
}

/* Returns the name by which callers find this function; NULL: it is not one
 * Left out are functions that TVM's code generators, compilers and tvm-ffi's headers add. Before
 * 0.22 functions have no prefix, and any exported function is callable; names.c lists the names
 * that are known to come from elsewhere. */
static const char *symbol_function(const struct mpk_symbol *s, enum mpk_generation gen)
{
	if (!is_global(s) || (s->type != STT_FUNC && s->type != STT_GNU_IFUNC))
		return NULL;
	if (gen != MPK_GEN_CURRENT)
		return mpk_name_is_internal(s->name, s->bind == STB_WEAK) ? NULL : s->name;
	if (!mpk_name_starts(s->name, FFI_PREFIX) || is_ffi_special(s->name) ||
	    !s->name[strlen(FFI_PREFIX)])
		return NULL;
	return s->name + strlen(FFI_PREFIX);
}

/* Returns "_metadata_add" or "_doc_add" for a function that returns a text about add; else NULL. */
static const char *symbol_getter(const struct mpk_symbol *s)
{
	bool is = mpk_name_starts(s->name, FFI_PREFIX MPK_GETTER_METADATA) ||
		  mpk_name_starts(s->name, FFI_PREFIX MPK_GETTER_DOC);

	return is && is_global(s) && s->type == STT_FUNC ? s->name + strlen(FFI_PREFIX) : NULL;
}

/* Growing lists, which are copied to the arena at the end. */
struct lists {
	struct mpk_image_function *functions;
	size_t function_count, function_cap;
	struct mpk_image_function *getters;
	size_t getter_count, getter_cap;
	const char **context;
	size_t context_count, context_cap;
	const char **undefined;
	size_t undefined_count, undefined_cap;
	const char **prefixes;
	size_t prefix_count, prefix_cap;
};

static void lists_fini(struct lists *l)
{
	free(l->functions);
	free(l->getters);
	free(l->context);
	free(l->undefined);
	free(l->prefixes);
}

/* Prefers the plain name to one with a prefix, and newer generations to older ones, as TVM's loader
 * does. */
static void consider_blob(struct mpk_survey *best, const struct mpk_symbol *s)
{
	if (!s->defined || (s->type != STT_OBJECT && s->type != STT_NOTYPE))
		return;
	for (unsigned g = 0; g < MPK_GENERATION_COUNT; g++) {
		const struct mpk_generation_info *info = mpk_generation_get((enum mpk_generation)g);
		size_t prefix = 0;

		if (!mpk_symbol_suffix(s->name, info->blob_symbol, &prefix) &&
		    strcmp(s->name, info->standalone_symbol) != 0)
			continue;
		if (best->wanted &&
		    (strlen(best->wanted) != prefix || strncmp(best->wanted, s->name, prefix) != 0))
			return;
		unsigned rank = 1 + g + (prefix ? 0 : MPK_GENERATION_COUNT);
		if (rank > best->rank) {
			best->blob = *s;
			best->gen = (enum mpk_generation)g;
			best->prefix = prefix;
			best->rank = rank;
		}
		return;
	}
}

enum mpk_code mpk_symbols_survey(const struct mpk_symbol_source *t, struct mpk_survey *out,
				 struct mpk_error *err)
{
	uint64_t bytes = 0;
	size_t prefix;

	for (size_t i = 0; i < t->count; i++) {
		struct mpk_symbol s;

		MPK_TRY(t->get(t->self, i, &s, err));
		bytes += strlen(s.name);
		MPK_TRY(mpk_elf_check_names("symbols", t->base, t->size, i + 1, bytes, err));
		consider_blob(out, &s);
		marks_add(&out->marks, &s);
		for (unsigned g = 0; g < MPK_GENERATION_COUNT; g++)
			if (s.defined &&
			    mpk_symbol_suffix(
				    s.name, mpk_generation_get((enum mpk_generation)g)->ctx_symbol,
				    &prefix))
				out->has_ctx = true;
	}
	return MPK_OK;
}

static enum mpk_code functions_add_name(const char ***list, size_t *count, size_t *cap,
					const char *name, struct mpk_error *err)
{
	MPK_TRY_ALLOC(mpk_vec_reserve(list, cap, *count + 1, sizeof **list), err);
	(*list)[(*count)++] = name;
	return MPK_OK;
}

/* Adds the prefix of a blob, each once. Few models are linked into one library. */
static enum mpk_code add_prefix(struct lists *l, const struct mpk_symbol *s,
				struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_survey one = { 0 };
	const char *prefix;

	consider_blob(&one, s);
	if (!one.rank || !is_global(s))
		return MPK_OK;
	for (size_t i = 0; i < l->prefix_count; i++)
		if (strlen(l->prefixes[i]) == one.prefix &&
		    strncmp(l->prefixes[i], s->name, one.prefix) == 0)
			return MPK_OK;
	prefix = mpk_arena_copy(arena, s->name, one.prefix);
	MPK_TRY_ALLOC(prefix, err);
	return functions_add_name(&l->prefixes, &l->prefix_count, &l->prefix_cap, prefix, err);
}

/* Whether a function belongs to the chosen model, if there are several: it belongs to the longest
 * prefix that its name begins with. */
static bool is_of_model(const struct lists *l, const struct mpk_exports *e, const char *name)
{
	size_t own = strlen(e->prefix);

	if (l->prefix_count < 2)
		return true;
	if (strncmp(name, e->prefix, own) != 0)
		return false;
	for (size_t i = 0; i < l->prefix_count; i++)
		if (strlen(l->prefixes[i]) > own && mpk_name_starts(name, l->prefixes[i]))
			return false;
	return true;
}

static enum mpk_code add_function(struct lists *l, const struct mpk_symbol_source *t,
				  const struct mpk_symbol *s, const struct mpk_exports *e,
				  struct mpk_error *err)
{
	const char *entry = mpk_generation_get(e->gen)->entry;
	size_t prefix = e->prefix ? strlen(e->prefix) : 0;
	struct mpk_image_function f = {
		.symbol = s->name,
		.address = s->value,
		.bytes = s->bytes,
		.weak = s->bind == STB_WEAK,
		.is_entry = strcmp(s->name, entry) == 0,
	};

	f.name = symbol_function(s, e->gen);
	if (e->gen != MPK_GEN_CURRENT && symbol_is_entry_name(s)) {
		f.name = s->name;

		/* The function that the data of __tvm_main__ names. */
		const char **out = &f.alias_of;
		struct mpk_span text;
		uint64_t off;

		MPK_TRY(t->bytes(t->self, s, &text, &off, err));
		*out = text.len && memchr(text.data, 0, text.len) ? (const char *)text.data : NULL;
		if (!*out)
			return mpk_fail_offset(err, MPK_E_CORRUPT, "file", t->base + off,
					       "symbol __tvm_main__ holds no NUL-terminated name");
	}
	if (!f.name || !is_of_model(l, e, f.name))
		return MPK_OK;
	if (prefix && strncmp(f.name, e->prefix, prefix) == 0 && f.name[prefix])
		f.name += prefix;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(l->functions, l->function_count, l->function_cap), err);
	l->functions[l->function_count++] = f;
	return MPK_OK;
}

static enum mpk_code add_getter(struct lists *l, const struct mpk_symbol *s, struct mpk_error *err)
{
	struct mpk_image_function f = {
		.name = symbol_getter(s), .symbol = s->name, .address = s->value, .bytes = s->bytes
	};

	if (!f.name)
		return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(l->getters, l->getter_count, l->getter_cap), err);
	l->getters[l->getter_count++] = f;
	return MPK_OK;
}

static int functions_by_name(const void *a, const void *b)
{
	const struct mpk_image_function *x = a, *y = b;
	int order = mpk_natural_compare(x->name, y->name);

	if (!order)
		order = strcmp(x->symbol, y->symbol);
	return order ? order : (x->order > y->order) - (x->order < y->order);
}

void mpk_image_sort_functions(struct mpk_image_function *functions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		functions[i].order = i;
	if (count)
		qsort(functions, count, sizeof *functions, functions_by_name);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A symbol with several versions is listed once. */
static size_t drop_repeated(struct mpk_image_function *f, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!kept || strcmp(f[kept - 1].symbol, f[i].symbol) != 0)
			f[kept++] = f[i];
	return kept;
}

static void *move(struct mpk_arena *arena, const void *list, size_t count, size_t size)
{
	return mpk_arena_copy(arena, count ? list : "", count * size);
}

static enum mpk_code set_blob(const struct mpk_symbol_source *t, const struct mpk_survey *found,
			      struct mpk_arena *arena, struct mpk_exports *out,
			      struct mpk_error *err)
{
	const struct mpk_generation_info *info = mpk_generation_get(found->gen);
	const struct mpk_symbol *blob = &found->blob;
	uint64_t off;

	MPK_TRY(t->bytes(t->self, blob, &out->blob, &off, err));
	out->has_blob = true;
	out->gen = found->gen;
	out->gen_known = true;
	out->standalone = strcmp(blob->name, info->standalone_symbol) == 0;
	out->blob_off = t->base + off;
	out->blob_address = blob->value;
	out->blob_symbol_bytes = blob->bytes;
	out->blob_symbol = blob->name;
	out->blob_section = t->section(t->self, blob);
	out->prefix = mpk_arena_copy(arena, blob->name, found->prefix);
	return out->prefix ? MPK_OK : mpk_fail_nomem(err);
}

/* Without a blob, the other symbols decide (tvm-blob(5), SYMBOLS). */
static void set_convention(struct mpk_exports *out, const struct mpk_marks *marks,
			   const enum mpk_generation *gen)
{
	static const enum mpk_convention conventions[MPK_GENERATION_COUNT] = {
		[MPK_GEN_LEGACY] = MPK_CONV_LEGACY,
		[MPK_GEN_HYBRID] = MPK_CONV_FFI021,
		[MPK_GEN_CURRENT] = MPK_CONV_FFI,
	};

	if (!out->has_blob) {
		out->gen_known = gen || marks->current || marks->hybrid || marks->legacy;
		if (!gen && !marks->tvm) {
			out->gen_known = false;
			return;
		}
		out->gen = gen              ? *gen
			   : marks->current ? MPK_GEN_CURRENT
			   : marks->hybrid  ? MPK_GEN_HYBRID
					    : MPK_GEN_LEGACY;
	}
	out->convention = conventions[out->gen];
}

enum mpk_code mpk_exports_read(const struct mpk_symbol_source *t, const struct mpk_survey *found,
			       const enum mpk_generation *gen, struct mpk_arena *arena,
			       struct mpk_exports *out, struct mpk_error *err)
{
	MPK_CLEANUP(lists_fini) struct lists lists = { 0 };

	*out = (struct mpk_exports){ .prefix = "", .has_ctx = found->has_ctx };
	if (found->rank)
		MPK_TRY(set_blob(t, found, arena, out, err));
	set_convention(out, &found->marks, gen);

	for (size_t i = 0; out->has_blob && i < t->count; i++) {
		struct mpk_symbol s;

		MPK_TRY(t->get(t->self, i, &s, err));
		MPK_TRY(add_prefix(&lists, &s, arena, err));
	}
	for (size_t i = 0; i < t->count; i++) {
		struct mpk_symbol s;

		MPK_TRY(t->get(t->self, i, &s, err));
		if (!s.defined && s.bind != STB_WEAK && s.name[0] && s.bind != STB_LOCAL)
			MPK_TRY(functions_add_name(&lists.undefined, &lists.undefined_count,
						   &lists.undefined_cap, s.name, err));
		if (symbol_is_context(&s))
			MPK_TRY(functions_add_name(&lists.context, &lists.context_count,
						   &lists.context_cap, s.name, err));
		if (out->convention != MPK_CONV_NONE)
			MPK_TRY(add_function(&lists, t, &s, out, err));
		if (out->convention == MPK_CONV_FFI)
			MPK_TRY(add_getter(&lists, &s, err));
	}

	if (!out->has_blob && !lists.function_count)
		out->convention = MPK_CONV_NONE;

	mpk_image_sort_functions(lists.functions, lists.function_count);
	lists.function_count = drop_repeated(lists.functions, lists.function_count);
	mpk_image_sort_functions(lists.getters, lists.getter_count);
	lists.getter_count = drop_repeated(lists.getters, lists.getter_count);
	if (lists.context_count)
		qsort(lists.context, lists.context_count, sizeof *lists.context, by_text);
	if (lists.prefix_count)
		qsort(lists.prefixes, lists.prefix_count, sizeof *lists.prefixes, by_text);
	if (lists.undefined_count)
		qsort(lists.undefined, lists.undefined_count, sizeof *lists.undefined, by_text);

	out->functions =
		move(arena, lists.functions, lists.function_count, sizeof *lists.functions);
	out->getters = move(arena, lists.getters, lists.getter_count, sizeof *lists.getters);
	out->context_symbols =
		move(arena, lists.context, lists.context_count, sizeof *lists.context);
	out->prefixes = move(arena, lists.prefixes, lists.prefix_count, sizeof *lists.prefixes);
	out->undefined =
		move(arena, lists.undefined, lists.undefined_count, sizeof *lists.undefined);
	MPK_TRY_ALLOC(out->functions && out->getters && out->context_symbols && out->undefined &&
			      out->prefixes,
		      err);
	out->prefix_count = lists.prefix_count;
	out->function_count = lists.function_count;
	out->getter_count = lists.getter_count;
	out->context_symbol_count = lists.context_count;
	out->undefined_count = lists.undefined_count;
	return MPK_OK;
}
