/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU must run, and its driver take. */
#include "amdgpu/amdgpu.h"
#include "code/target.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "view/check_run.h"

static bool is_cuda(const struct mpk_view_node *n)
{
	return mpk_span_is(n->node->kind, "cuda");
}

/* --- CUDA ------------------------------------------------------------------------------- */

static void put_place(const struct mpk_cuda_place *p, struct mpk_strbuf *out)
{
	if (p->sm)
		mpk_strbuf_printf(out, "sm_%u", p->sm);
	if (p->driver.major)
		mpk_strbuf_printf(out, "%s CUDA %u.%u", p->sm ? " with a driver of" : "a driver of",
				  p->driver.major, p->driver.minor);
}

/* What would help, of what nearly ran: a newer driver, else code for the device. */
static void put_advice(const struct mpk_code_target *images, size_t count,
		       const struct mpk_cuda_place *p, struct mpk_strbuf *out)
{
	const struct mpk_cuda_place any_driver = { .sm = p->sm };
	size_t i = mpk_cuda_choose(images, count, &any_driver);

	if (i < count && images[i].kind == MPK_TARGET_PTX) {
		struct mpk_cuda_version v =
			mpk_cuda_driver_of_ptx(images[i].ptx_major, images[i].ptx_minor);

		if (v.major)
			mpk_strbuf_printf(out,
					  ": install a driver of CUDA %u.%u or later, or "
					  "compile it to older PTX or machine code",
					  v.major, v.minor);
		if (v.major)
			return;
	}
	if (i < count)
		mpk_strbuf_puts(out, ": install a newer driver, or compile it with an older CUDA");
	else if (p->sm)
		mpk_strbuf_printf(out,
				  ": compile it for sm_%u, or add PTX for compute_%u or an "
				  "earlier one",
				  p->sm, p->sm);
	else
		mpk_strbuf_puts(out, ": add machine code or PTX");
}

static void say_none(struct mpk_check_state *s, const struct mpk_view_node *n,
		     const struct mpk_code_target *images, size_t count)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	const struct mpk_cuda_place *p = &s->there->cuda;

	mpk_strbuf_puts(&out, "nothing of it runs on ");
	put_place(p, &out);
	mpk_strbuf_puts(&out, ": ");
	for (size_t i = 0; i < count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(&out, i ? ", " : "");
		mpk_cuda_why(&images[i], p, &out);
	}
	mpk_put_more(&out, count);
	mpk_strbuf_puts(&out, count ? "" : "there is no image in it");
	put_advice(images, count, p, &out);
	mpk_check_say(s, MPK_ERROR, n->path, "%s", mpk_strbuf_text(&out));
}

static enum mpk_code check_cuda(struct mpk_check_state *s, struct mpk_error *err)
{
	for (size_t i = 0; i < s->view->count; i++) {
		const struct mpk_view_node *n = &s->view->nodes[i];
		const struct mpk_kernels *k = mpk_view_kernels(n);
		const struct mpk_code_target *images;
		size_t count;

		if (!is_cuda(n) || !k)
			continue;
		MPK_TRY(mpk_view_targets(s->view, n, &images, &count, err));
		if (!count && mpk_code_format_of(k->data) != &mpk_format_fatbin)
			continue; /* source, which is compiled for the device that is there */
		if (mpk_cuda_choose(images, count, &s->there->cuda) == count)
			say_none(s, n, images, count);
	}
	return MPK_OK;
}

/* --- AMD -------------------------------------------------------------------------------- */

static void say_amd(struct mpk_check_state *s, const struct mpk_view_node *n,
		    const struct mpk_code_target *images, size_t count)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	mpk_code_targets_put(images, count, &out);
	mpk_check_say(
		s, MPK_ERROR, n->path,
		"nothing of it runs on %s: it is for %s; compile it for that target, or for a "
		"generic one",
		s->there->amd, mpk_strbuf_text(&out));
}

static enum mpk_code check_amd(struct mpk_check_state *s, struct mpk_error *err)
{
	for (size_t i = 0; i < s->view->count; i++) {
		const struct mpk_view_node *n = &s->view->nodes[i];
		const struct mpk_code_target *images;
		size_t count, k = 0;

		if (is_cuda(n))
			continue;
		MPK_TRY(mpk_view_targets(s->view, n, &images, &count, err));
		while (k < count && !mpk_amdgpu_runs(images[k].name, s->there->amd))
			k++;
		if (count && k == count)
			say_amd(s, n, images, count);
	}
	return MPK_OK;
}

/* --- rows ------------------------------------------------------------------------------- */

static bool has_code(const struct mpk_view *view, bool cuda)
{
	for (size_t i = 0; i < view->count; i++)
		if (mpk_view_kernels(&view->nodes[i]) && is_cuda(&view->nodes[i]) == cuda &&
		    mpk_code_kind_has_targets(view->nodes[i].node->kind))
			return true;
	return false;
}

/* OpenCL, Vulkan and the like run on GPUs of any maker. */
static bool has_portable(const struct mpk_view *view)
{
	for (size_t i = 0; i < view->count; i++)
		if (mpk_view_kernels(&view->nodes[i]) &&
		    !mpk_code_kind_has_targets(view->nodes[i].node->kind))
			return true;
	return false;
}

static enum mpk_code check_device(struct mpk_check_state *s, const char **skipped,
				  struct mpk_error *err)
{
	const struct mpk_there *there = s->there;
	bool cuda = has_code(s->view, true), amd = has_code(s->view, false);

	if (!cuda && !amd)
		*skipped = "it has no code for particular GPUs";
	else if (there->amd && amd)
		return check_amd(s, err);
	else if ((there->cuda.sm || there->cuda.driver.major) && cuda)
		return check_cuda(s, err);
	else if (!there->device)
		*skipped = MPK_CHECK_UNSAID;
	else if (has_portable(s->view))
		*skipped = "it has no code for GPUs of that maker";
	else
		mpk_check_say(s, MPK_ERROR, NULL,
			      "its GPU code is for %s GPUs alone, and %s is none: compile it for "
			      "that one",
			      cuda ? "NVIDIA" : "AMD", there->device);
	return MPK_OK;
}

static enum mpk_code check_driver(struct mpk_check_state *s, const char **skipped,
				  struct mpk_error *err)
{
	const struct mpk_cuda_place *p = &s->there->cuda;
	struct mpk_cuda_version since = mpk_cuda_driver_for(p->sm);

	(void)err;
	if (!has_code(s->view, true))
		*skipped = "it has no code for a CUDA driver";
	else if (!p->driver.major)
		*skipped = MPK_CHECK_UNSAID;
	else if (p->sm && (p->driver.major < since.major ||
			   (p->driver.major == since.major && p->driver.minor < since.minor)))
		mpk_check_say(s, MPK_ERROR, NULL,
			      "a driver of CUDA %u.%u does not know sm_%u: install one of CUDA "
			      "%u.%u or later",
			      p->driver.major, p->driver.minor, p->sm, since.major, since.minor);
	return MPK_OK;
}

const struct mpk_check_row mpk_check_device[] = {
	{ "device", "--device-arch", check_device },
	{ "driver", "--driver", check_driver },
	{ 0 },
};
