/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU must run, and its driver take. */
#include <string.h>

#include "amdgpu/amdgpu.h"
#include "check/internal/run.h"
#include "code/format.h"
#include "model/device_code.h"
#include "text/escape.h"
#include "text/phrase.h"

/* NVIDIA's modules are all of one kind; every other kind with targets is for GPUs of AMD. */
static bool is_cuda(const struct mpk_view_node *n)
{
	return mpk_span_is(n->node->kind, "cuda");
}

/* The first of them is what a user meets. */
static enum mpk_code note_lack(struct mpk_check_state *s, const char *place, struct mpk_span kernel,
			       struct mpk_error *err)
{
	if (s->result->gpu == MPK_CHECK_GPU_LACKS)
		return MPK_OK;
	s->result->gpu = MPK_CHECK_GPU_LACKS;
	s->result->gpu_place = place;
	s->result->gpu_kernel = kernel.len ? mpk_arena_text(s->arena, kernel) : NULL;
	return kernel.len && !s->result->gpu_kernel ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code note_module(struct mpk_check_state *s, const struct mpk_view_node *n,
				 struct mpk_error *err)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);
	bool any = k && k->function_count;

	return note_lack(s, n->path, any ? k->functions[0].key : (struct mpk_span){ 0 }, err);
}

/* --- CUDA ------------------------------------------------------------------------------- */

/* Either the device or the driver may be left open, and the sentence then names the other alone. */
static void check_device_put_place(const struct mpk_cuda_place *p, struct mpk_strbuf *out)
{
	if (p->wants == MPK_CUDA_AHEAD)
		mpk_strbuf_printf(out, "devices later than sm_%u", p->sm);
	else if (p->sm)
		mpk_strbuf_printf(out, "sm_%u", p->sm);
	if (p->driver.major)
		mpk_strbuf_printf(out, "%s CUDA %u.%u", p->sm ? " with a driver of" : "a driver of",
				  p->driver.major, p->driver.minor);
}

/* The first release that knows the architecture. */
static struct mpk_cuda_version driver_for(unsigned sm)
{
	for (size_t i = 0; mpk_cuda_devices[i].sm; i++)
		if (mpk_cuda_devices[i].sm == sm)
			return mpk_cuda_devices[i].since;
	return (struct mpk_cuda_version){ 0 };
}

/* The first release whose drivers take that version. */
static struct mpk_cuda_version driver_of_ptx(unsigned major, unsigned minor)
{
	const struct mpk_cuda_version wanted = { major, minor };

	for (size_t i = 0; mpk_cuda_drivers[i].cuda.major; i++)
		if (mpk_cuda_compare(mpk_cuda_drivers[i].ptx, wanted) >= 0)
			return mpk_cuda_drivers[i].cuda;
	return (struct mpk_cuda_version){ 0 };
}

