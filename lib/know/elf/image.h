/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - what a file that may hold a module contains: its blob, functions and needed libraries
 *
 * Reads ELF shared libraries and relocatable objects of any machine, class and byte order, Mach-O
 * and COFF objects, dylibs and DLLs, members of ar archives ("lib.a(devc.o)") and of universal
 * files, the .tar files that TVM exports, their C sources, and bare blobs. Nothing of the file is
 * executed, loaded or mapped executable. Reads stripped files, and files without section headers
 * (through PT_DYNAMIC). */
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
	MPK_CONTAINER_ARCHIVE,  /* ar; the member with the blob was chosen */
	MPK_CONTAINER_TAR,      /* tar of objects, also compressed with gzip as TVM writes it */
	MPK_CONTAINER_BLOB,     /* bare blob, header included */
	MPK_CONTAINER_MACHO_SO, /* dylib, bundle or program; of a universal file one member */
	MPK_CONTAINER_MACHO_OBJ,
	MPK_CONTAINER_PE_SO, /* DLL or program */
	MPK_CONTAINER_COFF_OBJ,
	MPK_CONTAINER_C,       /* C source */
	MPK_CONTAINER_WASM_SO, /* a linked module of WebAssembly */
	MPK_CONTAINER_WASM_OBJ,
	MPK_CONTAINER_DEVICE, /* a file of GPU code: a cubin, PTX, a code object, a fatbin, ... */
};

/* The format of the file, or of the archive member, that the blob and functions were read from. */
enum mpk_file_format {
	MPK_FILE_BLOB, /* a blob, or an unknown format */
	MPK_FILE_ELF,
	MPK_FILE_MACHO,
	MPK_FILE_COFF,
	MPK_FILE_PE,
	MPK_FILE_C,
	MPK_FILE_WASM,
	MPK_FILE_DEVICE,
};

/* Device code between two symbols of a library, outside of the blob (elf_image.c). */
struct mpk_image_code {
	const char *name;      /* "my_kernels"; unique in the file */
	const char *symbol;    /* "__tvm_ffi__cubin_my_kernels" */
	struct mpk_span bytes; /* without the zeros after it */
	uint64_t off;          /* offset in the input file */
	uint64_t room_bytes;   /* bytes up to the symbol that ends it */
	const char *member;    /* archive or tar member; NULL: the image's own */
};

/* A container of device code in a section for it, or found in other data (device_code.c). */
struct mpk_image_device {
	const char *section;   /* ".nv_fatbin"; MPK_DEVICE_FILE: the whole file is the container */
	size_t index;          /* its number in the file, from 0: ".nv_fatbin:3" */
	struct mpk_span bytes; /* the container */
	uint64_t off;          /* offset in the input file */
	const char *member;    /* archive or tar member; NULL: the image's own */
	bool is_loaded; /* in a section that is loaded: the program may pass it to a runtime */
	bool is_found;  /* found in other data (device_find.c), not in a section for it */
};

struct mpk_image {
	enum mpk_container container;
	const char *member; /* archive or tar member that the other fields describe; else NULL */
	enum mpk_file_format format;
	struct mpk_span bytes;   /* the bytes of the file in this format, a part of the input */
	uint64_t bytes_off;      /* their offset in the input file, or, if is_packed, in the
				  * decompressed input */
	bool is_packed;          /* the input is compressed, or contains the library among other
				  * bytes; bytes are in the arena */
	struct mpk_span carrier; /* standalone library (standalone/standalone.h): the bytes that
				  * contain the library; else empty */
	const char *executor;    /* version of the executor in the file; NULL: none */
	bool is_linked;          /* the host code is linked into the executor */
	uint64_t packed_bytes;   /* compressed contents: their bytes in the file, */
	uint64_t unpacked_bytes; /* and their bytes when decompressed; 0: nothing is compressed */

	uint16_t machine; /* EM_*; 0: a bare blob, C, or a machine that ELF does not number */
	const char *machine_name; /* "x86-64", "AArch64", "S390", ...; "machine 0x1234"; NULL:
				   * a bare blob or C */
	bool is_program;          /* a program, not a library; Mach-O and PE */

	/* ELF only, else zero */
	uint8_t elf_class; /* 32 or 64 */
	bool big_endian;
	uint16_t type; /* ET_* */

