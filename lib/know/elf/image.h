/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - what is in a file that may hold a module: its blob, functions and needs
 *
 * Reads ELF shared libraries and relocatable objects of any machine, class and byte
 * order, Mach-O and COFF objects, dylibs and DLLs, members of ar archives
 * ("lib.a(devc.o)") and of universal files, the .tar files TVM exports, their C sources, and bare
 * blobs. Nothing of the file is executed, loaded or mapped executable. Works on
 * stripped files and on files without section headers (through PT_DYNAMIC).
 */
#ifndef MPK_ELF_IMAGE_H
#define MPK_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "blob/blob.h"
#include "elf/note.h"
#include "elf/reader.h"
#include "object/exports.h"

enum mpk_container {
	MPK_CONTAINER_ELF_SO,   /* ET_DYN (or ET_EXEC) */
	MPK_CONTAINER_ELF_OBJ,  /* ET_REL */
	MPK_CONTAINER_ARCHIVE,  /* ar; the member with the blob was taken */
	MPK_CONTAINER_TAR,      /* tar of objects, also gzip'ed as TVM writes it */
	MPK_CONTAINER_BLOB,     /* bare blob, header included */
	MPK_CONTAINER_MACHO_SO, /* dylib, bundle or program; of a universal file one member */
	MPK_CONTAINER_MACHO_OBJ,
	MPK_CONTAINER_PE_SO, /* DLL or program */
	MPK_CONTAINER_COFF_OBJ,
	MPK_CONTAINER_C,       /* C source */
	MPK_CONTAINER_WASM_SO, /* a linked module of WebAssembly */
	MPK_CONTAINER_WASM_OBJ,
	MPK_CONTAINER_DEVICE, /* code for GPUs by itself: a cubin, PTX, a code object, a fatbin, ... */
};

/* What the file is that the blob and functions were read from, or that member of an archive. */
enum mpk_file_format {
	MPK_FILE_BLOB, /* or nothing that is known */
	MPK_FILE_ELF,
	MPK_FILE_MACHO,
	MPK_FILE_COFF,
	MPK_FILE_PE,
	MPK_FILE_C,
	MPK_FILE_WASM,
	MPK_FILE_DEVICE,
};

/* Device code outside of the blob (elf_image.c). */
struct mpk_image_code {
	const char *name;      /* "my_kernels"; unique in its file */
	const char *symbol;    /* "__tvm_ffi__cubin_my_kernels" */
	struct mpk_span bytes; /* without the zeros that fill its room */
	uint64_t off;          /* in the input file */
	uint64_t room_bytes;   /* up to the symbol that ends it */
	const char *member;    /* archive or tar member; NULL: the image's own */
};

/* A container of device code in a section of its own (device_code.c). */
struct mpk_image_device {
	const char *section;   /* ".nv_fatbin"; MPK_DEVICE_FILE: the file is the container */
	size_t index;          /* number among those of the file: ".nv_fatbin:3" */
	struct mpk_span bytes; /* of the container */
	uint64_t off;          /* in the input file */
	const char *member;    /* archive or tar member; NULL: the image's own */
	bool is_loaded; /* in a section that a library loads, which the program may hand to a runtime */
	bool is_found; /* found among other data (device_find.c), not in a section for it */
};

struct mpk_image {
	enum mpk_container container;
	const char *member; /* archive or tar member that the other fields describe, else NULL */
	enum mpk_file_format format;
	struct mpk_span bytes;   /* the file of that format inside the input */
	uint64_t bytes_off;      /* its offset in the input file, or, when is_packed, in
				    * what the input file unpacks to */
	bool is_packed;          /* the input is compressed, or carries the library among other
				* bytes; bytes are in the arena */
	struct mpk_span carrier; /* standalone library: the bytes that contain the library
				  * (standalone/standalone.h); empty: it is none */
	const char *executor;    /* version of the executor in it; NULL: none */
	bool is_linked;          /* the executor has the host code linked in */
	uint64_t packed_bytes;   /* compressed contents: their size in the file, */
	uint64_t unpacked_bytes; /* and decompressed; 0: nothing is compressed */