/* What would help, of what nearly ran: a newer driver, else code for the device. */
static void put_advice(const struct mpk_code_target *images, size_t count,
		       const struct mpk_cuda_place *p, struct mpk_strbuf *out)
{
	const struct mpk_cuda_place any_driver = { .wants = p->wants, .sm = p->sm };
	size_t i = mpk_cuda_choose(images, count, &any_driver);

	if (i == count && p->wants != MPK_CUDA_ANY) {
		mpk_strbuf_printf(out, ": compile it for %s_%u, too",
				  p->wants == MPK_CUDA_OWN ? "sm" : "compute", p->sm);
		return;
	}
	if (i < count && images[i].kind == MPK_TARGET_PTX) {
		struct mpk_cuda_version v = driver_of_ptx(images[i].ptx_major, images[i].ptx_minor);

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

/* --- words ------------------------------------------------------------------------------ */

/* One sentence for each reason, for the message that a user reads. */
static void put_reason(const struct mpk_code_target *image, const struct mpk_cuda_place *place,
		       struct mpk_strbuf *out)
{
	static const char *const reasons[] = {
		[MPK_CUDA_RUNS] = "runs",
		[MPK_CUDA_COMPILES] = "runs",
		[MPK_CUDA_OTHER_MAJOR] =
			"machine code runs on devices of its own major version, from its own on",
		[MPK_CUDA_TEGRA] = "machine code does not run on Tegra and other devices alike",
		[MPK_CUDA_ARCH_ONLY] = "runs on exactly this architecture",
		[MPK_CUDA_FAMILY_ONLY] = "runs on devices of its family alone",
		[MPK_CUDA_LATER] = "PTX for this device and later ones",
		[MPK_CUDA_PTX_VERSION] = "PTX that the driver is too old for",
		[MPK_CUDA_TOOLKIT] = "made by CUDA 13 or later, the driver is older",
		[MPK_CUDA_PACKED] = "packed with zstd, which drivers unpack from CUDA 12.4 on",
		[MPK_CUDA_UNLINKED] = "relocatable: it must be linked first",
		[MPK_CUDA_LTO] = "LTO IR: it must be linked first",
		[MPK_CUDA_JIT] = "runs, but the driver must compile it first",
		[MPK_CUDA_OTHERS] = "runs, but was made for another architecture",
		[MPK_CUDA_NOT_AHEAD] = "not for later devices",
		[MPK_CUDA_UNKNOWN] = "of a kind that no driver is known to run",
	};
	enum mpk_cuda_fit fit = mpk_cuda_fit(image, place);

	mpk_escape(out, mpk_span_str(image->name));
	if (image->kind == MPK_TARGET_PTX)
		mpk_strbuf_printf(out, " PTX %u.%u", image->ptx_major, image->ptx_minor);
	if (fit == MPK_CUDA_UNKNOWN)
		mpk_strbuf_printf(out, " (kind %u of image, such as Tile IR: %s)", image->kind_code,
				  reasons[fit]);
	else
		mpk_strbuf_printf(out, " (%s)", reasons[fit]);
}

/* Says for each image why it does not run, then what would help: the two are often different
 * things, such as PTX that is too new for the driver. */
static void say_none(struct mpk_check_state *s, const char *path,
		     const struct mpk_code_target *images, size_t count)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	const struct mpk_cuda_place *p = &s->there->cuda;

	mpk_strbuf_puts(&out, p->wants == MPK_CUDA_OWN ? "no machine code of it is for "
						       : "nothing of it runs on ");
	check_device_put_place(p, &out);
	mpk_strbuf_puts(&out, ": ");
	for (size_t i = 0; i < count && i < MPK_NAMES_SHOWN; i++) {
		mpk_strbuf_puts(&out, i ? ", " : "");
		put_reason(&images[i], p, &out);
	}
	mpk_put_more(&out, count);
	mpk_strbuf_puts(&out, count ? "" : "there is no image in it");
	put_advice(images, count, p, &out);
	mpk_check_say(s, MPK_ERROR, path, "%s", mpk_strbuf_text(&out));
}

static enum mpk_code check_containers(struct mpk_check_state *s, bool cuda, struct mpk_error *err);

/* Whether a driver there takes one of them; as PTX alone, the first start is slow. */
static bool cuda_runs(struct mpk_check_state *s, const struct mpk_code_target *images, size_t count)
{
	const struct mpk_cuda_place *p = &s->there->cuda;
	size_t i = mpk_cuda_choose(images, count, p);

	if (i < count && p->sm && p->wants == MPK_CUDA_ANY &&
	    mpk_cuda_fit(&images[i], p) == MPK_CUDA_COMPILES)
		s->result->gpu_by_ptx = true;
	return i < count;
}

/* A module needs one image that the driver can load as it is, or PTX that it can compile. */
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
		/* source, which is compiled for the device that is there */
		if (!count && mpk_code_format_of(k->data) != &mpk_format_fatbin &&
		    s->there->cuda.wants == MPK_CUDA_ANY)
			continue;
		if (cuda_runs(s, images, count))
			continue;
		say_none(s, n->path, images, count);
		MPK_TRY(note_module(s, n, err));
	}
	MPK_TRY(check_containers(s, true, err));
	if (s->result->gpu_by_ptx)
		mpk_check_say(s, MPK_NOTE, NULL,
			      "on %s some of it is PTX alone, which the driver compiles at the "
			      "first start",
			      s->there->device);
	return MPK_OK;
}

/* --- AMD -------------------------------------------------------------------------------- */

/* Code objects are machine code, and no driver compiles them for another target as it does
 * with PTX: only code for that target or a generic one helps. */
