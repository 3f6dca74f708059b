/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.c - files other than ELF: Mach-O, COFF, PE and C sources as images; and names for files
 * that hold no module
 *
 * The readers in formats/ return one struct mpk_object. Its symbols are presented here as ELF
 * symbols, so that the same search finds blob and functions in every format.
 *
 * Other files are recognised by their first bytes, some by words. That is done also for a file
 * without a known magic number, which may be a bare blob. Kernels are recognised by the code
 * formats (code/formats.def): a module can hold them, so the advice is to pack them. */
#include "elf/foreign.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "blob/blob.h"
#include "code/format.h"
#include "elf/internal/elf.h"
#include "elf/reader.h"
#include "object/object.h"

/* --- formats --------------------------------------------------------------------------------- */

static const struct mpk_object_reader *const readers[] = {
	[MPK_FILE_MACHO] = &mpk_macho_reader, [MPK_FILE_PE] = &mpk_pe_reader,
	[MPK_FILE_COFF] = &mpk_coff_reader,   [MPK_FILE_C] = &mpk_csource_reader,
	[MPK_FILE_WASM] = &mpk_wasm_reader,
};

/* COFF objects are tried last: their magic number is a machine number of two bytes, which other
 * files may begin with by chance. */
enum mpk_file_format mpk_file_format_of(struct mpk_span bytes)
{
	static const enum mpk_file_format order[] = { MPK_FILE_MACHO, MPK_FILE_PE, MPK_FILE_WASM,
						      MPK_FILE_COFF };

	if (mpk_span_starts(bytes, ELFMAG))
		return MPK_FILE_ELF;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(order); i++)
		if (readers[order[i]]->is(bytes))
			return order[i];
	return MPK_FILE_BLOB;
}

enum mpk_code mpk_file_read_object(enum mpk_file_format format, struct mpk_span bytes,
				   struct mpk_arena *arena, struct mpk_object *out,
				   struct mpk_error *err)
{
	if ((size_t)format >= MPK_ARRAY_COUNT(readers) || !readers[format])
		return mpk_fail(err, MPK_E_INTERNAL, "a file of this format has no other reader");
	return readers[format]->read(bytes, arena, out, err);
}

static enum mpk_container container_of(enum mpk_file_format format, enum mpk_object_kind kind)
{
	if (format == MPK_FILE_MACHO)
		return kind == MPK_OBJECT_RELOCATABLE ? MPK_CONTAINER_MACHO_OBJ
						      : MPK_CONTAINER_MACHO_SO;
	if (format == MPK_FILE_WASM)
		return kind == MPK_OBJECT_RELOCATABLE ? MPK_CONTAINER_WASM_OBJ
						      : MPK_CONTAINER_WASM_SO;
	return format == MPK_FILE_PE     ? MPK_CONTAINER_PE_SO
	       : format == MPK_FILE_COFF ? MPK_CONTAINER_COFF_OBJ
					 : MPK_CONTAINER_C;
}

/* --- symbols, in ELF's terms ------------------------------------------------------------------ */

struct source {
	const struct mpk_object *object;
	const struct mpk_object_reader *reader;
	struct mpk_arena *arena; /* receives the values of C initializers */
};

/* mpk_symbol.section is the index of the symbol, by which its bytes are found later. */
static enum mpk_code object_image_get(const void *self, size_t index, struct mpk_symbol *out,
				      struct mpk_error *err)
{
	const struct source *source = self;
	const struct mpk_object_symbol *s = &source->object->symbols[index];
	bool has_bytes = s->content.len != 0;

	(void)err; /* everything was checked when the file was read */
	*out = (struct mpk_symbol){
		.name = s->name,
		.value = s->address,
		/* The size of an array in C source is known only after its initializer has been read, which is done
		 * for the blob only. */
		.bytes = source->object->kind == MPK_OBJECT_SOURCE ? 0 : s->bytes,
		.section = index,
		.type = s->is_function             ? STT_FUNC
			: s->defined && !has_bytes ? STT_COMMON
						   : STT_OBJECT,
		.bind = s->weak     ? STB_WEAK
			: s->global ? STB_GLOBAL
				    : STB_LOCAL,
		.visibility = STV_DEFAULT,
		.defined = s->defined,
	};
	return MPK_OK;
}

