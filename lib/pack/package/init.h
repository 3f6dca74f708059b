/* SPDX-License-Identifier: Apache-2.0 */
/* init.h - a manifest from files: `mpack init`
 *
 * What files tell is filled in: modules, kernel tables, launch functions. What only a person knows, sizes
 * above all, is assumed so that the manifest builds, and marked "decide". What no runtime could call is
 * left out, in a comment that says why.
 */
#ifndef MPK_PACKAGE_INIT_H
#define MPK_PACKAGE_INIT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"

struct mpk_init_file {
	const char *path; /* as the manifest is to name it */
	struct mpk_span bytes;
};

/* mpk_init_manifest - append a manifest that packs the files
 * @files   kernels (OpenCL C, CUDA C++, PTX, cubins, fatbins, SPIR-V and other code of devices), host
 *          code (.c .cc .cpp .cxx .ll .bc .o .a) and at most one finished library with a blob
 * @arena   scratch
 * Returns  MPK_OK: what was appended builds, as far as the files themselves do; with the file in err:
 *          MPK_E_UNSUPPORTED (no code of a kind that manifests take, a library without a blob, a
 *          library alone, two of them, no kernel that a runtime can launch), MPK_E_CORRUPT,
 *          MPK_E_SYNTAX, MPK_E_CONFLICT (code that does not read); MPK_E_NOMEM */
enum mpk_code mpk_init_manifest(const struct mpk_init_file *files, size_t count,
				struct mpk_arena *arena, struct mpk_strbuf *out,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
