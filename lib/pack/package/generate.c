/* SPDX-License-Identifier: Apache-2.0 */
/* Host code that a package adds to the user's sources: launch functions, the entry, and the
 * loader of a standalone library with its table of kernels. All of it is text, C or LLVM IR, and
 * is compiled like a source of the user's. */
#include "package/package.h"

#include <inttypes.h>
#include <string.h>

#include "base/strmap.h"
#include "io/reader.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"

/* --- the loader of a standalone package ---------------------------------------- */

/* A package with `standalone = true` is used without TVM's loader: no runtime looks for the symbol
 * of its blob. Instead the C source that is printed here is compiled into the library and loads the
 * kernels through the CUDA driver or OpenCL at run time. */

struct standalone_kernel {
	const char *module;    /* its id in the manifest */
	const char *name;      /* a C identifier, as device compilers make them */
	const char *format;    /* "ptx", "cubin", "fatbin", "cl" */
	uint64_t offset, size; /* offset and size of its code in the blob, in bytes */
	const struct mpk_dtype *args;
	size_t arg_count;
	const enum mpk_launch_tag *tags;
	size_t tag_count;
};

/* The source files of the standalone loader, embedded as text: declarations, code, and drivers. A
 * library gets only the drivers that it needs. The Makefile also compiles the same code to objects
 * for this machine, because compiling the loader takes longer than compiling the tables of 600
 * kernels. */
#define INCLUDED(name, lines)                                                                      \
	__asm__(".pushsection .rodata,\"a\",@progbits\n"                                           \
		".hidden mpk_standalone_" #name "\n.globl mpk_standalone_" #name                   \
		"\nmpk_standalone_" #name ":\n" lines ".hidden mpk_standalone_" #name              \
		"_end\n.globl mpk_standalone_" #name "_end\nmpk_standalone_" #name                 \
		"_end:\n.byte 0\n.popsection\n");                                                  \
	extern const char mpk_standalone_##name[], mpk_standalone_##name##_end[]
INCLUDED(declarations, ".incbin \"formats/dtype/dlpack.h\"\n"
		       ".incbin \"formats/dtype/type_index.h\"\n"
		       ".incbin \"lib/pack/launch/standalone/loader.h\"\n");
INCLUDED(code, ".incbin \"lib/ground/base/half.h\"\n"
	       ".incbin \"lib/pack/launch/standalone/names.h\"\n"
	       ".incbin \"lib/pack/launch/standalone/shared.c\"\n"
	       ".incbin \"lib/pack/launch/standalone/arguments.c\"\n"
	       ".incbin \"lib/pack/launch/standalone/functions.c\"\n");
INCLUDED(cuda, ".incbin \"lib/pack/launch/standalone/cuda.c\"\n");
INCLUDED(opencl, ".incbin \"lib/pack/launch/standalone/opencl.c\"\n");
#define OBJECT(name) INCLUDED(name##_o, ".incbin \"standalone/" #name ".o\"\n")
OBJECT(cuda);
OBJECT(opencl);
OBJECT(ffi);
OBJECT(hybrid);
OBJECT(legacy);
struct standalone_object {
	const char *first, *end;
};
#define OBJECT_OF(name) { mpk_standalone_##name##_o, mpk_standalone_##name##_o_end }

enum text {
	LAUNCH_C,
	LAUNCH_LL,
	HOST_C,
	HOST_LL,
	ENTRY_C,
	ENTRY_LL,
	LOADER,
	LOADER_O,
	CUDA_O,
	OPENCL_O
};

/* The names of the texts that a package can have; request.c accepts no others. */
const char *const mpk_generated_names[] = { [LAUNCH_C] = "launch.c",
					    [LAUNCH_LL] = "launch.ll",
					    [HOST_C] = "host.c",
					    [HOST_LL] = "host.ll",
					    [ENTRY_C] = "entry.c",
					    [ENTRY_LL] = "entry.ll",
					    [LOADER] = "standalone.c",
					    [LOADER_O] = "loader.o",
					    [CUDA_O] = "cuda.o",
					    [OPENCL_O] = "opencl.o",
					    NULL };