static void say_amd(struct mpk_check_state *s, const char *path,
		    const struct mpk_code_target *images, size_t count)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	mpk_code_targets_put(images, count, &out);
	mpk_check_say(
		s, MPK_ERROR, path,
		"nothing of it runs on %s: it is for %s; compile it for that target, or for a "
		"generic one",
		s->there->amd, mpk_strbuf_text(&out));
}

/* A module without targets is source or portable code and passes: the runtime compiles it for the
 * device that is there. */
static enum mpk_code check_amd(struct mpk_check_state *s, struct mpk_error *err)
{
	for (size_t i = 0; i < s->view->count; i++) {
		const struct mpk_view_node *n = &s->view->nodes[i];
		const struct mpk_code_target *images;
		size_t count, k = 0;

		if (is_cuda(n))
			continue;
		MPK_TRY(mpk_view_targets(s->view, n, &images, &count, err));
		while (k < count && (images[k].kind != MPK_TARGET_BINARY ||
				     !mpk_amdgpu_runs(images[k].name, s->there->amd)))
			k++;
		if (!count || k < count)
			continue;
		say_amd(s, n->path, images, count);
		MPK_TRY(note_module(s, n, err));
	}
	return check_containers(s, false, err);
}

/* --- GPU code of any library ------------------------------------------------------------ */

/* One container each is looked for an image: it is the code of one object, which needs it. */
struct containers {
	struct mpk_check_state *s;
	bool cuda;
	size_t failed;
	const struct mpk_image_device *first; /* that has nothing for the device */
};

/* What drivers load: a file of code by itself, too. The other sections are input of a linker of device
 * code, with an image in each container. */
static bool is_loaded(const struct mpk_image_device *d)
{
	static const char *const sections[] = { ".nv_fatbin", ".hip_fatbin", MPK_DEVICE_FILE };

	if (d->is_found)
		return true;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(sections); i++)
		if (strcmp(d->section, sections[i]) == 0)
			return true;
	return false;
}

/* The same question that the driver answers when it loads a container: is there one image for
 * this device. */
static bool runs(const struct containers *c, const struct mpk_code_target *images, size_t count)
{
	if (c->cuda)
		return cuda_runs(c->s, images, count);
	for (size_t i = 0; i < count; i++)
		if (images[i].kind == MPK_TARGET_BINARY &&
		    mpk_amdgpu_runs(images[i].name, c->s->there->amd))
			return true;
	return false;
}

/* SPIR-V is for neither. */
static bool is_made_for(const struct mpk_code_target *t, bool cuda)
{
	return cuda ? t->sm != 0 : strncmp(t->name, "gfx", 3) == 0;
}

/* The images of a container when it is one for that maker's GPUs; none that do not read. */
static enum mpk_code check_device_images_of(const struct mpk_image_device *d, bool cuda,
					    struct mpk_arena *arena,
					    const struct mpk_code_target **out, size_t *count,
					    struct mpk_error *err)
{
	enum mpk_code code = mpk_device_targets(d->section, d->bytes, arena, out, count, NULL);

	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	if (code != MPK_OK || !*count || !is_loaded(d) || !is_made_for(&(*out)[0], cuda) ||
	    (d->is_found && (*out)[0].relocatable))
		*count = 0;
	return MPK_OK;
}

/* The images are read into scratch memory: a library has thousands of containers, and only the
 * first one that fails is read again. */
static enum mpk_code check_container(struct containers *c, const struct mpk_image_device *d,
				     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_code_target *images;
	size_t count;

	MPK_TRY(check_device_images_of(d, c->cuda, &scratch, &images, &count, err));
	if (!count || runs(c, images, count))
		return MPK_OK;
	c->failed++;
	if (!c->first)
		c->first = d;
	return MPK_OK;
}

/* A kernel of one image is one of all. */
static enum mpk_code note_container(struct mpk_check_state *s, const struct mpk_image_device *d,
				    const char *place, struct mpk_error *err)
{
	const struct mpk_code_info *lister;
	struct mpk_view_code c;
	bool any;

	MPK_TRY(mpk_device_container(d, s->arena, &c, err));
	lister = c.code.problem ? NULL : mpk_code_info_lister(&c.code);
	any = lister && lister->kernel_count;
	return note_lack(s, place, any ? lister->kernels[0].name : (struct mpk_span){ 0 }, err);
}

