/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of device code beside the module tree. No table lists its kernels: the host code asks for
 * them by name when it runs. */
#include "model/embedded.h"
#include "code/verify.h"
#include "model/device_code.h"
#include "verify/verify.h"

static bool is_loadable(const struct mpk_code_format *f)
{
	return f == &mpk_format_cubin || f == &mpk_format_fatbin || f == &mpk_format_ptx;
}

/* What its format can say of it, under the format's own check where it has one. */
static void verify_code(const struct mpk_code_info *code, struct mpk_code_verify to)
{
	const struct mpk_code_format *f = code->format;

	if (code->problem && !f->verifies_broken)
		mpk_code_say_problem(&to, code, "");
	to.check = f->check ? f->check : to.check;
	if (f->verify && (!code->problem || f->verifies_broken))
		f->verify(code, &to);
}

static void check(struct mpk_verify *v, const struct mpk_view_code *c)
{
	const struct mpk_code_info *code = &c->code;
	const struct mpk_code_format *f = code->format;
	struct mpk_code_verify to = { .report = v->report,
				      .file = v->view->name,
				      .path = c->path,
				      .space = "file",
				      .kind = mpk_span_str("cuda"),
				      .check = v->check };

	if (!is_loadable(f)) {
		mpk_code_say(&to, MPK_ERROR, code->off,
			     "this is %s; CUDA's driver loads a cubin, a fatbin or PTX", f->name);
		return;
	}
	/* the driver gets no length: it reads a text up to its NUL */
	if (f == &mpk_format_ptx && code->bytes.len && code->bytes.data[code->bytes.len - 1] != 0)
		mpk_code_say(
			&to, MPK_WARNING, code->off + code->bytes.len,
			"no NUL ends this PTX: the driver takes what follows for a part of it");
	verify_code(code, to);
}

static void embedded_code(struct mpk_verify *v)
{
	for (size_t i = 0; i < v->view->image->embedded_count; i++)
		check(v, &v->view->embedded[i]);
}

/* --- code of any library: device_code.h ------------------------------------------------- */

/* What the listing counts as unreadable, it counts by what mpk_device_targets says: whatever the check of the
 * format finds, that is found here, too. */
static enum mpk_code check_device(const struct mpk_view_code *c, void *arg, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_verify *v = arg;
	const struct mpk_code_info *code = &c->code;
	const struct mpk_code_target *targets;
	struct mpk_code_verify to = { .report = v->report,
				      .file = v->view->name,
				      .path = c->path,
				      .space = "file",
				      .check = v->check };
	size_t errors = v->report->errors, count;
	struct mpk_error why = { 0 };

	verify_code(code, to);
	if (v->report->errors > errors || mpk_device_targets(c->at->name, c->at->bytes, &scratch,
							     &targets, &count, &why) == MPK_OK)
		return MPK_OK;
	if (why.code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	mpk_code_say(&to, MPK_ERROR, code->off + (why.at.has_offset ? why.at.offset : 0), "%s",
		     why.text);
	return MPK_OK;
}

static void gpu_code(struct mpk_verify *v)
{
	struct mpk_error err = { 0 };

	if (mpk_device_each(v->view, check_device, v, &err) != MPK_OK)
		mpk_report_add(v->report, MPK_ERROR, v->check, &err);
}

const struct mpk_check mpk_checks_embedded[] = {
	{ "embedded-code", "device code beside the blob is what a driver loads",
	  .whole = embedded_code },
	{ "gpu-code", "sections of GPU code hold whole containers, their images what they say",
	  .whole = gpu_code },
	{ 0 },
};