	bool has_blob;
	enum mpk_generation gen; /* generation of the blob, or without one of the functions */
	bool gen_known;          /* false: neither the blob nor the symbols show the generation */
	bool standalone;         /* the library itself loads the kernels of the blob */
	struct mpk_span blob;    /* its bytes, as many as st_size, the section or the blob
				      * itself says; in the arena if it comes from C */
	uint64_t blob_off;       /* offset in the input file of the blob, or of its C
				      * initializer */
	uint64_t blob_address;   /* st_value of its symbol */
	uint64_t blob_symbol_bytes;  /* st_size; 0 when unknown */
	const char *blob_symbol;     /* with the system-lib prefix, if there is one */
	const char *blob_section;    /* ".rodata", ".lrodata"; NULL without section headers */
	const char *prefix;          /* the system-lib prefix; "": none */
	const char *const *prefixes; /* the prefixes of all blobs in the file, each once: several
				      * models may be linked into one file; this image is one of
				      * them */
	size_t prefix_count;
	bool by_prefix;        /* the caller chose the blob by its prefix */
	struct mpk_note note;  /* the package note, of carrier if there is one; name NULL: none */
	const char *lost_blob; /* symbol of a blob that the package note names and no symbol table
			        * has; NULL: not so */

	enum mpk_convention convention;
	const struct mpk_image_function
		*functions; /* sorted by mpk_natural_compare (text/phrase.h); without TVM's own
			     * helper symbols and context pointers */
	size_t function_count;
	/* functions that return a text about another function, whose name follows "_metadata_" or "_doc_"
	 * in theirs */
	const struct mpk_image_function *getters;
	size_t getter_count;

	const struct mpk_image_code *embedded; /* ELF only, in the order of the file */
	size_t embedded_count;
	const struct mpk_image_device *devices; /* ELF and device code, in the order of the file */
	size_t device_count;

	const char *const *context_symbols; /* pointers named __TVM..., which the loader must set */
	size_t context_symbol_count;
	bool has_ctx;                 /* the library has __tvm_ffi__library_ctx or an older name of
				       * it */
	const char *const *undefined; /* undefined dynamic symbols, except weak ones */
	size_t undefined_count;
	bool registers; /* it calls or defines what registers global functions of TVM or tvm-ffi */
	const char *const *needed; /* DT_NEEDED */
	size_t needed_count;
	const char *const *members;          /* all members of an archive, tar or universal file */
	const struct mpk_span *member_bytes; /* as many as members, in the same order */
	size_t member_count;

	const struct mpk_error
		*cut; /* ELF: what is missing at the end of a library whose loaded segments are
		      * complete (reader.h); NULL: nothing */
};

/* mpk_image_open - find out what a file is and what it holds
 * @bytes   the whole input; borrowed as long as the image is used
 * @member  archive or tar member to open ("devc.o"), or architecture ("arm64"), or the prefix of
 *          one of several models ("alpha_"; "": the one without a prefix). NULL: the first with a
 *          blob, else the first with functions; then the functions of the other members are listed,
 *          too, because they are linked together
 * @arena   receives everything but the bytes
 * Returns  MPK_OK, also for an ELF file with neither blob nor functions (has_blob false;
 *          function_count, embedded_count and device_count 0: the caller decides whether that is
 *          exit 5); MPK_E_CORRUPT for a broken file of a known format, and for bytes of no known
 *          format; MPK_E_SYNTAX for C whose brackets or blob do not read; MPK_E_UNSUPPORTED for
 *          models and other known files without a module (foreign.h), thin archives, and inputs
 *          that decompress to more than 1 GiB; MPK_E_NOTFOUND for a missing member (with "did you
 *          mean"); MPK_E_NOMEM. */