static enum mpk_code bytes(const void *self, const struct mpk_symbol *symbol, struct mpk_span *out,
			   uint64_t *off, struct mpk_error *err)
{
	const struct source *source = self;
	const struct mpk_object_symbol *s = &source->object->symbols[symbol->section];

	*off = s->content_off;
	if (source->reader->bytes)
		return source->reader->bytes(s, source->arena, out, err);
	*out = s->content;
	return MPK_OK;
}

static const char *object_image_section(const void *self, const struct mpk_symbol *symbol)
{
	const struct source *source = self;
	const struct mpk_object_symbol *s = &source->object->symbols[symbol->section];

	return s->section ? source->object->sections[s->section - 1].name : NULL;
}

/* --- the image -------------------------------------------------------------------------------- */

/* Finds the blob in a linked module of WebAssembly, which has no symbols for data, by its
 * structure: it begins with its length and the number of its modules. */
static bool find_blob(struct mpk_span bytes, size_t *at, size_t *len)
{
	enum { LEAST = 24, MODULES_MAX = 1 << 16 };
	enum mpk_generation gen;

	for (size_t i = 0; bytes.len - i > LEAST; i++) {
		const uint8_t *p = bytes.data + i;
		uint64_t n;

		/* Both numbers must be small: their upper bytes are zero. */
		if (p[6] | p[7] | p[11] | p[12] | p[13] | p[14] | p[15])
			continue;
		n = mpk_load_u64(p);
		if (n < LEAST || n > bytes.len - i - 8 || mpk_load_u64(p + 8) > MODULES_MAX ||
		    !mpk_load_u64(p + 8) ||
		    mpk_blob_guess(mpk_span_of(p, (size_t)n + 8), &gen, NULL) != MPK_OK)
			continue;
		*at = i;
		*len = (size_t)n + 8;
		return true;
	}
	return false;
}

static enum mpk_code add_found_blob(struct mpk_object *object, struct mpk_arena *arena,
				    bool *is_found, struct mpk_error *err)
{
	struct mpk_object_symbol *symbols;
	size_t at = 0, len = 0, section = 0;

	while (section < object->section_count &&
	       (object->sections[section].is_code ||
		!find_blob(object->sections[section].content, &at, &len)))
		section++;
	if (section == object->section_count)
		return MPK_OK;
	symbols = mpk_arena_array(arena, object->symbol_count + 1, sizeof *symbols);
	MPK_TRY_ALLOC(symbols, err);
	if (object->symbol_count)
		memcpy(symbols, object->symbols, object->symbol_count * sizeof *symbols);
	symbols[object->symbol_count++] = (struct mpk_object_symbol){
		.name = mpk_generation_get(MPK_GEN_CURRENT)->blob_symbol,
		.defined = true,
		.global = true,
		.section = section + 1,
		.address = object->sections[section].address + at,
		.bytes = len,
		.content = mpk_span_of(object->sections[section].content.data + at, len),
		.content_off = object->sections[section].content_off + at,
	};
	object->symbols = symbols;
	*is_found = true;
	return MPK_OK;
}

static enum mpk_code object_image_read(enum mpk_file_format format, struct mpk_span file,
				       uint64_t off, const enum mpk_generation *gen,
				       struct mpk_arena *arena, struct mpk_image *image,
				       struct mpk_error *err)
{
	struct mpk_object object = { 0 };
	struct source self = { &object, readers[format], arena };
	struct mpk_survey found = { 0 };
	bool is_found = false;

	MPK_TRY(mpk_file_read_object(format, file, arena, &object, err));
	image->container = container_of(format, object.kind);
	image->format = format;
	image->bytes = file;
	image->bytes_off = off;
	image->is_program = object.kind == MPK_OBJECT_PROGRAM;
	image->needed = object.needed;
	image->needed_count = object.needed_count;

	/* A machine that ELF does not number is named by its number in its own format. */
	image->machine = object.machine;
	if (object.machine_name)
		image->machine_name = object.machine_name;
	else if (object.machine)
		image->machine_name = mpk_elf_machine(object.machine);
	else if (object.kind != MPK_OBJECT_SOURCE)
		image->machine_name =
			mpk_arena_printf(arena, "machine 0x%x", object.machine_number);
	if (object.kind != MPK_OBJECT_SOURCE && !image->machine_name)
		return mpk_fail_nomem(err);

