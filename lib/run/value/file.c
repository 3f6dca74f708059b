/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - reads tensors from files. Separate from param_file.c, because applications must not link
 * zlib. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/native.h"
#include "io/mapping.h"
#include "value/element.h"
#include "value/param_file.h"
#include "value/parse.h"

/* The content of a file. */
struct content {
	struct mpk_npy npy;
	bool is_raw;      /* the file has no type: npy.data is the whole file */
	bool is_unpacked; /* npy.data is in arena, not in the file */
	struct mpk_arena arena;
};

static void content_fini(struct content *c)
{
	mpk_arena_fini(&c->arena);
}

static void release_mapping(void *mapping)
{
	mpk_mapping_close(mapping);
	free(mapping);
}

/* Code may write to its inputs, so the pages become a private copy at the first write. */
static bool make_writable(const struct mpk_mapping *m)
{
	return m->mapped && mprotect((void *)(uintptr_t)m->bytes.data, m->bytes.len,
				     PROT_READ | PROT_WRITE) == 0;
}

/* Makes a tensor of content in the mapped file; the tensor takes over the mapping. */
static enum mpk_code adopt(struct mpk_mapping *m, const struct mpk_npy *npy,
			   struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_mapping *kept = malloc(sizeof *kept);
	struct mpk_storage *storage;
	enum mpk_code rc;

	MPK_TRY_ALLOC(kept, err);
	rc = mpk_storage_wrap((void *)(uintptr_t)npy->data.data, npy->data.len,
			      (struct mpk_dldevice){ MPK_DL_CPU, 0 }, kept, release_mapping,
			      &storage, err);
	if (rc != MPK_OK) {
		free(kept);
		return rc;
	}
	*kept = *m;
	*m = (struct mpk_mapping){ .fd = -1 };
	rc = mpk_tensor_view(storage, 0, npy->dtype, npy->shape, npy->ndim, out, err);
	mpk_storage_drop(storage);
	return rc;
}

/* Gives opaque elements the wanted type if the sizes match. In NumPy a vector's lanes are the
 * innermost dimension. */
static void take_type(struct mpk_npy *npy, const struct mpk_dltensor *want)
{
	struct mpk_scalars s = mpk_scalars_of(want);
	bool same_shape =
		npy->ndim == (size_t)s.ndim &&
		(!s.ndim || memcmp(npy->shape, s.shape, npy->ndim * sizeof s.shape[0]) == 0);
	bool fits = npy->is_opaque && mpk_dtype_bytes(s.dtype) == npy->dtype.bits / 8u;

	if (!fits && !mpk_dtype_equal(npy->dtype, s.dtype))
		return;
	if (s.ndim == want->ndim) {
		npy->dtype = s.dtype;
	} else if (same_shape) {
		npy->dtype = want->dtype;
		npy->ndim--;
	}
}

/* Converts the content to the wanted type and shape, or reports why that is not possible. */
static enum mpk_code fit(struct content *c, const struct mpk_dltensor *want, struct mpk_error *err)
{
	struct mpk_npy *npy = &c->npy;

	if (c->is_raw && want) { /* raw bytes can be read only if the caller gives a type */
		uint64_t bytes;

		MPK_TRY(mpk_tensor_bytes_of(want->dtype, want->shape, (size_t)want->ndim, &bytes,
					    err));
		if (npy->data.len != bytes)
			return mpk_fail(err, MPK_E_USAGE, "the file has %zu bytes; %llu are needed",
					npy->data.len, (unsigned long long)bytes);
		npy->dtype = want->dtype;
		npy->ndim = (size_t)want->ndim;
		memcpy(npy->shape, want->shape, npy->ndim * sizeof npy->shape[0]);
		return MPK_OK;
	}
	if (want)
		take_type(npy, want);
	if (!want || !mpk_dtype_equal(npy->dtype, want->dtype))
		MPK_TRY(mpk_array_settle(npy, err));
	if (!want)
		return MPK_OK;
	if (npy->ndim != (size_t)want->ndim || !mpk_dtype_equal(npy->dtype, want->dtype) ||
	    (npy->ndim &&
	     memcmp(npy->shape, want->shape, npy->ndim * sizeof want->shape[0]) != 0)) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf got = { 0 }, wanted = { 0 };
		struct mpk_dltensor has = { .ndim = (int32_t)npy->ndim,
					    .dtype = npy->dtype,
					    .shape = npy->shape };