enum mpk_code mpk_image_open(struct mpk_span bytes, const char *member, struct mpk_arena *arena,
			     struct mpk_image *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_open_mapped - as mpk_image_open, but a library that was cut after its last loaded
 * segment is read as a dynamic linker reads it, and image->cut is set */
enum mpk_code mpk_image_open_mapped(struct mpk_span bytes, const char *member,
				    struct mpk_arena *arena, struct mpk_image *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_blob - image->blob up to the length that the blob itself states: the symbol may have
 * more bytes, such as a NUL or a sanitizer's red zone. The whole blob if that length is too large. */
struct mpk_span mpk_image_blob(const struct mpk_image *image);

/* mpk_image_noted - the bytes that the digest in the package note covers: the blob, or in a
 * standalone library everything that contains it */
static inline struct mpk_span mpk_image_noted(const struct mpk_image *image)
{
	return image->carrier.len ? image->carrier : mpk_image_blob(image);
}

/* mpk_image_carrier - what a standalone library has under its symbol; not parsed
 * @out     empty: not a standalone library
 * Returns  MPK_OK, also for a file that is not ELF; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_image_carrier(struct mpk_span file, struct mpk_span *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_check_symbol - check that the file has the symbol that its package note names
 * Returns  MPK_OK, also without a note; MPK_E_CORRUPT */
enum mpk_code mpk_image_check_symbol(const struct mpk_image *image,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_check_single - check that the file holds one model only, as a standalone library needs
 * Returns  MPK_OK; MPK_E_UNSUPPORTED */
enum mpk_code mpk_image_check_single(const struct mpk_image *image,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_check_digest - check the blob against the digest in the package note
 * @map     the file that image was read from; it is read through its descriptor
 * Returns  MPK_OK, also without a blob or a note; as mpk_note_digest and mpk_note_compare */
enum mpk_code mpk_image_check_digest(const struct mpk_image *image, const struct mpk_mapping *map,
				     struct mpk_arena *arena, struct mpk_error *err) MPK_MUST_CHECK;

/* --- GPU code in sections for it, in any library
 * --------------------------------------------------
 *
 * nvcc writes fatbins to .nv_fatbin and __nv_relfatbin, HIP writes offload bundles to .hip_fatbin,
 * Clang writes offload binaries to .llvm.offloading, and clang-offload-bundler writes a section for
 * each device. A section has one container for each object that was linked. The containers are
 * separated here by their headers; nothing is decompressed. Code that programs embed by other means
 * is searched in their data. */

/* Replaces the section's name if a whole file, or a member of an archive, is GPU code. */
#define MPK_DEVICE_FILE "file"

/* mpk_file_is_device - whether a whole file is GPU code, by its bytes: of a format whose row in
 * code/formats.def has is_file */
bool mpk_file_is_device(struct mpk_span bytes);

/* mpk_elf_is_device_section - whether sections of this name hold GPU code */
bool mpk_elf_is_device_section(const char *name);

/* mpk_elf_device_code - list the containers in one ELF file: those in sections for them, in file
 * order, then those found in other data
 * A container whose header does not read, and bytes that are not a container, reach to the end of
 * their section.
 * @image   its blob, and the code that its getters return, are not listed again
 * @out     in the arena
 * Returns  MPK_OK, also with none, and for sections that do not read; MPK_E_NOMEM */
enum mpk_code mpk_elf_device_code(const struct mpk_elf *elf, const struct mpk_image *image,
				  struct mpk_arena *arena, const struct mpk_image_device **out,
				  size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_find - find the next container or image of GPU code in other bytes, at any offset: a
 * fatbin, a cubin, a code object, an offload bundle, plain or compressed, an offload binary, SPIR-V
 * Magic numbers occur by chance, so the headers must read, and everything that they refer to must
 * be there.
 * @at      offset to begin at; receives the offset of the code
 * @len     receives its bytes; 0: there is no more
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_device_find(struct mpk_span bytes, size_t *at, size_t *len,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_container_bytes - the length of the container that begins at an offset of a section
 * @is_empty  receives whether it has no images
 * Returns  0: there is no container, it gives no length, or one beyond the section */
size_t mpk_device_container_bytes(struct mpk_span section, size_t at, bool *is_empty);

/* mpk_device_code_split - list the containers in the bytes of one section
 * @off, @section   offset of the bytes in the input, and the section's name; borrowed
 * @items, @count, @cap   a malloc'ed list that grows */
enum mpk_code mpk_device_code_split(struct mpk_span bytes, uint64_t off, const char *section,
				    struct mpk_image_device **items, size_t *count, size_t *cap,
				    struct mpk_error *err) MPK_MUST_CHECK;

#endif