static const struct standalone_driver {
	int32_t device_type;
	enum text text; /* the source that the object was compiled from */
	const char *source;
	struct standalone_object object;
} drivers[] = {
	{ MPK_DL_CUDA, CUDA_O, mpk_standalone_cuda, OBJECT_OF(cuda) },
	{ MPK_DL_OPENCL, OPENCL_O, mpk_standalone_opencl, OBJECT_OF(opencl) },
};

/* The objects of everything but the drivers, one set for each calling convention. */
static const struct standalone_object callers[] = { [MPK_GEN_LEGACY] = OBJECT_OF(legacy),
						    [MPK_GEN_HYBRID] = OBJECT_OF(hybrid),
						    [MPK_GEN_CURRENT] = OBJECT_OF(ffi) };

/* Launch functions by how they are generated. In a standalone package, functions that call kernels
 * become rows of the loader's tables. Functions that call C functions, and all functions of other
 * packages, become code. */
struct split {
	struct mpk_launch *rows, *code; /* in the arena */
	size_t row_count, code_count;
	bool needs[MPK_ARRAY_COUNT(drivers)];
};

static enum mpk_code split(const struct mpk_package *p, struct mpk_arena *arena, struct split *out,
			   struct mpk_error *err)
{
	*out = (struct split){
		.rows = mpk_arena_array(arena, p->launch_count + 1, sizeof *out->rows),
		.code = mpk_arena_array(arena, p->launch_count + 1, sizeof *out->code),
	};
	MPK_TRY_ALLOC(out->rows && out->code, err);
	for (size_t i = 0; i < p->launch_count; i++) {
		const struct mpk_launch *l = &p->launches[i];
		size_t k = 0;

		if (l->on_host || !p->manifest.standalone) {
			out->code[out->code_count++] = *l;
			continue;
		}
		while (k < MPK_ARRAY_COUNT(drivers) && drivers[k].device_type != l->device_type)
			k++;
		if (k == MPK_ARRAY_COUNT(drivers))
			return mpk_fail(err, MPK_E_UNSUPPORTED,
					"standalone libraries are for cuda and opencl kernels");
		out->needs[k] = true;
		out->rows[out->row_count++] = *l;
	}
	return MPK_OK;
}

/* Copies a source without its #include "..." lines: the included text is already there. */
static void put_source(const char *source, struct mpk_strbuf *out)
{
	const char *end;

	for (const char *line = source; *line; line = end) {
		const char *newline = strchr(line, '\n');

		end = newline ? newline + 1 : line + strlen(line);
		if (strncmp(line, "#include \"", 10) != 0)
			mpk_strbuf_put_span(out, mpk_span_of(line, (size_t)(end - line)));
	}
}

/* Number of values that a caller passes after the arguments. */
static size_t value_tags(const struct standalone_kernel *k)
{
	size_t n = 0;

	for (size_t t = 0; t < k->tag_count; t++)
		n += mpk_launch_tag_takes_argument(k->tags[t]);
	return n;
}

static int standalone_has_tag(const struct standalone_kernel *k, enum mpk_launch_tag tag)
{
	for (size_t t = 0; t < k->tag_count; t++)
		if (k->tags[t] == tag)
			return 1;
	return 0;
}

/* A row names the kernel's code by its offset in the blob. So the blob of such a library cannot be
 * replaced. */
static void print_standalone(const struct standalone_kernel *kernels, size_t count,
			     const struct split *s, bool is_compiled, enum mpk_generation gen,
			     struct mpk_strbuf *out)
{
	const char *symbol = mpk_generation_get(gen)->standalone_symbol;
	size_t types = 0, tags = 0;