		mpk_tensor_print_type(&got, &has);
		mpk_tensor_print_type(&wanted, want);
		return mpk_fail(err, MPK_E_USAGE, "the array is %s, not %s", mpk_strbuf_text(&got),
				mpk_strbuf_text(&wanted));
	}
	return MPK_OK;
}

static enum mpk_code file_read_content(struct mpk_span bytes, const char *key, bool raw_ok,
				       struct content *out, struct mpk_error *err)
{
	struct mpk_span file = bytes;
	enum mpk_code rc;

	if (mpk_npz_is(bytes) && (key || !raw_ok)) {
		rc = mpk_npz_find(bytes, key, &out->arena, &file, err);
		if (rc == MPK_E_NOTFOUND && err)
			err->code = MPK_E_USAGE;
		MPK_TRY(rc == MPK_E_NOTFOUND ? MPK_E_USAGE : rc);
		out->is_unpacked = file.data < bytes.data || file.data >= bytes.data + bytes.len;
	} else if (key) {
		return mpk_fail(err, MPK_E_USAGE,
				"only an .npz archive has arrays by name; this file is none");
	}
	if (mpk_npy_is(file))
		return mpk_npy_read(file, &out->npy, err);
	if (!raw_ok)
		return mpk_fail(err, MPK_E_CORRUPT,
				"neither .npy nor .npz; write 4xf32=@FILE to read raw bytes");
	out->is_raw = true;
	out->npy.data = file;
	return MPK_OK;
}

/* Splits "PATH.npz:KEY". A file whose name is the whole text comes first, because names may contain
 * a colon. */
static char *split_key(char *path)
{
	char *colon = strrchr(path, ':');

	if (!colon || access(path, F_OK) == 0)
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static void free_text(char **text)
{
	free(*text);
}

enum mpk_code mpk_tensor_load_file(const char *spec, const struct mpk_dltensor *want,
				   struct mpk_tensor **out, struct mpk_error *err)
{
	MPK_CLEANUP(free_text) char *path = strdup(spec);
	MPK_CLEANUP(mpk_mapping_close) struct mpk_mapping m = { 0 };
	MPK_CLEANUP(content_fini) struct content content = { 0 };

	MPK_TRY_ALLOC(path, err);

	const char *key = split_key(path);
	MPK_TRY(mpk_mapping_open(path, &m, err));

	enum mpk_code rc = file_read_content(m.bytes, key, want != NULL, &content, err);
	if (rc == MPK_OK)
		rc = fit(&content, want, err);
	if (rc == MPK_OK) {
		/* Large content that is aligned for kernels is used in place. */
		const struct mpk_npy *npy = &content.npy;
		bool is_unlike =
			(npy->is_big != MPK_BIG_ENDIAN && mpk_dtype_number_bytes(npy->dtype) > 1) ||
			(npy->is_opaque && mpk_dtype_is_packed(npy->dtype));
		bool in_place =
			!is_unlike && npy->data.len >= MPK_IN_PLACE_FROM && !content.is_unpacked &&
			(uintptr_t)npy->data.data % MPK_STORAGE_ALIGN == 0 && make_writable(&m);

		rc = in_place ? adopt(&m, npy, out, err) : mpk_array_copy(npy, out, err);
	}
	if (rc != MPK_OK)
		mpk_error_at_file(err, path);
	return rc;
}