	struct mpk_symbol_source source = {
		&self, object.symbol_count, off, file.len, object_image_get,
		bytes, object_image_section
	};
	MPK_TRY(mpk_symbols_survey(&source, &found, err));
	if (image->container == MPK_CONTAINER_WASM_SO && !found.rank) {
		MPK_TRY(add_found_blob(&object, arena, &is_found, err));
		source.count = object.symbol_count;
		found = (struct mpk_survey){ 0 };
		MPK_TRY(mpk_symbols_survey(&source, &found, err));
	}
	MPK_TRY(mpk_image_read_symbols(&source, &found, gen, arena, image, err));
	/* symbols have no sizes in these formats: the blob's own length counts */
	if (image->has_blob)
		image->blob = mpk_image_blob(image);
	if (is_found)
		image->blob_symbol = NULL;
	return MPK_OK;
}

const struct mpk_image_reader mpk_object_images = { object_image_read };

/* --- what holds no module ---------------------------------------------------------------- */

#define ELSE_COMPILE                                                                               \
	"Netron shows it; compile the model with TVM; as it stands it can be 'payload' of a [[module]]"
#define LISTED "minspect lists its tensors; compile the model with TVM"
#define UNPACK "unpack it and name the library in it"

/* --- recognisers ------------------------------------------------------------------------ */

static bool is_zip(struct mpk_span bytes)
{
	return mpk_span_starts(bytes, "PK\3\4");
}

static bool is_wheel(struct mpk_span bytes)
{
	return is_zip(bytes) && mpk_span_has(bytes, ".dist-info/");
}

/* Whether a zip file has this word in its first file name. */
static bool is_zip_of(struct mpk_span bytes, const char *word)
{
	return is_zip(bytes) &&
	       mpk_span_has(mpk_span_of(bytes.data, bytes.len < 512 ? bytes.len : 512), word);
}

static bool is_npz(struct mpk_span bytes)
{
	return is_zip_of(bytes, ".npy");
}

static bool is_torch(struct mpk_span bytes)
{
	return is_zip_of(bytes, "/data.pkl") || is_zip_of(bytes, "/.format_version");
}

/* A length, then a JSON header. */
static bool is_safetensors(struct mpk_span bytes)
{
	return bytes.len > 9 && bytes.data[8] == '{' && mpk_load_u64(bytes.data) <= bytes.len - 8;
}

/* A model as a protocol buffer begins with field 1, its version. */
static bool is_versioned(struct mpk_span bytes)
{
	return bytes.len >= 16 && bytes.data[0] == 8 && bytes.data[1] > 0 && bytes.data[1] <= 32;
}

/* In a Core ML model field 2 is a message that begins with its inputs or metadata; in ONNX it is a
 * text. */
static bool is_coreml(struct mpk_span bytes)
{
	size_t at = 3;

	if (!is_versioned(bytes) || bytes.data[2] != 0x12)
		return false;
	while (at < 8 && bytes.data[at] >= 0x80)
		at++;
	return bytes.data[at + 1] == 0x0a || bytes.data[at + 1] == 0xa2;
}

static bool is_saved_model(struct mpk_span bytes)
{
	return is_coreml(bytes) && bytes.data[1] == 1 && mpk_span_has(bytes, "serve");
}

/* After ir_version, a text field that ends within the file. */
static bool is_onnx(struct mpk_span bytes)
{
	static const uint8_t next[] = { 0x12, 0x1a, 0x22, 0x32, 0x3a, 0x42 };

	if (!is_versioned(bytes))
		return false;
	return memchr(next, bytes.data[2], sizeof next) &&
	       (bytes.data[3] >= 0x80 || (size_t)bytes.data[3] + 4 <= bytes.len);
}

/* Whether a FlatBuffer has this identifier, which follows the offset of its table; after a size
 * prefix it is 4 bytes later. */
static bool has_identifier(struct mpk_span bytes, size_t at, const char *id)
{
	return bytes.len >= at + 4 && memcmp(bytes.data + at, id, 4) == 0;
}

static bool is_tflite(struct mpk_span bytes)
{
	return has_identifier(bytes, 4, "TFL3");
}

static bool is_executorch(struct mpk_span bytes)
{
	return has_identifier(bytes, 4, "ET12");
}

/* Such a file is usually also a zip file. */
static bool is_iree(struct mpk_span bytes)
{
	return has_identifier(bytes, 8, "IREE") || is_zip_of(bytes, "module.fb");
}

static bool is_openvino(struct mpk_span bytes)
{
	return mpk_code_is_text(bytes) && mpk_code_has_word(bytes, "<net name=");
}

static bool is_json(struct mpk_span bytes)
{
	return mpk_code_format_of(bytes) == &mpk_format_json;
}