	mpk_strbuf_puts(out, gen == MPK_GEN_LEGACY   ? "#define MPK_SA_LEGACY 1\n"
			     : gen == MPK_GEN_HYBRID ? "#define MPK_SA_HYBRID 1\n"
						     : "");
	put_source(mpk_standalone_declarations, out);
	if (!is_compiled) {
		put_source(mpk_standalone_code, out);
		for (size_t i = 0; i < MPK_ARRAY_COUNT(drivers); i++)
			if (s->needs[i])
				put_source(drivers[i].source, out);
	}
	mpk_strbuf_printf(out, "\nextern const unsigned char %s[];\n", symbol);

	/* All argument types and all tags of values are in two arrays that the rows point into,
	 * because a compiler compares many separate arrays with each other one by one. The values {
	 * 0, 0 } and 255 end a kernel's part, as C has no empty arrays. */
	mpk_strbuf_puts(out, "static const unsigned char kernel_types[][2] = {\n");
	for (size_t i = 0; i < count; i++) {
		for (size_t a = 0; a < kernels[i].arg_count; a++)
			mpk_strbuf_printf(out, "{%u,%u},", kernels[i].args[a].code,
					  kernels[i].args[a].bits);
		mpk_strbuf_puts(out, "{0,0},\n");
	}
	mpk_strbuf_puts(out, "};\nstatic const unsigned char kernel_tags[] = {\n");
	for (size_t i = 0; i < count; i++) {
		for (size_t t = 0; t < kernels[i].tag_count; t++)
			if (mpk_launch_tag_takes_argument(kernels[i].tags[t]))
				mpk_strbuf_printf(out, "%u,", (unsigned)kernels[i].tags[t]);
		mpk_strbuf_puts(out, "255,\n");
	}
	mpk_strbuf_puts(out, "};\n");

	mpk_strbuf_puts(out, "const struct mpk_sa_kernel mpk_sa_kernels[] = {\n");
	for (size_t i = 0; i < count; i++) {
		const struct standalone_kernel *k = &kernels[i];

		mpk_strbuf_printf(out,
				  "\t{ \"%s\", \"%s\", %s + %" PRIu64 ", %" PRIu64
				  ", kernel_types + %zu, %zu, kernel_tags + %zu, %zu, %d, %d },\n",
				  k->name, k->format, symbol, k->offset, k->size, types,
				  k->arg_count, tags, value_tags(k),
				  standalone_has_tag(k, MPK_TAG_PROGRAMMATIC),
				  standalone_has_tag(k, MPK_TAG_COOPERATIVE));
		types += k->arg_count + 1;
		tags += value_tags(k) + 1;
	}
	mpk_strbuf_printf(out, "};\nconst unsigned mpk_sa_kernel_count = %zu;\n", count);
}

/* --- the kernels of a standalone package ------------------------------------------ */

/* State while one kernel's row is made. */
struct search {
	const struct mpk_package *package;
	struct mpk_arena *arena;
	struct mpk_span blob;
	struct standalone_kernel *rows;
	size_t count;
};

/* The pieces of a module's source text by kernel name; empty for code that is not source. */
struct pieces {
	const struct mpk_source_code_piece *items;
	struct mpk_strmap names;
};

static void pieces_fini(struct pieces *p)
{
	mpk_strmap_fini(&p->names);
}

/* Returns the code of one kernel: the module's whole data, or the kernel's piece of a source
 *         text. */
static struct mpk_span generate_code_of(const struct mpk_kernels *k, const struct pieces *pieces,
					struct mpk_span name)
{
	size_t i;

	return mpk_strmap_find(&pieces->names, name, &i) ? pieces->items[i].text : k->data;
}