	uint16_t machine;         /* EM_*; 0: a bare blob, C, or no number of ELF's */
	const char *machine_name; /* "x86-64", "AArch64", "S390", ...; "machine 0x1234"; NULL:
				   * a bare blob or C */
	bool is_program;          /* Mach-O and PE */

	/* ELF only, else zero */
	uint8_t elf_class; /* 32 or 64 */
	bool big_endian;
	uint16_t type; /* ET_* */

	bool has_blob;
	enum mpk_generation gen;     /* generation of the blob; without a blob, of the functions */
	bool gen_known;              /* false: neither blob nor symbols tell the generation */
	bool standalone;             /* the library loads the blob's kernels itself */
	struct mpk_span blob;        /* st_size bytes when known, else to the section's end, or what
				     * the blob itself says; of C in the arena */
	uint64_t blob_off;           /* offset of blob, or of the initializer, in the input file */
	uint64_t blob_address;       /* st_value */
	uint64_t blob_symbol_bytes;  /* st_size; 0 when unknown */
	const char *blob_symbol;     /* with the system-lib prefix, if any */
	const char *blob_section;    /* ".rodata", ".lrodata"; NULL without section headers */
	const char *prefix;          /* system-lib prefix; "" when none */
	const char *const *prefixes; /* of all blobs in it, each once: several models linked into
				      * one, of which the rest is one; those of all members */
	size_t prefix_count;
	bool by_prefix;        /* it was chosen by that */
	struct mpk_note note;  /* the package note, of carrier where there is one; name NULL:
				     * none */
	const char *lost_blob; /* symbol of a blob that only a package note names, not a
				     * symbol table; NULL when all is there */

	enum mpk_convention convention;
	const struct mpk_image_function
		*functions; /* sorted by name (text/phrase.h); TVM's own helper
						     * symbols and ctx pointers left out */
	size_t function_count;
	/* functions that return a text about another function: its name after "_metadata_" or
	 * "_doc_" */
	const struct mpk_image_function *getters;
	size_t getter_count;

	const struct mpk_image_code *embedded; /* ELF only, in the order of the file */
	size_t embedded_count;
	const struct mpk_image_device *devices; /* ELF and device code, in the order of the file */
	size_t device_count;

	const char *const *context_symbols; /* __TVM... pointers the loader must fill */
	size_t context_symbol_count;
	bool has_ctx;                 /* __tvm_ffi__library_ctx or an older name */
	const char *const *undefined; /* undefined dynamic symbols, weak ones left out */
	size_t undefined_count;
	const char *const *needed; /* DT_NEEDED */
	size_t needed_count;
	const char *const *members;          /* all members of an archive, tar or universal file */
	const struct mpk_span *member_bytes; /* as many, in the same order */
	size_t member_count;

	const struct mpk_error *
		cut; /* ELF: what lies beyond the end of a library of which all that is mapped is there
				      * (reader.h); NULL: nothing does */
};

/* mpk_image_open - see what a file is
 * @bytes   the whole input; borrowed as long as the image is used
 * @member  archive or tar member to take ("devc.o"), or architecture ("arm64"), or the prefix of one of several
 *          models ("alpha_", "" for the one without), NULL: the first that has a blob, else the first that has functions. Without a choice of the caller, functions
 *          of the other members count as well: they are linked together
 * @arena   receives everything but the bytes
 * Returns  MPK_OK, also for an ELF file with neither blob nor functions (has_blob false,
 *          function_count, embedded_count and device_count 0: the caller decides whether that is exit 5);
 *          MPK_E_CORRUPT for a broken file of a known format and for bytes of none;
 *          MPK_E_SYNTAX for C whose brackets or blob do not read; MPK_E_UNSUPPORTED for models
 *          and other known files that hold no module (foreign.h), thin archives, and what unpacks
 *          to more than 1 GiB; MPK_E_NOTFOUND for a member that is not there (with "did you
 *          mean"); MPK_E_NOMEM. */
