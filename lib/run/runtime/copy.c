/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - a library opened from a copy of its file in memory
 *
 * The dynamic linker opens a file once per process and gives everybody the same object, while a library's
 * context symbol and its pointers lead to one loader alone. A copy is nobody else's. It may also differ from
 * the file in a few bytes, which solves what the linker would refuse: names that only we define are marked
 * weak, so that they may be missing until their slots are written. The other way to define them, a library
 * that exports them to all that is opened later, would have code of strangers find ours.
 *
 * What the host code does not look at, the blob, stays in the file: the copy has a hole in its place.
 */
#include "runtime/internal/runtime.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "elfdyn/elfdyn.h"
#include "text/escape.h"

enum {
	BLOB_BYTES_MIN = 1 << 20,  /* a smaller blob is copied, too */
	COPY_BYTES_MAX = 64 << 20, /* of a copy that is called cheap */
};

/* --- what is copied -------------------------------------------------------------------------- */

/* Where the blob is in the file, when it is large and only a loader reads it; else nothing. */
static struct mpk_span blob_of(const struct mpk_elfdyn *object)
{
	const struct mpk_symbol_source source = mpk_elfdyn_source(object);
	struct mpk_survey found = { 0 };
	struct mpk_span blob;
	uint64_t off;

	if (object->bytes.len < BLOB_BYTES_MIN ||
	    mpk_symbols_survey(&source, &found, NULL) != MPK_OK || !found.rank ||
	    strcmp(found.blob.name, mpk_generation_get(found.gen)->standalone_symbol) == 0 ||
	    source.bytes(source.self, &found.blob, &blob, &off, NULL) != MPK_OK ||
	    blob.len < BLOB_BYTES_MIN || found.blob.bytes != blob.len)
		return (struct mpk_span){ 0 };
	return blob;
}

bool mpk_copy_is_cheap(const struct mpk_elfdyn *object)
{
	return object->bytes.len <= COPY_BYTES_MAX ||
	       object->bytes.len - blob_of(object).len <= COPY_BYTES_MAX;
}