/* The code is a view of the blob, so its offset is the difference of two addresses. */
static enum mpk_code generate_add_row(struct search *s, const struct mpk_kernels *k,
				      const struct pieces *pieces,
				      const struct mpk_function_info *f, struct mpk_error *err)
{
	struct standalone_kernel *row = &s->rows[s->count];
	enum mpk_launch_tag *tags =
		mpk_arena_array(s->arena, f->launch_tag_count + 1, sizeof *tags);
	struct mpk_span code = generate_code_of(k, pieces, f->key);

	*row = (struct standalone_kernel){
		.name = mpk_arena_text(s->arena, f->key),
		.format = mpk_arena_text(s->arena, k->fmt),
		.args = f->arg_types,
		.arg_count = f->arg_count,
		.tags = tags,
		.tag_count = f->launch_tag_count,
	};
	MPK_TRY_ALLOC(tags && row->name && row->format, err);
	for (size_t i = 0; i < f->launch_tag_count; i++)
		tags[i] = mpk_launch_tag_parse(f->launch_tags[i]);
	row->offset = (uint64_t)(code.data - s->blob.data);
	row->size = code.len;
	s->count++;
	return MPK_OK;
}

/* Reads the blob instead of the manifest: the blob has the final offsets of all code, after modules
 * were left out or merged. */
static enum mpk_code generate_add_module(struct search *s, const struct mpk_node *node,
					 const struct mpk_manifest_module *module,
					 struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(node->payload, node->payload_off, "blob");
	MPK_CLEANUP(pieces_fini) struct pieces pieces = { 0 };
	struct mpk_kernels k;

	if (!mpk_span_is(node->kind, "cuda") && !mpk_span_is(node->kind, "opencl"))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"a standalone package holds cuda or opencl kernels and nothing else, but one module is of kind '%s'",
			MPK_QUOTE(node->kind));
	MPK_TRY(mpk_kernels_read(&c, node->kind, s->package->manifest.gen, s->arena, &k, err));
	if (mpk_span_is(k.fmt, "cuda"))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"a standalone package cannot compile CUDA C++ source when it runs: make a fatbin of module '%s' with 'nvcc -fatbin -arch=all-major -o kernels.fatbin %s', and name that as its data",
			MPK_QUOTE(mpk_span_str(module->id.text)),
			module->data.text ? MPK_QUOTE(mpk_span_str(module->data.text)) : "FILE.cu");

	struct standalone_kernel *grown =
		mpk_arena_array(s->arena, s->count + k.function_count, sizeof *grown);
	MPK_TRY_ALLOC(grown, err);
	for (size_t i = 0; i < s->count; i++)
		grown[i] = s->rows[i];
	s->rows = grown;

	/* OpenCL source is split at the lines that name kernels, as TVM's loader does. */
	size_t count = 0, ignored;

	if (mpk_span_is(k.fmt, "cl"))
		MPK_TRY(mpk_source_code_split(k.data, s->arena, &pieces.items, &count, err));
	for (size_t i = 0; i < count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(&pieces.names, pieces.items[i].name, i, &ignored) >= 0,
			      err);

	for (size_t i = 0; i < k.function_count; i++) {
		MPK_TRY(generate_add_row(s, &k, &pieces, &k.functions[i], err));
		s->rows[s->count - 1].module = module->id.text;
	}
	return MPK_OK;
}

static enum mpk_code list_kernels(const struct mpk_package *package, struct mpk_arena *arena,
				  const struct standalone_kernel **out, size_t *count,
				  struct mpk_error *err)
{
	struct search s = { .package = package, .arena = arena };
	struct mpk_tree tree;

	MPK_TRY(mpk_rope_load(&package->blob, arena, &s.blob, err));
	MPK_TRY(mpk_blob_read(s.blob, package->manifest.gen, arena, &tree, err));
	for (size_t i = 0; i < tree.count; i++)
		if (!tree.nodes[i].is_lib)
			MPK_TRY(generate_add_module(
				&s, &tree.nodes[i],
				&package->manifest.modules[package->node_module[i]], err));
	*out = s.rows;
	*count = s.count;
	return MPK_OK;
}

/* --- texts ------------------------------------------------------------------------ */

/* Copies the text into the arena. A text that ran out of memory is omitted. */
static enum mpk_code generate_keep(struct mpk_strbuf *text, enum text which,
				   struct mpk_arena *arena, struct mpk_generated *out,
				   struct mpk_error *err)
{
	char *copy = text->failed ? NULL : mpk_arena_copy(arena, text->data, text->len);

