/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - opening a library's object: the file itself, or a copy of it in memory
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
#include <pthread.h>
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

/* Whether what a copy would have to hold, all but the blob, is small. */
static bool is_cheap(const struct mpk_elfdyn *object)
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

/* Copies are opened by this folder. */
static bool has_proc(void)
{
	return access("/proc/self/fd", X_OK) == 0;
}

/* What the dynamic linker said. That it had no memory it says in words alone, of which those of the block for thread
 * variables are another matter: no memory would help there. */
static enum mpk_code fail_dlopen(const char *text, struct mpk_error *err)
{
	if ((strstr(text, "annot allocate memory") || strstr(text, "out of memory")) &&
	    !strstr(text, "static TLS block"))
		return mpk_fail_nomem(err);
	return mpk_fail(err, MPK_E_LOAD, "%s", MPK_QUOTE(mpk_span_str(text)));
}

/* --- the file itself ------------------------------------------------------------------------ */

/* Two that find a file not open yet would both open it. */
static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;

/* Not taken before a fork, as a constructor may itself fork. */
static void link_at_fork(enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_CHILD)
		mpk_lock_free_in_child(&file_lock);
}

const struct mpk_process_part mpk_link_part = { .at_fork = link_at_fork };

/* The file itself; NULL in host->handle when somebody in this process has it open already, maybe another
 * loader, whose pointers are in it. */
static enum mpk_code open_file(struct mpk_host *host, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf path = { 0 };
	const char *name = host->code.path, *text = NULL;
	void *others;

	/* "x.so" would be searched in the linker's path */
	mpk_strbuf_printf(&path, "%s%s", strchr(name, '/') ? "" : "./", name);
	MPK_TRY(mpk_strbuf_status(&path, err));
	(void)pthread_mutex_lock(&file_lock);
	others = dlopen(path.data, RTLD_LAZY | RTLD_NOLOAD);
	if (!others) {
		host->handle = dlopen(path.data, RTLD_LAZY | RTLD_LOCAL);
		text = host->handle ? NULL : dlerror();
	}
	(void)pthread_mutex_unlock(&file_lock);
	if (others)
		(void)dlclose(others);
	if (!text)
		return MPK_OK;
	/* the message begins with the path, which the caller puts in front anyway */
	if (strncmp(text, path.data, path.len) == 0)
		text += path.len + 2;
	return fail_dlopen(text, err);
}

static void tell_perf(const struct mpk_host *host, const struct mpk_elfdyn *object)
{
	struct link_map *map;

	if (!mpk_runtime_options(host->runtime)->writes_perf_map ||
	    dlinfo(host->handle, RTLD_DI_LINKMAP, &map) != 0)
		return;
	(void)pthread_mutex_lock(&file_lock);
	mpk_perf_map_add(object, (uintptr_t)map->l_addr);
	(void)pthread_mutex_unlock(&file_lock);
}

/* Of a large library each process would have a copy: it is shared where that can be. */
enum mpk_code mpk_object_open(struct mpk_host *host, const struct mpk_elfdyn *object,
			      unsigned parts, bool needs_copy, bool runs, struct mpk_error *err)
{
	if (!needs_copy && !(host->code.wants_copy && is_cheap(object) && has_proc())) {
		MPK_TRY(open_file(host, err));
		if (host->handle)
			return MPK_OK;
	}

	/* The dynamic linker knows an open library by its name, and that has the descriptor's
	 * number in it. */
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
		tell_perf(host, object);
		return MPK_OK;
	}
	const char *text = dlerror();

	if (!has_proc())
		text = "a copy in memory is opened by way of /proc, which is not there";
	if (strncmp(text, name, strlen(name)) == 0)
		text += strlen(name) + 2; /* ": " */
	enum mpk_code code = fail_dlopen(text, err);

	(void)close(file);
	return code;
}