static bool is_graph(struct mpk_span bytes)
{
	return is_json(bytes) && mpk_span_has(bytes, "\"arg_nodes\"");
}

static bool is_params(struct mpk_span bytes)
{
	return mpk_code_format_of(bytes) == &mpk_format_params;
}

static bool is_manifest(struct mpk_span bytes)
{
	return mpk_code_is_text(bytes) && mpk_code_has_word(bytes, "[package]") &&
	       mpk_code_has_word(bytes, "[[module]]");
}

/* A web page contains words of every language that it describes. */
static bool is_page(struct mpk_span bytes)
{
	const struct mpk_code_format *f = mpk_code_format_of(bytes);

	return f == &mpk_format_markup || f == &mpk_format_prose;
}

/* --- the tables ------------------------------------------------------------------------- */

/* In order: the first row that fits names the file. */
static const struct {
	const char *magic; /* or */
	bool (*is)(struct mpk_span bytes);
	const char *what, *how;
} files[] = {
	{ NULL, is_wheel, "a Python wheel", UNPACK },
	{ NULL, is_npz, "an archive of NumPy arrays", "a call takes them with --input @FILE:KEY" },
	{ NULL, is_torch, "a PyTorch file", ELSE_COMPILE },
	{ NULL, is_iree, "an executable of IREE (.vmfb)",
	  "iree-dump-module shows it and iree-run-module runs it" },
	{ NULL, is_zip, "a zip file", UNPACK },
	{ "\x93NUMPY", NULL, "a NumPy array", "a call takes it with --input @FILE" },
	{ NULL, is_params, "a file of TVM parameters",
	  "pack it as 'params' of a [[module]] of kind \"GraphExecutorFactory\"" },
	{ "version https://git-lfs.github.com/", NULL, "a pointer of Git LFS",
	  "'git lfs pull' fetches what it stands for" },
	{ "GGUF", NULL, "a GGUF model", LISTED },
	{ NULL, is_safetensors, "a safetensors file", LISTED },
	{ NULL, is_saved_model, "a SavedModel of TensorFlow", ELSE_COMPILE },
	{ NULL, is_coreml, "a Core ML model", ELSE_COMPILE },
	{ NULL, is_onnx, "an ONNX model", ELSE_COMPILE },
	{ NULL, is_tflite, "a TensorFlow Lite model", ELSE_COMPILE },
	{ NULL, is_executorch, "a program of ExecuTorch (.pte)",
	  "pte_tool of its devtools shows it and its runtime runs it" },
	{ NULL, is_openvino, "a model of OpenVINO", ELSE_COMPILE },
	{ "ML\xefR", NULL, "byte code of MLIR", "mlir-opt shows it" },
	{ "\x89HDF\r\n\x1a\n", NULL, "an HDF5 file", ELSE_COMPILE },
	{ NULL, is_graph, "a graph of TVM's graph executor",
	  "pack it as 'graph' of a [[module]] of kind \"GraphExecutorFactory\"" },
	{ NULL, is_json, "JSON", "pack it as 'payload' of a [[module]]" },
	{ NULL, is_page, "a page of text or a script", "name a library, an object or a blob" },
	{ NULL, is_manifest, MPK_FOREIGN_MANIFEST, "'mpack build' makes a library of it" },
	{ "BC\xc0\xde", NULL, "LLVM bitcode", "pack it as one of the 'sources' of a host module" },
};

/* Names the release of TensorRT that made an engine. Its header has it at byte 24 as four numbers,
 * after the tag, a layout version and 0; NVIDIA's trtexec --getPlanVersionOnly reads the same
 * bytes. Older engines have another tag. No header is known that names the GPU. */
static bool find_engine(struct mpk_span bytes, struct mpk_foreign *out)
{
	const uint8_t *v = bytes.data + 24;

	if (!mpk_span_starts(bytes, "ftrt") && !mpk_span_starts(bytes, "ptrt"))
		return false;
	out->what = "a TensorRT engine";
	if (bytes.data[0] == 'f' && bytes.len >= 28 && mpk_load_u32(bytes.data + 4) == 0)
		(void)snprintf(out->how, sizeof out->how,
			       "TensorRT %u.%u.%u.%u made it and trtexec of that release reads it; "
			       "its header does not tell the GPU",
			       v[0], v[1], v[2], v[3]);
	else
		(void)snprintf(out->how, sizeof out->how,
			       "trtexec of the release that made it reads it; its header tells "
			       "neither the release nor the GPU");
	return true;
}

