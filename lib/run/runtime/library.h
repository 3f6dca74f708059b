/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - a compiled library, opened in this process and ready to be called
 *
 * Opening executes the library's constructors; a program that does not trust them opens it in a
 * child process (session/internal/child.h). Several libraries may be open at a time, of different
 * conventions too, and one file several times: each is then a copy of its own.
 */
#ifndef MPK_RUNTIME_LIBRARY_H
#define MPK_RUNTIME_LIBRARY_H

#include "base/error.h"
#include "runtime/host.h"
#include "runtime/runtime.h"
#include "value/function.h"
#include "value/module.h"

struct mpk_library;

/* mpk_library_open - load the library and what module code expects of its loader
 * @code    borrowed with all it points to until nothing of the library is left: code->release
 *          is called then. Not called when opening fails
 * Returns  MPK_OK; MPK_E_LOAD: unresolved symbols (all named), a missing shared library,
 *          no libtvm_ffi.so (with where it was looked for), what mpk_elfdyn_read says; MPK_E_CORRUPT;
 *          MPK_E_IO: the file cannot be read; MPK_E_NOMEM */
enum mpk_code mpk_library_open(struct mpk_runtime *runtime, const struct mpk_host_code *code,
			       struct mpk_library **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_close - give the library back; its modules, functions and results stay as long as
 * somebody holds them. NULL is fine. */
void mpk_library_close(struct mpk_library *library);

/* mpk_library_root - the module that calls from outside start at; borrowed */
struct mpk_module *mpk_library_root(struct mpk_library *library);

/* mpk_library_modules - the modules of the library's tree, by the index of their node; NULL
 * where nothing leads from the root
 * @out     to be freed; the modules are borrowed
 * Returns  MPK_OK, no modules for a library without a blob; MPK_E_NOMEM */
enum mpk_code mpk_library_modules(struct mpk_library *library, struct mpk_module ***out,
				  size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_find - the function a user named
 * It is, of these the first that is there: the function of this name of an executable in the tree, of
 * several the first; the host function of this name or symbol; for "main", "__tvm_main__" and
 * "__tvm_ffi_main" the entry of the host code; for "PATH#NAME" what the module at that path of the tree
 * itself has; what TVM finds in the tree, such as a kernel; a global function of the runtime, such as a
 * builtin of the Relax VM.
 * Returns  MPK_OK, one reference in *out; MPK_E_NOTFOUND with "did you mean", also of a model's
 *          functions, and, when the tree has a model that nobody here runs, its kind; what made a
 *          module fail that may have it */
enum mpk_code mpk_library_find(struct mpk_library *library, const char *name,
			       struct mpk_function **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