	MPK_TRY_ALLOC(copy, err);
	*out = (struct mpk_generated){ mpk_generated_names[which], mpk_span_of(copy, text->len) };
	return MPK_OK;
}

static enum mpk_code print_unit(const struct mpk_host_unit *unit, bool via_c, enum text c,
				enum text ll, struct mpk_arena *arena, struct mpk_generated *out,
				struct mpk_error *err)
{
	struct mpk_strbuf text MPK_CLEANUP(mpk_strbuf_fini) = { 0 };

	MPK_TRY((via_c ? mpk_host_c : mpk_host_ll).print(unit, &text, err));
	return generate_keep(&text, via_c ? c : ll, arena, out, err);
}

/* Prints the launch functions as C or as LLVM IR, depending on how the blob is compiled. C would
 * suffice, but a compiler takes three times as long for it: 0.68 s instead of 0.21 s for four
 * functions. */
static enum mpk_code functions(const struct split *s, const struct mpk_generate_options *how,
			       struct mpk_arena *arena, struct mpk_generated *out, size_t *used,
			       struct mpk_error *err)
{
	enum mpk_launch_mode mode = how->system_lib ? MPK_LAUNCH_SYSTEM_LIB : MPK_LAUNCH_IMPORTS;
	struct mpk_host_unit unit;

	if (s->row_count) {
		MPK_TRY(mpk_launch_build_entries(s->rows, s->row_count, arena, &unit, err));
		MPK_TRY(print_unit(&unit, how->via_c, LAUNCH_C, LAUNCH_LL, arena, &out[(*used)++],
				   err));
	}
	if (s->code_count) {
		bool alone = !s->row_count;

		MPK_TRY(mpk_launch_build(s->code, s->code_count, mode, how->prefix, arena, &unit,
					 err));
		MPK_TRY(print_unit(&unit, how->via_c, alone ? LAUNCH_C : HOST_C,
				   alone ? LAUNCH_LL : HOST_LL, arena, &out[(*used)++], err));
	}
	return MPK_OK;
}

static struct mpk_generated object_of(enum text which, struct standalone_object o)
{
	return (struct mpk_generated){ mpk_generated_names[which],
				       mpk_span_of(o.first, (size_t)(o.end - o.first)) };
}

/* Prints the tables of the package's kernels and functions. The loader's code is printed before
 * them, or linked as finished objects. */
static enum mpk_code loader(const struct mpk_package *p, const struct split *s,
			    const struct mpk_generate_options *how, struct mpk_arena *arena,
			    struct mpk_generated *out, size_t *used, struct mpk_error *err)
{
	struct mpk_strbuf text MPK_CLEANUP(mpk_strbuf_fini) = { 0 };
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap by_name = { 0 };
	const struct standalone_kernel *kernels = NULL;
	size_t count = 0;

	MPK_TRY(list_kernels(p, arena, &kernels, &count, err));
	print_standalone(kernels, count, s, how->has_loader, p->manifest.gen, &text);
	if (!how->only_check) {
		/* Modules of a standalone library may have kernels of the same name. */
		for (size_t i = 0; i < count; i++) {
			const char *key = mpk_arena_printf(arena, "%s.%s", kernels[i].module,
							   kernels[i].name);

			MPK_TRY_ALLOC(key && mpk_strmap_put(&by_name, mpk_span_str(key), i, NULL) >=
						      0,
				      err);
		}

		MPK_TRY(mpk_launch_put_rows(s->rows, s->row_count, &by_name, arena, &text, err));
	}
	MPK_TRY(generate_keep(&text, LOADER, arena, &out[(*used)++], err));
	if (!how->has_loader)
		return MPK_OK;
	out[(*used)++] = object_of(LOADER_O, callers[p->manifest.gen]);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(drivers); i++)
		if (s->needs[i])
			out[(*used)++] = object_of(drivers[i].text, drivers[i].object);
	return MPK_OK;
}

