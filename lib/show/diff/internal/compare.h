/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - what the files of --diff have for one another: which module is which, and what differs in code,
 * models, GPU code and the library itself */
#ifndef MPK_DIFF_INTERNAL_COMPARE_H
#define MPK_DIFF_INTERNAL_COMPARE_H

#include "code/info.h"
#include "diff/diff.h"
#include "model/kernel_list.h"
#include "model/view.h"

/* --- match.c ----------------------------------------------------------------- */

/* The partner of a module that has none. */
#define MPK_NO_MODULE SIZE_MAX

struct mpk_module_match {
	size_t *partner; /* of each module of a: its index in b, or MPK_NO_MODULE */
	bool *same;    /* of each module of a: kind and payload are known to equal its partner's */
	size_t *owner; /* of each module of b: its index in a, or MPK_NO_MODULE */
};

/* mpk_match_modules - pair the modules of two files, each with one other at most. In this order, and of
 * several that do equally well those with one path:
 *   1. kind and payload are equal;
 *   2. the kind is, and the names that it defines are shared, the most first: kernels, functions of
 *      models, symbols, constants. Of a name that many modules of a kind define only some are looked at;
 *   3. kind and path are; or it is the only one left of its kind in both and defines no names;
 *   4. the path is.
 * @arena   receives the lists; what else is needed is freed
 * Returns  MPK_OK; MPK_E_NOMEM. Takes n log n for n modules and names, and reads a payload twice at
 *          most. */
enum mpk_code mpk_match_modules(const struct mpk_view *a, const struct mpk_view *b,
				struct mpk_arena *arena, struct mpk_module_match *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* --- code.c ------------------------------------------------------------------ */

/* One side: bytes, and what is known of them as code. */
struct mpk_diff_code_side {
	struct mpk_span bytes;
	const struct mpk_code_info *code; /* NULL: nobody read them as code */
	bool is_listing;                  /* of byte code (mpk_relax_dump, mpk_relay_dump) */
};

/* mpk_diff_code - changes of two texts line by line, of listings by function, where numbers of instructions do not
 * count, of cubins by section, of fatbins by image, of SPIR-V by whether only names and lines changed; of anything
 * else by bytes
 * @what, @name   the thing that has the code: "part", "kernels.ptx" */
void mpk_diff_code(struct mpk_differ *d, const char *what, struct mpk_span name,
		   struct mpk_diff_code_side a, struct mpk_diff_code_side b);

/* mpk_spirv_same_code - whether two modules have the same instructions, but for names, source texts and
 * lines, and the number of the tool that wrote them
 * @a, @b   any bytes; what does not read is not the same */
bool mpk_spirv_same_code(struct mpk_span a, struct mpk_span b);

/* --- kernels.c --------------------------------------------------------------- */

/* mpk_diff_kernels - changes of the figures of kernels that both have, and of their machine code
 * @i, @k   of which module of a and of b, or which code beside the tree
 * @first   the first difference that is about its kernels: those that one file alone has get the bytes of their code */
void mpk_diff_kernels(struct mpk_differ *d, enum mpk_kernels_of of, const struct mpk_view *a,
		      size_t i, const struct mpk_view *b, size_t k, size_t first);

/* mpk_diff_devices - GPU code of any library: images of devices that only one has, kernels of the others that came, went
 * or changed, and images that differ beside their kernels. In which section and container an image is, and how it is
 * packed, is no difference unless it is the only one. */
void mpk_diff_devices(struct mpk_differ *d, const struct mpk_view *x, const struct mpk_view *y);

/* --- host.c ------------------------------------------------------------------ */

/* mpk_diff_host - machine, generation, functions, and the libraries that are needed */
void mpk_diff_host(struct mpk_differ *d, const struct mpk_view *a, const struct mpk_view *b);

#endif