enum mpk_code mpk_image_open(struct mpk_span bytes, const char *member, struct mpk_arena *arena,
			     struct mpk_image *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_open_mapped - the same, and a library that was cut behind its last loaded segment is read as a dynamic linker
 * reads it, with cut set */
enum mpk_code mpk_image_open_mapped(struct mpk_span bytes, const char *member,
				    struct mpk_arena *arena, struct mpk_image *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_blob - as much of image->blob as the blob itself says it has: the symbol may have
 * more, a string's NUL or a sanitizer's red zone; all of it when the blob says too much */
struct mpk_span mpk_image_blob(const struct mpk_image *image);

/* mpk_image_noted - the bytes of which the package note tells the digest: those of the blob, or what carries it */
static inline struct mpk_span mpk_image_noted(const struct mpk_image *image)
{
	return image->carrier.len ? image->carrier : mpk_image_blob(image);
}

/* mpk_image_carrier - what a standalone library has under its symbol, without looking into it
 * @out     empty: the file is none
 * Returns  MPK_OK, also for what is no ELF file; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_image_carrier(struct mpk_span file, struct mpk_span *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_check_symbol - whether the blob that the package note tells of has its symbol
 * Returns  MPK_OK, also without a note; MPK_E_CORRUPT */
enum mpk_code mpk_image_check_symbol(const struct mpk_image *image,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_check_single - that a file does not hold several models, of which a standalone library carries one
 * Returns  MPK_OK; MPK_E_UNSUPPORTED */
enum mpk_code mpk_image_check_single(const struct mpk_image *image,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_check_digest - whether the blob has the digest that the package note tells
 * @map     the file that image was read from, read past its mapping
 * Returns  MPK_OK, also without a blob or a note; as mpk_note_digest and mpk_note_compare */
enum mpk_code mpk_image_check_digest(const struct mpk_image *image, const struct mpk_mapping *map,
				     struct mpk_arena *arena, struct mpk_error *err) MPK_MUST_CHECK;

/* --- code for GPUs that compilers put into sections of their own, in any library --------------
 *
 * nvcc writes fatbins into .nv_fatbin and __nv_relfatbin, HIP offload bundles into .hip_fatbin,
 * Clang offload binaries into .llvm.offloading, and clang-offload-bundler a section for each device.
 * A section has one container an object that was linked, one after the other. Here they are
 * separated by their headers; nothing is unpacked. What programs embed by other means is found among their data. */

/* In the place of a section's name where a file, or a member of an archive, is code for GPUs by itself. */
#define MPK_DEVICE_FILE "file"

/* mpk_file_is_device - whether a file is code for GPUs by itself, from its bytes alone: of formats whose row in
 * code/formats.def has is_file */
bool mpk_file_is_device(struct mpk_span bytes);

/* mpk_elf_is_device_section - whether a section of this name holds code for GPUs */
bool mpk_elf_is_device_section(const char *name);

/* mpk_elf_device_code - the containers in one ELF file: those in sections that are for them, by their place in the
 * file, then those that are found among other data
 * A container whose header does not read, and bytes that are none, reach to the end of their section.
 * @image   its blob and the code that getters name are known by other names, and are not listed
 * @out     in the arena
 * Returns  MPK_OK, also with none and for sections that do not read; MPK_E_NOMEM */
enum mpk_code mpk_elf_device_code(const struct mpk_elf *elf, const struct mpk_image *image,
				  struct mpk_arena *arena, const struct mpk_image_device **out,
				  size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_find - the next container or image of code for GPUs among other bytes, at any place: a fatbin, a cubin, a
 * code object, an offload bundle, plain or compressed, an offload binary, SPIR-V
 * Magic numbers occur by chance, so its headers have to read and all that they name has to be there.
 * @at      where to begin; receives where it begins
 * @len     receives how long it is; 0: there is no more
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_device_find(struct mpk_span bytes, size_t *at, size_t *len,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_container_bytes - how long the container is that begins at an offset of a section
 * @is_empty  receives whether it is one without images
 * Returns  0: there is none, it does not say, or it says more than there is */
size_t mpk_device_container_bytes(struct mpk_span section, size_t at, bool *is_empty);

/* mpk_device_code_split - the same for the bytes of one section
 * @off, @section   where it is in the input, and its name; borrowed
 * @items, @count, @cap   a malloc'ed list that grows */
enum mpk_code mpk_device_code_split(struct mpk_span bytes, uint64_t off, const char *section,
				    struct mpk_image_device **items, size_t *count, size_t *cap,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif
