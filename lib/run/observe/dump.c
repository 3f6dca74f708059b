/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/dump.h"

#include "npy/npy.h"
#include "text/escape.h"
#include "value/array.h"

static enum mpk_code write_tensor(const struct mpk_dumper *d, const char *name,
				  const struct mpk_tensor *t, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_rope file = mpk_rope_of(&arena);

	MPK_TRY(mpk_npy_write_header(&file, t->dl.dtype, t->dl.shape, (size_t)t->dl.ndim, err));
	MPK_TRY(mpk_array_put(t, &file, err));
	return mpk_directory_write(d->to, name, &file, err);
}

static enum mpk_code write_result(void *user, const struct mpk_result *r, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
	struct mpk_dumper *d = user;
	struct mpk_tensor *t;
	enum mpk_code code = mpk_result_fetch(d->devices, r->tensor, &t, err);
	if (code == MPK_E_UNSUPPORTED) {
		d->left_out++;
		return MPK_OK;
	}
	if (code != MPK_OK) {
		mpk_error_prefix(err, "operator %zu, '%s': ", r->number, MPK_QUOTE(r->op->name));
		return code;
	}
	mpk_result_file(r, &name);
	code = mpk_strbuf_status(&name, err);
	if (code == MPK_OK)
		code = write_tensor(d, mpk_strbuf_text(&name), t, err);
	mpk_tensor_drop(t);
	return code;
}

static enum mpk_code end(struct mpk_observer *self, const struct mpk_operator *op,
			 const struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_dumper *d = (struct mpk_dumper *)self;

	return mpk_results_each(op, result, &d->count, write_result, d, err);
}

void mpk_dumper_init(struct mpk_dumper *d, struct mpk_devices *devices,
		     const struct mpk_directory *to)
{
	*d = (struct mpk_dumper){ .base = { .end = end }, .devices = devices, .to = to };
}
