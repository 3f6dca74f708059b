/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - declarations shared by --diff: pairs of modules, and comparisons of code, models, GPU
 * code and the library itself */
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
	size_t *partner; /* for each module of a: index of its partner in b, or MPK_NO_MODULE */
	bool *same;      /* for each module of a: kind and payload equal its partner's */
	size_t *owner;   /* for each module of b: index of its partner in a, or MPK_NO_MODULE */
};

/* mpk_match_modules - pair the modules of two files; each gets at most one partner. Pairs are made
 * in this order, and among equally good pairs, those with equal paths come first:
 *   1. kind and payload are equal;
 *   2. the kind is equal and they define common names (kernels, functions of models, symbols,
 *   constants),
 *      pairs with the most common names first. If many modules of a kind define a name, only some
 *      are tried;
 *   3. kind and path are equal; or each file has one unpaired module of the kind and it defines no
 *   names;
 *   4. the path is equal.
 * @arena   receives the lists; other memory is freed
 * Returns  MPK_OK; MPK_E_NOMEM. Takes n log n time for n modules and names, and reads a payload at
 *          most twice. */
enum mpk_code mpk_match_modules(const struct mpk_view *a, const struct mpk_view *b,
				struct mpk_arena *arena, struct mpk_module_match *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* --- code.c ------------------------------------------------------------------ */

/* One side of a comparison: bytes, and the code that was read from them. */
struct mpk_diff_code_side {
	struct mpk_span bytes;
	const struct mpk_code_info *code; /* NULL if they were not read as code */
	bool is_listing; /* text is a listing of byte code (mpk_relax_dump, mpk_relay_dump) */
};

/* mpk_diff_code - add the changes between two pieces of code: texts by line, listings by function
 * without instruction numbers, cubins by section, fatbins by image, SPIR-V by whether only names
 * and lines changed, all others by bytes
 * @what, @name   the thing that holds the code: "part", "kernels.ptx" */
void mpk_diff_code(struct mpk_differ *d, const char *what, struct mpk_span name,
		   struct mpk_diff_code_side a, struct mpk_diff_code_side b);

/* mpk_spirv_same_code - whether two modules have the same instructions, ignoring names, source
 * texts, line numbers and the generator number
 * @a, @b   any bytes; unreadable bytes are never the same */
bool mpk_spirv_same_code(struct mpk_span a, struct mpk_span b);

/* --- kernels.c --------------------------------------------------------------- */

/* mpk_diff_kernels - add the changes in figures and machine code of kernels that both files have
 * @i, @k   index of the module in a and in b, or of the code outside the module tree
 * @first   index of the first difference about these kernels: kernels that only one file has get
 *          the size of their code */
void mpk_diff_kernels(struct mpk_differ *d, enum mpk_kernels_of of, const struct mpk_view *a,
		      size_t i, const struct mpk_view *b, size_t k, size_t first);

/* mpk_diff_devices - compare the GPU code of any library: images for devices that only one has,
 * kernels for common devices that were removed, added or changed, and images that differ outside
 * their kernels. The section, container and compression of an image count only if nothing else
 * differs. */
void mpk_diff_devices(struct mpk_differ *d, const struct mpk_view *x, const struct mpk_view *y);

/* --- host.c ------------------------------------------------------------------ */

/* mpk_diff_host - compare machine, generation, functions, and needed libraries */
void mpk_diff_host(struct mpk_differ *d, const struct mpk_view *a, const struct mpk_view *b);

#endif