/* One finding with its reasons and a count of the others: they fail for the same reason, since
 * one compiler made them with the same options. */
static enum mpk_code check_containers(struct mpk_check_state *s, bool cuda, struct mpk_error *err)
{
	struct containers c = { .s = s, .cuda = cuda };
	const struct mpk_code_target *images;
	const char *path;
	size_t count;

	for (size_t i = 0; i < s->view->image->device_count; i++)
		MPK_TRY(check_container(&c, &s->view->image->devices[i], err));
	if (!c.failed)
		return MPK_OK;
	path = mpk_device_path(c.first, s->arena);
	MPK_TRY_ALLOC(path, err);
	MPK_TRY(check_device_images_of(c.first, cuda, s->arena, &images, &count, err));
	(cuda ? say_none : say_amd)(s, path, images, count);
	MPK_TRY(note_container(s, c.first, path, err));
	if (c.failed > 1)
		mpk_check_say(s, MPK_ERROR, NULL,
			      "the same holds for %zu more of its %zu containers of GPU code",
			      c.failed - 1, s->view->image->device_count);
	return MPK_OK;
}

/* Whether a container has code for GPUs of that maker. */
static bool has_containers(const struct mpk_view *view, bool cuda)
{
	for (size_t i = 0; i < view->image->device_count; i++) {
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
		const struct mpk_code_target *images;
		size_t count = 0;

		if (check_device_images_of(&view->image->devices[i], cuda, &scratch, &images,
					   &count, NULL) == MPK_OK &&
		    count)
			return true;
	}
	return false;
}

/* --- rows ------------------------------------------------------------------------------- */

/* Whether there is code for GPUs of that maker, in modules or beside them; without any the check
 * has nothing to say. */
static bool has_code(const struct mpk_view *view, bool cuda)
{
	for (size_t i = 0; i < view->count; i++)
		if (mpk_view_kernels(&view->nodes[i]) && is_cuda(&view->nodes[i]) == cuda &&
		    mpk_code_kind_has_targets(view->nodes[i].node->kind))
			return true;
	return has_containers(view, cuda);
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

/* A device of the other maker is an error only when nothing in the file could run on it. */
static enum mpk_code check_device_check_device(struct mpk_check_state *s, const char **skipped,
					       struct mpk_error *err)
{
	const struct mpk_there *there = s->there;
	bool cuda = has_code(s->view, true), amd = has_code(s->view, false);
	size_t before = s->report->errors;

	if (there->device)
		s->result->gpu = !cuda && !amd               ? MPK_CHECK_GPU_NONE
				 : (there->amd ? amd : cuda) ? MPK_CHECK_GPU_RUNS
							     : MPK_CHECK_GPU_OTHER;
	if (!cuda && !amd)
		*skipped = "it has no code for particular GPUs";
	else if (there->amd && amd)
		return check_amd(s, err);
	else if ((there->cuda.sm || there->cuda.driver.major) && cuda)
		MPK_TRY(check_cuda(s, err));
	else if (!there->device)
		*skipped = MPK_CHECK_UNSAID;
	else if (has_portable(s->view) || there->is_one_of_several)
		*skipped = "it has no code for GPUs of that maker";
	else
		mpk_check_say(s, MPK_ERROR, NULL,
			      "its GPU code is for %s GPUs alone, and %s is none: compile it for "
			      "that one",
			      cuda ? "NVIDIA" : "AMD", there->device);
	/* What it does not run on it may load on, all the same. */
	if (there->cuda.wants != MPK_CUDA_ANY)
		s->result->policy_errors += s->report->errors - before;
	return MPK_OK;
}

/* Each GPU has a first version of the driver that knows it, whatever code the file has for it:
 * an older one cannot use it. */
static enum mpk_code check_driver(struct mpk_check_state *s, const char **skipped,
				  struct mpk_error *err)
{
	const struct mpk_cuda_place *p = &s->there->cuda;
	struct mpk_cuda_version since = driver_for(p->sm);

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
	{ "device", "--device-arch", check_device_check_device },
	{ "driver", "--driver", check_driver },
	{ 0 },
};
