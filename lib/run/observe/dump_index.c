/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/internal/dump_index.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "observe/internal/result.h"

void mpk_dump_index_fini(struct mpk_dump_index *x)
{
	mpk_arena_fini(&x->arena);
	mpk_strmap_fini(&x->keys);
	free(x->files);
	free(x->heads);
	*x = (struct mpk_dump_index){ 0 };
}

static enum mpk_code add_file(struct mpk_dump_index *x, const char *name, struct mpk_error *err)
{
	const char *copy;

	if (!mpk_result_key(mpk_span_str(name)).len)
		return MPK_OK;
	copy = mpk_arena_copy(&x->arena, name, strlen(name));
	MPK_TRY_ALLOC(copy && mpk_vec_reserve(&x->files, &x->cap, x->count + 1, sizeof *x->files),
		      err);
	x->files[x->count++].name = copy;
	return MPK_OK;
}

static enum mpk_code list(struct mpk_dump_index *x, const char *dir, struct mpk_error *err)
{
	const struct dirent *entry;
	enum mpk_code code = MPK_OK;
	DIR *d = opendir(dir);

	if (!d)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot read a dump");
	while (code == MPK_OK && (entry = readdir(d)))
		code = add_file(x, entry->d_name, err);
	(void)closedir(d);
	if (code == MPK_OK && !x->count)
		return mpk_fail(err, MPK_E_CORRUPT, "no dump: there is no file like 0000-NAME.npy");
	return code;
}

/* By number, then by name; numbers have four digits or more. */
static int by_number(const void *a, const void *b)
{
	const struct mpk_dump_file *x = a, *y = b;
	unsigned long long i = strtoull(x->name, NULL, 10), k = strtoull(y->name, NULL, 10);

	return i != k ? (i > k ? 1 : -1) : strcmp(x->name, y->name);
}

/* From the last to the first, so that each leads to the one behind it. */
static enum mpk_code chain(struct mpk_dump_index *x, struct mpk_error *err)
{
	for (size_t i = x->count; i-- > 0;) {
		struct mpk_span key = mpk_result_key(mpk_span_str(x->files[i].name));
		size_t at;
		int put = mpk_strmap_put(&x->keys, key, x->key_count, &at);

		MPK_TRY_ALLOC(put >= 0 && mpk_vec_reserve(&x->heads, &x->key_cap, x->key_count + 1,
							  sizeof *x->heads),
			      err);
		if (put)
			x->heads[x->key_count++] = x->count;
		x->files[i].next = x->heads[at];
		x->heads[at] = i;
	}
	return MPK_OK;
}

enum mpk_code mpk_dump_index_read(struct mpk_dump_index *x, const char *dir, struct mpk_error *err)
{
	enum mpk_code code = list(x, dir, err);

	if (code == MPK_OK) {
		qsort(x->files, x->count, sizeof *x->files, by_number);
		code = chain(x, err);
	}
	if (code != MPK_OK)
		mpk_error_at_file(err, dir);
	return code;
}

const char *mpk_dump_index_take(struct mpk_dump_index *x, struct mpk_span key)
{
	size_t at, file;

	if (!mpk_strmap_find(&x->keys, key, &at) || x->heads[at] == x->count)
		return NULL;
	file = x->heads[at];
	x->heads[at] = x->files[file].next;
	return x->files[file].name;
}