static bool find_code(struct mpk_span bytes, struct mpk_foreign *out)
{
	const struct mpk_code_format *f = mpk_code_format_of(bytes);

	if (!f->claims[0].kind && f != &mpk_format_llvm)
		return false;
	out->what = f->name;
	if (f == &mpk_format_llvm)
		(void)snprintf(out->how, sizeof out->how,
			       "pack it as one of the 'sources' of a host module");
	else
		(void)snprintf(
			out->how, sizeof out->how,
			"'mpack init' writes a manifest that packs it, as 'data' of a [[module]] of kind \"%s\"",
			f->claims[0].kind);
	return true;
}

bool mpk_foreign_find(struct mpk_span bytes, struct mpk_foreign *out)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(files); i++) {
		if (files[i].magic ? !mpk_span_starts(bytes, files[i].magic) : !files[i].is(bytes))
			continue;
		out->what = files[i].what;
		(void)snprintf(out->how, sizeof out->how, "%s", files[i].how);
		return true;
	}
	return find_engine(bytes, out) || find_code(bytes, out);
}

enum mpk_code mpk_foreign_fail(struct mpk_span bytes, const char *otherwise, struct mpk_error *err)
{
	struct mpk_foreign f;

	if (!mpk_foreign_find(bytes, &f))
		return mpk_fail(err, MPK_E_NO_BLOB, "%s", otherwise);
	return mpk_fail(err, MPK_E_NO_BLOB, "this is %s, which holds no compiled module; %s",
			f.what, f.how);
}

/* Fails with what the bytes are, if that is known. Called last, when the bytes are not a blob of
 * any generation.
 * @off     offset of the bytes in the input */
static enum mpk_code refuse(struct mpk_span bytes, uint64_t off, struct mpk_error *err)
{
	struct mpk_foreign f;

	/* A wheel without libraries is reported like one whose libraries hold nothing. */
	if (mpk_foreign_find(bytes, &f))
		return mpk_fail(err,
				mpk_span_starts(bytes, "PK\3\4") &&
						mpk_span_has(bytes, ".dist-info/")
					? MPK_E_NO_BLOB
					: MPK_E_UNSUPPORTED,
				"this is %s, which holds no compiled module; %s", f.what, f.how);
	return mpk_fail_offset(
		err, MPK_E_CORRUPT, "file", off,
		"this is neither a library or object, nor an ar or tar archive, nor a module blob");
}

/* --- a bare blob --------------------------------------------------------------------------- */

/* A blob has no magic number. It is one if the rules of a generation explain it, which is tried
 * last. */
static enum mpk_code read_blob(enum mpk_file_format format, struct mpk_span bytes, uint64_t off,
			       const enum mpk_generation *known, struct mpk_arena *arena,
			       struct mpk_image *image, struct mpk_error *err)
{
	enum mpk_generation gen;

	(void)format, (void)known, (void)arena;
	if (bytes.len == 0)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", off, "there are no bytes in it");

	/* Files that hold compiled code in another form, by their first bytes. They are refused before the
	 * bytes are tried as a blob. */
	static const struct {
		const char *magic;
		size_t len;
		const char *what;
	} foreign[] = {
		{ "\xfe\xed\xfa", 3, "a big-endian Mach-O file" },
		{ "MZ", 2, "a DOS program" },
		{ "\0asm", 4, "a WebAssembly component" },
		{ "\xfd"
		  "7zXZ",
		  5, "compressed with xz" },
		{ "\x28\xb5\x2f\xfd", 4, "compressed with zstd" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(foreign); i++)
		if (bytes.len >= foreign[i].len &&
		    memcmp(bytes.data, foreign[i].magic, foreign[i].len) == 0)
			return mpk_fail(
				err, MPK_E_UNSUPPORTED,
				"this is %s; ELF, Mach-O, COFF and PE files, archives of them and bare blobs can be read",
				foreign[i].what);

	enum mpk_code code = mpk_blob_guess(bytes, &gen, err);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? code : refuse(bytes, off, err);
	*image = (struct mpk_image){
		.container = MPK_CONTAINER_BLOB,
		.bytes = bytes,
		.bytes_off = off,
		.has_blob = true,
		.gen = gen,
		.gen_known = true,
		.blob = bytes,
		.blob_off = off,
		.prefix = "",
	};
	return MPK_OK;
}

const struct mpk_image_reader mpk_blob_images = { read_blob };
