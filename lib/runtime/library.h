/* library.h - a compiled library, opened in this process and ready to be called
 *
 * Opening executes the library's constructors: only child processes do it (child.h).
 * One library is open in a process at a time, because module code reaches its loader
 * through process-wide symbols.
 */
#ifndef MPK_RUNTIME_LIBRARY_H
#define MPK_RUNTIME_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "blob/blob.h"
#include "elf/image.h"
#include "runtime/instance.h"
#include "value/function.h"

/* Where the real libtvm_ffi.so is looked for when a library needs it. */
struct mpk_tvm_ffi_search {
	const char *explicit_path; /* named by the user: only this; NULL: not named */
	const char *const *paths;  /* files to try after the linker's own search */
	size_t path_count;
};

struct mpk_library_options {
	const char *path;              /* the library's file; relative to the working
					 * directory, never searched for */
	const struct mpk_image *image; /* of that file; borrowed */
	const struct mpk_tree *tree;   /* of its blob; NULL without one; borrowed */
	const char *stub_dir;          /* where the mpk-*.so runtime stubs are */
	struct mpk_tvm_ffi_search tvm_ffi;
	bool use_real_tvm_ffi; /* something the library needs wants the real one,
					 * though the library itself does not say so */
	const struct mpk_node_loader *const *loaders;
	size_t loader_count;
	unsigned threads; /* of parallel launches; 0: one for each core
					 * that this process may use */
	/* `__tvm_set_device`; NULL: only the CPU can be chosen */
	enum mpk_code (*set_device)(struct mpk_dldevice device, void *user, struct mpk_error *err);
	/* workspace on other devices than the CPU; NULL: there is none */
	void *(*device_alloc)(struct mpk_dldevice device, uint64_t bytes, void *user);
	int (*device_free)(struct mpk_dldevice device, void *data, void *user);
	void *user; /* of the device functions */
};

/* mpk_library_check - can this machine load it at all? Reads the image only.
 * Returns  MPK_OK; MPK_E_LOAD: another machine (both named), an object or archive, a bare
 *          blob; MPK_E_NO_BLOB: neither blob nor functions */
enum mpk_code mpk_library_check(const struct mpk_library_options *options,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_open - load the library and what module code expects of its loader
 * @options borrowed, with all it points to, until close
 * Returns  MPK_OK; MPK_E_LOAD: unresolved symbols (all named), a missing shared library,
 *          no libtvm_ffi.so (with where it was looked for) and all that
 *          mpk_library_check says; MPK_E_AGAIN: something it needs wants the real
 *          libtvm_ffi.so: try again in a fresh process with use_real_tvm_ffi;
 *          MPK_E_INTERNAL: one is open already */
enum mpk_code mpk_library_open(const struct mpk_library_options *options, struct mpk_library **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_close - close all nodes and free; the shared object itself stays mapped
 * (its static slots may still hold handles). NULL is fine. */
void mpk_library_close(struct mpk_library *lib);

/* mpk_library_root - the instance calls from outside start at */
struct mpk_instance *mpk_library_root(struct mpk_library *lib);
const struct mpk_library_options *mpk_library_options(const struct mpk_library *lib);

/* mpk_library_find - the function a user named, entry names resolved ("main",
 * "__tvm_main__", a data symbol that names another function)
 * Returns  MPK_OK, one reference in *out; MPK_E_NOTFOUND with "did you mean" and, when
 *          the root is an executor, what kind holds the entry; a node's failure */
enum mpk_code mpk_library_find(struct mpk_library *lib, const char *name, struct mpk_function **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_add_global - a global function module code may look up; one reference to f
 * is taken over. A later one of the same name wins.
 * @name    borrowed as long as the library lives
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_library_add_global(struct mpk_library *lib, const char *name,
				     struct mpk_function *f, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_library_find_global - borrowed, or NULL */
struct mpk_function *mpk_library_find_global(struct mpk_library *lib, const char *name);

#endif
