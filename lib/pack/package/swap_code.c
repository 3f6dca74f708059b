/* SPDX-License-Identifier: Apache-2.0 */
#include "package/swap_code.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strmap.h"
#include "code/verify.h"
#include "text/escape.h"

static enum mpk_code no_such_code(const struct mpk_image *image, const char *name,
				  struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_span *names = mpk_arena_array(arena, image->embedded_count, sizeof *names);
	char hint[160] = "";
	size_t near;

	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; i < image->embedded_count; i++)
		names[i] = mpk_span_str(image->embedded[i].name);
	near = mpk_closest(mpk_span_str(name), names, image->embedded_count);
	if (near < image->embedded_count)
		(void)snprintf(hint, sizeof hint, "; did you mean '" MPK_SWAP_CODE "%s'?",
			       MPK_QUOTE(names[near]));
	return mpk_fail(err, MPK_E_USAGE, "no code '%s' is embedded in this file%s",
			MPK_QUOTE(mpk_span_str(name)), hint);
}

/* What --verify calls an error of such code is one here, too. */
static enum mpk_code verify(const struct mpk_code_info *code, const char *what, const char *name,
			    struct mpk_report *report, struct mpk_error *err)
{
	const struct mpk_code_format *f = code->format;
	struct mpk_code_verify v = { .report = report,
				     .file = name,
				     .path = what,
				     .space = "file",
				     .kind = mpk_span_str("cuda"),
				     .check = f->check ? f->check : "embedded-code" };
	size_t before = report->count;

	if (f->verify)
		f->verify(code, &v);
	for (size_t i = before; i < report->count; i++) {
		if (report->findings[i].severity != MPK_ERROR)
			continue;
		*err = report->findings[i].error;
		report->count = before; /* it is what fails */
		return mpk_failed(err->code);
	}
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* What is no code at all, and what no driver loads, such as source or a relocatable image. */
static enum mpk_code read_new(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_code_info *out, struct mpk_error *err)
{
	const struct mpk_code_format *f = mpk_code_format_of(bytes);

	if (f != &mpk_format_cubin && f != &mpk_format_fatbin && f != &mpk_format_ptx)
		return mpk_fail(err, MPK_E_CORRUPT,
				"a cubin, a fatbin or PTX is wanted here, this is %s", f->name);
	MPK_TRY(mpk_code_format_check(bytes, mpk_span_str("cuda"), (struct mpk_span){ 0 }, err));
	return mpk_code_info_read(bytes, 0, NULL, arena, out, err);
}

static enum mpk_code compare_kernels(const struct mpk_image_code *at,
				     const struct mpk_code_info *new, struct mpk_arena *arena,
				     struct mpk_report *report, struct mpk_error *err)
{
	const struct mpk_code_info *lister;
	struct mpk_code_info old;

	MPK_TRY(mpk_code_info_read(at->bytes, at->off, NULL, arena, &old, err));
	lister = old.problem ? NULL : mpk_code_info_lister(&old);
	for (size_t i = 0; lister && i < lister->kernel_count; i++) {
		struct mpk_span name = lister->kernels[i].name;
		struct mpk_error e = { 0 };

		if (mpk_code_info_defines(new, name) != MPK_CODE_MISSING)
			continue;
		(void)mpk_fail(&e, MPK_E_CONFLICT,
			       MPK_SWAP_CODE
			       "%s had a kernel '%s', which the new code does not define",
			       at->name, MPK_QUOTE(name));
		mpk_report_add(report, MPK_WARNING, "embedded-code", &e);
	}
	return report->failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* A driver reads PTX up to its NUL; zeros that fill the room are one. */
static enum mpk_code check_room(const struct mpk_image_code *at, const struct mpk_code_info *new,
				struct mpk_error *err)
{
	uint64_t need = new->bytes.len;

	if (new->format == &mpk_format_ptx &&new->bytes.data[new->bytes.len - 1] != 0)
		need++;
	if (need <= at->room_bytes)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_RANGE,
		"%" PRIu64 " bytes do not fit into the %" PRIu64 " of " MPK_SWAP_CODE
		"%s, which the library's code points at; embed it into the object and link the library anew",
		need, at->room_bytes, at->name);
}

static enum mpk_code put(const struct mpk_private *file, const struct mpk_image *image,
			 const struct mpk_image_code *at, struct mpk_span bytes,
			 struct mpk_error *err)
{
	uint64_t keep_end = file->keep_off + file->keep_len;

	if (image->is_packed || at->off > file->len || at->room_bytes > file->len - at->off)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"code in an archive is not replaced; build it anew from its objects");
	if (at->off < keep_end && at->off + at->room_bytes > file->keep_off)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", at->off,
				       "the blob covers the code of " MPK_SWAP_CODE "%s", at->name);
	memcpy(file->data + at->off, bytes.data, bytes.len);
	memset(file->data + at->off + bytes.len, 0, (size_t)at->room_bytes - bytes.len);
	return MPK_OK;
}

enum mpk_code mpk_swap_code(const struct mpk_image *image, const struct mpk_private *file,
			    const char *what, struct mpk_span bytes, const char *name,
			    struct mpk_arena *arena, struct mpk_report *report,
			    struct mpk_error *err)
{
	const struct mpk_image_code *at = NULL;
	struct mpk_code_info new;
	enum mpk_code code;

	const char *wanted = what + strlen(MPK_SWAP_CODE);

	for (size_t i = 0; i < image->embedded_count && !at; i++)
		if (strcmp(image->embedded[i].name, wanted) == 0)
			at = &image->embedded[i];
	if (!at)
		return no_such_code(image, wanted, arena, err);
	code = read_new(bytes, arena, &new, err);
	if (code == MPK_OK)
		code = verify(&new, what, name, report, err);
	if (code == MPK_OK)
		code = check_room(at, &new, err);
	if (code != MPK_OK) {
		mpk_error_at_file(err, name);
		return code;
	}
	MPK_TRY(compare_kernels(at, &new, arena, report, err));
	return put(file, image, at, bytes, err);
}