/* In tvm-ffi the entry is a function that calls another function. In older generations it is data
 * that names that function. Both symbols are weak, so that several libraries with an entry can be
 * linked into one program. */
static void put_entry_c(const char *symbol, const char *entry, bool names, struct mpk_strbuf *out)
{
	static const char params[] = "void *self, const void *args, int count, void *result";

	if (names) {
		mpk_strbuf_printf(
			out,
			"extern const char %s[];\n"
			"__attribute__((weak, visibility(\"default\"))) const char %s[] = \"%s\";\n",
			symbol, symbol, entry);
		return;
	}
	mpk_strbuf_printf(out,
			  "int __tvm_ffi_%s(%s);\nint %s(%s);\n"
			  "__attribute__((weak, visibility(\"default\"))) int %s(%s)\n"
			  "{\n\treturn __tvm_ffi_%s(self, args, count, result);\n}\n",
			  entry, params, symbol, params, symbol, params, entry);
}

static void put_entry_ll(const char *symbol, const char *entry, bool names, struct mpk_strbuf *out)
{
	if (names) {
		mpk_strbuf_printf(out, "@%s = weak constant [%zu x i8] c\"%s\\00\", align 1\n",
				  symbol, strlen(entry) + 1, entry);
		return;
	}
	mpk_strbuf_printf(
		out,
		"declare i32 @__tvm_ffi_%s(ptr, ptr, i32, ptr)\n\n"
		"define weak i32 @%s(ptr %%self, ptr %%args, i32 %%count, ptr %%result) {\n"
		"  %%status = tail call i32 @__tvm_ffi_%s(ptr %%self, ptr %%args, i32 %%count, ptr %%result)\n"
		"  ret i32 %%status\n}\n",
		entry, symbol, entry);
}

static enum mpk_code entry(const struct mpk_package *p, const struct mpk_generate_options *how,
			   struct mpk_arena *arena, struct mpk_generated *out,
			   struct mpk_error *err)
{
	const struct mpk_generation_info *gen = mpk_generation_get(p->manifest.gen);
	struct mpk_strbuf text MPK_CLEANUP(mpk_strbuf_fini) = { 0 };
	bool names = p->manifest.gen != MPK_GEN_CURRENT;

	(how->via_c ? put_entry_c : put_entry_ll)(gen->entry, p->manifest.entry.text, names, &text);
	return generate_keep(&text, how->via_c ? ENTRY_C : ENTRY_LL, arena, out, err);
}

/* No entry is generated if a function already has the entry's name. */
static bool needs_entry(const struct mpk_manifest *m)
{
	return m->entry.text && (m->gen != MPK_GEN_CURRENT || strcmp(m->entry.text, "main") != 0);
}

enum mpk_code mpk_generate(const struct mpk_package *package,
			   const struct mpk_generate_options *how, struct mpk_arena *arena,
			   struct mpk_generated out[MPK_GENERATED_MAX], size_t *count,
			   struct mpk_error *err)
{
	bool standalone = package->manifest.standalone;
	struct split s;

	*count = 0;
	if (standalone && !package->launch_count && !package->base)
		return mpk_fail(err, MPK_E_CONFLICT,
				"a standalone package is made of launch functions: it has none");
	if (needs_entry(&package->manifest)) {
		if (how->system_lib)
			return mpk_fail(
				err, MPK_E_CONFLICT,
				"a system library has no entry: the program that it is linked into calls its functions by name; leave 'entry' out");
		MPK_TRY(entry(package, how, arena, &out[(*count)++], err));
	}
	if (!package->launch_count)
		return MPK_OK;
	if (standalone && how->system_lib)
		return mpk_fail(
			err, MPK_E_CONFLICT,
			"a standalone package loads its kernels itself; a system library leaves that to the program it is linked into");
	MPK_TRY(split(package, arena, &s, err));
	if (!how->only_check)
		MPK_TRY(functions(&s, how, arena, out, count, err));
	return s.row_count ? loader(package, &s, how, arena, out, count, err) : MPK_OK;
}