static bool put_at(int fd, const void *data, size_t len, uint64_t off)
{
	const uint8_t *at = data;

	while (len) {
		ssize_t n = pwrite(fd, at, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

static bool put_file(int fd, const struct mpk_elfdyn *object)
{
	const struct mpk_span all = object->bytes, blob = blob_of(object);
	size_t before = blob.len ? (size_t)(blob.data - all.data) : all.len;
	size_t after = all.len - before - blob.len;

	return ftruncate(fd, (off_t)all.len) == 0 && put_at(fd, all.data, before, 0) &&
	       put_at(fd, all.data + before + blob.len, after, before + blob.len);
}

/* --- what is changed ------------------------------------------------------------------------- */

enum { INFO_OFF = offsetof(Elf64_Sym, st_info) };

static bool weaken(int fd, const struct mpk_elfdyn *object, unsigned parts)
{
	for (size_t i = 0; i < object->slot_count; i++) {
		const struct mpk_slot *s = &object->slots[i];
		uint8_t info = object->bytes.data[s->entry + INFO_OFF];

		if (!mpk_module_api_find(s->name, parts) || ELF64_ST_BIND(info) != STB_GLOBAL)
			continue;
		info = ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(info));
		if (!put_at(fd, &info, sizeof info, s->entry + INFO_OFF))
			return false;
	}
	return true;
}

/* DT_DEBUG says nothing in a library; an array of no bytes has no functions. */
static bool leave_constructors(int fd, const struct mpk_elfdyn *object)
{
	const ElfW(Sxword) nothing = DT_DEBUG;
	const uintptr_t none = 0;

	return (!object->init.off || put_at(fd, &nothing, sizeof nothing, object->init.off)) &&
	       (!object->init_array_bytes.off ||
		put_at(fd, &none, sizeof none, object->init_array_bytes.off + sizeof nothing));
}

/* --- opening --------------------------------------------------------------------------------- */

/* Since Linux 6.3 a file in memory says whether code may be in it; older kernels know no such flag. */
static int take_file(int *spare)
{
	int fd = spare ? *spare : -1;

	if (fd >= 0) {
		*spare = -1;
		return fd;
	}
#ifdef MFD_EXEC
	fd = memfd_create("mpk-library", MFD_CLOEXEC | MFD_EXEC);
#endif
	return fd >= 0 ? fd : memfd_create("mpk-library", MFD_CLOEXEC);
}

/* Libraries that the file's own folder leads to, found before the copy asks for them: its folder is another.
 * What is not found is left to the dynamic linker and its message. */
static void open_beside(const char *dir, const char *paths, const char *name)
{
	static const char origin[] = "$ORIGIN", braced[] = "${ORIGIN}";
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf file = { 0 };
	void *handle = NULL;

	for (const char *at = paths; at && !handle;
	     at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
		size_t len = strcspn(at, ":");
		size_t skip = strncmp(at, origin, sizeof origin - 1) == 0   ? sizeof origin - 1
			      : strncmp(at, braced, sizeof braced - 1) == 0 ? sizeof braced - 1
									    : 0;

		if (!skip || skip > len)
			continue;
		mpk_strbuf_fini(&file);
		mpk_strbuf_printf(&file, "%s%.*s/%s", dir, (int)(len - skip), at + skip, name);
		if (mpk_strbuf_status(&file, NULL) == MPK_OK)
			handle = dlopen(file.data, RTLD_LAZY | RTLD_LOCAL); /* stays open */
	}
}

static void open_needed(const struct mpk_elfdyn *object, const char *path)
{
	char *whole = path && object->run_path && strchr(object->run_path, '$')
			      ? realpath(path, NULL)
			      : NULL;

	if (!whole)
		return;
	*strrchr(whole, '/') = '\0';
	for (size_t i = 0; i < object->needed_count; i++)
		if (!strchr(object->needed[i], '/'))
			open_beside(whole, object->run_path, object->needed[i]);
	free(whole);
}

enum mpk_code mpk_copy_open(struct mpk_host *host, const struct mpk_elfdyn *object, unsigned parts,
			    bool runs, struct mpk_error *err)
{
	int file = take_file(mpk_runtime_options(host->runtime)->spare_file);
	char name[40];

	if (file < 0 || !put_file(file, object) || !weaken(file, object, parts) ||
	    (runs && !leave_constructors(file, object))) {
		int why = errno;

		if (file >= 0)
			(void)close(file);
		return mpk_fail_errno(err, MPK_E_LOAD, why,
				      "no copy of the library can be made in memory");
	}
	open_needed(object, host->code.path);
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", file);
	host->handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	if (host->handle) {
		host->copy = file;
		return MPK_OK;
	}
	const char *text = dlerror();

	if (access("/proc/self/fd", X_OK) != 0)
		text = "a library in memory is opened by way of /proc, which is not there";
	if (strncmp(text, name, strlen(name)) == 0)
		text += strlen(name) + 2; /* ": " */
	(void)mpk_fail(err, MPK_E_LOAD, "%s", MPK_QUOTE(mpk_span_str(text)));
	(void)close(file);
	return mpk_failed(MPK_E_LOAD);
}

/* As the dynamic linker does: the one function first, then the array; what they are handed no library of
 * compiled modules looks at. */
void mpk_copy_construct(const struct mpk_elfdyn *object, uintptr_t base)
{
	typedef void constructor(int argc, char **argv, char **envp);
	char *nothing[] = { NULL };
	constructor **array = (constructor **)(base + object->init_array.value);

	if (object->init.off)
		((constructor *)(base + object->init.value))(0, nothing, nothing);
	for (size_t i = 0;
	     object->init_array.off && i < object->init_array_bytes.value / sizeof *array; i++)
		if (array[i] && (uintptr_t)array[i] != UINTPTR_MAX)
			array[i](0, nothing, nothing);
}
