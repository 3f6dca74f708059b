/* SPDX-License-Identifier: Apache-2.0 */
/* The older side of a comparison. Of two folders, or two archives, files of one path below them are a pair; of a file and
 * a folder, that of the same name is the other, as diff(1) has it. The list of an archive is read once, not again for
 * each file of it. */
#include "minspect/older.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/diag.h"
#include "text/escape.h"
#include "zip/zip.h"

static enum mpk_code put_name(struct minspect_older *older, struct mpk_span name, size_t i,
			      struct mpk_error *err)
{
	/* of a name that an archive has twice the last counts, as for mpk_zip_find; others are met with it */
	MPK_TRY_ALLOC(mpk_strmap_put(&older->names, name, i, NULL) >= 0, err);
	return MPK_OK;
}

static struct mpk_span name_of(const struct minspect_older *older, size_t i)
{
	return older->archive.library_count
		       ? older->archive.libraries[i].name
		       : mpk_span_str(older->found.items[i] + older->found.folder_lens[i]);
}

static enum mpk_code take_names(struct minspect_older *older, size_t count, struct mpk_error *err)
{
	older->count = count;
	older->is_met = mpk_arena_array(&older->arena, count, sizeof *older->is_met);
	MPK_TRY_ALLOC(older->is_met, err);
	for (size_t i = count; i-- > 0;)
		MPK_TRY(put_name(older, name_of(older, i), i, err));
	return MPK_OK;
}

/* Standard input is read once, by who compares with it. */
static bool is_archive(const char *name)
{
	char head[4];
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, head, sizeof head);

	if (fd >= 0)
		(void)close(fd);
	return got == (ssize_t)sizeof head && mpk_zip_is(mpk_span_of(head, sizeof head));
}

/* A file by itself is opened when the first one is compared with it, and says then what is wrong with it. */
enum mpk_code minspect_older_open(const char *name, struct minspect_older *out,
				  struct mpk_error *err)
{
	struct stat st;

	*out = (struct minspect_older){ .name = name, .archive.map.fd = -1 };
	if (stat(name, &st) == 0 && S_ISDIR(st.st_mode)) {
		out->is_folder = true;
		MPK_TRY(minspect_folder_walk(name, &out->found, err));
		return take_names(out, out->found.count, err);
	}
	if (!is_archive(name) || minspect_file_open(name, &out->archive, NULL) == MPK_OK ||
	    !out->archive.library_count)
		return MPK_OK;
	return take_names(out, out->archive.library_count, err);
}

void minspect_older_close(struct minspect_older *older)
{
	minspect_file_close(&older->archive);
	minspect_found_fini(&older->found);
	mpk_strmap_fini(&older->names);
	mpk_arena_fini(&older->arena);
}

/* The path of a file below its folder or in its archive; of a file by itself, its name without folder. */
static const char *key_of(const struct minspect_older *older, const struct minspect_look *l)
{
	const char *name = l->file->name, *slash = strrchr(name, '/');

	if (l->folder_len)
		return name + l->folder_len;
	if (!older->is_folder)
		return strstr(name, "!/") ? strstr(name, "!/") + 2 : name;
	return slash && slash[1] ? slash + 1 : name;
}

static enum mpk_code open_in_folder(struct minspect_older *older, const char *key,
				    struct minspect_file *out, struct mpk_error *err)
{
	const char *inner = strstr(key, "!/");
	size_t len = inner ? (size_t)(inner - key) : strlen(key), at;
	const char *path;

	if (!mpk_strmap_find(&older->names, mpk_span_of(key, len), &at))
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no such file");
	if (inner && !older->is_met[at])
		mpk_diag_warn(
			"%s: what it alone has is not looked for within a folder; compare the two archives by themselves",
			MPK_QUOTE(mpk_span_str(older->found.items[at])));
	older->is_met[at] = true;
	path = mpk_arena_printf(&older->arena, "%s%s", older->found.items[at], key + len);
	MPK_TRY_ALLOC(path, err);

	enum mpk_code code = minspect_file_open(path, out, err);

	/* a member that is missing is no error of the system */
	return inner && code == MPK_E_IO && err && !err->sys_errno ? MPK_E_NOTFOUND : code;
}

static enum mpk_code open_in_archive(struct minspect_older *older, const char *key,
				     struct minspect_file *out, struct mpk_error *err)
{
	const char *path;
	size_t at;

	if (!mpk_strmap_find(&older->names, mpk_span_str(key), &at))
		return mpk_fail(err, MPK_E_NOTFOUND, "there is no such file");
	older->is_met[at] = true;
	path = minspect_zip_member(&older->archive, at, &older->arena);
	MPK_TRY_ALLOC(path, err);
	return minspect_file_open_library(&older->archive, at, path, false, out, err);
}

enum mpk_code minspect_older_file(struct minspect_older *older, const struct minspect_look *l,
				  struct minspect_file *out, struct mpk_error *err)
{
	*out = (struct minspect_file){ .name = older->name, .map.fd = -1 };
	older->is_against_all |= l->folder_len > 0 || l->file->borrows_map;
	if (older->is_folder)
		return open_in_folder(older, key_of(older, l), out, err);
	if (older->count && l->file->in_zip)
		return open_in_archive(older, key_of(older, l), out, err);
	return minspect_file_open(older->name, out, err);
}

/* What holds nothing is compared with nothing: that the newer side has the same is no removal. */
bool minspect_older_left(struct minspect_older *older, size_t *at, const char **name)
{
	for (; older->is_against_all && *at < older->count; ++*at) {
		struct minspect_file file = { .map.fd = -1 };
		enum mpk_code code;

		if (older->is_met[*at])
			continue;
		*name = older->is_folder ? older->found.items[*at]
					 : minspect_zip_member(&older->archive, *at, &older->arena);
		if (!*name)
			return false;
		code = older->is_folder ? minspect_file_open(*name, &file, NULL)
					: minspect_file_open_library(&older->archive, *at, *name,
								     false, &file, NULL);
		bool holds = code == MPK_OK || file.is_weights || file.library_count > 0;

		minspect_file_close(&file);
		if (!holds)
			continue;
		++*at;
		return true;
	}
	return false;
}
